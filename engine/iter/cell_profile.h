// CellProfile: statistics of a table's cells that bound its dead bytes at any time without reading
// it (retention/death_spans.h): bytes by family and time, how many cells are later versions of
// their column, and a sample of rows for estimating the overlap with another table.
//
// Invariants
//   1. A profile may be unknown; then nothing follows from its other fields.
//   2. Every cell that is not a tombstone is counted once: its bytes are in `times` of its family
//      or, if it has its own expiry, in `expiries`; and once in `by_rank` of its family.
//   3. row_sample has the kRowSample rows (or all, if there are fewer) of least rank in an order
//      independent of their contents: an even sample of the distinct rows.
//   4. Bounded: with more than kMaxFamilies families the profile is unknown.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/iter/time_histogram.h"
#include "engine/model/key.h"

namespace cellar::engine {

// The rank of a cell is the number of newer versions of its column in the table. Ranks below
// kExactRanks have their own class, [8, 16) shares one, and so on; the last is unbounded.
inline constexpr size_t kRankClasses = 12;
inline constexpr uint64_t kExactRanks = 8;
size_t rank_class(uint64_t rank);
uint64_t least_rank(size_t rank_class);

struct CellProfile {
  struct Family {
    std::string name;
    TimeHistogram times;  // timestamps of cells without their own expiry
    std::array<uint64_t, kRankClasses> by_rank{};
    uint64_t bytes() const;  // of all its cells
    // Lower bound of the bytes of cells with at least that rank.
    uint64_t bytes_from_rank(uint64_t rank) const;
    bool operator==(const Family&) const = default;
  };
  static constexpr size_t kMaxFamilies = 16;
  static constexpr size_t kRowSample = 48;

  bool known = false;
  std::vector<Family> families;      // sorted by name, as in keys
  TimeHistogram expiries;            // of cells with their own expiry
  std::vector<uint64_t> row_sample;  // row_hash() of each row

  bool operator==(const CellProfile&) const = default;
};

// Receives the entries of a table in key order.
class CellProfileBuilder {
 public:
  void add_row(uint64_t row_hash);
  void add_cell(const ParsedKey& key, Bytes value, size_t bytes);
  CellProfile finish();

 private:
  struct Family {
    std::string name;
    TimeHistogramBuilder times;
    std::array<uint64_t, kRankClasses> by_rank{};
  };
  bool enter(Bytes family);

  bool known_ = true;
  std::vector<Family> families_;
  size_t at_ = 0;
  TimeHistogramBuilder expiries_;
  std::string column_;
  uint64_t rank_ = 0;
  std::vector<std::pair<uint64_t, uint64_t>> sample_;  // order, hash; a max-heap
};

// See "Cell profile" in FORMATS.md. decode returns false for invalid bytes.
void encode_cell_profile(std::string& out, const CellProfile& profile);
bool decode_cell_profile(Reader& in, CellProfile& out);

}  // namespace cellar::engine
