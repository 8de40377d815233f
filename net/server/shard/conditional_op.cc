#include "net/server/shard/conditional_op.h"

#include "net/server/shard/session.h"
#include "net/server/shard/shard_server.h"
#include "net/server/shard/write_op.h"
#include "net/wire/chunk_builder.h"

namespace cellar::server {

void ConditionalOp::begin(ShardServer& shard, Session& session, const wire::FrameHeader& header) {
  home_ = &shard;
  session_ = &session;
  header_ = header;
  answered_ = false;
  deadline_us_ = session.deadline_us(header);
}

// Idle operations keep no values and no compiled filters.
void ConditionalOp::forget() {
  write_ = {};
  filter_.reset();
  if (body_.is_large()) decoded_ = {};
  body_.release(*home_);
  home_->conditional_ops.release(this);
}

void ConditionalOp::start(const engine::TabletDescriptor& tablet) {
  server = &home_->peer(tablet.shard);
  write_.tablet = tablet.id;
  write_.epoch = tablet.epoch;
  write_.level = decoded_.target.level;
  write_.row = decoded_.row;
  write_.then_mutations = decoded_.then_mutations;
  write_.else_mutations = decoded_.else_mutations;
  write_.rules = decoded_.rules;
  write_.filter = filter_ ? &*filter_ : nullptr;
  if (!decoded_.token.empty()) {
    token_scope_ = session_->token_scope();
    write_.token.client = token_scope_;
    write_.token.token = decoded_.token;
    write_.token.issued_us = decoded_.token_issued_us;
  }
  write_.done = engine_done;
  write_.context = this;
  if (deadline_us_ != 0) {
    if (!alarm_) {
      alarm_.emplace(
          home_->timers(), [](void* self) { static_cast<ConditionalOp*>(self)->on_deadline(); },
          this);
    }
    alarm_->arm_after_us(deadline_us_ - home_->timers().now_us());
  }
  if (server == home_) return submit();
  hand_over(*home_, [](HandedOver& self) { static_cast<ConditionalOp&>(self).submit(); });
}

// Runs on the tablet's shard.
void ConditionalOp::submit() {
  if (deadline_us_ != 0 && server->timers().now_us() >= deadline_us_) {
    write_.error = overdue_error(header_, Applied::not_applied);
    return come_home();
  }
  server->engine().submit(write_);
}

void ConditionalOp::engine_done(engine::ConditionalWrite& write) {
  static_cast<ConditionalOp*>(write.context)->come_home();
}

void ConditionalOp::come_home() {
  if (server == home_) return finish();
  run = [](MailboxMessage& self) { static_cast<ConditionalOp&>(self).finish(); };
  server->mailbox().send(home_->id(), *this);
}

// Runs on the home shard when the deadline passes first.
void ConditionalOp::on_deadline() {
  answered_ = true;
  session_->reply_error(header_, overdue_error(header_, Applied::maybe_applied));
}

void ConditionalOp::finish() {
  if (alarm_) alarm_->cancel();
  if (!answered_) answer();
  forget();
}

// That of the commit; 0 if nothing was committed now.
CommitStamp ConditionalOp::stamp() const {
  return write_.repeated ? CommitStamp{} : write_.commit.stamp;
}

int64_t ConditionalOp::timestamp_us() const {
  return stamp() == CommitStamp{} ? 0 : server_timestamp_us(stamp(), granularity_);
}

void ConditionalOp::answer() {
  if (write_.error) return session_->reply_error(header_, *write_.error);
  if (write_.plain) return answer_plain();
  if (!write_.rules.empty()) return answer_cells();
  auto& builder = home_->builder();
  builder.Clear();
  const auto reply = wire::fb::CreateCheckAndMutateRowReply(
      builder, write_.matched, false, write_.repeated, stamp().value(), timestamp_us());
  session_->reply(header_, wire::finish_body(builder, reply));
}

void ConditionalOp::answer_plain() {
  auto& builder = home_->builder();
  builder.Clear();
  const auto reply = wire::fb::CreateMutateRowReply(builder, false, write_.repeated,
                                                    stamp().value(), timestamp_us());
  session_->reply(header_, wire::finish_body(builder, reply));
}

void ConditionalOp::answer_cells() {
  wire::ChunkBuilder chunk(SIZE_MAX);
  for (const Mutation& cell : write_.new_cells) {
    chunk.cell({write_.row, cell.family, cell.qualifier, cell.timestamp_us, cell.value});
  }
  chunk.end_row(write_.row);
  if (write_.repeated) chunk.set_repeated(write_.answer_not_kept);
  chunk.set_commit_stamp(stamp().value());
  session_->reply(header_, chunk.finish());
}

}  // namespace cellar::server
