#include "net/server/shard/index_merge.h"

#include <algorithm>

#include "io/base/check.h"

namespace cellar::server {

void IndexMerge::remove(IndexSource& source) {
  CHECK(!source.has_hit(), "a source of hits is removed that has some");
  std::erase(dry_, &source);
}

void IndexMerge::clear() {
  with_hits_.clear();
  dry_.clear();
}

const engine::IndexHit* IndexMerge::next() const {
  if (with_hits_.empty()) return nullptr;
  const engine::IndexHit& hit = with_hits_.front()->hit();
  for (const IndexSource* source : dry_) {
    if (!has_passed(*source, hit.position)) return nullptr;
  }
  return &hit;
}

engine::IndexHit IndexMerge::take() {
  const auto order = [this](const IndexSource* a, const IndexSource* b) { return later(a, b); };
  std::pop_heap(with_hits_.begin(), with_hits_.end(), order);
  IndexSource& source = *with_hits_.back();
  engine::IndexHit hit = std::move(source.hit());
  ++source.taken;
  if (source.has_hit()) {
    std::push_heap(with_hits_.begin(), with_hits_.end(), order);
    return hit;
  }
  with_hits_.pop_back();
  if (!source.batch.done) dry_.push_back(&source);
  return hit;
}

std::vector<IndexSource*> IndexMerge::wanted() const {
  if (with_hits_.empty()) return dry_;
  std::vector<IndexSource*> wanted;
  const Bytes position = with_hits_.front()->hit().position;
  for (IndexSource* source : dry_) {
    if (!has_passed(*source, position)) wanted.push_back(source);
  }
  return wanted;
}

void IndexMerge::filled(IndexSource& source) {
  const engine::IndexBatch& batch = source.batch;
  const auto reach = [&](const std::string& position) {
    if (position.empty()) return;
    if (source.after.empty() || precedes(source.after, position)) source.after = position;
  };
  reach(batch.passed);
  if (!batch.hits.empty()) reach(batch.hits.back().position);
  if (batch.hits.empty() && !batch.done) return;
  std::erase(dry_, &source);
  if (batch.hits.empty()) return;
  with_hits_.push_back(&source);
  std::push_heap(with_hits_.begin(), with_hits_.end(),
                 [this](const IndexSource* a, const IndexSource* b) { return later(a, b); });
}

// Both are sorted, so that each range is looked at once for each tablet that it touches.
std::vector<IndexPart> parts_of(const engine::TableEntry& table, const RowSet& rows) {
  std::vector<IndexPart> parts;
  const std::vector<KeyRange>& ranges = rows.ranges();
  auto range = ranges.begin();
  for (const engine::TabletDescriptor& tablet : table.tablets) {
    const KeyRange whole{tablet.start, tablet.end};
    IndexPart part{&tablet, {}};
    while (range != ranges.end() && (tablet.end.empty() || range->start < tablet.end)) {
      KeyRange inside = intersect(*range, whole);
      if (!inside.empty()) part.rows.add(std::move(inside));
      const bool goes_on = !tablet.end.empty() && (range->end.empty() || range->end > tablet.end);
      if (goes_on) break;
      ++range;
    }
    if (!part.rows.ranges().empty()) parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace cellar::server
