// What the records of a manifest file hold: entries that build up the state of all subjects.
//
//   entry     := kind u8, body
//   snapshot  := 1, changes            part of the state that the file begins with
//   end       := 2, next_version v, subjects v     the snapshot is complete
//   edit      := 3, next_version v, changes
//   changes   := count v, change*
//   change    := subject kind u8, subject id v, new version v (0: the subject is removed),
//                flags u8 (1: a state follows), [state bytes],
//                count v, (item v, value bytes)*, count v, (removed item v)*
//
// v is a varint, bytes are length-prefixed by one. next_version is what the next change will get:
// one counter for all subjects, never taken back, so a subject that is made again does not meet a
// version of its former life.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/store/manifest_store.h"
#include "io/base/bytes.h"

namespace cellar::engine {

struct ManifestState {
  std::map<Subject, SubjectState> subjects;
  uint64_t next_version = 1;
  // False until the end of the snapshot was applied.
  bool complete = false;

  uint64_t version_of(Subject subject) const;
};

// The state as entries of about kSnapshotEntryBytes each, the end entry last.
inline constexpr size_t kSnapshotEntryBytes = 256u << 10;
std::vector<std::string> encode_snapshot(const ManifestState& state);

// One edit; `versions` are the new ones, in order (kAbsent for a removal).
std::string encode_edit(const std::vector<SubjectEdit>& edits,
                        const std::vector<uint64_t>& versions, uint64_t next_version);

// Applies one entry; DATA_LOSS when it makes no sense.
Result<void> apply_entry(Bytes entry, ManifestState& state);

}  // namespace cellar::engine
