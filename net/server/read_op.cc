#include "net/server/read_op.h"

#include <algorithm>

#include "net/server/session.h"
#include "net/server/shard_server.h"

namespace cellar::server {

using engine::ScanStep;

// ---- the slice, on the tablet's shard ----

void ReadSlice::go_on() {
  if (abandon) return end(ScanStep::done);
  if (!cursor) {
    auto opened = server->engine().open_scan(tablet, epoch, op->read.spec);
    if (!opened) {
      error = std::move(opened).error();
      return end(ScanStep::failed);
    }
    cursor = std::move(*opened);
  }
  const ScanStep how = cursor->run(op->builder);
  switch (how) {
    case ScanStep::blocked:
      return spawn(server->executor(), load_and_go_on(*this));
    case ScanStep::yielded:
      if (server != op->home && ++yields < kYieldsAway) return server->continue_later(*this);
      break;
    case ScanStep::failed:
      error = cursor->error();
      break;
    default:
      break;
  }
  end(how);
}

Async<void> ReadSlice::load_and_go_on(ReadSlice& slice) {
  co_await slice.cursor->load();
  slice.go_on();
}

void ReadSlice::end(ScanStep how) {
  step = how;
  yields = 0;
  if (how == ScanStep::done || how == ScanStep::failed) cursor.reset();
  if (server == op->home) return op->slice_done();
  run = [](MailboxMessage& self) { static_cast<ReadSlice&>(self).op->slice_done(); };
  server->mailbox().send(op->home->id(), *this);
}

// ---- the op, at home ----

void ReadOp::begin(ShardServer& shard, Session& of, const wire::FrameHeader& request,
                   bool is_single) {
  home = &shard;
  session = &of;
  header = request;
  single_ = is_single;
  targets.clear();
  at = 0;
  builder.reset();
  row_limit_ = read.spec.row_limit;
  credits_ = is_single ? UINT32_MAX : read.credits;
  deadline_us_ =
      request.deadline_ms == 0 ? 0 : shard.timers().now_us() + request.deadline_ms * int64_t{1000};
  waiting_ = Waiting::no;
  cancelled_ = finishing_ = chunk_sent_ = false;
  slice_.op = this;
  slice_.abandon = false;
  slice_.error.reset();
  slice_.yields = 0;
}

void ReadOp::start() {
  session->add_read(*this);
  if (targets.empty()) return finish();
  next_tablet();
}

// Begins with targets[at].
void ReadOp::next_tablet() {
  const Target& target = targets[at];
  slice_.server = &home->peer(target.shard);
  slice_.tablet = target.tablet;
  slice_.epoch = target.epoch;
  if (row_limit_ != 0) read.spec.row_limit = row_limit_ - builder.rows();
  run_slice();
}

void ReadOp::run_slice() {
  if (slice_.server == home) return slice_.go_on();
  home->count_handed_over();
  slice_.run = [](MailboxMessage& self) { static_cast<ReadSlice&>(self).go_on(); };
  home->mailbox().send(slice_.server->id(), slice_);
}

void ReadOp::slice_done() {
  if (slice_.error) return fail_with(*slice_.error);
  if (slice_.abandon) return fail_with(stop_reason());
  if (builder.open_row_bytes() > kMaxRowBytes) {
    slice_.error = Error(Errc::failed_precondition,
                         fmt::format("row '{}' is larger than {} bytes as returned",
                                     escape_bytes(builder.open_row()), kMaxRowBytes));
    return slice_.step == ScanStep::done ? fail_with(*slice_.error) : close_cursor();
  }
  if (slice_.step == ScanStep::done) {
    const bool enough = row_limit_ != 0 && builder.rows() >= row_limit_;
    if (enough || ++at == targets.size()) return finish();
    if (must_stop()) return fail_with(stop_reason());
    return home->continue_later(*this);  // not from inside: a table may have many empty tablets
  }
  if (must_stop()) return close_cursor();
  if (slice_.step == ScanStep::paused) send_chunk();
  proceed();
}

// Between two slices, or two tablets.
void ReadOp::proceed() {
  if (credits_ == 0) {
    waiting_ = Waiting::credit;
  } else if (session->output_full()) {
    waiting_ = Waiting::output;
  } else {
    home->continue_later(*this);
  }
}

void ReadOp::go_on() {
  if (finishing_) return must_stop() ? fail_with(stop_reason()) : finish();
  const bool between_tablets = slice_.step == ScanStep::done;
  if (must_stop()) return between_tablets ? fail_with(stop_reason()) : close_cursor();
  if (between_tablets) return next_tablet();
  run_slice();
}

bool ReadOp::must_stop() const {
  return cancelled_ || !session->open() ||
         (deadline_us_ != 0 && home->timers().now_us() >= deadline_us_);
}

Error ReadOp::stop_reason() const {
  if (cancelled_ || !session->open()) return Error(Errc::cancelled, "the read was cancelled");
  return Error(Errc::deadline_exceeded,
               fmt::format("the read took longer than its {} ms", header.deadline_ms));
}

void ReadOp::close_cursor() {
  slice_.abandon = true;
  run_slice();
}

void ReadOp::send_chunk() {
  session->chunk(header, builder.finish());
  chunk_sent_ = true;
  if (credits_ != UINT32_MAX) --credits_;
}

void ReadOp::finish() {
  if (single_ && !chunk_sent_) {
    const Bytes body = builder.empty() ? Bytes() : builder.finish();
    session->reply(header, body);
    return release();
  }
  if (!builder.empty()) {
    if (credits_ == 0) {
      finishing_ = true;
      waiting_ = Waiting::credit;
      return;
    }
    send_chunk();
  }
  auto& fbb = home->builder();
  fbb.Clear();
  const auto end = wire::fb::CreateReadEnd(fbb, builder.rows(), builder.cells());
  session->reply(header, wire::finish_body(fbb, end), wire::FrameKind::end);
  release();
}

void ReadOp::fail_with(const Error& error) {
  session->reply_error(header, error);
  release();
}

void ReadOp::release() {
  unlink();
  if (!single_) home->admission().end_scan();
  home->reads.give(this);
}

void ReadOp::wake() {
  if (waiting_ == Waiting::no) return;
  waiting_ = Waiting::no;
  home->continue_later(*this);
}

void ReadOp::cancel() {
  cancelled_ = true;
  wake();
}

void ReadOp::abandon() { cancel(); }

void ReadOp::add_credits(uint32_t chunks) {
  if (single_) return;
  credits_ = std::min<uint64_t>(uint64_t{credits_} + chunks, wire::kMaxChunkCredits);
  if (waiting_ == Waiting::credit && credits_ > 0) wake();
}

void ReadOp::output_drained() {
  if (waiting_ == Waiting::output) wake();
}

void ReadOp::check_deadline() {
  if (must_stop()) wake();
}

}  // namespace cellar::server
