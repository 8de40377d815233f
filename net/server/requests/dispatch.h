// Dispatch: passes a frame to the handler of its operation. A handler answers its request exactly
// once, now or later, or returns a refusal, which is sent here. It does not throw or block: waiting
// work continues by itself and holds the session, which lives until its last request is answered.
#pragma once

#include <expected>
#include <string_view>

#include "engine/catalog/table_map.h"
#include "io/loop/async.h"
#include "net/server/access/op_spec.h"
#include "net/server/shard/request_handler.h"
#include "net/server/shard/router.h"
#include "net/server/shard/session.h"
#include "net/wire/body.h"
#include "net/wire/frame.h"
#include "net/wire/op.h"

namespace cellar::server {

class LocalShard;
class ShardSecurity;
struct NodeShared;

// The handler of every operation of the protocol.
const RequestHandler& request_handler();

// ---- handlers_node.cc ----
Handled handle_hello(LocalShard& shard, NodeShared& node, ShardSecurity& security, Session& session,
                     const wire::Frame& frame);
Handled handle_ping(LocalShard& shard, Session& session, const wire::Frame& frame);
Handled handle_server_info(LocalShard& shard, NodeShared& node, Session& session,
                           const wire::Frame& frame);
Handled handle_confirm_time(LocalShard& shard, Session& session, const wire::Frame& frame);
// ---- handlers_data.cc ----
Handled handle_mutate_row(ShardServer& shard, Session& session, const wire::Frame& frame);
Handled handle_put(ShardServer& shard, Session& session, const wire::Frame& frame);
// A MutateRow with a token.
Handled start_write_with_token(ShardServer& shard, Session& session, const wire::Frame& frame);
Handled handle_mutate_rows(ShardServer& shard, Session& session, const wire::Frame& frame);
Handled handle_drop_row_range(ShardServer& shard, Session& session, const wire::Frame& frame);
// ---- handlers_conditional.cc ----
Handled handle_check_and_mutate_row(ShardServer& shard, Session& session, const wire::Frame& frame);
Handled handle_read_modify_write_row(ShardServer& shard, Session& session,
                                     const wire::Frame& frame);
// ---- handlers_read.cc ----
Handled handle_read_row(ShardServer& shard, Session& session, const wire::Frame& frame);
Handled handle_read_rows(ShardServer& shard, Session& session, const wire::Frame& frame);
Handled handle_sample_row_keys(LocalShard& shard, Session& session, const wire::Frame& frame);
// ---- handlers_get.cc ----
Handled handle_get(ShardServer& shard, Session& session, const wire::Frame& frame);
// ---- handlers_admin.cc ----
Handled handle_create_table(LocalShard& shard, Session& session, const wire::Frame& frame);
Handled handle_alter_table(LocalShard& shard, Session& session, const wire::Frame& frame);
Handled handle_drop_table(LocalShard& shard, Session& session, const wire::Frame& frame);
Handled handle_restore_table(LocalShard& shard, Session& session, const wire::Frame& frame);
Handled handle_list_tables(LocalShard& shard, Session& session, const wire::Frame& frame);
Handled handle_describe_table(LocalShard& shard, Session& session, const wire::Frame& frame);
Handled handle_flush_table(LocalShard& shard, Session& session, const wire::Frame& frame);
Handled handle_compact_table(LocalShard& shard, Session& session, const wire::Frame& frame);
// ---- handlers_audit.cc ----
Handled handle_audit_log(LocalShard& shard, Session& session, const wire::Frame& frame);
Handled handle_rule_history(LocalShard& shard, Session& session, const wire::Frame& frame);
Handled handle_undo_rule(LocalShard& shard, Session& session, const wire::Frame& frame);
// ---- handlers_preview.cc ----
Handled handle_preview_rule(LocalShard& shard, Session& session, const wire::Frame& frame);
// ---- handlers_index.cc ----
Handled handle_create_index(LocalShard& shard, Session& session, const wire::Frame& frame);
Handled handle_alter_index(LocalShard& shard, Session& session, const wire::Frame& frame);
Handled handle_drop_index(LocalShard& shard, Session& session, const wire::Frame& frame);
Handled handle_describe_indexes(LocalShard& shard, Session& session, const wire::Frame& frame);
Handled handle_check_index(LocalShard& shard, Session& session, const wire::Frame& frame);
Handled handle_read_index(ShardServer& shard, Session& session, const wire::Frame& frame);
// ---- handlers_tablets.cc ----
Handled handle_split_tablet(LocalShard& shard, Session& session, const wire::Frame& frame);
Handled handle_merge_tablets(LocalShard& shard, Session& session, const wire::Frame& frame);
Handled handle_move_tablet(LocalShard& shard, Session& session, const wire::Frame& frame);
Handled handle_list_tablets(LocalShard& shard, Session& session, const wire::Frame& frame);

// ---- handlers_backup.cc ----
Handled handle_backup(LocalShard& shard, NodeShared& node, Session& session,
                      const wire::Frame& frame);

// ---- handlers_control.cc ----
Handled handle_control(LocalShard& shard, NodeShared& node, ShardSecurity& security,
                       Session& session, const wire::Frame& frame);
// ---- handlers_reclaim.cc ----
Handled handle_reclaim(LocalShard& shard, Session& session, const wire::Frame& frame);

// ---- for the handlers ----

// The refusal of a body that is no request of its operation.
inline Refusal malformed(Error error) {
  Refusal refusal(std::move(error));
  refusal.malformed = true;
  return refusal;
}

// The verified body of a request.
template <class Root>
std::expected<const Root*, Refusal> body_of(const wire::Frame& frame) {
  if (const Root* root = wire::verified<Root>(frame.body)) return root;
  return std::unexpected(malformed(Error(
      Errc::invalid_argument, fmt::format("the body of {} bytes is no {} request",
                                          frame.body.size(), wire::op_name(frame.header.op)))));
}

// Refuses a request whose header names another tablet or epoch than that of the row.
inline Handled check_names(const wire::FrameHeader& header,
                           const engine::TabletDescriptor& tablet) {
  if (names_tablet(header, tablet)) return {};
  return std::unexpected(Refusal(stale_error(header, tablet), hint_of(tablet)));
}

// Starts `work`; its body, or its error, answers the request. The body may be in the shard's
// builder.
Handled answer_with(LocalShard& shard, Session& session, const wire::FrameHeader& header,
                    Async<Result<Bytes>> work);
// The same with the description of the table that `change` returns.
Handled describe_with(LocalShard& shard, Session& session, const wire::FrameHeader& header,
                      Async<Result<engine::TableEntry>> change);

}  // namespace cellar::server
