// The values of a run: their sizes, their lives, and bytes that compress to a stated share and can
// be verified when they are read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/base/bytes.h"
#include "io/base/random.h"
#include "io/base/result.h"

namespace cellar::bench {

// Weighted choices among ranges of numbers. One form describes sizes of values ("100", "10-1000",
// "64:50,1024:40,65536:10") and lives of cells ("30m", "1h:70,1d:20,none:10"): numbers or ranges,
// each with its weight after a colon (1 without one). A range is uniform.
class Mix {
 public:
  static constexpr size_t kMaxChoices = 64;

  Mix() : Mix(0) {}
  explicit Mix(uint64_t number) : choices_{{number, number, 1}} {}

  // Sizes in bytes; K and M at the end of a number mean KiB and MiB. INVALID_ARGUMENT.
  static Result<Mix> parse_sizes(std::string_view text);
  // Durations in microseconds; ms, s, m, h or d ends a number, "none" is 0. INVALID_ARGUMENT.
  static Result<Mix> parse_lives(std::string_view text);

  uint64_t draw(Random& random) const;
  uint64_t max() const;
  double mean() const;

 private:
  struct Choice {
    uint64_t least = 0;
    uint64_t most = 0;
    double up_to = 0;  // of the weights, cumulative; the last is 1
  };
  using ReadNumber = bool (*)(std::string_view text, uint64_t& number);
  static Result<Mix> parse(std::string_view text, std::string_view what, ReadNumber read);

  std::vector<Choice> choices_;
};

// Appends a value of `bytes` for a field of a row. Its first 8 bytes are `version`, then follow
// bytes that depend on the version, the row and the field, and then both repeat: the first part is
// `share` of the value, so that compression leaves about that share.
void append_value(std::string& out, Bytes row, Bytes field, uint64_t version, size_t bytes,
                  double share);

// Whether append_value() with some version wrote these bytes. `scratch` is reused.
bool is_value_of(Bytes value, Bytes row, Bytes field, double share, std::string& scratch);

}  // namespace cellar::bench
