// The records of a manifest file: entries that build up the state of all keys.
//
// clang-format off
//   entry     := kind u8, body
//   snapshot  := 1, changes                        part of the state at the start of the file
//   end       := 2, next_version v, keys v     the snapshot is complete
//   edit      := 3, next_version v, changes
//   changes   := count v, change*
//   change    := key kind u8, key id v, new version v (0: the key is removed),
//                flags u8 (1: a state follows), [state bytes],
//                count v, (item v, value bytes)*, count v, (removed item v)*
// clang-format on
//
// v is a varint; bytes have a varint length prefix. next_version is the version of the next change:
// one monotonic counter for all keys, so a recreated key never gets a version of its
// predecessor.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/store/manifest_store.h"
#include "io/base/bytes.h"

namespace cellar::engine {

struct ManifestState {
  std::map<ManifestKey, ManifestEntry> entries;
  uint64_t next_version = 1;
  // False until the end entry of the snapshot was applied.
  bool complete = false;

  uint64_t version_of(ManifestKey key) const;
};

// Encodes the state as entries of about kSnapshotEntryBytes each, the end entry last.
inline constexpr size_t kSnapshotEntryBytes = 256u << 10;
std::vector<std::string> encode_snapshot(const ManifestState& state);

// Encodes one edit; `versions` are the new ones, in order (kAbsent for a removal).
std::string encode_edit(const std::vector<VersionEdit>& edits,
                        const std::vector<uint64_t>& versions, uint64_t next_version);

// Applies one entry; DATA_LOSS if it is inconsistent.
Result<void> apply_entry(Bytes entry, ManifestState& state);

}  // namespace cellar::engine
