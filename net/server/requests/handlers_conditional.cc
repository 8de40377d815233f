// CheckAndMutateRow, ReadModifyWriteRow, and MutateRow with a token.
#include <type_traits>

#include "engine/filter/compiled_filter.h"
#include "engine/model/content_hash.h"
#include "net/server/requests/dispatch.h"
#include "net/server/shard/conditional_op.h"
#include "net/server/shard/router.h"
#include "net/server/shard/shard_server.h"
#include "net/wire/filter_codec.h"

namespace cellar::server {

using engine::TabletDescriptor;
using wire::Frame;

namespace {

template <class Request>
constexpr bool kModify = std::is_same_v<Request, wire::fb::ReadModifyWriteRowRequest>;
template <class Request>
constexpr bool kPlain = std::is_same_v<Request, wire::fb::MutateRowRequest>;

template <class Request>
Result<void> validate_form(const wire::DecodedConditional& decoded, const TableSchema& schema,
                           const MutationLimits& limits) {
  if constexpr (kModify<Request>) {
    return validate_modify(decoded.row, decoded.rules, schema, limits);
  } else if constexpr (kPlain<Request>) {
    return validate_mutation({decoded.row, decoded.then_mutations}, schema, limits);
  } else {
    return validate_check(decoded.row, decoded.then_mutations, decoded.else_mutations, schema,
                          limits);
  }
}

template <class Request>
ContentHash content_of(const wire::DecodedConditional& decoded, const FilterSpec& filter) {
  if constexpr (kModify<Request>) return hash_of_modify(decoded.rules);
  if constexpr (kPlain<Request>) return hash_of_mutations(decoded.then_mutations);
  return hash_of_check(filter, decoded.then_mutations, decoded.else_mutations);
}

// Admits both branches of the condition.
Result<void> admit(const ShardServer& shard, const wire::DecodedConditional& decoded) {
  if (!decoded.rules.empty()) return shard.admit_growth();
  TRY_VOID(shard.admit_growth(decoded.then_mutations));
  return shard.admit_growth(decoded.else_mutations);
}

template <class Request>
void start(ShardServer& shard, Session& session, const Frame& frame, const FilterSpec& filter) {
  if (auto held = shard.admission().hold_bytes(frame.body.size()); !held) {
    return session.reply_error(frame.header, held.error());
  }
  ConditionalOp* op = shard.conditional_ops.take();
  op->begin(shard, session, frame.header);
  const Bytes body = op->keep_body(frame.body);
  const auto refuse = [&](const Error& error, const wire::TabletHint* hint = nullptr) {
    session.reply_error(frame.header, error, hint);
    op->forget();
  };
  if (auto ok = wire::decode(*wire::verified<Request>(body), op->decoded()); !ok) {
    return refuse(ok.error());
  }
  if (!filter.empty()) {
    auto plan = engine::plan_filter(filter);
    if (!plan) return refuse(plan.error());
    op->set_filter(std::move(*plan));
  }
  const auto table = find_table(shard.tables(), frame.header, op->decoded().target.table);
  if (!table) {
    const Result<void> form =
        validate_form<Request>(op->decoded(), TableSchema(), shard.options().engine.limits);
    return refuse(existence_error(form, table.error()));
  }
  if (auto ok = check_granularity(filter, (*table)->schema.granularity); !ok) {
    return refuse(ok.error());
  }
  const TabletDescriptor& tablet = (*table)->locate(op->decoded().row);
  if (!names_tablet(frame.header, tablet)) {
    const wire::TabletHint hint = hint_of(tablet);
    return refuse(stale_error(frame.header, tablet), &hint);
  }
  if (tablet.held) {
    op->forget();
    return session.hold();
  }
  if (auto room = admit(shard, op->decoded()); !room) return refuse(room.error());
  if constexpr (kPlain<Request>) op->set_plain();
  if (!op->decoded().token.empty()) op->set_content(content_of<Request>(op->decoded(), filter));
  op->start(tablet);
}

}  // namespace

void handle_check_and_mutate_row(ShardServer& shard, Session& session, const Frame& frame) {
  const auto* request = body_of<wire::fb::CheckAndMutateRowRequest>(session, frame);
  if (request == nullptr) return;
  FilterSpec filter;
  if (auto ok = wire::decode_filter(request->filter(), wire::bytes_of(request->arena()), filter);
      !ok) {
    return session.reply_error(frame.header, ok.error());
  }
  start<wire::fb::CheckAndMutateRowRequest>(shard, session, frame, filter);
}

void handle_read_modify_write_row(ShardServer& shard, Session& session, const Frame& frame) {
  const auto* request = body_of<wire::fb::ReadModifyWriteRowRequest>(session, frame);
  if (request == nullptr) return;
  start<wire::fb::ReadModifyWriteRowRequest>(shard, session, frame, {});
}

void start_write_with_token(ShardServer& shard, Session& session, const Frame& frame) {
  start<wire::fb::MutateRowRequest>(shard, session, frame, {});
}

}  // namespace cellar::server
