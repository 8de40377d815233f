// IndexMerge: merges what the tablets of a table find through an index, in the order of the index.
//
//   while (!merge.done()) {
//     if (merge.next() != nullptr) {
//       engine::IndexHit hit = merge.take();
//       ...
//     } else {
//       for (IndexSource* one : merge.wanted(64)) {
//         one->begin_batch();
//         ... fill one->batch by an IndexScan that begins behind one->after
//         merge.filled(*one);
//       }
//     }
//   }
//
// A hit is given when no tablet can have one before it: each has a later hit in memory, has passed
// the position of the hit, or has no more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/catalog/table_map.h"
#include "engine/index_scan.h"
#include "engine/model/read_spec.h"

namespace cellar::server {

// What is known of one tablet.
struct IndexSource {
  RowSet rows;  // of the read, those in the tablet
  // Once the batch is used up, nothing up to here is left; empty: it has not begun.
  std::string after;
  std::string begun;  // `after` when the batch was begun
  engine::IndexBatch batch;
  size_t taken = 0;  // of the batch
  size_t place = 0;  // in IndexMerge::dry_

  bool has_hit() const { return taken < batch.hits.size(); }
  engine::IndexHit& hit() { return batch.hits[taken]; }
  const engine::IndexHit& hit() const { return batch.hits[taken]; }
  // REQUIRES: the last batch is used up.
  void begin_batch() {
    batch.clear();
    taken = 0;
    begun = after;
  }
  // It has nothing more.
  bool done() const { return batch.done && !has_hit(); }
};

// One shard. Sources belong to the caller, stay where they are, and outlive it or are removed.
class IndexMerge {
 public:
  explicit IndexMerge(bool reversed) : reversed_(reversed) {}

  // Adds a source that has no batch yet.
  void add(IndexSource& source);
  // REQUIRES: it has no hit, and is not done.
  void remove(IndexSource& source);
  void clear();
  // Drops the batches: every source resumes behind `given`, the position of the last hit that was
  // taken, or behind what it had passed before its batch. Those that are done stay so.
  void drop_batches(const std::string& given);

  // The next hit, valid until take(); null: none is known to be the next.
  const engine::IndexHit* next() const;
  // The source of next(). REQUIRES: next() is not null.
  IndexSource& next_source() { return *with_hits_.front(); }
  // REQUIRES: next() is not null.
  engine::IndexHit take();
  // No source has anything more.
  bool done() const { return with_hits_.empty() && dry_.empty(); }
  // Sources without a hit that hold up next(), at most so many. REQUIRES: next() is null, and not
  // done().
  std::vector<IndexSource*> wanted(size_t most = SIZE_MAX) const;
  // The batch of a wanted source is filled.
  void filled(IndexSource& source);

  // Whether position `a` comes before `b`.
  bool precedes(Bytes a, Bytes b) const { return reversed_ ? b < a : a < b; }

 private:
  bool later(const IndexSource* a, const IndexSource* b) const {
    return precedes(b->hit().position, a->hit().position);
  }
  // Whether the source can have no hit before this position.
  bool has_passed(const IndexSource& source, Bytes position) const {
    return !source.after.empty() && !precedes(source.after, position);
  }
  void reach(IndexSource& source, const std::string& position) const;

  const bool reversed_;
  std::vector<IndexSource*> with_hits_;  // a heap: the source of the next hit is first
  std::vector<IndexSource*> dry_;        // may have more, none of it in memory; in any order
};

// The part of `rows` that lies in a tablet.
struct IndexPart {
  const engine::TabletDescriptor* tablet = nullptr;  // of the table
  RowSet rows;
};

// The tablets that hold some of the rows, in key order.
std::vector<IndexPart> parts_of(const engine::TableEntry& table, const RowSet& rows);

}  // namespace cellar::server
