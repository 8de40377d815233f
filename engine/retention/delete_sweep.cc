#include "engine/retention/delete_sweep.h"

#include <algorithm>

namespace cellar::engine {
namespace {

int64_t last_of(const DeleteSweep::Range& range) {
  return range.end_us == kMaxTimestampUs ? kMaxTimestampUs : range.end_us - 1;
}
bool starts_before(const DeleteSweep::Range& a, const DeleteSweep::Range& b) {
  return a.start_us < b.start_us;
}

Instant first_above(const DeleteSweep::Stamps& falling, CommitStamp stamp) {
  const auto end = std::lower_bound(falling.begin(), falling.end(), stamp,
                                    [](CommitStamp a, CommitStamp b) { return a > b; });
  return end == falling.begin() ? kNever : instant_of(*std::prev(end));
}

}  // namespace

void DeleteSweep::begin(const Whole& whole, const std::vector<Range>& ranges) {
  whole_ = whole;
  opening_ = ranges;
  std::sort(opening_.begin(), opening_.end(),
            [](const Range& a, const Range& b) { return last_of(a) > last_of(b); });
  next_ = 0;
  closing_.clear();
  open_.clear();
}

Instant DeleteSweep::first_after(CommitStamp stamp, int64_t timestamp_us) {
  for (; next_ < opening_.size() && last_of(opening_[next_]) >= timestamp_us; ++next_) {
    closing_.push_back(opening_[next_]);
    std::push_heap(closing_.begin(), closing_.end(), starts_before);
    open_.insert(opening_[next_].stamp);
  }
  while (!closing_.empty() && closing_.front().start_us > timestamp_us) {
    std::pop_heap(closing_.begin(), closing_.end(), starts_before);
    open_.erase(open_.find(closing_.back().stamp));
    closing_.pop_back();
  }
  Instant first =
      std::min({first_above(*whole_.of_ranges, stamp), first_above(*whole_.of_row, stamp),
                first_above(*whole_.of_family, stamp)});
  const auto part = open_.upper_bound(stamp);
  if (part != open_.end()) first = std::min(first, instant_of(*part));
  return first;
}

}  // namespace cellar::engine
