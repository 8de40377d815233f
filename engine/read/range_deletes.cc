#include "engine/read/range_deletes.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

namespace cellar::engine {

void RangeDeletes::clear() {
  items_.clear();
  fragments_.clear();
  stamps_.clear();
  furthest_.clear();
}

void RangeDeletes::add(const RangeTombstone& range) {
  if (range.end.empty() || range.start < range.end) items_.push_back(range);
}

void RangeDeletes::build(CommitStamp floor) {
  ++builds_;
  fragments_.clear();
  stamps_.clear();
  std::sort(items_.begin(), items_.end(),
            [](const RangeTombstone& a, const RangeTombstone& b) { return a.start < b.start; });
  furthest_.assign(items_.size(), 0);
  if (!items_.empty()) plant(0, items_.size());
  struct Edge {
    Bytes row;
    bool opens;
    CommitStamp stamp;
  };
  std::vector<Edge> edges;
  edges.reserve(items_.size() * 2);
  for (const RangeTombstone& item : items_) {
    edges.push_back({item.start, true, item.stamp});
    if (!item.end.empty()) edges.push_back({item.end, false, item.stamp});
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.row < b.row; });

  std::multiset<CommitStamp, std::greater<>> active;
  for (size_t i = 0; i < edges.size();) {
    const Bytes row = edges[i].row;
    for (; i < edges.size() && edges[i].row == row; ++i) {
      if (edges[i].opens)
        active.insert(edges[i].stamp);
      else if (auto it = active.find(edges[i].stamp); it != active.end())
        active.erase(it);
    }
    Fragment fragment{row, stamps_.size(), 0};
    for (const CommitStamp stamp : active) {
      stamps_.push_back(stamp);
      if (stamp <= floor) break;
    }
    fragment.count = stamps_.size() - fragment.first;
    fragments_.push_back(fragment);
  }
}

size_t RangeDeletes::stretch_of(Bytes row) const {
  const auto behind = std::upper_bound(
      fragments_.begin(), fragments_.end(), row,
      [](Bytes wanted, const Fragment& fragment) { return wanted < fragment.start; });
  return behind == fragments_.begin() ? kNoStretch
                                      : static_cast<size_t>(behind - fragments_.begin()) - 1;
}

std::optional<Bytes> RangeDeletes::stretch_end(Bytes row) const {
  const size_t stretch = stretch_of(row);
  const size_t next = stretch == kNoStretch ? 0 : stretch + 1;
  if (next == fragments_.size()) return std::nullopt;
  return fragments_[next].start;
}

CommitStamp RangeDeletes::covering(Bytes row, CommitStamp at) const {
  const size_t stretch = stretch_of(row);
  if (stretch == kNoStretch) return CommitStamp{};
  const Fragment& in = fragments_[stretch];
  for (size_t i = in.first; i < in.first + in.count; ++i)
    if (stamps_[i] <= at) return stamps_[i];
  return CommitStamp{};
}

bool RangeDeletes::reaches_further(size_t a, size_t b) const {
  if (items_[b].end.empty()) return false;
  return items_[a].end.empty() || items_[a].end > items_[b].end;
}

// Builds the tree of a stretch; returns the item that ends last. REQUIRES: not empty.
size_t RangeDeletes::plant(size_t first, size_t last) {
  const size_t root = first + (last - first) / 2;
  size_t furthest = root;
  for (const auto& [begin, end] : {std::pair(first, root), std::pair(root + 1, last)}) {
    if (begin == end) continue;
    const size_t part = plant(begin, end);
    if (reaches_further(part, furthest)) furthest = part;
  }
  return furthest_[root] = furthest;
}

void RangeDeletes::stab(size_t first, size_t last, Bytes row, CommitStamp at,
                        std::vector<CommitStamp>& stamps) const {
  if (first == last) return;
  const size_t root = first + (last - first) / 2;
  const RangeTombstone& furthest = items_[furthest_[root]];
  if (!furthest.end.empty() && furthest.end <= row) return;
  stab(first, root, row, at, stamps);
  const RangeTombstone& item = items_[root];
  if (item.start > row) return;
  if (item.stamp <= at && item.covers(row)) stamps.push_back(item.stamp);
  stab(root + 1, last, row, at, stamps);
}

void RangeDeletes::all_covering(Bytes row, CommitStamp at, std::vector<CommitStamp>& stamps) const {
  stamps.clear();
  stab(0, furthest_.size(), row, at, stamps);
  std::sort(stamps.begin(), stamps.end(), std::greater<>());
}

}  // namespace cellar::engine
