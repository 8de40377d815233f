// Tables, families and their retention rules. Times are microseconds since 1970, durations
// microseconds.
#pragma once

#include <cellar/export.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cellar {
CELLAR_VERSIONED {
  // When a cell dies. A cell that has died is never read again.
  //
  //   Rule rule = Rule::any_of({Rule::max_age(2 * 86'400'000'000), Rule::max_versions(3)});
  struct Rule {
    enum class Kind : std::uint8_t { max_versions = 1, max_age = 2, any = 3, all = 4 };
    Kind kind = Kind::max_versions;
    std::int64_t value = 0;   // versions, or microseconds
    std::vector<Rule> parts;  // any: one of them is due; all: every one is

    CELLAR_API static Rule max_versions(std::int64_t count);
    CELLAR_API static Rule max_age(std::int64_t age_us);
    CELLAR_API static Rule any_of(std::vector<Rule> parts);
    CELLAR_API static Rule all_of(std::vector<Rule> parts);
  };

  enum class TimestampMeaning : std::uint8_t { time = 0, expiry = 1, sequence = 2 };

  // Absent parts take the default at creation and stay as they are in an alteration.
  struct Family {
    std::string name;
    bool rule_given = false;
    std::optional<Rule> rule;  // used if rule_given; absent: keep everything
    std::optional<TimestampMeaning> timestamps;
    std::optional<std::int64_t> undo_window_us;

    Family() = default;
    explicit Family(std::string family_name) : name(std::move(family_name)) {}
    Family(std::string family_name, std::optional<Rule> retention)
        : name(std::move(family_name)), rule_given(true), rule(std::move(retention)) {}
  };

  struct TableSpec {
    std::string name;
    std::vector<Family> families;
    std::vector<std::string> splits;  // first rows of the tablets
    bool micros = false;              // timestamps in microseconds instead of milliseconds
    std::optional<std::int64_t> reclaim_within_us;  // time within which dead bytes leave the disk
  };

  struct TableChange {
    std::string name;
    std::vector<Family> add, alter;
    std::vector<std::string> drop;  // families, with their cells; this cannot be undone
    std::optional<std::int64_t> reclaim_within_us;
  };

  struct Table {
    std::string name;
    std::uint64_t version = 0;  // of the schema
    bool micros = false;
    std::vector<Family> families;  // by name
    std::uint64_t tablets = 0;
  };

  // What a rule would kill.
  struct Preview {
    std::uint64_t cells = 0;
    std::uint64_t rows = 0;   // that lose at least one cell
    std::uint64_t bytes = 0;  // of keys and values
    std::uint64_t cells_seen = 0;
    std::uint64_t rows_seen = 0;
    std::vector<std::string> sample_rows;
    std::int64_t undo_window_us = 0;  // how long the change can be undone; 0: not at all
  };

}  // namespace v0
}  // namespace cellar
