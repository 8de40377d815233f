// A random history of one table, as a list of steps that can be played against a node under any
// options, and shortened: each step stands for itself, so any part of a history is a history.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/filter_spec.h"
#include "engine/model/retention_rule.h"
#include "engine/model/schema.h"
#include "io/base/random.h"
#include "tests/support/row_model.h"

namespace cellar::support {

inline constexpr int64_t kHistoryStartUs = 1'000'000'000;
inline constexpr const char* kHistoryRows[] = {"a", "b", "bb", "c"};
// Tablets are cut at these and nowhere else.
inline constexpr std::string_view kHistoryPlaces[] = {"", "a", "aa", "b", "bb", "c", "d"};

struct HistoryStep {
  enum class Kind : uint8_t {
    write,   // answered later: reads, crashes and closing wait for it
    check,   // CheckAndMutateRow
    modify,  // ReadModifyWriteRow of one column
    drop_rows,
    change_rule,
    pass_time,
    flush,
    compact,       // everything
    compact_some,  // of the runs, `a` and `b` say which
    split,
    merge,
    move,  // the tablet of `row`, to another shard; no row: any, to any
    crash,
    kill,
    close,
    read,
    // Of the machine's clocks; see JudgedTime.
    step_wall,         // by `us`
    set_wall_right,    // it says what time it is
    set_synchronised,  // the kernel says so, or not: `a`
    reboot,            // down for `us`, then another boot; `a`: how it ends, `b`: its clock then
    renew,             // the anchor
    release,           // held time, by an operator
  };
  Kind kind = Kind::read;
  std::string row;                      // of a row's write; drop_rows: the first; split: where
  std::string end;                      // drop_rows; read: if `row` is set
  std::vector<OwnedMutation> ops;       // write; check: if it matches
  std::vector<OwnedMutation> else_ops;  // check
  FilterSpec filter;                    // check, read
  std::string family;                   // change_rule, modify
  std::string qualifier;                // modify
  int64_t by = 0;                       // modify: 0 appends, else increments
  RetentionRule rule;                   // change_rule
  bool close_oldest = false;            // likewise
  bool reversed = false;                // read
  TimeRange time_range;                 // likewise
  uint32_t versions = 0;                // likewise
  int64_t us = 0;                       // pass_time; down for so long: crash, kill, close
  bool frozen = false;                  // pass_time: the process does not run meanwhile
  uint64_t a = 0;
  uint64_t b = 0;

  // A mutation counts as one, and so does everything else.
  size_t operations() const { return std::max<size_t>(1, ops.size() + else_ops.size()); }
};

std::string to_text(const HistoryStep& step);

struct History {
  uint64_t seed = 0;
  bool clocks = false;  // it moves them, and the node's anchors permit little
  Granularity granularity = Granularity::micros;
  std::vector<FamilySchema> families;
  std::vector<HistoryStep> steps;

  size_t operations() const;
};

// As a script that a person can follow.
std::string to_text(const History& history);

History random_history(uint64_t seed, size_t steps);
// Likewise, and the machine's clocks are stepped, its kernel's word for them changes, it is down
// and boots anew, anchors are renewed or not. Each seed leaves some of that out.
History random_clock_history(uint64_t seed, size_t steps);

// Plays it on a node with options drawn from `options_seed` and compares every answer with the
// model's. What differed, or nothing.
std::optional<std::string> play(const History& history, uint64_t options_seed);

// Those options, for a person.
std::string options_text(const History& history, uint64_t options_seed);

// Takes steps and operations away as long as it still fails.
History shorten(History failing, uint64_t options_seed);

}  // namespace cellar::support
