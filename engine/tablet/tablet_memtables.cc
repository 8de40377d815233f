#include "engine/tablet/tablet_memtables.h"

#include <algorithm>
#include <utility>

#include "io/base/check.h"

namespace cellar::engine {

TabletMemtable& TabletMemtables::begin(IndexSetRef indexes) {
  CHECK(!active_, "a second active memtable");
  active_ =
      new TabletMemtable(memory_.gauge, wal_.log ? wal_.log->end() : kLogBegin, std::move(indexes));
  full_reported_ = false;
  return *active_;
}

void TabletMemtables::freeze() {
  if (!has_active_commits()) return;
  active_->log_end = wal_.log->end();
  active_->freeze();
  frozen_.push_back(std::exchange(active_, nullptr));
}

void TabletMemtables::renew() {
  freeze();
  active_ = nullptr;
}

namespace {

bool has_many_in(const Memtable& memtable, const RangeDelete& range) {
  std::string end;
  if (!range.end.empty()) append_row_prefix(end, range.end);
  std::string start;
  append_row_prefix(start, range.start);
  Memtable::Iterator it = memtable.iterator();
  size_t entries = 0;
  for (Step step = it.seek(start); step == Step::ready; step = it.next()) {
    if (!end.empty() && it.key() >= Bytes(end)) return false;
    if (++entries == TabletMemtables::kManyEntries) return true;
  }
  return false;
}

}  // namespace

bool TabletMemtables::freeze_before(const RangeDelete& range, size_t least_bytes) {
  if (active_bytes() < least_bytes || !has_active_commits()) return false;
  if (!has_many_in(active_->entries, range)) return false;
  freeze();
  return true;
}

void TabletMemtables::freeze_replayed() {
  if (!active_) return;
  active_->log_begin = kLogEnd;
  active_->log_end = kLogBegin;
  active_->freeze();
  frozen_.push_back(std::exchange(active_, nullptr));
}

bool TabletMemtables::becomes_full(size_t bytes) {
  if (full_reported_ || active_bytes() < bytes) return false;
  full_reported_ = true;
  return true;
}

Ref<TabletMemtable> TabletMemtables::oldest_frozen() const {
  return frozen_.empty() ? nullptr : frozen_.front();
}

void TabletMemtables::flushed(const Ref<TabletMemtable>& memtable) {
  CHECK(!frozen_.empty() && frozen_.front() == memtable, "a memtable flushed out of order");
  frozen_.pop_front();
  memtable->end();
}

std::vector<Ref<TabletMemtable>> TabletMemtables::newest_first() const {
  std::vector<Ref<TabletMemtable>> all;
  if (active_) all.push_back(active_);
  all.insert(all.end(), frozen_.rbegin(), frozen_.rend());
  return all;
}

bool TabletMemtables::has_unflushed() const { return has_frozen() || has_active_commits(); }

size_t TabletMemtables::bytes() const {
  size_t sum = active_bytes();
  for (const auto& memtable : frozen_) sum += memtable->counted;
  return sum;
}

LogPosition TabletMemtables::log_needed_from() const {
  LogPosition needed = has_active_commits() ? active_->log_begin : kLogEnd;
  for (const auto& memtable : frozen_) needed = std::min(needed, memtable->log_begin);
  return needed;
}

}  // namespace cellar::engine
