// The filter of a table: a Bloom filter over row prefixes, blocked, so that a probe reads one cache
// line. "No entry of this row" is exact; "maybe" is wrong in about 1 % of the cases at 10 bits per
// row.
//
//   kind: u8 = 1, probes: u8, zero: u16, lines: u32, then lines of 64 bytes
//
// The upper half of a row's hash selects the line, the lower half the bits in it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "engine/model/key.h"
#include "io/base/bytes.h"

namespace cellar::engine {

// XXH3-64 of `row 00 01`, the prefix of all keys of the row. Effectively on disk: never change.
uint64_t row_hash(Bytes row_prefix);

class FilterBuilder {
 public:
  // Rows come in order; consecutive equal hashes count once.
  void add(uint64_t hash) {
    if (hashes_.empty() || hashes_.back() != hash) hashes_.push_back(hash);
  }
  size_t rows() const { return hashes_.size(); }
  // Builds the filter of the added hashes and clears them; in steps, because millions of rows take
  // milliseconds:
  //   builder.begin(10);
  //   while (!builder.step()) { yield }
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
  static constexpr size_t kRowsAStep = 1024;         // takes some 20 us
  static constexpr size_t kBytesAStep = 128 * 1024;  // new memory per step

  std::deque<uint64_t> hashes_;  // a deque grows without moving its contents
  std::string out_;
  size_t bytes_ = 0;  // final size of out_
  size_t lines_ = 0;
  uint32_t probes_ = 0;
};

// Queries a filter in place, without making a Filter. "Maybe" if the contents are not a filter.
bool filter_may_contain(Bytes contents, uint64_t hash);

class Filter {
 public:
  static constexpr size_t kLineBytes = 64;

  // Copies. False if the bytes are not a filter.
  bool open(Bytes contents);
  // The same in steps, because millions of rows take milliseconds: begin(), then step() until it
  // returns true. `contents` must outlive both.
  bool begin(Bytes contents);
  bool step();
  // An unopened filter returns "maybe" for everything.
  bool may_contain(uint64_t hash) const;
  // A may_contain() follows soon: loads what it reads into the processor's cache.
  void expect(uint64_t hash) const;
  size_t memory_bytes() const { return lines_.size() * kLineBytes; }

 private:
  struct alignas(kLineBytes) Line {
    std::array<uint64_t, kLineBytes / 8> words;
  };
  static constexpr size_t kLinesAStep = 1024;  // takes some 20 us

  std::vector<Line> lines_;
  Bytes left_;  // remaining contents while it is being opened
  uint8_t probes_ = 0;
  bool open_ = false;
};

// ColumnKeys: collects the keys of a table's column filter (wanted_entries.h) during writing, as
// long as such a filter pays.
//
// It pays if rows have several columns: at least kColumnsPerRow keys per row, checked after every
// kKeysALook keys and at the end. A table that fails once gets no filter, and collecting costs
// nothing from then on; for rows with one column the row filter is enough.
class ColumnKeys {
 public:
  static constexpr uint64_t kColumnsPerRow = 2;
  static constexpr uint64_t kKeysALook = 4096;

  explicit ColumnKeys(bool wanted) : wanted_(wanted) {}

  // Call with entries in key order; `rows`: number of rows so far, including this one.
  void add(const ParsedKey& key, uint64_t rows) {
    if (wanted_) add_key(key.column_prefix.empty() ? key.row_prefix : key.column_prefix, rows);
  }
  // Whether a table of that many rows gets a filter.
  bool pay(uint64_t rows) const {
    return wanted_ && keys_.rows() != 0 && keys_.rows() >= kColumnsPerRow * rows;
  }
  FilterBuilder& keys() { return keys_; }
  const FilterBuilder& keys() const { return keys_; }

 private:
  void add_key(Bytes key, uint64_t rows) {
    if (key == last_) return;
    last_.assign(key);
    keys_.add(row_hash(key));
    if (keys_.rows() % kKeysALook != 0 || pay(rows)) return;
    wanted_ = false;
    keys_ = FilterBuilder();
  }

  bool wanted_;
  std::string last_;
  FilterBuilder keys_;
};

}  // namespace cellar::engine
