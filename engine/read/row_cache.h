// RowCache: finished results of point reads of hot rows. A hit is a look-up and a copy: no search
// in memtables and runs, no judgement of cells.
//
//   RowCache cache(bytes);
//   const RowQuery query{.owner = tablet_owner, .row = row, .versions = 1};
//   if (const CachedRow* row = cache.find(query, since, now_us)) return row->give(sink, cells);
//   RowRecorder recorder(sink);                       // if cache.wants_last()
//   ... read the row into `recorder` as of `stamp` ...
//   cache.keep(query, recorder, stamp, alive_until_us);
//
// A result is valid while nothing can have changed it:
//   commits      wrote() notes each commit to a row when it is applied, before it is visible. A
//                result read as of stamp S is not given once a commit above S was noted for its row
//   range        deletes of row ranges are the tablet's: find() gives nothing older than `since`
//   schema       a tablet takes a new owner id when its schema changes, and when it is opened
//   time         the result is given up to the last instant at which every cell in it is alive. A
//                dead cell never lives again, and one that was not given can come in only when a
//                given one dies or by a commit
//
// Invariants
//   1. A result is what a read of all sources would return at the time of find().
//   2. At most `bytes` are held, the sets included; they are allocated when a row is first read.
//   3. A call examines at most kMostEvictions results beyond its set.
//
// Results lie in sets of four, chosen by the hash of owner and row. A result is kept when the row
// is read for the second time while the set remembers the first: a row that is read once, as in a
// walk over many rows, replaces nothing. Sets are shared by rows, and one commit stamp is noted for
// a set: a commit to one of its rows ends the results of the others, which costs a read each.
//
// A find() waits for memory twice: for the set, then for the result. expect() and expect_result()
// start these loads early, so that those of several rows overlap.
//
// One shard. Views are valid until the next call of keep().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/filter/named_columns.h"
#include "engine/model/read_spec.h"
#include "engine/model/types.h"

namespace cellar::engine {

// A point read, and the tablet that it is of. Views; `columns` null: all.
struct RowQuery {
  uint64_t owner = 0;
  Bytes row;
  uint32_t versions = 0;  // of each column; 0: all
  const NamedColumns* columns = nullptr;
};

// Passes a result on and records it.
class RowRecorder final : public CellSink {
 public:
  // A longer result is not recorded.
  static constexpr size_t kMostBytes = 4096;

  // `to` must outlive it; the memory of `cells` is reused.
  RowRecorder(CellSink& to, std::string& cells) : to_(to), cells_(cells) { cells_.clear(); }
  Flow cell(const CellView& cell) override;
  Flow end_row(Bytes row) override { return to_.end_row(row); }

 private:
  friend class RowCache;

  CellSink& to_;
  std::string& cells_;
  uint32_t count_ = 0;
  bool too_long_ = false;
};

// A result in the cache.
class CachedRow {
 public:
  // Passes the cells and the end of the row to `sink`. False: the sink asked for a pause before the
  // last cell; `cells` were passed.
  bool give(CellSink& sink, uint64_t& cells) const;

 private:
  friend class RowCache;

  Bytes asked() const { return {data(), asked_bytes_}; }
  Bytes row() const { return {data() + asked_bytes_, row_bytes_}; }
  Bytes cells() const { return {data() + asked_bytes_ + row_bytes_, cell_bytes_}; }
  const char* data() const { return reinterpret_cast<const char*>(this + 1); }
  char* data() { return reinterpret_cast<char*>(this + 1); }
  size_t bytes() const { return sizeof(CachedRow) + asked_bytes_ + row_bytes_ + cell_bytes_; }

  uint64_t owner_ = 0;
  CommitStamp stamp_;           // as of which it was read
  int64_t alive_until_us_ = 0;  // the last time at which it is valid
  uint32_t asked_bytes_ = 0;    // of the encoded versions and columns; the row's key follows them
  uint32_t row_bytes_ = 0;
  uint32_t cell_bytes_ = 0;
  uint32_t count_ = 0;
};

class RowCache {
 public:
  static constexpr int kMostEvictions = 64;

  struct Figures {
    uint64_t hits = 0;
    uint64_t misses = 0;
    uint64_t rows = 0;
    size_t bytes = 0;
  };

  // 0: it holds nothing.
  explicit RowCache(size_t bytes);
  ~RowCache();
  RowCache(const RowCache&) = delete;
  RowCache& operator=(const RowCache&) = delete;

  // Differs from every other of this cache.
  uint64_t new_owner() { return ++last_owner_; }

  // A find() of this row follows soon: loads its set into the processor's cache. Returns a hash of
  // the row, with which expect_result() is called once the set is likely to be there. Both change
  // nothing.
  uint64_t expect(uint64_t owner, Bytes row) const;
  // Loads the result, if the query asks for the same columns as the last find(). False: it
  // holds none; a result that it holds may still not be valid.
  bool expect_result(uint64_t row_hash) const;

  // Null: not held, or not valid at `now_us`. `since`: results of earlier stamps are not valid.
  const CachedRow* find(const RowQuery& query, CommitStamp since, int64_t now_us);
  // The query of the last find(), which returned null, is worth keeping.
  bool wants_last() const { return wants_last_; }
  // REQUIRES: the query of the last find(). `stamp`: every commit to the row up to it was visible
  // to the read, and no other.
  void keep(const RowQuery& query, const RowRecorder& recorder, CommitStamp stamp,
            int64_t alive_until_us);
  // A commit to the row was applied.
  void wrote(uint64_t owner, Bytes row, CommitStamp stamp) {
    if (sets_ != nullptr) return note(owner, row, stamp);
    unnoted_ = std::max(unnoted_, stamp);
  }

  // Memory for the cells of a RowRecorder.
  std::string& scratch() { return scratch_; }
  const Figures& figures() const { return figures_; }
  size_t most_bytes() const { return most_bytes_; }

 private:
  static constexpr size_t kWays = 4;

  // One cache line.
  struct alignas(64) Set {
    std::array<CachedRow*, kWays> rows{};
    CommitStamp newest;                    // commit to one of its rows
    std::array<uint16_t, kWays> tags{};    // of the rows
    std::array<uint16_t, kWays> missed{};  // tags of queries that were not found lately; 0: none
    uint8_t used = 0;                      // a bit for each row: given since the hand passed
    uint8_t next_missed = 0;
    uint8_t hand = 0;
  };
  struct Place {
    Set* set = nullptr;
    uint16_t tag = 0;
  };

  static uint64_t hash_of(uint64_t owner, Bytes row);
  Set& set_of(uint64_t hash) const { return sets_[hash & (set_count_ - 1)]; }
  uint16_t tag_of(uint64_t hash) const {
    return static_cast<uint16_t>((hash >> 48 ^ asked_hash_) | 1);
  }
  void note(uint64_t owner, Bytes row, CommitStamp stamp);
  void remember_asked(const RowQuery& query);
  void drop(Set& set, size_t way);
  size_t free_way(Set& set);
  bool make_room(size_t bytes);

  const size_t most_bytes_;
  size_t set_count_ = 0;  // a power of two
  std::unique_ptr<Set[]> sets_;
  size_t evict_at_ = 0;  // the set that is examined next
  CommitStamp unnoted_;  // the newest commit to a row before there were sets
  uint64_t last_owner_ = 0;
  Place last_;
  bool wants_last_ = false;
  // Versions and columns of the last find(), encoded. With `asked_all_` these were all columns, and
  // `asked_versions_` of each.
  std::string asked_;
  uint64_t asked_hash_ = 0;
  uint32_t asked_versions_ = 0;
  bool asked_all_ = false;
  std::string scratch_;
  Figures figures_;
};

}  // namespace cellar::engine
