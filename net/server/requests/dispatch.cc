#include "net/server/requests/dispatch.h"

#include "net/server/access/access.h"
#include "net/server/requests/op_table.h"
#include "net/server/shard/shard_server.h"

namespace cellar::server {
namespace {

void count_denial(ShardServer& shard, Session& session, const wire::FrameHeader& header,
                  const Error& error) {
  ++shard.security().counters().denials;
  shard.security().audit_flood(denial_event(session, header, error));
}

// Checks the node's principals and answers a refused request.
bool is_allowed(ShardServer& shard, Session& session, const OpSpec* spec,
                const wire::Frame& frame) {
  if (!shard.security().has_principals()) return true;
  const Result<void> allowed = check_access(spec, shard.tables(), session, frame);
  if (allowed) return true;
  count_denial(shard, session, frame.header, allowed.error());
  session.reply_error(frame.header, allowed.error());
  return false;
}

// Refuses a request for a table of another node, with that node's address and without effect.
bool refuse_of_others(const ServerOptions& options, Session& session, const OpSpec& spec,
                      const wire::Frame& frame) {
  const Bytes table = name_in(spec, frame.body).name;
  const std::string* owner = table.empty() ? nullptr : options.owners.find(table);
  if (owner == nullptr || *owner == options.advertise) return false;
  Error error(Errc::aborted,
              fmt::format("table '{}' is on another node, {}", escape_bytes(table), *owner));
  wire::TabletHint hint;
  hint.owner = *owner;
  session.reply_error(frame.header, std::move(error).retry_after(0), &hint);
  return true;
}

Result<void> check_header(ShardServer& shard, Session& session, const wire::FrameHeader& header) {
  if (!shard.security().has_principals()) return {};
  Result<void> allowed = check_access_of(find_op(header.op), shard.tables(), session, header);
  if (!allowed) count_denial(shard, session, header, allowed.error());
  return allowed;
}

void handle_frame(ShardServer& shard, Session& session, const wire::Frame& frame) {
  const OpSpec* spec = find_op(frame.header.op);
  if (!session.greeted() && (spec == nullptr || spec->scope != Scope::open)) {
    return session.reply_error(frame.header,
                               Error(Errc::failed_precondition, "the first request is a hello"));
  }
  if (!is_allowed(shard, session, spec, frame)) return;
  if (spec == nullptr) {
    return session.reply_error(
        frame.header,
        Error(Errc::unimplemented, fmt::format("operation {} does not exist", frame.header.op)));
  }
  const ServerOptions& options = shard.options();
  if (spec->table.has_owner && !options.owners.empty() &&
      refuse_of_others(options, session, *spec, frame)) {
    return;
  }
  if (shard.security().has_principals()) log_change(*spec, shard.tables(), session, frame);
  spec->handler(shard, session, frame);
}

class Dispatcher final : public RequestHandler {
 public:
  void handle(ShardServer& shard, Session& session, const wire::Frame& frame) const override {
    handle_frame(shard, session, frame);
  }
  Result<void> check_announced(ShardServer& shard, Session& session,
                               const wire::FrameHeader& header) const override {
    return check_header(shard, session, header);
  }
  bool needs_time(uint16_t op) const override {
    const OpSpec* spec = find_op(op);
    return spec != nullptr && spec->needs_time;
  }
};

}  // namespace

const RequestHandler& request_handler() {
  static const Dispatcher kDispatcher;
  return kDispatcher;
}

}  // namespace cellar::server
