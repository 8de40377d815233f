// The filter of a table: a Bloom filter over row prefixes, blocked, so that a probe touches one
// cache line. It answers "no entry of this row is here" without error and "maybe" with about 1 %
// of error at 10 bits a row.
//
//   kind: u8 = 1, probes: u8, zero: u16, lines: u32, then lines of 64 bytes
//
// A row's line is chosen by the upper half of its hash, its bits in that line by the lower half.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "io/base/bytes.h"

namespace cellar::engine {

// XXH3-64 of `row 00 01`, the head of all keys of the row. On disk, in effect: never change.
uint64_t row_hash(Bytes row_prefix);

class FilterBuilder {
 public:
  // Rows come in order; the same hash twice in a row counts once.
  void add(uint64_t hash) {
    if (hashes_.empty() || hashes_.back() != hash) hashes_.push_back(hash);
  }
  size_t rows() const { return hashes_.size(); }
  // The filter of what was added, which is forgotten; in steps, for millions of rows take
  // milliseconds:
  //   builder.begin(10);
  //   while (!builder.step()) { let others run }
  //   use(builder.contents());
  // bits_per_row: 1 to 64.
  void begin(uint32_t bits_per_row);
  bool step();  // true: done
  Bytes contents() const { return out_; }
  // All steps at once.
  std::string finish(uint32_t bits_per_row) {
    begin(bits_per_row);
    while (!step()) {
    }
    return out_;
  }

 private:
  static constexpr size_t kRowsAStep = 1024;         // some 20 us
  static constexpr size_t kBytesAStep = 128 * 1024;  // of new memory

  std::deque<uint64_t> hashes_;  // grows without moving what is there
  std::string out_;
  size_t bytes_ = 0;  // that out_ is to have
  size_t lines_ = 0;
  uint32_t probes_ = 0;
};

// What a Filter of the contents says, without one: they are looked at where they lie. "Maybe" when
// they are none.
bool filter_may_contain(Bytes contents, uint64_t hash);

class Filter {
 public:
  static constexpr size_t kLineBytes = 64;

  // Copies. False when the bytes are no filter.
  bool open(Bytes contents);
  // The same in steps, for millions of rows take milliseconds: begin(), then step() until it is
  // true. `contents` outlive both.
  bool begin(Bytes contents);
  bool step();
  // A filter that was never opened says "maybe" to everything.
  bool may_contain(uint64_t hash) const;
  size_t memory_bytes() const { return lines_.size() * kLineBytes; }

 private:
  struct alignas(kLineBytes) Line {
    std::array<uint64_t, kLineBytes / 8> words;
  };
  static constexpr size_t kLinesAStep = 1024;  // some 20 us

  std::vector<Line> lines_;
  Bytes left_;  // of the contents, while it is opened
  uint8_t probes_ = 0;
  bool open_ = false;
};

}  // namespace cellar::engine
