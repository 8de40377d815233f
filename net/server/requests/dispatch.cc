#include "net/server/requests/dispatch.h"

#include <array>

#include "engine/engine.h"
#include "net/server/access/access.h"
#include "net/server/requests/op_table.h"
#include "net/server/requests/table_codec.h"
#include "net/server/shard/shard_server.h"

namespace cellar::server {
namespace {

void count_denial(ShardServer& shard, Session& session, const wire::FrameHeader& header,
                  const Error& error) {
  ++shard.security().counters().denials;
  shard.security().audit_flood(denial_event(session, header, error));
}

// Checks the node's principals.
Result<void> check_allowed(ShardServer& shard, Session& session, const OpSpec* spec,
                           const wire::Frame& frame) {
  if (!shard.security().has_principals()) return {};
  Result<void> allowed = check_access(spec, shard.tables(), session, frame);
  if (!allowed) count_denial(shard, session, frame.header, allowed.error());
  return allowed;
}

// The name by which the owner of the table is found. A handle decides, whatever the body says; that
// of a number is of this node, and then the name is empty.
Bytes owned_name(const OpSpec& spec, const wire::Frame& frame) {
  if (spec.table.by_id) {
    if (!frame.header.table_name.empty()) return frame.header.table_name;
    if (frame.header.table_id != 0) return {};
  }
  return name_in(spec, frame.body).name;
}

// Refuses a request for a table of another node, with that node's address and without effect.
Handled check_owner(const ServerOptions& options, const OpSpec& spec, const wire::Frame& frame) {
  if (!spec.table.has_owner || options.owners.empty()) return {};
  const Bytes table = owned_name(spec, frame);
  const std::string* owner = table.empty() ? nullptr : options.owners.find(table);
  if (owner == nullptr || *owner == options.advertise) return {};
  Error error(Errc::aborted,
              fmt::format("table '{}' is on another node, {}", escape_bytes(table), *owner));
  wire::TabletHint hint;
  hint.owner = *owner;
  return std::unexpected(Refusal(std::move(error).retry_after(0), std::move(hint)));
}

Result<void> check_header(ShardServer& shard, Session& session, const wire::FrameHeader& header) {
  if (!shard.security().has_principals()) return {};
  Result<void> allowed = check_access_of(find_op(header.op), shard.tables(), session, header);
  if (!allowed) count_denial(shard, session, header, allowed.error());
  return allowed;
}

Handled handle_frame(ShardServer& shard, Session& session, const wire::Frame& frame) {
  const OpSpec* spec = find_op(frame.header.op);
  if (!session.greeted() && (spec == nullptr || spec->scope != Scope::open)) {
    return fail(Errc::failed_precondition, "the first request is a hello");
  }
  TRY_VOID(check_allowed(shard, session, spec, frame));
  if (spec == nullptr) {
    return fail(Errc::unimplemented, "operation {} does not exist", frame.header.op);
  }
  TRY_VOID(check_owner(shard.options(), *spec, frame));
  if (shard.security().has_principals()) log_change(*spec, shard.tables(), session, frame);
  return spec->handler(shard, session, frame);
}

Async<void> answer(Session& session, wire::FrameHeader header, Async<Result<Bytes>> work) {
  const Result<Bytes> body = co_await std::move(work);
  if (!body) co_return session.reply_error(header, body.error());
  session.reply(header, *body);
}

Async<Result<Bytes>> description_after(LocalShard& shard,
                                       Async<Result<engine::TableEntry>> change) {
  CO_TRY(const engine::TableEntry table, co_await std::move(change));
  co_return build_description(shard.builder(), table, shard.clock().expected_us());
}

class Dispatcher final : public RequestHandler {
 public:
  void handle(ShardServer& shard, Session& session, const wire::Frame& frame) const override {
    const Handled handled = handle_frame(shard, session, frame);
    if (handled) return;
    const Refusal& refusal = handled.error();
    if (refusal.malformed) return session.reply_malformed(frame.header, refusal.error);
    session.reply_error(frame.header, refusal.error, refusal.hint ? &*refusal.hint : nullptr);
  }
  size_t rows_of(ShardServer& shard, HandleTable& handles, std::span<wire::Frame> frames,
                 std::span<engine::ExpectedRow> rows) const override {
    size_t count = 0;
    for (wire::Frame& frame : frames) {
      const OpSpec* spec = find_op(frame.header.op);
      const bool known = spec != nullptr && spec->row_of != nullptr && frame.header.handle != 0;
      if (!known || frame.header.kind != wire::FrameKind::request) continue;
      const Bytes row = spec->row_of(frame.body);
      if (row.empty() || count == rows.size()) continue;
      const bool resolved = handles.resolve(frame.header, shard.tables()).has_value();
      if (!resolved || frame.header.table == nullptr) continue;
      rows[count++] = {frame.header.table->locate(row).id, row, spec->writes_row};
    }
    return count;
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

Handled answer_with(LocalShard& shard, Session& session, const wire::FrameHeader& header,
                    Async<Result<Bytes>> work) {
  spawn(shard.executor(), answer(session, header, std::move(work)));
  return {};
}

Handled describe_with(LocalShard& shard, Session& session, const wire::FrameHeader& header,
                      Async<Result<engine::TableEntry>> change) {
  return answer_with(shard, session, header, description_after(shard, std::move(change)));
}

const RequestHandler& request_handler() {
  static const Dispatcher kDispatcher;
  return kDispatcher;
}

}  // namespace cellar::server
