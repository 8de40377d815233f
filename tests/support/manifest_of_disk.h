// The manifest of a data directory on a disk in memory, read and changed between two lives of its
// node.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "engine/manifest/states.h"
#include "engine/manifest/table_item.h"
#include "tests/engine/store/store_rig.h"

namespace cellar::support {

using ManifestEntries = std::map<engine::ManifestKey, engine::ManifestEntry>;

// Calls change(entries, edits); a new file with `edits` is written.
template <class Change>
void change_manifest(MemDisk& disk, const Change& change) {
  engine::StoreRig rig(disk);
  auto store = engine::value_of(
      rig.run(engine::open_local_manifest_store(*rig.fs, engine::ManifestOptions())));
  const ManifestEntries entries = engine::value_of(rig.run(store->load()));
  std::vector<engine::VersionEdit> edits;
  change(entries, edits);
  if (!edits.empty())
    (void)engine::value_of(rig.run(store->commit(engine::ReshapeEdit(std::move(edits)))));
  engine::expect_ok(rig.run(store->close()));
}

// The tables of each tablet, by blob.
inline std::map<TabletId, std::map<BlobId, engine::TableItem>> tables_of(MemDisk& disk) {
  std::map<TabletId, std::map<BlobId, engine::TableItem>> tables;
  change_manifest(disk, [&](const ManifestEntries& entries, const auto& /*edits*/) {
    for (const auto& [key, entry] : entries) {
      if (key.kind != engine::ManifestKey::Kind::tablet) continue;
      auto& of_tablet = tables[TabletId{key.id}];
      for (const auto& [blob, bytes] : entry.items) {
        of_tablet[BlobId{blob}] = engine::value_of(engine::decode_table_item(bytes));
      }
    }
  });
  return tables;
}

template <class Change>
void change_node_state(MemDisk& disk, const Change& change) {
  change_manifest(disk, [&](const ManifestEntries& entries, auto& edits) {
    const engine::ManifestEntry& held = entries.at(engine::kNodeKey);
    engine::NodeState state = engine::value_of(engine::decode_node_state(held.state));
    change(state);
    edits.push_back(
        engine::put_state(engine::kNodeKey, held.version, engine::encode_node_state(state)));
  });
}

}  // namespace cellar::support
