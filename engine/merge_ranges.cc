#include "engine/merge_ranges.h"

#include <algorithm>
#include <utility>

#include "engine/compaction/reclaim_queue.h"
#include "engine/split_point.h"
#include "engine/tablet.h"

namespace cellar::engine {
namespace {

// Cuts that exist are kept until much less than this is wanted.
constexpr double kGivenUp = 0.5;

// The keys between which everything of a table lies: from `begin` on and before `end`, which is
// empty where nothing bounds it.
struct Extent {
  std::string begin;
  std::string end;
  bool empty = true;

  void add(Bytes from, std::string to) {
    if (empty || from < begin) begin = from;
    if (empty || (!end.empty() && (to.empty() || to > end))) end = std::move(to);
    empty = false;
  }
  bool is_before(Bytes key) const { return empty || (!end.empty() && Bytes(end) <= key); }
  bool is_behind(Bytes key) const { return empty || Bytes(begin) >= key; }
};

Extent extent_of(const TabletTable& table) {
  const TableSlice& slice = table.slice();
  Extent extent;
  if (slice.may_have_entries()) {
    const Bytes upper = slice.upper();
    extent.add(slice.first(),
               upper.empty() ? slice.table().meta().largest_key + '\0' : std::string(upper));
  }
  for (const StampedRange& range : slice.range_deletes()) {
    extent.add(row_prefix(range.start), range.end.empty() ? std::string() : row_prefix(range.end));
  }
  return extent;
}

template <class F>
void for_each_table(const std::vector<TabletRun>& runs, F&& visit) {
  for (const TabletRun& run : runs) {
    for (const Ref<TabletTable>& table : run.tables) visit(*table);
  }
}

uint64_t bytes_of(const std::vector<TabletRun>& runs) {
  uint64_t bytes = 0;
  for_each_table(runs, [&bytes](const TabletTable& table) { bytes += table.slice().bytes(); });
  return bytes;
}

// Half of what there is, in one range, is more than all of them can make up for.
bool is_lopsided(const std::vector<TabletRun>& runs, const Cuts& cuts) {
  const Cuts clean = clean_cuts(runs, cuts);
  std::vector<uint64_t> bytes(clean.size() + 1, 0);
  for_each_table(runs, [&](const TabletTable& table) {
    bytes[range_of(table, clean)] += table.slice().bytes();
  });
  return *std::max_element(bytes.begin(), bytes.end()) * 2 > bytes_of(runs);
}

// The row of an entry's key.
std::string row_of(Bytes key) {
  const size_t size = row_prefix_size(key);
  std::string scratch;
  return std::string(decode_segment(size == 0 ? key : key.substr(0, size - 2), scratch));
}

}  // namespace

Cuts clean_cuts(const std::vector<TabletRun>& runs, const Cuts& cuts) {
  std::vector<std::string> keys;
  for (const std::string& row : cuts) keys.push_back(row_prefix(row));
  std::vector<bool> crossed(cuts.size(), false);
  for_each_table(runs, [&](const TabletTable& table) {
    const Extent extent = extent_of(table);
    for (size_t i = 0; i < keys.size(); ++i) {
      if (!extent.is_before(keys[i]) && !extent.is_behind(keys[i])) crossed[i] = true;
    }
  });
  Cuts clean;
  for (size_t i = 0; i < cuts.size(); ++i) {
    if (!crossed[i]) clean.push_back(cuts[i]);
  }
  return clean;
}

std::vector<KeyRange> ranges_between(const Cuts& clean) {
  std::vector<KeyRange> ranges(1);
  for (const std::string& cut : clean) {
    ranges.back().end = cut;
    ranges.push_back({cut, ""});
  }
  return ranges;
}

size_t range_of(const TabletTable& table, const Cuts& clean) {
  const Extent extent = extent_of(table);
  const auto is_before = [&extent](const std::string& cut) {
    return !extent.is_before(row_prefix(cut));
  };
  return static_cast<size_t>(std::partition_point(clean.begin(), clean.end(), is_before) -
                             clean.begin());
}

RangeTables tables_in(const std::vector<TabletRun>& runs, const KeyRange& rows) {
  RangeTables result;
  const std::string lower = row_prefix(rows.start);
  const std::string upper = row_prefix(rows.end);
  for (const TabletRun& run : runs) {
    TabletRun part{run.number, {}};
    for (const Ref<TabletTable>& table : run.tables) {
      const Extent extent = extent_of(*table);
      const bool before = !rows.start.empty() && extent.is_before(lower);
      const bool behind = !rows.end.empty() && !extent.empty && extent.is_behind(upper);
      if (before || behind) continue;
      const bool crosses_start = !rows.start.empty() && !extent.is_behind(lower);
      const bool crosses_end = !rows.end.empty() && !extent.is_before(upper);
      if (crosses_start || crosses_end) return {{}, false};
      part.tables.push_back(table);
    }
    if (!part.tables.empty()) result.runs.push_back(std::move(part));
  }
  return result;
}

Cuts cuts_on_disk(const std::vector<TabletRun>& runs, size_t ranges) {
  if (ranges < 2) return {};
  std::vector<std::pair<Extent, uint64_t>> tables;
  for_each_table(runs, [&tables](const TabletTable& table) {
    tables.emplace_back(extent_of(table), table.slice().bytes());
  });
  std::erase_if(tables, [](const auto& table) { return table.first.empty; });
  std::sort(tables.begin(), tables.end(),
            [](const auto& a, const auto& b) { return a.first.begin < b.first.begin; });
  const double enough = static_cast<double>(bytes_of(runs)) / static_cast<double>(ranges);
  Cuts cuts;
  Extent before;
  double bytes = 0;
  for (const auto& [extent, size] : tables) {
    std::string row = row_of(extent.begin);
    if (bytes >= enough && before.is_before(row_prefix(row)) && cuts.size() + 1 < ranges) {
      cuts.push_back(std::move(row));
      bytes = 0;
    }
    before.add(extent.begin, extent.end);
    bytes += static_cast<double>(size);
  }
  return cuts;
}

size_t wanted_ranges(Tablet& tablet) {
  if (tablet.compaction() == Compaction::time_window) return 1;
  const uint64_t bytes = bytes_of(tablet.version().runs);
  const uint64_t least = tablet.shard().options.memtable_bytes / kMergeRangesOfMemtable;
  const uint64_t most =
      std::clamp<uint64_t>(bytes / std::max<uint64_t>(least, 1), 1, kMostMergeRanges);
  const double us_per_byte = tablet.shard().reclaim_pace.us_per_byte();
  const double takes_us = static_cast<double>(bytes) * us_per_byte / ReclaimQueue::kMostShare;
  const double within_us = static_cast<double>(tablet.schema().options.reclaim_within_us);
  const double is_long = tablet.cuts().empty() ? kLongMerge : kLongMerge * kGivenUp;
  return takes_us < is_long * within_us ? 1 : most;
}

void renew_cuts(Tablet& tablet) {
  const size_t ranges = wanted_ranges(tablet);
  if (ranges < 2) {
    tablet.set_cuts({});
  } else if (tablet.cuts().empty() || is_lopsided(tablet.version().runs, tablet.cuts())) {
    tablet.set_cuts(pick_even_rows(tablet, ranges, tablet.cuts()));
  }
}

}  // namespace cellar::engine
