#include "engine/reshape/split_point.h"

#include <algorithm>
#include <vector>

namespace cellar::engine {
namespace {

// Approximate total for all tables.
constexpr size_t kSplitCandidates = 4096;
// Fewer blocks do not tell the distribution of bytes.
constexpr size_t kFewBlocks = 8;

// `bytes` of a table begin at or after `row`, and before its next point.
struct Point {
  std::string row;
  uint64_t bytes = 0;
};

// The row of an entry key; for a truncated key, a row that is not greater.
std::string row_of(Bytes key) {
  const size_t size = row_prefix_size(key);
  Bytes escaped = key;
  if (size != 0) {
    escaped = key.substr(0, size - 2);
  } else if (!key.empty() && key.back() == '\0') {
    escaped.remove_suffix(1);  // half of an escape sequence
  }
  std::string scratch;
  return std::string(decode_segment(escaped, scratch));
}

void add_points(const TableSlice& slice, size_t most, std::vector<Point>& points, size_t& blocks) {
  if (!slice.may_have_entries()) return;
  const TableIndex& index = slice.table().marks();
  const size_t first = slice.lower().empty() ? 0 : index.find(slice.lower());
  const size_t last = slice.upper().empty() ? index.blocks() - 1 : index.find_before(slice.upper());
  const size_t step = (last - first) / most + 1;
  for (size_t i = first; i <= last; i += step) {
    const size_t behind = std::min(i + step - 1, last);
    const Bytes key = i == first ? slice.first() : index.separator(i);
    points.push_back({row_of(key), index.handle(behind).end() - index.handle(i).offset});
  }
  if (slice.upper().empty()) points.push_back({row_of(slice.table().meta().largest_key), 0});
  blocks += last - first + 1;
}

bool can_split(const TabletState& state, Bytes row) {
  return row > state.start && (state.end.empty() || row < state.end) &&
         row.size() <= kMaxRowKeyBytes;
}

// The row of the point with about equal bytes before and after it; empty: no point is suitable.
std::string middle(const TabletState& state, std::vector<Point> points) {
  std::sort(points.begin(), points.end(),
            [](const Point& a, const Point& b) { return a.row < b.row; });
  uint64_t total = 0;
  for (const Point& point : points) total += point.bytes;
  uint64_t before = 0;
  uint64_t best_off = UINT64_MAX;
  const Point* best = nullptr;
  for (size_t i = 0; i < points.size(); ++i) {
    const uint64_t off = before * 2 > total ? before * 2 - total : total - before * 2;
    const bool new_row = i == 0 || points[i].row != points[i - 1].row;
    if (new_row && off <= best_off && can_split(state, points[i].row)) {
      best = &points[i];
      best_off = off;
    }
    before += points[i].bytes;
  }
  return best == nullptr ? std::string() : best->row;
}

}  // namespace

Result<std::string> pick_split_row(const Tablet& tablet) {
  size_t tables = 0;
  for (const TabletRun& run : tablet.version().runs) tables += run.tables.size();
  std::vector<Point> points;
  size_t blocks = 0;
  for (const TabletRun& run : tablet.version().runs) {
    for (const Ref<TabletTable>& table : run.tables) {
      add_points(table->slice(), kSplitCandidates / tables + 1, points, blocks);
    }
  }
  std::string row;
  if (blocks < kFewBlocks) {
    std::vector<Point> used;
    for (std::string& sample : tablet.history().samples.rows())
      used.push_back({std::move(sample), 1});
    row = middle(tablet.state(), std::move(used));
  }
  if (row.empty()) row = middle(tablet.state(), std::move(points));
  if (row.empty()) {
    return fail(Errc::failed_precondition, "tablet {} has no row to be split at", tablet.id());
  }
  return row;
}

}  // namespace cellar::engine
