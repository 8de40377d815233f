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

// Decodes the body that the operation keeps, and checks it: form, existence, availability. The
// tablet of the row.
template <class Request>
std::expected<const TabletDescriptor*, Refusal> prepare(ShardServer& shard, const Frame& frame,
                                                        Bytes body, const FilterSpec& filter,
                                                        ConditionalOp& op) {
  TRY_VOID(wire::decode(*wire::verified<Request>(body), op.decoded()));
  if (!filter.empty()) {
    TRY(auto plan, engine::plan_filter(filter));
    op.set_filter(std::move(plan));
  }
  const auto table = find_table(shard.tables(), frame.header, op.decoded().target.table);
  if (!table) {
    const Result<void> form =
        validate_form<Request>(op.decoded(), TableSchema(), shard.options().engine.limits);
    return std::unexpected(existence_error(form, table.error()));
  }
  TRY_VOID(check_granularity(filter, (*table)->schema.granularity));
  op.set_granularity((*table)->schema.granularity);
  const TabletDescriptor& tablet = (*table)->locate(op.decoded().row);
  TRY_VOID(check_names(frame.header, tablet));
  if (!tablet.held) TRY_VOID(admit(shard, op.decoded()));
  return &tablet;
}

template <class Request>
Handled start_op(ShardServer& shard, Session& session, const Frame& frame,
                 const FilterSpec& filter) {
  TRY_VOID(shard.admission().hold_bytes(frame.body.size()));
  ConditionalOp* op = shard.conditional_ops.acquire();
  op->begin(shard, session, frame.header);
  const auto tablet = prepare<Request>(shard, frame, op->keep_body(frame.body), filter, *op);
  if (!tablet || (*tablet)->held) {
    op->forget();
    TRY_VOID(tablet);
    session.hold();
    return {};
  }
  if constexpr (kPlain<Request>) op->set_plain();
  if (!op->decoded().token.empty()) op->set_content(content_of<Request>(op->decoded(), filter));
  op->start(**tablet);
  return {};
}

}  // namespace

Handled handle_check_and_mutate_row(ShardServer& shard, Session& session, const Frame& frame) {
  TRY(const auto* request, body_of<wire::fb::CheckAndMutateRowRequest>(frame));
  FilterSpec filter;
  TRY_VOID(wire::decode_filter(request->filter(), wire::bytes_of(request->arena()), filter));
  return start_op<wire::fb::CheckAndMutateRowRequest>(shard, session, frame, filter);
}

Handled handle_read_modify_write_row(ShardServer& shard, Session& session, const Frame& frame) {
  TRY_VOID(body_of<wire::fb::ReadModifyWriteRowRequest>(frame));
  return start_op<wire::fb::ReadModifyWriteRowRequest>(shard, session, frame, {});
}

Handled start_write_with_token(ShardServer& shard, Session& session, const Frame& frame) {
  return start_op<wire::fb::MutateRowRequest>(shard, session, frame, {});
}

}  // namespace cellar::server
