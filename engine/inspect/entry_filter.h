// EntryFilter: which entries of logs, tables and manifests an inspector prints.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "io/base/bytes.h"

namespace cellar::engine {

struct EntryFilter {
  std::optional<std::string> row;  // entries of this row, and range deletes that cover it
  std::optional<uint64_t> table;   // entries of this table
  std::set<uint64_t> tablets;      // of that table, by the directory's manifest

  bool active() const { return row || table; }
  bool wants_row(Bytes of) const { return !row || *row == of; }
  bool wants_range(Bytes start, Bytes end) const {
    return !row || (*row >= start && (end.empty() || *row < end));
  }
  bool wants_tablet(uint64_t tablet) const { return !table || tablets.contains(tablet); }
  bool wants_table(uint64_t id) const { return !table || *table == id; }
};

}  // namespace cellar::engine
