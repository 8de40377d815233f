// Secondary indexes of a table: cells found by value, time or qualifier.
#pragma once

#include <cellar/data.h>
#include <cellar/export.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cellar {
CELLAR_VERSIONED {
  enum class IndexPart : std::uint8_t { value = 1, time = 2, qualifier = 3 };
  // The order of values: as bytes, or as signed 64-bit big-endian integers.
  enum class IndexType : std::uint8_t { bytes = 0, int64 = 1 };
  // Which living versions of a column are found.
  enum class IndexMatch : std::uint8_t { newest = 0, any = 1 };
  // The answer to a rule that kills by age before the index's own age.
  enum class TighterBase : std::uint8_t { follow = 0, refuse = 1 };

  struct IndexColumn {
    std::string family, qualifier;
  };

  //   Index index;
  //   index.name = "by_user";
  //   index.family = "f";
  //   index.qualifier = "user";
  //   index.order = {IndexPart::value, IndexPart::time};
  struct Index {
    std::string name;
    std::string family;
    std::optional<std::string> qualifier;  // absent: every column of the family
    // {value}, {value, time}: of a column; {time}; {qualifier, time}: of a family.
    std::vector<IndexPart> order;
    std::optional<IndexType> type;  // of values; absent: bytes
    IndexMatch match = IndexMatch::newest;
    std::vector<IndexColumn> covered;         // returned with each hit
    std::optional<std::int64_t> max_age_us;   // older cells are not found; absent: none
    std::optional<TighterBase> tighter_base;  // absent: the default of the table
  };

  // Absent parts stay as they are.
  struct IndexChange {
    std::string name;
    bool max_age_given = false;
    std::optional<std::int64_t> max_age_us;  // used if max_age_given; absent: no own age
    std::optional<TighterBase> tighter_base;
  };

  struct IndexState {
    Index index;
    bool ready = false;  // reads through it are answered
    // Bytes of the table, and of these, of files and memory that have the index's entries.
    std::uint64_t done_bytes = 0, total_bytes = 0;
    std::uint64_t entries = 0;  // on disk, those of dead and replaced cells included
    std::uint64_t bytes = 0;    // of these
    std::uint64_t skipped = 0;  // of an int64 index: cells on disk whose value is not 8 bytes
  };

  // Each hit is a row of the answer: the indexed cell, then its covered ones. A row comes as often
  // as it has hits. All conditions hold together.
  struct ReadIndex {
    std::string index;
    std::optional<std::string> value;  // equal; not with `values`
    std::optional<RowRange> values;
    std::optional<std::string> qualifier;  // equal; not with `qualifiers`
    std::optional<RowRange> qualifiers;
    std::optional<std::int64_t> start_us, end_us;  // of the timestamp: [start, end)
    // Rows: the union of keys and ranges; without both: every row.
    std::vector<std::string> keys;
    std::vector<RowRange> ranges;
    // The whole row instead, each once, where its first hit stands.
    bool whole_rows = false;
    std::optional<Filter> filter;       // of whole rows
    std::optional<std::int64_t> limit;  // of hits, or of whole rows; absent: none
    bool reversed = false;
  };

}  // namespace v0
}  // namespace cellar
