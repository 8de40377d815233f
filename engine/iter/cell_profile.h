// CellProfile: what a table knows of its cells beyond time bounds, so that the bytes that are dead
// at any moment can be bounded without reading it (retention/death_estimate.h): whose they are,
// how they spread over time, how many are later versions of their column, and a sample of its rows,
// by which another table can be asked whether it holds the same rows.
//
// Invariants
//   1. A profile that is not known says so, and then nothing follows from its other fields.
//   2. Every cell that is no husk is counted once: its bytes are in `times` of its family, or,
//   where
//      it has an expiry of its own, in `expiries`; and once in `by_rank` of its family.
//   3. row_sample holds the kRowSample rows (or all, where there are fewer) of least rank in an
//      order that has nothing to do with what is in them: an even sample of the distinct rows.
//   4. Bounded: kMaxFamilies families, else it is not known.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/iter/time_histogram.h"
#include "engine/model/key.h"

namespace cellar::engine {

// The rank of a cell: how many newer versions of its column the table holds. Ranks below
// kExactRanks have a class of their own, [8, 16) shares one, and so on; the last has no end.
inline constexpr size_t kRankClasses = 12;
inline constexpr uint64_t kExactRanks = 8;
size_t rank_class(uint64_t rank);
uint64_t least_rank(size_t rank_class);

struct CellProfile {
  struct Family {
    std::string name;
    TimeHistogram times;  // timestamps of cells without an expiry of their own
    std::array<uint64_t, kRankClasses> by_rank{};
    uint64_t bytes() const;  // of all its cells
    // Of cells with at least that rank, never more than the truth.
    uint64_t bytes_from_rank(uint64_t rank) const;
    bool operator==(const Family&) const = default;
  };
  static constexpr size_t kMaxFamilies = 16;
  static constexpr size_t kRowSample = 48;

  bool known = false;
  std::vector<Family> families;      // as they come in keys: by name
  TimeHistogram expiries;            // of cells with one
  std::vector<uint64_t> row_sample;  // row_hash() of each

  bool operator==(const CellProfile&) const = default;
};

// Fed with the entries of a table in key order.
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
  std::vector<std::pair<uint64_t, uint64_t>> sample_;  // order, hash; a heap, the greatest first
};

// See "Cell profile" in FORMATS.md. decode answers false for bytes that are none.
void encode_cell_profile(std::string& out, const CellProfile& profile);
bool decode_cell_profile(Reader& in, CellProfile& out);

}  // namespace cellar::engine
