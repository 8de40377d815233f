#include "net/server/shard/index_read.h"

#include <algorithm>
#include <utility>

#include "engine/node.h"
#include "io/base/time_text.h"
#include "net/server/shard/clock_gate.h"
#include "net/server/shard/read_op.h"
#include "net/server/shard/router.h"
#include "net/server/shard/session.h"
#include "net/server/shard/shard_server.h"

namespace cellar::server {

using engine::IndexHit;

namespace {

constexpr int64_t kForEver = INT64_MAX / 2;

IndexReadSpec without_rows(IndexReadSpec spec) {
  spec.rows = RowSet();
  return spec;
}

size_t bytes_of(const std::optional<KeyPartRange>& range) {
  if (!range) return 0;
  return (range->start ? range->start->size() : 0) + (range->end ? range->end->size() : 0);
}

// What each cursor copies.
size_t bounds_bytes(const IndexReadSpec& spec) {
  return bytes_of(spec.values) + bytes_of(spec.qualifiers) + spec.after.size();
}

// As the builder counts them (ChunkBuilder::open_row_bytes).
uint64_t bytes_as_returned(const IndexHit& hit) {
  uint64_t bytes = 0;
  for (const engine::HitCell& cell : hit.cells) {
    bytes += sizeof(wire::fb::CellRec) + cell.qualifier.size() + cell.value.size();
  }
  return bytes;
}

}  // namespace

void IndexRead::begin(ShardServer& home, Session& session, Request request) {
  auto read = std::make_unique<IndexRead>(home, session, std::move(request));
  session.add_read(*read);
  spawn(home.executor(), [read = std::move(read)] { return read->run(); });
}

IndexRead::IndexRead(ShardServer& home, Session& session, Request request)
    : home_(home),
      session_(session),
      table_(request.table),
      table_name_(std::move(request.table_name)),
      index_(request.index),
      rows_(std::move(request.read.spec.rows)),
      spec_(without_rows(std::move(request.read.spec))),
      limit_(request.read.limit),
      deadline_us_(session.deadline_us(request.header)),
      credits_(request.read.credits),
      merge_(spec_.reversed),
      reached_(spec_.after),
      alarm_(
          home.timers(), [](void* self) { static_cast<IndexRead*>(self)->changed_.notify_all(); },
          this) {
  header = request.header;
  spec_.index_id = index_;
  builder_.tell(false, spec_.explain);
}

IndexRead::~IndexRead() { home_.memory_queue().leave(home_.memory(), *this); }

Async<void> IndexRead::run() {
  const Result<void> done = co_await answer();
  co_await leave_cursors();
  merge_.clear();
  tablets_.clear();
  batch_bytes_ = hit_bytes_ = 0;
  MapWaiters::stop(*this);
  home_.admission().end_scan();
  if (done) {
    finish();
  } else {
    builder_.reset();
    session_.reply_error(header, done.error(), hint_ ? &*hint_ : nullptr);
  }
  ReadHook::unlink();
  count();
}

Async<Result<void>> IndexRead::answer() {
  CO_TRY_VOID(enter_tablets());
  // No tablet would refuse it.
  if (tablets_.empty()) CO_TRY_VOID(co_await check_ready());
  while (true) {
    const Fill filled = fill_chunk();
    if (filled == Fill::ended) co_return Result<void>();
    if (filled == Fill::dry) {
      CO_TRY_VOID(co_await fetch());
      CO_TRY_VOID(check_wanted());
      continue;
    }
    if (filled == Fill::full || !builder_.empty()) send_chunk();
    if (filled == Fill::too_large) {
      co_return fail(Errc::failed_precondition, "row '{}' is larger than {} bytes as returned",
                     escape_bytes(hit_.row), ReadOp::kMaxRowBytes);
    }
    if (is_complete()) co_return Result<void>();
    co_await yield_now();
    CO_TRY_VOID(check_wanted());
    CO_TRY_VOID(co_await wait_for(Waiting::client));
  }
}

// ---- tablets

Result<const engine::TableEntry*> IndexRead::find_table() const {
  const engine::TableEntry* table = home_.tables().find(table_);
  if (table == nullptr) {
    return fail(Errc::not_found, "table '{}' was dropped", escape_bytes(table_name_));
  }
  const IndexSchema* index = table->schema.find_index(spec_.index);
  if (index == nullptr || index->id != index_) {
    return fail(Errc::not_found, "index '{}' of table '{}' was dropped", escape_bytes(spec_.index),
                escape_bytes(table_name_));
  }
  return table;
}

Result<void> IndexRead::enter_tablets() {
  TRY(const engine::TableEntry* table, find_table());
  return add_tablets(*table, std::exchange(rows_, RowSet()), reached_);
}

Result<void> IndexRead::add_tablets(const engine::TableEntry& table, const RowSet& rows,
                                    const std::string& after) {
  std::vector<IndexPart> parts = parts_of(table, rows);
  const size_t tablets = tablets_.size() + parts.size();
  if (const size_t bytes = bounds_bytes(spec_);
      bytes > kMaxBoundsBytes / std::max<size_t>(tablets, 1)) {
    return fail(Errc::resource_exhausted,
                "the bounds of a read through index '{}' have {} bytes for each of {} tablets; at "
                "most {} are allowed together",
                escape_bytes(spec_.index), bytes, tablets, kMaxBoundsBytes);
  }
  for (IndexPart& part : parts) {
    if (!names_tablet(header, *part.tablet)) {
      hint_ = hint_of(*part.tablet);
      return std::unexpected(stale_error(header, *part.tablet));
    }
    IndexTablet& added = *tablets_.emplace_back(std::make_unique<IndexTablet>());
    added.read = this;
    added.server = &home_.peer(part.tablet->shard);
    added.tablet = part.tablet->id;
    added.epoch = part.tablet->epoch;
    added.map_version = home_.tables().version;
    added.rows = std::move(part.rows);
    added.after = after;
    merge_.add(added);
  }
  return {};
}

Async<void> IndexRead::leave_cursors() {
  for (const auto& tablet : tablets_) {
    if (!tablet->cursor) continue;
    ++away_;
    tablet->leave();
  }
  while (away_ > 0) co_await changed_.wait();
}

// Keeps what each tablet has passed.
Async<void> IndexRead::release_tablets() {
  if (has_cursors()) home_.count_released_cursor();
  co_await leave_cursors();
  merge_.drop_batches(in_hit_ ? hit_.position : reached_);
  std::erase_if(tablets_, [](const auto& tablet) { return tablet->done(); });
  for (const auto& tablet : tablets_) {
    hold(*tablet, 0);
    tablet->batch = engine::IndexBatch();
  }
  if (builder_.bytes() == 0) builder_.trim(ReadOp::kKeepBytes);
  count();
}

bool IndexRead::has_cursors() const {
  return std::ranges::any_of(tablets_, [](const auto& one) { return one->cursor != nullptr; });
}

void IndexRead::came_back() {
  if (--away_ == 0) changed_.notify_all();
}

// ---- chunks

IndexRead::Fill IndexRead::fill_chunk() {
  while (true) {
    if (in_hit_ && !put_hit()) return Fill::full;
    if (is_complete()) return Fill::ended;
    if (builder_.full()) return Fill::full;
    if (merge_.next() == nullptr) return Fill::dry;
    take_hit();
    if (bytes_as_returned(hit_) > ReadOp::kMaxRowBytes) return Fill::too_large;
  }
}

// Its bytes are held by the read instead of the tablet.
void IndexRead::take_hit() {
  auto& tablet = static_cast<IndexTablet&>(merge_.next_source());
  hit_ = merge_.take();
  hit_bytes_ = hit_.bytes();
  hold(tablet, tablet.has_hit() ? tablet.held_bytes - std::min(tablet.held_bytes, hit_bytes_) : 0);
  cell_ = 0;
  in_hit_ = true;
}

// False: the chunk is full and the hit continues in the next one.
bool IndexRead::put_hit() {
  while (cell_ < hit_.cells.size()) {
    if (cell_ > 0 && builder_.full()) return false;
    const engine::HitCell& cell = hit_.cells[cell_++];
    builder_.cell({.row = hit_.row,
                   .family = cell.family,
                   .qualifier = cell.qualifier,
                   .timestamp_us = cell.timestamp_us,
                   .value = cell.value,
                   .label = cell.label,
                   .note = spec_.explain ? &cell.note : nullptr});
  }
  builder_.end_row(hit_.row);
  reached_ = std::move(hit_.position);
  hit_ = IndexHit();
  hit_bytes_ = 0;
  in_hit_ = false;
  return true;
}

// Nothing is left, except for what is in the builder.
bool IndexRead::is_complete() const {
  if (in_hit_) return false;
  return merge_.done() || (limit_ != 0 && builder_.rows() >= limit_);
}

void IndexRead::send_chunk() {
  if (builder_.rows() > rows_sent_) builder_.set_position(reached_);
  rows_sent_ = builder_.rows();
  session_.chunk(header, builder_.finish());
  builder_.trim();
  count();
  --credits_;
}

// A chunk is begun only with credit.
void IndexRead::finish() {
  if (!builder_.empty()) send_chunk();
  auto& fbb = home_.builder();
  fbb.Clear();
  const auto end = wire::fb::CreateReadEnd(fbb, builder_.rows(), builder_.cells());
  session_.reply(header, wire::finish_body(fbb, end), wire::FrameKind::end);
}

// ---- batches

engine::IndexBatchLimits IndexRead::batch_limits(const IndexTablet& tablet) const {
  engine::IndexBatchLimits limits;
  limits.hits = kBatchHits;
  if (limit_ != 0) limits.hits = std::min<uint64_t>(limits.hits, limit_ - builder_.rows());
  limits.bytes = std::max(kLeastBatchBytes,
                          (tablet.opened ? kBatchBytes : kFirstBatchBytes) / tablets_.size());
  // Whether the read is cancelled is looked at between batches.
  if (deadline_us_ != 0) {
    const int64_t left_us = deadline_us_ - home_.timers().now_us();
    limits.work_us = std::clamp<int64_t>(left_us, 0, limits.work_us);
  }
  return limits;
}

// Gets the next batches of tablets that hold up the merge.
Async<Result<void>> IndexRead::fetch() {
  count();
  // A read that holds memory continues: others wait for that memory.
  if (counted_bytes_ == 0) {
    CO_TRY_VOID(co_await wait_for(Waiting::memory));
  }
  if (home_.clock().stands()) {
    CO_TRY_VOID(co_await admit_by_time(home_));
  }
  CO_TRY_VOID(check_wanted());
  CO_TRY_VOID(find_table());
  if (merge_.done()) co_return Result<void>();
  std::vector<IndexSource*> wanted = merge_.wanted(kTabletsAtOnce);
  start(wanted);
  while (away_ > 0) co_await changed_.wait();
  co_return co_await take_in(wanted);
}

// Begins batches, while answers are full only the first; the others are removed.
void IndexRead::start(std::vector<IndexSource*>& wanted) {
  size_t begun = 0;
  for (; begun < wanted.size(); ++begun) {
    if (begun > 0 && home_.memory().answers_full(session_.unread_bytes())) break;
    auto& tablet = static_cast<IndexTablet&>(*wanted[begun]);
    const engine::IndexBatchLimits limits = batch_limits(tablet);
    hold(tablet, limits.bytes);
    count();
    ++away_;
    tablet.fetch(limits);
  }
  wanted.resize(begun);
}

Async<Result<void>> IndexRead::take_in(const std::vector<IndexSource*>& fetched) {
  std::vector<IndexTablet*> gone;
  for (IndexSource* one : fetched) {
    auto& tablet = static_cast<IndexTablet&>(*one);
    size_t bytes = 0;
    for (const IndexHit& hit : tablet.batch.hits) bytes += hit.bytes();
    hold(tablet, bytes);
    if (!tablet.error) {
      merge_.filled(tablet);
      continue;
    }
    if (tablet.error->code == Errc::aborted) {
      gone.push_back(&tablet);
      continue;
    }
    // A tablet tells how much of it is entered; this, how much of the table.
    const bool refused = !tablet.opened && tablet.error->code == Errc::failed_precondition;
    if (refused) CO_TRY_VOID(co_await check_ready());
    co_return std::unexpected(std::move(*tablet.error));
  }
  count();
  if (gone.empty()) co_return Result<void>();
  co_return co_await follow(gone);
}

Async<Result<void>> IndexRead::check_ready() {
  CO_TRY(const engine::IndexStates all,
         co_await home_.node().index_states(home_.id(), table_name_));
  for (size_t i = 0; i < all.indexes.size() && i < all.states.size(); ++i) {
    if (all.indexes[i].id != index_ || all.states[i].ready) continue;
    const auto percent = static_cast<int>(all.states[i].share_done() * 100);
    co_return fail(Errc::failed_precondition,
                   "index '{}' of table '{}' is not ready: {} % of the table is entered",
                   escape_bytes(spec_.index), escape_bytes(table_name_), std::min(percent, 99));
  }
  co_return Result<void>();
}

// Replaces these tablets by those that hold their rows in a newer map.
Async<Result<void>> IndexRead::follow(const std::vector<IndexTablet*>& gone) {
  CO_TRY_VOID(co_await wait_for_map(gone));
  CO_TRY(const engine::TableEntry* table, find_table());
  // Those that are gone are the ones with an error.
  std::vector<std::unique_ptr<IndexTablet>> left;
  for (auto& tablet : tablets_) {
    if (tablet->error) left.push_back(std::move(tablet));
  }
  std::erase(tablets_, nullptr);
  for (const auto& one : left) {
    merge_.remove(*one);
    CO_TRY_VOID(add_tablets(*table, one->rows, one->after));
  }
  co_return Result<void>();
}

// Without a newer map in time the error of a tablet is final.
Async<Result<void>> IndexRead::wait_for_map(const std::vector<IndexTablet*>& gone) {
  const int64_t until_us = home_.timers().now_us() + MapWaiters::kMaxWaitUs;
  for (const IndexTablet* one : gone) {
    while (home_.tables().version == one->map_version) {
      CO_TRY_VOID(check_wanted());
      if (home_.timers().now_us() >= until_us) co_return std::unexpected(*one->error);
      home_.map_waiters().wait(*this, until_us);
      arm(until_us);
      co_await changed_.wait();
    }
  }
  alarm_.cancel();
  MapWaiters::stop(*this);
  co_return Result<void>();
}

// ---- waiting

Result<void> IndexRead::check_wanted() const {
  if (cancelled_ || !session_.open()) return fail(Errc::cancelled, "the read was cancelled");
  if (is_overdue(home_.timers().now_us())) {
    return fail(Errc::deadline_exceeded, "the read took longer than its {} ms", header.deadline_ms);
  }
  return {};
}

bool IndexRead::is_served(Waiting what) const {
  if (what == Waiting::client) return credits_ > 0 && !session_.output_full();
  return !home_.memory().answers_full(session_.unread_bytes());
}

int64_t IndexRead::keep_us() const {
  const bool many = home_.admission().scans() > ReadOp::kManyStreams;
  return many ? ReadOp::kKeepCursorOfManyUs : ReadOp::kKeepCursorUs;
}

// The time after which a stream that waits for credit is ended; kForEver: never.
int64_t IndexRead::forgotten_us(Waiting what) const {
  const int64_t idle_us = home_.options().net.idle_timeout_us;
  return what == Waiting::client && credits_ == 0 && idle_us != 0 ? idle_us : kForEver;
}

// When, after its beginning, a wait has something to do.
int64_t IndexRead::patience_us(Waiting what, bool left) const {
  const int64_t in_hit_us = in_hit_ ? ReadOp::kKeepRowUs : kForEver;
  return std::min({left ? kForEver : keep_us(), in_hit_us, forgotten_us(what)});
}

Result<void> IndexRead::check_patience(Waiting what, int64_t waited_us) const {
  if (in_hit_ && waited_us >= ReadOp::kKeepRowUs) {
    Error error(Errc::unavailable,
                fmt::format("row '{}' waited longer than {} s for its reader; resume behind the "
                            "last position",
                            escape_bytes(hit_.row), ReadOp::kKeepRowUs / 1'000'000));
    return std::unexpected(std::move(error).retry_after(0));
  }
  if (waited_us >= forgotten_us(what)) {
    Error error(Errc::unavailable, fmt::format("the client has asked for no chunk for {}",
                                               duration_text(forgotten_us(what))));
    return std::unexpected(std::move(error).retry_after(0));
  }
  return {};
}

Async<Result<void>> IndexRead::wait_for(Waiting what) {
  const int64_t since_us = home_.timers().now_us();
  bool left = false;
  while (!is_served(what)) {
    CO_TRY_VOID(check_wanted());
    const int64_t waited_us = home_.timers().now_us() - since_us;
    CO_TRY_VOID(check_patience(what, waited_us));
    if (!left && waited_us >= keep_us()) {
      co_await release_tablets();
      left = true;
      continue;
    }
    if (what == Waiting::memory && !waits_for_memory()) {
      home_.memory_queue().join(home_.memory(), *this, NodeMemory::Kind::answers);
      if (!waits_for_memory()) continue;
    }
    arm(since_us + patience_us(what, left));
    co_await changed_.wait();
  }
  alarm_.cancel();
  home_.memory_queue().leave(home_.memory(), *this);
  co_return Result<void>();
}

// Wakes the read then, or at its deadline.
void IndexRead::arm(int64_t until_us) {
  if (deadline_us_ != 0) until_us = std::min(until_us, deadline_us_);
  if (until_us >= kForEver) return alarm_.cancel();
  alarm_.arm_after_us(std::max<int64_t>(until_us - home_.timers().now_us(), 0));
}

// A stream with unread answers does not block the waiters behind it.
NodeMemory::Room IndexRead::take_room(NodeMemory::Turn turn) {
  const size_t unread_bytes = session_.unread_bytes();
  if (home_.memory().answers_full(unread_bytes)) {
    const bool others_may = unread_bytes != 0 && turn != NodeMemory::Turn::beyond_share;
    return others_may ? NodeMemory::Room::party_full : NodeMemory::Room::full;
  }
  changed_.notify_all();
  return NodeMemory::Room::given;
}

// Of the tablet's batch; counted by the next count().
void IndexRead::hold(IndexTablet& tablet, size_t bytes) {
  batch_bytes_ = batch_bytes_ - tablet.held_bytes + bytes;
  tablet.held_bytes = bytes;
}

// Updates the count of the node's memory.
void IndexRead::count() {
  const size_t now = batch_bytes_ + hit_bytes_ + builder_.bytes();
  if (now == counted_bytes_) return;
  home_.count_answers(static_cast<ptrdiff_t>(now) - static_cast<ptrdiff_t>(counted_bytes_));
  counted_bytes_ = now;
}

// ---- called by the session

void IndexRead::cancel() {
  cancelled_ = true;
  changed_.notify_all();
}

void IndexRead::add_credits(uint32_t chunks) {
  credits_ = static_cast<uint32_t>(
      std::min<uint64_t>(uint64_t{credits_} + chunks, wire::kMaxChunkCredits));
  changed_.notify_all();
}

}  // namespace cellar::server
