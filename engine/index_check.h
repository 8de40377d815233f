// The comparison of an index with its table (SEMANTICS 11.8), while both serve. Each tablet is
// compared on its shard, in slices:
//
//   forwards   every cell that a scan finds and the index must have has an entry
//   backwards  every cell that a read through the index finds is found by a scan
//
// A difference counts only if it is found again at a later time, because cells change meanwhile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/base/result.h"

namespace cellar::engine {

inline constexpr size_t kMaxIndexCheckSamples = 10;

struct IndexCheckReport {
  uint64_t rows = 0;  // that the scan has seen
  uint64_t rows_about = 0;
  uint64_t cells = 0;    // that a scan finds and the index must have
  uint64_t entries = 0;  // that the index has
  uint64_t hits = 0;     // of these, found by a read through it
  uint64_t missing = 0;  // cells without an entry
  uint64_t wrong = 0;    // hits that the scan does not find
  std::vector<std::string>
      samples;  // rows of missing and wrong ones, at most kMaxIndexCheckSamples
};

class IndexCheckListener {
 public:
  // An error ends the check, which returns it.
  virtual Result<void> go_on(const IndexCheckReport& so_far) = 0;

 protected:
  ~IndexCheckListener() = default;
};

}  // namespace cellar::engine
