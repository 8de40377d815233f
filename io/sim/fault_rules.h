// FaultRules: the operations of a FaultyFs that fail, one line of text per rule, so that a failing
// run can be replayed from its output.
//
//   write path=wal/* nth=3 error=EIO         the third write below wal fails
//   sync path=* p=0.01 seed=7 error=EIO      one sync in a hundred, random with seed 7
//   read p=0.05 short                        transfers fewer bytes than requested
//   write error=ENOSPC sticky nth=10         the tenth and every later one
//   sync path=manifest/* drop                fails once; dirty data never reaches the disk
//   write path=wal/* delay_us=5000           starts late (needs Timers)
//   sync nth=2 hang                          does not start until release_hung()
//   read at=8192 error=EIO                   reads of a range with this byte of the file fail
//
// The operation is one of read, write, sync, open, create, remove, rename, create_dir, sync_dir,
// list, allocate, truncate, size, close, lock, free_bytes, or * for any. In a path '*' matches any
// bytes; a rename matches by its source. Without nth= and p= a rule applies every time; with nth=
// or `drop` it applies once. The first matching rule wins.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/base/random.h"
#include "io/base/result.h"

namespace cellar {

struct FaultEffect {
  int error = 0;  // errno; 0 for none
  bool cut = false;
  bool drop = false;
  bool hang = false;
  int64_t delay_us = 0;
  uint64_t draw = 0;  // random, determines the length of a short transfer

  bool any() const { return error != 0 || cut || hang || delay_us > 0; }
};

class FaultRules {
 public:
  static constexpr size_t kMaxRules = 64;

  // INVALID_ARGUMENT names the unknown word.
  Result<void> add(std::string_view text);
  void clear() { rules_.clear(); }

  // Called once per operation, with the bytes [from, to) of a read or write; counts it.
  FaultEffect decide(std::string_view operation, std::string_view path, uint64_t from = 0,
                     uint64_t to = 0);

  // How often rule number `rule` applied, and the total.
  uint64_t hits(size_t rule) const { return rules_.at(rule).hits; }
  uint64_t hits() const;

 private:
  struct Rule {
    std::string operation;
    std::string path = "*";
    FaultEffect effect;
    uint64_t nth = 0;
    double p = -1;
    std::optional<uint64_t> at{};
    bool sticky = false;
    Random random{1};
    uint64_t seen = 0;
    uint64_t hits = 0;

    Result<void> set(std::string_view key, std::string_view value, std::string_view text);
    bool matches(std::string_view name, std::string_view of, uint64_t from, uint64_t to) const;
    bool applies();
  };

  std::vector<Rule> rules_;
};

}  // namespace cellar
