// RowReads: a shard's reader of single rows (read/row_reader.h), built again when a tablet has
// another schema than the one read last.
#pragma once

#include <optional>

#include "engine/read/row_reader.h"
#include "engine/version/version.h"

namespace cellar::engine {

// Owned by one shard.
class RowReads {
 public:
  RowReader& reader(const Ref<const SchemaSnapshot>& schema) {
    if (schema != schema_) {
      reader_.emplace(schema->value, schema->retention);
      schema_ = schema;
    }
    return *reader_;
  }

 private:
  Ref<const SchemaSnapshot> schema_;  // referenced by reader_
  std::optional<RowReader> reader_;
};

}  // namespace cellar::engine
