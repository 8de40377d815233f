#include "engine/inspect/table_indexes.h"

#include "engine/manifest/table_state.h"

namespace cellar::engine {

IndexesByTable indexes_of(const ManifestState& state) {
  IndexesByTable indexes;
  for (const auto& [key, held] : state.entries) {
    if (key.kind != ManifestKey::Kind::table) continue;
    auto table = decode_table_state(held.state);
    if (table && !table->schema.indexes.empty()) indexes[key.id] = std::move(table->schema.indexes);
  }
  return indexes;
}

Async<IndexesByTable> read_indexes(FileSystem& fs) {
  const auto number = co_await read_current(fs);
  if (!number || !*number) co_return IndexesByTable();
  const auto loaded = co_await load_manifest(fs, **number);
  if (!loaded) co_return IndexesByTable();
  co_return indexes_of(loaded->state);
}

}  // namespace cellar::engine
