#include "net/server/shard/read_op.h"

#include <algorithm>
#include <utility>

#include "io/base/time_text.h"
#include "net/server/shard/clock_gate.h"
#include "net/server/shard/router.h"
#include "net/server/shard/session.h"
#include "net/server/shard/shard_server.h"

namespace cellar::server {

using engine::ScanStep;
using Task = ReadSlice::Task;

void ReadOp::begin(ShardServer& shard, Session& of, const wire::FrameHeader& request, TableId table,
                   bool is_single) {
  home = &shard;
  session = &of;
  header = request;
  single_ = is_single;
  table_ = table;
  plan_.begin(read.spec.rows, read.spec.reversed);
  builder.reset();
  builder.tell(read.spec.with_expiry, read.spec.explain || read.spec.include_dead);
  row_limit_ = read.spec.row_limit;
  credits_ = is_single ? UINT32_MAX : read.credits;
  deadline_us_ = of.deadline_us(request);
  waiting_ = Waiting::no;
  away_ = cancelled_ = finishing_ = chunk_sent_ = false;
  slice_.op = this;
  slice_.error.reset();
  slice_.gone = false;
  slice_.step = ScanStep::done;
  slice_.runs = {};
  if (!alarm_) {
    alarm_.emplace(
        shard.timers(), [](void* self) { static_cast<ReadOp*>(self)->on_alarm(); }, this);
  }
}

void ReadOp::start() {
  session->add_read(*this);
  next_tablet();
}

// Continues with the tablet that now holds the next rows.
void ReadOp::next_tablet() {
  if (!plan_.more()) return finish();
  const engine::TableMap& tables = home->tables();
  const engine::TableEntry* table = tables.find(table_);
  if (table == nullptr) {
    return fail_with(Error(Errc::not_found, fmt::format("table {} was dropped", table_)));
  }
  map_version_ = tables.version;
  const engine::TabletDescriptor& tablet = plan_.next(*table);
  if (!names_tablet(header, tablet)) {
    const wire::TabletHint hint = hint_of(tablet);
    session->reply_error(header, stale_error(header, tablet), &hint);
    return release();
  }
  slice_.server = &home->peer(tablet.shard);
  slice_.tablet = tablet.id;
  slice_.epoch = tablet.epoch;
  run_slice(Task::read);
}

void ReadOp::run_slice(Task task) {
  if (row_limit_ != 0 && !slice_.cursor) read.spec.row_limit = row_limit_ - builder.rows();
  slice_.task = task;
  slice_.unread_bytes = session->unread_bytes();
  away_ = true;
  if (task == Task::read && home->clock().stands()) {
    return spawn(home->executor(), send_when_timely());
  }
  slice_.send();
}

// The session has waited for trusted time before the first slice; it may stand again where the
// stream has paused.
Async<void> ReadOp::send_when_timely() {
  Result<void> admitted = co_await admit_by_time(*home);
  if (admitted) {
    slice_.send();
    co_return;
  }
  away_ = false;
  slice_.error = std::move(admitted).error();
  close_cursor();
}

// A newer map locates the rows that the tablet would have returned.
void ReadOp::tablet_gone() {
  slice_.gone = false;
  slice_.step = ScanStep::done;
  if (must_stop()) return fail_with(stop_reason());
  if (home->tables().version != map_version_) {
    slice_.error.reset();
    return home->defer(*this);
  }
  home->map_waiters().wait(*this, home->timers().now_us() + MapWaiters::kMaxWaitUs);
  wait_for(Waiting::map);
}

void ReadOp::map_wait_over() {
  if (must_stop()) return wake();
  // Without a newer map the error is final.
  if (home->tables().version == map_version_) return fail_with(*slice_.error);
  slice_.error.reset();
  wake();
}

void ReadOp::slice_done() {
  away_ = false;
  if (slice_.gone) return tablet_gone();
  if (slice_.error) return fail_with(*slice_.error);
  if (slice_.task == Task::abandon) return fail_with(stop_reason());
  if (slice_.task == Task::release) return released();
  if (std::exchange(slice_.reopened, false)) pass_last_row();
  if (builder.open_row_bytes() > kMaxRowBytes) {
    slice_.error = Error(Errc::failed_precondition,
                         fmt::format("row '{}' is larger than {} bytes as returned",
                                     escape_bytes(builder.open_row()), kMaxRowBytes));
    return slice_.step == ScanStep::done ? fail_with(*slice_.error) : close_cursor();
  }
  if (slice_.step == ScanStep::done) {
    const bool enough = row_limit_ != 0 && builder.rows() >= row_limit_;
    plan_.passed();
    if (single_) builder.set_runs(slice_.runs.all, slice_.runs.opened);
    if (enough || !plan_.more()) return finish();
    if (must_stop()) return fail_with(stop_reason());
    return home->defer(*this);  // not recursive: a table may have many empty tablets
  }
  if (must_stop()) return close_cursor();
  if (slice_.step == ScanStep::paused) send_chunk();
  if (slice_.no_memory) return wait_for(Waiting::memory);
  proceed();
}

// Continues between two slices or tablets.
void ReadOp::proceed() {
  if (credits_ == 0) return wait_for(Waiting::credit);
  if (session->output_full()) return wait_for(Waiting::output);
  home->defer(*this);
}

void ReadOp::go_on() {
  if (finishing_) return must_stop() ? fail_with(stop_reason()) : finish();
  const bool between_tablets = slice_.step == ScanStep::done;
  if (must_stop()) return between_tablets ? fail_with(stop_reason()) : close_cursor();
  if (between_tablets) return next_tablet();
  run_slice(Task::read);
}

bool ReadOp::must_stop() const {
  return cancelled_ || !session->open() || is_overdue(home->timers().now_us());
}

Error ReadOp::stop_reason() const {
  if (cancelled_ || !session->open()) return Error(Errc::cancelled, "the read was cancelled");
  return Error(Errc::deadline_exceeded,
               fmt::format("the read took longer than its {} ms", header.deadline_ms));
}

void ReadOp::close_cursor() {
  if (!slice_.cursor) return fail_with(slice_.error ? *slice_.error : stop_reason());
  run_slice(Task::abandon);
}

void ReadOp::send_chunk() {
  session->chunk(header, builder.finish());
  builder.trim();
  count_memory(*home);
  chunk_sent_ = true;
  if (credits_ != UINT32_MAX) --credits_;
}

void ReadOp::finish() {
  const bool fixed = builder.layout() == wire::ChunkBuilder::Layout::fixed;
  if (fixed || (single_ && !chunk_sent_)) {
    session->reply(header, builder.empty() && !fixed ? Bytes() : builder.finish());
    return release();
  }
  if (!builder.empty()) {
    if (credits_ == 0) {
      finishing_ = true;
      return wait_for(Waiting::credit);
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
  alarm_->cancel();
  builder.reset();
  builder.trim(kKeepBytes);
  count_memory(*home);
  MapWaiters::stop(*this);
  home->memory_queue().leave(home->memory(), *this);
  ReadHook::unlink();
  if (!single_) home->admission().end_scan();
  read.spec.filter.reset();  // may be large, and the op stays in the pool
  home->reads.release(this);
}

// ---- waiting

// Updates the memory count after the builder has changed.
void ReadOp::count_memory(ShardServer& shard) {
  const size_t now = builder.bytes();
  shard.count_answers(static_cast<ptrdiff_t>(now) - static_cast<ptrdiff_t>(counted_bytes_));
  counted_bytes_ = now;
}

void ReadOp::wait_for(Waiting what) {
  waiting_ = what;
  waits_since_us_ = home->timers().now_us();
  in_row_ = false;
  arm();
  if (what == Waiting::memory) join_memory_queue();
}

void ReadOp::join_memory_queue() {
  home->memory_queue().join(home->memory(), *this, NodeMemory::Kind::answers);
}

// A stream with unread answers does not block the waiters behind it.
NodeMemory::Room ReadOp::take_room(NodeMemory::Turn turn) {
  const size_t unread_bytes = session->unread_bytes();
  if (home->memory().answers_full(unread_bytes)) {
    const bool others_may = unread_bytes != 0 && turn != NodeMemory::Turn::beyond_share;
    return others_may ? NodeMemory::Room::party_full : NodeMemory::Room::full;
  }
  wake();
  return NodeMemory::Room::given;
}

void ReadOp::arm() {
  int64_t until_us = deadline_us_ == 0 ? INT64_MAX : deadline_us_;
  if (slice_.cursor) {
    const bool many = home->admission().scans() > kManyStreams;
    const int64_t keep_us = in_row_ ? kKeepRowUs : many ? kKeepCursorOfManyUs : kKeepCursorUs;
    until_us = std::min(until_us, waits_since_us_ + keep_us);
  } else if (forgotten_us() != 0) {
    until_us = std::min(until_us, waits_since_us_ + forgotten_us());
  }
  if (until_us == INT64_MAX) return;
  alarm_->arm_after_us(std::max<int64_t>(until_us - home->timers().now_us(), 0));
}

void ReadOp::wake() {
  if (waiting_ == Waiting::no || away_) return;
  waiting_ = Waiting::no;
  alarm_->cancel();
  MapWaiters::stop(*this);
  home->memory_queue().leave(home->memory(), *this);
  home->defer(*this);
}

// Timeout of a waiting stream.
void ReadOp::on_alarm() {
  if (waiting_ == Waiting::no || away_) return;
  if (must_stop()) return wake();
  if (in_row_) return waited_long();
  if (slice_.cursor) return run_slice(Task::release);
  Error error(Errc::unavailable, fmt::format("the client has asked for no chunk for {}",
                                             duration_text(forgotten_us())));
  waiting_ = Waiting::no;
  fail_with(std::move(error).retry_after(0));
}

// The time after which a stream that waits for credit is ended, so that readers that have forgotten
// theirs do not keep those of a shard; 0: never.
int64_t ReadOp::forgotten_us() const {
  return waiting_ == Waiting::credit ? home->options().net.idle_timeout_us : 0;
}

void ReadOp::waited_long() {
  Error error(Errc::unavailable,
              fmt::format("row '{}' waited longer than {} s for its reader; resume behind the last "
                          "row that was complete",
                          escape_bytes(builder.open_row()), kKeepRowUs / 1'000'000));
  slice_.error = std::move(error).retry_after(0);
  waiting_ = Waiting::no;
  close_cursor();
}

// Whether the awaited resource is available.
bool ReadOp::is_served() const {
  if (waiting_ == Waiting::credit) return credits_ > 0;
  if (waiting_ == Waiting::memory) return !home->memory().answers_full(session->unread_bytes());
  return !session->output_full();
}

// While waiting: the cursor was released, or it is inside a row.
void ReadOp::released() {
  in_row_ = slice_.cursor != nullptr;
  if (!in_row_) {
    home->count_released_cursor();
    if (builder.empty()) builder.trim(kKeepBytes);
    pass_last_row();
  }
  if (is_served() || must_stop()) return wake();
  // The wait may have ended while the cursor was being released.
  if (waiting_ == Waiting::memory && !waits_for_memory()) join_memory_queue();
  if (waiting_ != Waiting::no) arm();
}

// The rows up to the last one of a destroyed cursor are done.
void ReadOp::pass_last_row() {
  if (slice_.last_row.empty()) return;
  RowSet& rows = read.spec.rows;
  rows =
      read.spec.reversed ? rows.clip("", slice_.last_row) : rows.clip(slice_.last_row + '\0', "");
}

// ---- called by the session

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

}  // namespace cellar::server
