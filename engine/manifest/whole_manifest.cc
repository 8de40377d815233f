#include "engine/manifest/whole_manifest.h"

#include <utility>

#include "engine/manifest/states.h"

namespace cellar::engine {
namespace {

constexpr size_t kEditBytes = kMaxEditBytes / 4;

size_t bytes_of(const ManifestEntry& entry) {
  size_t bytes = entry.state.size();
  for (const auto& [item, value] : entry.items) bytes += value.size();
  return bytes;
}

}  // namespace

Async<Result<void>> write_whole_manifest(ManifestStore& store,
                                         const std::map<ManifestKey, ManifestEntry>& entries) {
  CatalogEdit all;
  size_t bytes = 0;
  for (const auto& [key, entry] : entries) {
    VersionEdit edit = put_state(key, kAbsent, entry.state);
    edit.put_items.assign(entry.items.begin(), entry.items.end());
    bytes += bytes_of(entry);
    all.changes.push_back(std::move(edit));
    if (bytes < kEditBytes) continue;
    CO_TRY_VOID(co_await store.commit(std::exchange(all, {})));
    bytes = 0;
  }
  if (!all.changes.empty()) CO_TRY_VOID(co_await store.commit(std::move(all)));
  co_return Result<void>();
}

}  // namespace cellar::engine
