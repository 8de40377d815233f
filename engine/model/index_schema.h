// The definition of a secondary index (SEMANTICS 11). Part of a table's schema.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/base/bytes.h"
#include "io/base/coding.h"
#include "io/base/result.h"

namespace cellar {

struct TableSchema;

// Numbers of the four enumerations are on disk and on the wire.
enum class IndexPart : uint8_t { value = 1, time = 2, qualifier = 3 };
// The order of a value part: as bytes, or as signed 64-bit big-endian integers.
enum class IndexType : uint8_t { bytes = 0, int64 = 1 };
// Which living versions of a column are in the index.
enum class IndexMatch : uint8_t { newest = 0, any = 1 };
// The answer to a rule that kills by age before the index's own age.
enum class TighterBase : uint8_t { follow = 0, refuse = 1 };

struct IndexColumn {
  std::string family;
  std::string qualifier;
  auto operator<=>(const IndexColumn&) const = default;
};

struct IndexSchema {
  uint64_t id = 0;  // never reused within the table
  std::string name;
  std::string family;
  std::optional<std::string> qualifier;  // absent: every column of the family
  // {value}, {value, time}: of a column; {time}; {qualifier, time}: of a family.
  std::vector<IndexPart> parts;
  IndexType type = IndexType::bytes;
  IndexMatch match = IndexMatch::newest;
  std::vector<IndexColumn> covered;   // sorted, distinct
  std::optional<int64_t> max_age_us;  // a cell is found while now - timestamp <= this
  TighterBase tighter_base = TighterBase::follow;

  bool has(IndexPart part) const;
  bool operator==(const IndexSchema&) const = default;
};

inline constexpr size_t kMaxIndexes = 8;  // of a table
inline constexpr size_t kMaxIndexNameBytes = 64;
inline constexpr size_t kMaxCoveredColumns = 15;   // one point read reads them with the indexed one
inline constexpr size_t kIndexedValueBytes = 256;  // of a value, these order
inline constexpr int64_t kMinIndexAgeUs = 1'000;

// INVALID_ARGUMENT: a name outside [-_.a-zA-Z0-9]{1,64}.
Result<void> validate_index_name(Bytes name);
// INVALID_ARGUMENT: the definition contradicts itself or the table's families. NOT_FOUND: the
// family of the index, or of a covered column if `creates`.
Result<void> validate_index(const IndexSchema& index, const TableSchema& table, bool creates);

void put_index(std::string& out, const IndexSchema& index);
IndexSchema read_index(Reader& in);

}  // namespace cellar
