#include "bench/embedded/write_driver.h"

#include <utility>

#include "io/base/check.h"

namespace cellar::bench {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;

}  // namespace

WriteDriver::WriteDriver(Shard& shard, Bed& bed, const WriteLoad& load)
    : shard_(shard),
      engine_(bed.node().engine(shard.id())),
      ranges_(load.ranges != nullptr ? *load.ranges : bed.ranges_of(shard.id())),
      load_(load),
      random_(load.seed * 1'000'003 + shard.id().value()),
      values_(load.seed),
      alarm_(shard.timers(), [](void*) {}, nullptr) {
  for (const RowRange& range : ranges_) rows_ += range.end - range.first;
  CHECK(rows_ > 0, "shard {} has no rows", shard.id());
  for (size_t i = 0; i < load_.in_flight; ++i) {
    Slot& slot = *slots_.emplace_back(std::make_unique<Slot>());
    slot.owner = this;
    slot.write.done = &WriteDriver::done;
    slot.write.context = &slot;
    slot.write.level = load_.level;
    slot.cell.family = "f";
    slot.cell.qualifier = "q";
    free_.push_back(&slot);
  }
  shard_.loop().add_hook(*this);
}

WriteDriver::~WriteDriver() { shard_.loop().remove_hook(*this); }

Async<void> WriteDriver::run() {
  tally_.begin();
  alarm_.arm_after_us(0);
  co_await finished_.wait();
  alarm_.cancel();
}

bool WriteDriver::on_turn() {
  if (tally_.began_ns == 0 || finished_.is_set()) return false;
  const int64_t now_ns = steady_ns();
  stages_.turn(now_ns, std::exchange(slept_, false), engine_);
  bool any = false;
  while (!refused_.empty() && refused_.front()->retry_ns <= now_ns) {
    Slot* slot = refused_.front();
    refused_.pop_front();
    submit(*slot);
    any = true;
  }
  while (!free_.empty() && !all_begun() && may_begin(now_ns)) {
    Slot* slot = free_.back();
    free_.pop_back();
    begin(*slot, now_ns);
    any = true;
  }
  if (all_begun() && free_.size() == slots_.size()) {
    finished_.set();
    return true;
  }
  const bool waits = !refused_.empty() || load_.rate > 0;
  if (waits && !alarm_.armed()) alarm_.arm_after_us(Timers::kTickUs);
  return any;
}

bool WriteDriver::may_begin(int64_t now_ns) {
  if (load_.rate == 0) return true;
  const double due = static_cast<double>(now_ns - tally_.began_ns) / 1e9 * load_.rate;
  return static_cast<double>(begun_) < due;
}

uint64_t WriteDriver::next_row(const RowRange** range) {
  uint64_t row = load_.in_order ? ordered_++ % rows_ : random_.below(rows_);
  for (const RowRange& one : ranges_) {
    *range = &one;
    if (row < one.end - one.first) return one.first + row;
    row -= one.end - one.first;
  }
  UNREACHABLE("a row outside the ranges");
}

void WriteDriver::begin(Slot& slot, int64_t now_ns) {
  const RowRange* range = nullptr;
  slot.key.set(next_row(&range));
  slot.cell.value = values_.next(load_.value_bytes);
  slot.write.tablet = range->tablet.id;
  slot.write.epoch = range->tablet.epoch;
  slot.from_ns = now_ns;
  if (load_.rate > 0) {
    slot.from_ns =
        tally_.began_ns + static_cast<int64_t>(static_cast<double>(begun_) / load_.rate * 1e9);
  }
  ++begun_;
  slot.refused_ns = 0;
  submit(slot);
}

void WriteDriver::submit(Slot& slot) {
  slot.write.error.reset();
  slot.write.mutation = {slot.key.bytes(), {&slot.cell, 1}};
  engine_.submit(slot.write);
}

void WriteDriver::done(engine::Write& write) {
  Slot& slot = *static_cast<Slot*>(write.context);
  WriteDriver& self = *slot.owner;
  const int64_t now_ns = steady_ns();
  if (write.error) {
    CHECK(write.error->code == Errc::resource_exhausted, "{}", write.error->to_string());
    if (self.tally_.refused++ == 0) self.tally_.first_refusal = write.error->message;
    const int64_t wait_ns = std::max<int64_t>(write.error->retry_after_ms, 1) * kNsPerMs;
    slot.retry_ns = now_ns + wait_ns;
    slot.refused_ns += wait_ns;
    self.refused_.push_back(&slot);
    return;
  }
  self.tally_.add(slot.from_ns, now_ns);
  const int64_t took_ns = now_ns - slot.from_ns;
  if (self.tally_.wants_stages(took_ns)) {
    self.tally_.add_stages(took_ns, self.stages_.of(slot.from_ns, now_ns, slot.refused_ns));
  }
  self.free_.push_back(&slot);
}

}  // namespace cellar::bench
