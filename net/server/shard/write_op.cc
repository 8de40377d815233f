#include "net/server/shard/write_op.h"

#include "engine/model/content_hash.h"
#include "net/server/shard/router.h"
#include "net/server/shard/session.h"
#include "net/server/shard/shard_server.h"
#include "net/wire/point_codec.h"

namespace cellar::server {

Error overdue_error(const wire::FrameHeader& header, Applied applied) {
  Error error(Errc::deadline_exceeded,
              fmt::format("the write was not done within its {} ms", header.deadline_ms));
  error.applied = applied;
  return error;
}

int64_t server_timestamp_us(CommitStamp stamp, Granularity granularity) {
  const auto us = static_cast<int64_t>(stamp.value() / 1000);
  return us - us % granule_us(granularity);
}

namespace {

// Total size of messages in one reply; entries beyond it have only their status.
constexpr size_t kMaxFailureText = 1u << 20;

void single_overdue(void* context) {
  auto* op = static_cast<SingleWrite*>(context);
  op->answered = true;
  op->session->reply_error(op->header, overdue_error(op->header, Applied::maybe_applied));
}

void answer_one(LocalShard& shard, Session& session, const wire::FrameHeader& header,
                CommitStamp stamp, Granularity granularity, SingleWrite::Layout layout) {
  const int64_t timestamp_us = server_timestamp_us(stamp, granularity);
  if (layout == SingleWrite::Layout::fixed) {
    return session.reply(header, wire::put_reply({stamp.value(), timestamp_us}));
  }
  auto& builder = shard.builder();
  builder.Clear();
  const auto reply =
      wire::fb::CreateMutateRowReply(builder, false, false, stamp.value(), timestamp_us);
  session.reply(header, wire::finish_body(builder, reply));
}

void single_done(engine::Write& write) {
  auto* op = static_cast<SingleWrite*>(write.context);
  if (op->alarm) op->alarm->cancel();
  if (op->answered) {
    // The client is gone.
  } else if (write.error) {
    op->session->reply_error(op->header, *write.error);
  } else {
    answer_one(*op->shard, *op->session, op->header, write.stamp, op->granularity, op->layout);
  }
  op->shard->single_writes.release(op);
}

}  // namespace

void start_single_write(ShardServer& shard, Session& session, const wire::FrameHeader& header,
                        const wire::DecodedWrites& decoded, const engine::TabletDescriptor& tablet,
                        Granularity granularity, SingleWrite::Layout layout) {
  SingleWrite* op = shard.single_writes.acquire();
  op->shard = &shard;
  op->session = &session;
  op->header = header;
  op->answered = false;
  op->granularity = granularity;
  op->layout = layout;
  if (header.deadline_ms != 0) {
    if (!op->alarm) op->alarm.emplace(shard.timers(), single_overdue, op);
    op->alarm->arm_after_us(session.deadline_us(header) - shard.timers().now_us());
  }
  engine::Write& write = op->write;
  write.tablet = tablet.id;
  write.epoch = tablet.epoch;
  write.level = decoded.target.level;
  write.mutation = decoded.mutation(0);
  write.error.reset();
  write.done = single_done;
  write.context = op;
  shard.engine().submit(write);
}

void BatchWrite::begin(ShardServer& shard, Session& session, const wire::FrameHeader& header,
                       Answer answer, size_t parts) {
  home_ = &shard;
  session_ = &session;
  header_ = header;
  answer_ = answer;
  parts_ = parts;
  sub_batches_used_ = 0;
  token_writes_.clear();
  answered_ = false;
  dropped_before_.reset();
  deadline_us_ = session.deadline_us(header);
  if (parts > writes_capacity_) {
    writes_ = std::make_unique<engine::Write[]>(parts);
    writes_capacity_ = parts;
  }
  for (size_t i = 0; i < parts; ++i) {
    writes_[i].error.reset();
    writes_[i].range.reset();
    writes_[i].range_token = nullptr;
    writes_[i].level.reset();
    writes_[i].mutation = {};
  }
}

RangeDelete BatchWrite::keep_range(std::string start, std::string end) {
  range_start_ = std::move(start);
  range_end_ = std::move(end);
  return {range_start_, range_end_};
}

const WriteToken* BatchWrite::keep_range_token(Bytes token, int64_t issued_us,
                                               std::optional<uint32_t> dropped_before,
                                               CommitStamp first_stamp) {
  token_scope_ = session_->token_scope();
  range_token_text_ = token;
  range_token_ = {token_scope_, range_token_text_, issued_us,
                  hash_of_range({range_start_, range_end_})};
  dropped_before_ = dropped_before;
  first_stamp_ = first_stamp;
  return &range_token_;
}

BatchWrite::SubBatch& BatchWrite::sub_batch_on(ShardId shard) {
  for (size_t i = 0; i < sub_batches_used_; ++i) {
    if (sub_batches_[i]->server->id() == shard) return *sub_batches_[i];
  }
  if (sub_batches_used_ == sub_batches_.size())
    sub_batches_.push_back(std::make_unique<SubBatch>());
  SubBatch& sub = *sub_batches_[sub_batches_used_++];
  sub.batch = this;
  sub.server = &home_->peer(shard);
  sub.parts.clear();
  return sub;
}

engine::Write& BatchWrite::add(size_t index, const engine::TabletDescriptor& tablet) {
  SubBatch& sub = sub_batch_on(tablet.shard);
  sub.parts.push_back(static_cast<uint32_t>(index));
  engine::Write& write = writes_[index];
  write.tablet = tablet.id;
  write.epoch = tablet.epoch;
  write.done = part_done;
  write.context = &sub;
  return write;
}

void BatchWrite::add_with_token(size_t index, const engine::TabletDescriptor& tablet) {
  engine::Write& part = add(index, tablet);
  if (token_writes_.empty()) {
    token_writes_.resize(parts_);
    token_scope_ = session_->token_scope();
  }
  const wire::RowWrite& row = decoded_.rows[index];
  const std::span<const Mutation> mutations = decoded_.mutation(index).mutations;
  auto write = std::make_unique<engine::ConditionalWrite>();
  write->tablet = part.tablet;
  write->epoch = part.epoch;
  write->level = decoded_.target.level;
  write->row = row.row;
  write->then_mutations = mutations;
  write->plain = true;
  write->token = {token_scope_, row.token, row.token_issued_us, hash_of_mutations(mutations)};
  write->done = token_part_done;
  write->context = &part;
  token_writes_[index] = std::move(write);
}

void BatchWrite::refuse(size_t index, Error error) { writes_[index].error = std::move(error); }

void BatchWrite::forget() {
  const bool large = body_.is_large();
  body_.release(*home_);
  trim(large);
  home_->batch_writes.release(this);
}

void BatchWrite::start() {
  // One more than the number of sub-batches, so that one that finishes inside this loop does not
  // end the batch.
  sub_batches_left_ = sub_batches_used_ + 1;
  if (deadline_us_ != 0) {
    if (!alarm_) {
      alarm_.emplace(
          home_->timers(), [](void* self) { static_cast<BatchWrite*>(self)->on_deadline(); }, this);
    }
    alarm_->arm_after_us(deadline_us_ - home_->timers().now_us());
  }
  for (size_t i = 0; i < sub_batches_used_; ++i) {
    SubBatch& sub = *sub_batches_[i];
    if (sub.server == home_) {
      submit(sub);
    } else {
      sub.hand_over(*home_, [](HandedOver& self) { submit(static_cast<SubBatch&>(self)); });
    }
  }
  finish_sub_batch();
}

// Runs on the shard that serves the sub-batch.
void BatchWrite::submit(SubBatch& sub) {
  const int64_t deadline_us = sub.batch->deadline_us_;
  if (deadline_us != 0 && sub.server->timers().now_us() >= deadline_us) {
    sub.batch->refuse_overdue(sub);
    return sub_batch_done(sub);
  }
  sub.left = sub.parts.size() + 1;
  for (const uint32_t part : sub.parts) sub.batch->submit_part(*sub.server, part);
  if (--sub.left == 0) sub_batch_done(sub);
}

void BatchWrite::submit_part(ShardServer& server, uint32_t part) {
  const bool has_token = !token_writes_.empty() && token_writes_[part] != nullptr;
  if (has_token) return server.engine().submit(*token_writes_[part]);
  server.engine().submit(writes_[part]);
}

void BatchWrite::refuse_overdue(SubBatch& sub) {
  for (const uint32_t part : sub.parts) {
    writes_[part].error = overdue_error(header_, Applied::not_applied);
  }
}

// Runs on the home shard: the deadline passed before all parts were done.
void BatchWrite::on_deadline() {
  answered_ = true;
  session_->reply_error(header_, overdue_error(header_, Applied::maybe_applied));
}

// Frees the memory of a large batch, so that the pool does not accumulate it.
void BatchWrite::trim(bool was_large) {
  if (!was_large && writes_capacity_ <= kKeepParts && decoded_.mutations.capacity() <= kKeepParts &&
      token_writes_.empty()) {
    return;
  }
  writes_.reset();
  writes_capacity_ = 0;
  decoded_ = wire::DecodedWrites();
  token_writes_.clear();
  sub_batches_.clear();
}

void BatchWrite::part_done(engine::Write& write) {
  auto& sub = *static_cast<SubBatch*>(write.context);
  if (--sub.left == 0) sub_batch_done(sub);
}

void BatchWrite::token_part_done(engine::ConditionalWrite& write) {
  auto& part = *static_cast<engine::Write*>(write.context);
  part.error = std::move(write.error);
  part_done(part);
}

void BatchWrite::sub_batch_done(SubBatch& sub) {
  ShardServer* home = sub.batch->home_;
  if (sub.server == home) return sub.batch->finish_sub_batch();
  sub.run = [](MailboxMessage& self) { static_cast<SubBatch&>(self).batch->finish_sub_batch(); };
  sub.server->mailbox().send(home->id(), sub);
}

void BatchWrite::finish_sub_batch() {
  if (--sub_batches_left_ > 0) return;
  if (alarm_) alarm_->cancel();
  if (!answered_) answer();
  forget();
}

void BatchWrite::answer() {
  if (answer_ == Answer::many_rows) return answer_many();
  // A drop that failed in one tablet may have been committed in others.
  size_t failed = 0;
  const Error* first = nullptr;
  for (size_t i = 0; i < parts_; ++i) {
    if (!writes_[i].error) continue;
    ++failed;
    if (first == nullptr) first = &*writes_[i].error;
  }
  if (first != nullptr) {
    Error error = *first;
    if ((failed < parts_ || dropped_before_) && error.applied == Applied::not_applied) {
      error.applied = Applied::maybe_applied;
    }
    return session_->reply_error(header_, error);
  }
  if (answer_ == Answer::drop) return answer_drop();
  const bool fixed = answer_ == Answer::put;
  answer_one(*home_, *session_, header_, writes_[0].stamp, granularity_,
             fixed ? SingleWrite::Layout::fixed : SingleWrite::Layout::flatbuffer);
}

void BatchWrite::answer_drop() {
  auto& builder = home_->builder();
  builder.Clear();
  const uint32_t tablets = static_cast<uint32_t>(parts_) + dropped_before_.value_or(0);
  CommitStamp latest = dropped_before_ ? first_stamp_ : CommitStamp{};
  for (size_t i = 0; i < parts_; ++i) latest = std::max(latest, writes_[i].stamp);
  const auto reply = wire::fb::CreateDropRowRangeReply(builder, tablets, latest.value());
  session_->reply(header_, wire::finish_body(builder, reply));
}

void BatchWrite::answer_many() {
  std::vector<wire::fb::EntryFailure> failures;
  wire::ArenaBuilder arena;
  for (size_t i = 0; i < parts_; ++i) {
    if (!writes_[i].error) continue;
    const Error& error = *writes_[i].error;
    const bool room = arena.size() < kMaxFailureText;
    const Bytes message = Bytes(error.message).substr(0, room ? wire::kMaxStatusMessageBytes : 0);
    const wire::fb::Span span = arena.add(message);
    failures.emplace_back(static_cast<uint32_t>(i), error.retry_after_ms, span,
                          static_cast<uint8_t>(error.code), static_cast<uint8_t>(error.applied), 0);
  }
  if (failures.empty()) return session_->reply(header_, Bytes());
  auto& builder = home_->builder();
  builder.Clear();
  const auto list = builder.CreateVectorOfStructs(failures);
  const auto bytes = arena.finish(builder);
  session_->reply(
      header_, wire::finish_body(builder, wire::fb::CreateMutateRowsReply(builder, list, bytes)));
}

}  // namespace cellar::server
