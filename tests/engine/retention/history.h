// A random history of one table, as a list of steps that can be played against a node under any
// options, and shortened: steps are independent, so any part of a history is a history.
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
// Tablets are split only at these rows.
inline constexpr std::string_view kHistoryPlaces[] = {"", "a", "aa", "b", "bb", "c", "d"};

struct HistoryStep {
  enum class Kind : uint8_t {
    write,   // asynchronous: reads, crashes and closing wait for it
    check,   // CheckAndMutateRow
    modify,  // ReadModifyWriteRow of one column
    drop_rows,
    change_rule,
    pass_time,
    flush,
    compact,       // everything
    compact_some,  // of the runs that `a` and `b` select
    split,
    merge,
    move,  // moves the tablet of `row` to another shard; no row: any tablet, to any shard
    crash,
    kill,
    close,
    read,
    // Steps of the machine's clocks; see JudgedTime.
    step_wall,         // by `us`
    set_wall_right,    // sets the wall clock to real time
    set_synchronised,  // `a`: whether the kernel reports a synchronised clock
    // down for `us`, then another boot; `a`: how the process ends, `b`: the clock of the new boot
    reboot,
    renew,    // renews the anchor
    release,  // releases held time, as an operator
  };
  Kind kind = Kind::read;
  std::string row;                 // the row of a write; drop_rows: the first row; split: the place
  std::string end;                 // drop_rows; read: if `row` is set
  std::vector<OwnedMutation> ops;  // write; check: if it matches
  std::vector<OwnedMutation> else_ops;  // check
  FilterSpec filter;                    // check, read
  std::string family;                   // change_rule, modify
  std::string qualifier;                // modify
  int64_t by = 0;                       // modify: 0 appends, else increments
  RetentionRule rule;                   // change_rule
  bool close_oldest = false;            // change_rule
  bool reversed = false;                // read
  TimeRange time_range;                 // read
  uint32_t versions = 0;                // read
  int64_t us = 0;                       // pass_time; length of the downtime: crash, kill, close
  bool frozen = false;                  // pass_time: the process does not run meanwhile
  uint64_t a = 0;
  uint64_t b = 0;

  // Each mutation counts as one operation; so does any other step.
  size_t operations() const { return std::max<size_t>(1, ops.size() + else_ops.size()); }
};

std::string to_text(const HistoryStep& step);

struct History {
  uint64_t seed = 0;
  bool clocks = false;  // steps the clocks; the node's anchors permit little
  Granularity granularity = Granularity::micros;
  std::vector<FamilySchema> families;
  std::vector<HistoryStep> steps;

  size_t operations() const;
};

// As a readable script.
std::string to_text(const History& history);

History random_history(uint64_t seed, size_t steps);
// The same with steps of the machine's clocks, changes of the kernel's synchronisation state,
// downtimes, reboots, and renewals of anchors. Each seed omits some of these.
History random_clock_history(uint64_t seed, size_t steps);

// What a play has compared and done. A step may end without either: the instant of a read is
// unknown when time passes meanwhile, and a tablet may not be split where a step says.
struct Played {
  struct Share {
    size_t asked = 0;
    size_t done = 0;
    bool operator==(const Share&) const = default;
  };
  Share reads;
  Share explained;
  Share previews;
  Share splits;
  Share merges;
  Share moves;

  void add(const Played& other);
  std::string to_text() const;
};

// Plays the history on a node with options drawn from `options_seed` and compares every answer with
// the model's. Returns the first difference, or nothing.
std::optional<std::string> play(const History& history, uint64_t options_seed,
                                Played* played = nullptr);

// Those options, for display.
std::string options_text(const History& history, uint64_t options_seed);

// Removes steps and operations while the history still fails.
History shorten(History failing, uint64_t options_seed);

}  // namespace cellar::support
