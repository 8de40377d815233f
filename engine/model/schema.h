// What a table is: families, granularity, options. Immutable once published; a change makes a new
// one with version + 1.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/types.h"
#include "io/base/bytes.h"
#include "io/base/result.h"

namespace cellar {

// One family. `created` hides cells of an earlier family of the same name: what was committed at or
// before it is dead.
struct FamilySchema {
  std::string name;
  CommitStamp created;
};

inline constexpr size_t kMaxFamilies = 1000;
inline constexpr uint32_t kMinBlockBytes = 1024;  // before compression
inline constexpr uint32_t kMaxBlockBytes = 1u << 20;

enum class Compression : uint8_t { none = 0, lz4 = 1 };  // on disk and on the wire

struct TableOptions {
  Durability durability = Durability::sync;
  Compression compression = Compression::lz4;
  uint32_t block_bytes = 4096;  // kMinBlockBytes to kMaxBlockBytes, before compression

  bool operator==(const TableOptions&) const = default;
};

struct TableSchema {
  TableId id;
  std::string name;
  uint64_t version = 1;
  Granularity granularity = Granularity::millis;
  TableOptions options;
  std::vector<FamilySchema> families;  // sorted by name

  const FamilySchema* find_family(Bytes family_name) const;
};

// INVALID_ARGUMENT naming what is wrong: names outside [_a-zA-Z0-9][-_.a-zA-Z0-9]{0,49} and
// [-_.a-zA-Z0-9]{1,64} (cases/README), options outside their bounds, a family named twice.
Result<void> validate_table_name(Bytes name);
Result<void> validate_family_name(Bytes name);
Result<void> validate_options(const TableOptions& options);
Result<void> validate_schema(const TableSchema& schema);

// For the manifest; see FORMATS.md. decode answers DATA_LOSS for bytes that are no schema.
std::string encode_schema(const TableSchema& schema);
Result<TableSchema> decode_schema(Bytes encoded);

}  // namespace cellar
