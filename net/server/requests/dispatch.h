// Dispatch: passes a frame to the handler of its operation. A handler answers its request exactly
// once, now or later. It does not throw or block: waiting work continues by itself and holds the
// session, which lives until its last request is answered.
#pragma once

#include <string_view>

#include "net/server/shard/request_handler.h"
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
void handle_hello(LocalShard& shard, NodeShared& node, ShardSecurity& security, Session& session,
                  const wire::Frame& frame);
void handle_ping(LocalShard& shard, Session& session, const wire::Frame& frame);
void handle_server_info(LocalShard& shard, NodeShared& node, Session& session,
                        const wire::Frame& frame);
void handle_confirm_time(LocalShard& shard, Session& session, const wire::Frame& frame);
// ---- handlers_data.cc ----
void handle_mutate_row(ShardServer& shard, Session& session, const wire::Frame& frame);
// A MutateRow with a token.
void start_write_with_token(ShardServer& shard, Session& session, const wire::Frame& frame);
void handle_mutate_rows(ShardServer& shard, Session& session, const wire::Frame& frame);
void handle_drop_row_range(ShardServer& shard, Session& session, const wire::Frame& frame);
// ---- handlers_conditional.cc ----
void handle_check_and_mutate_row(ShardServer& shard, Session& session, const wire::Frame& frame);
void handle_read_modify_write_row(ShardServer& shard, Session& session, const wire::Frame& frame);
// ---- handlers_read.cc ----
void handle_read_row(ShardServer& shard, Session& session, const wire::Frame& frame);
void handle_read_rows(ShardServer& shard, Session& session, const wire::Frame& frame);
void handle_sample_row_keys(LocalShard& shard, Session& session, const wire::Frame& frame);
// ---- handlers_admin.cc ----
void handle_create_table(LocalShard& shard, Session& session, const wire::Frame& frame);
void handle_alter_table(LocalShard& shard, Session& session, const wire::Frame& frame);
void handle_drop_table(LocalShard& shard, Session& session, const wire::Frame& frame);
void handle_restore_table(LocalShard& shard, Session& session, const wire::Frame& frame);
void handle_list_tables(LocalShard& shard, Session& session, const wire::Frame& frame);
void handle_describe_table(LocalShard& shard, Session& session, const wire::Frame& frame);
void handle_flush_table(LocalShard& shard, Session& session, const wire::Frame& frame);
void handle_compact_table(LocalShard& shard, Session& session, const wire::Frame& frame);
// ---- handlers_audit.cc ----
void handle_audit_log(LocalShard& shard, Session& session, const wire::Frame& frame);
// ---- handlers_rules.cc ----
void handle_rule_history(LocalShard& shard, Session& session, const wire::Frame& frame);
void handle_undo_rule(LocalShard& shard, Session& session, const wire::Frame& frame);
// ---- handlers_preview.cc ----
void handle_preview_rule(LocalShard& shard, Session& session, const wire::Frame& frame);
// ---- handlers_tablets.cc ----
void handle_split_tablet(LocalShard& shard, Session& session, const wire::Frame& frame);
void handle_merge_tablets(LocalShard& shard, Session& session, const wire::Frame& frame);
void handle_move_tablet(LocalShard& shard, Session& session, const wire::Frame& frame);
void handle_list_tablets(LocalShard& shard, Session& session, const wire::Frame& frame);

// ---- handlers_backup.cc ----
void handle_backup(LocalShard& shard, NodeShared& node, Session& session, const wire::Frame& frame);

// ---- handlers_control.cc ----
void handle_control(LocalShard& shard, NodeShared& node, ShardSecurity& security, Session& session,
                    const wire::Frame& frame);
// ---- handlers_reclaim.cc ----
void handle_reclaim(LocalShard& shard, Session& session, const wire::Frame& frame);

// ---- for the handlers ----

// The verified body of a request, or null after refusing the request.
template <class Root>
const Root* body_of(Session& session, const wire::Frame& frame) {
  if (const Root* root = wire::verified<Root>(frame.body)) return root;
  session.reply_malformed(
      frame.header, Error(Errc::invalid_argument,
                          fmt::format("the body of {} bytes is no {} request", frame.body.size(),
                                      wire::op_name(frame.header.op))));
  return nullptr;
}

}  // namespace cellar::server
