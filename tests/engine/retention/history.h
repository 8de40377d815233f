// A random history of one table, as a list of steps that can be played against a node under any
// options, and shortened: each step stands for itself, so any part of a history is a history.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/model/retention_rule.h"
#include "io/base/random.h"
#include "tests/support/row_model.h"

namespace cellar::support {

struct HistoryStep {
  enum class Kind : uint8_t {
    write,
    drop_rows,
    change_rule,
    pass_time,
    flush,
    compact,       // everything
    compact_some,  // of the runs, `a` and `b` say which
    crash,
    kill,
    close,
    read,
  };
  Kind kind = Kind::read;
  std::string row;                 // write; drop_rows: the first
  std::string end;                 // drop_rows
  std::vector<OwnedMutation> ops;  // write
  std::string family;              // change_rule
  RetentionRule rule;              // likewise
  bool close_oldest = false;       // likewise
  int64_t us = 0;                  // pass_time
  uint64_t a = 0;
  uint64_t b = 0;
};

std::string to_text(const HistoryStep& step);

struct History {
  struct Family {
    std::string name;
    RetentionRule rule;
    int64_t undo_window_us = 0;
  };
  uint64_t seed = 0;
  std::vector<Family> families;
  std::vector<HistoryStep> steps;
};

History random_history(uint64_t seed, size_t steps);

// Plays it on a node with options drawn from `options_seed` and compares every read with the model.
// What differed, or nothing.
std::optional<std::string> play(const History& history, uint64_t options_seed);

// Takes steps away as long as it still fails.
History shorten(History failing, uint64_t options_seed);

}  // namespace cellar::support
