#include "engine/compaction/strategy.h"

#include <algorithm>
#include <limits>

namespace cellar::engine {

std::optional<FatalAges> fatal_ages(const TableRetention& retention) {
  if (retention.size() == 0) return std::nullopt;
  FatalAges ages{std::numeric_limits<int64_t>::max(), 0};
  for (size_t i = 0; i < retention.size(); ++i) {
    const auto age_us = retention.family(i).rule().fatal_age_us();
    if (!age_us || *age_us <= 0) return std::nullopt;
    ages.shortest_us = std::min(ages.shortest_us, *age_us);
    ages.longest_us = std::max(ages.longest_us, *age_us);
  }
  return ages;
}

void RunTimes::add(const CellProfile& profile, const TimeBounds& bounds, uint64_t bytes) {
  const auto all = static_cast<double>(bytes);
  if (!bounds.known) {
    timeless_ += all;
    bytes_ += all;
    return;
  }
  if (!bounds.has_cells()) return;
  bytes_ += all;
  if (!profile.known) {
    pieces_.push_back({bounds.min_timestamp_us, bounds.max_timestamp_us, all});
    return;
  }
  double raw = static_cast<double>(profile.expiries.bytes());
  for (const CellProfile::Family& family : profile.families) {
    raw += static_cast<double>(family.times.bytes());
  }
  const double scale = raw > 0 ? all / raw : 0;
  timeless_ += scale * static_cast<double>(profile.expiries.bytes());
  for (const CellProfile::Family& family : profile.families) {
    for (const TimeHistogram::Bucket& bucket : family.times.buckets()) {
      pieces_.push_back(
          {bucket.first_us, bucket.last_us, scale * static_cast<double>(bucket.bytes)});
    }
  }
}

std::optional<int64_t> RunTimes::middle_us() const {
  std::vector<Piece> pieces = pieces_;
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
    return a.first_us / 2 + a.last_us / 2 < b.first_us / 2 + b.last_us / 2;
  });
  double left = 0;
  for (const Piece& piece : pieces) left += piece.bytes / 2;
  for (const Piece& piece : pieces) {
    left -= piece.bytes;
    if (left <= 0) return piece.first_us / 2 + piece.last_us / 2;
  }
  return std::nullopt;
}

double RunTimes::bytes_before(int64_t us) const {
  double sum = timeless_;
  for (const Piece& piece : pieces_) {
    if (piece.first_us >= us) continue;
    const double span =
        static_cast<double>(piece.last_us) - static_cast<double>(piece.first_us) + 1;
    const double older = static_cast<double>(us) - static_cast<double>(piece.first_us);
    sum += piece.bytes * std::min(1.0, older / span);
  }
  return sum;
}

std::optional<double> late_share(std::span<const RunTimes> runs, int64_t age_us) {
  constexpr int64_t kNone = std::numeric_limits<int64_t>::min();
  int64_t reached_us = kNone;
  size_t timed = 0;
  double late = 0;
  double all = 0;
  for (const RunTimes& run : runs) {
    late += run.bytes_before(reached_us == kNone ? kNone : reached_us - age_us / kLateParts);
    all += run.bytes();
    if (const auto middle_us = run.middle_us()) {
      reached_us = std::max(reached_us, *middle_us);
      ++timed;
    }
  }
  if (timed < kLeastEvidence || all <= 0) return std::nullopt;
  return late / all;
}

Compaction choose_compaction(const TableSchema& schema, const std::optional<FatalAges>& ages,
                             std::optional<double> late, Compaction present) {
  const Compaction named = schema.options.compaction;
  if (!ages || named == Compaction::tiered) return Compaction::tiered;
  if (named == Compaction::time_window) return named;
  const auto is_time = [](const FamilySchema& family) {
    return family.timestamps == TimestampMeaning::time;
  };
  const bool fits = std::all_of(schema.families.begin(), schema.families.end(), is_time) &&
                    ages->longest_us / kMostAgeSpread <= ages->shortest_us;
  if (!fits) return Compaction::tiered;
  if (!late) return present == Compaction::automatic ? Compaction::tiered : present;
  const double most = present == Compaction::tiered ? kMostLate : kTooLate;
  return *late <= most ? Compaction::time_window : Compaction::tiered;
}

}  // namespace cellar::engine
