// RowReads: a shard's reader of single rows (read/row_reader.h), made anew when a tablet goes by
// another schema than the one that was read last.
#pragma once

#include <optional>

#include "engine/read/row_reader.h"
#include "engine/version/version.h"

namespace cellar::engine {

// One shard.
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
  Ref<const SchemaSnapshot> schema_;  // that reader_ refers to
  std::optional<RowReader> reader_;
};

}  // namespace cellar::engine
