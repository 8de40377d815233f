#include "engine/read/column_deletes.h"

#include <algorithm>

#include "io/base/check.h"

namespace cellar::engine {

void ColumnDeletes::clear() {
  fragments_.clear();
  covered_.clear();
  sorted_ = false;
  at_ = 0;
}

bool ColumnDeletes::add(int64_t start_us, int64_t end_us, CommitStamp stamp) {
  DCHECK(!sorted_, "a column delete came after cells");
  const int64_t last_us = end_us == kMaxTimestampUs ? kMaxTimestampUs : end_us - 1;
  if (last_us < start_us) return false;
  if (fragments_.empty()) {
    fragments_.push_back({start_us, last_us, stamp});
    return true;
  }
  if (covered_.empty()) {
    const Fragment& only = fragments_.front();
    if (only.start <= start_us && last_us <= only.last) return false;
    covered_.emplace(only.start, only.last);
  }

  auto it = covered_.upper_bound(start_us);
  if (it != covered_.begin() && std::prev(it)->second >= start_us) --it;
  const size_t before = fragments_.size();
  int64_t joined_start = start_us;
  int64_t joined_last = last_us;
  int64_t gap = start_us;  // first timestamp not known to be covered
  bool open = true;        // false: the last covered range extends to the end of time
  while (it != covered_.end() && it->first <= last_us) {
    if (gap < it->first) fragments_.push_back({gap, it->first - 1, stamp});
    joined_start = std::min(joined_start, it->first);
    joined_last = std::max(joined_last, it->second);
    open = it->second != kMaxTimestampUs;
    if (open) gap = it->second + 1;
    it = covered_.erase(it);
  }
  if (open && gap <= last_us) fragments_.push_back({gap, last_us, stamp});
  covered_.emplace(joined_start, joined_last);
  return fragments_.size() != before;
}

CommitStamp ColumnDeletes::covering(int64_t timestamp_us) {
  if (!sorted_) {
    std::sort(fragments_.begin(), fragments_.end(),
              [](const Fragment& a, const Fragment& b) { return a.start > b.start; });
    sorted_ = true;
  }
  while (at_ < fragments_.size() && fragments_[at_].start > timestamp_us) ++at_;
  if (at_ == fragments_.size() || fragments_[at_].last < timestamp_us) return CommitStamp{};
  return fragments_[at_].stamp;
}

}  // namespace cellar::engine
