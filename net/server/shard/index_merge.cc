#include "net/server/shard/index_merge.h"

#include <algorithm>

#include "io/base/check.h"

namespace cellar::server {

void IndexMerge::add(IndexSource& source) {
  source.place = dry_.size();
  dry_.push_back(&source);
}

void IndexMerge::remove(IndexSource& source) {
  CHECK(source.place < dry_.size() && dry_[source.place] == &source,
        "a source of hits is removed that is not without them");
  dry_.back()->place = source.place;
  dry_[source.place] = dry_.back();
  dry_.pop_back();
}

void IndexMerge::clear() {
  with_hits_.clear();
  dry_.clear();
}

// Nothing of the source up to this position is left.
void IndexMerge::reach(IndexSource& source, const std::string& position) const {
  if (position.empty()) return;
  if (source.after.empty() || precedes(source.after, position)) source.after = position;
}

void IndexMerge::drop_batches(const std::string& given) {
  for (IndexSource* source : with_hits_) {
    source->after = source->begun;
    source->begin_batch();
    add(*source);
  }
  with_hits_.clear();
  for (IndexSource* source : dry_) reach(*source, given);
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
  if (!source.batch.done) add(source);
  return hit;
}

std::vector<IndexSource*> IndexMerge::wanted(size_t most) const {
  std::vector<IndexSource*> wanted;
  for (IndexSource* source : dry_) {
    if (wanted.size() >= most) break;
    if (!with_hits_.empty() && has_passed(*source, with_hits_.front()->hit().position)) continue;
    wanted.push_back(source);
  }
  return wanted;
}

void IndexMerge::filled(IndexSource& source) {
  const engine::IndexBatch& batch = source.batch;
  reach(source, batch.passed);
  if (!batch.hits.empty()) reach(source, batch.hits.back().position);
  if (batch.hits.empty() && !batch.done) return;
  remove(source);
  if (batch.hits.empty()) return;
  with_hits_.push_back(&source);
  std::push_heap(with_hits_.begin(), with_hits_.end(),
                 [this](const IndexSource* a, const IndexSource* b) { return later(a, b); });
}

std::vector<IndexPart> parts_of(const engine::TableEntry& table, const RowSet& rows) {
  std::vector<IndexPart> parts;
  auto tablet = table.tablets.begin();
  for (const KeyRange& range : rows.ranges()) {
    const auto ends_before = [&range](const engine::TabletDescriptor& one) {
      return !one.end.empty() && one.end <= range.start;
    };
    tablet = std::partition_point(tablet, table.tablets.end(), ends_before);
    for (; tablet != table.tablets.end(); ++tablet) {
      KeyRange inside = intersect(range, {tablet->start, tablet->end});
      if (!inside.empty()) {
        if (parts.empty() || parts.back().tablet != &*tablet) parts.push_back({&*tablet, {}});
        parts.back().rows.add(std::move(inside));
      }
      const bool goes_on = !tablet->end.empty() && (range.end.empty() || range.end > tablet->end);
      if (!goes_on) break;
    }
  }
  return parts;
}

}  // namespace cellar::server
