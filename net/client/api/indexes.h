// Secondary indexes of a table (SEMANTICS 11): their definitions and states. ReadIndex is in
// codec/requests.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cellar::client {

// The numbers of the four enumerations are on the wire.
enum class IndexPart : uint8_t { value = 1, time = 2, qualifier = 3 };
// The order of values: as bytes, or as signed 64-bit big-endian integers.
enum class IndexType : uint8_t { bytes = 0, int64 = 1 };
// Which living versions of a column are found: the newest, or any.
enum class IndexMatch : uint8_t { newest = 0, any = 1 };
// The answer to a rule that kills by age before the index's own age: the rule is accepted, or
// refused.
enum class TighterBase : uint8_t { follow = 0, refuse = 1 };

struct IndexColumn {
  std::string family, qualifier;
  friend bool operator==(const IndexColumn&, const IndexColumn&) = default;
};

// Absent parts take their default at creation; in descriptions those in force are present.
struct IndexSpec {
  std::string name;
  std::string family;
  std::optional<std::string> qualifier;  // absent: every column of the family
  // {value}, {value, time}: of a column; {time}; {qualifier, time}: of a family.
  std::vector<IndexPart> parts;
  std::optional<IndexType> type;  // of a value part; absent: bytes
  IndexMatch match = IndexMatch::newest;
  std::vector<IndexColumn> covered;         // returned with each hit
  std::optional<int64_t> max_age_us;        // its own age; absent: none
  std::optional<TighterBase> tighter_base;  // absent: the profile's
};

// Absent parts stay unchanged.
struct AlterIndex {
  std::string table;
  std::string name;
  bool max_age_given = false;
  std::optional<int64_t> max_age_us;  // used if max_age_given; absent: no own age
  std::optional<TighterBase> tighter_base;
};

struct IndexDescription {
  IndexSpec index;
  bool ready = false;        // reads through it are answered
  uint64_t total_bytes = 0;  // of the table's files and memtables
  uint64_t done_bytes = 0;   // of these, the part with the index's entries
  uint64_t entries = 0;      // in memory and on disk, those of dead and replaced cells included
  uint64_t bytes = 0;        // stored on disk
  uint64_t skipped = 0;      // of an int64 index: cells on disk whose value is not 8 bytes
};

// Compares an index with its table while both serve.
struct CheckIndex {
  std::string table;
  std::string name;
};
struct IndexCheck {
  uint64_t rows_seen = 0;
  // approximate rows of the table by file; rows in several files count repeatedly
  uint64_t rows_about = 0;
  uint64_t cells = 0;                // that a scan finds and the index must have
  uint64_t entries = 0;              // that the index has
  uint64_t hits = 0;                 // of these, found by a read through it
  uint64_t missing = 0;              // cells without an entry
  uint64_t wrong = 0;                // hits that the scan does not find
  std::vector<std::string> samples;  // rows of missing and wrong ones
  bool equal() const { return missing == 0 && wrong == 0; }
};

}  // namespace cellar::client
