// The edits of the manifest store (manifest_store.h), by kind. A store may keep each tablet's entry
// by itself, and the catalog elsewhere: the kind tells which of them an edit needs together.
//
//   TabletEdit    a flush, a merge, a verification: the entries of tablets, each for itself
//   ReshapeEdit   a split, a merge or a move: the tablets of one table, replaced in one step
//   CatalogEdit   tables come, change and go, with all of their tablets; what is the node's own
//
// An edit is a list of changes of entries. No two of them are of one entry.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/base/strong.h"

namespace cellar::engine {

struct ManifestKey {
  enum class Kind : uint8_t { node = 0, table = 1, tablet = 2, clock = 3, audit = 4 };  // on disk
  Kind kind = Kind::node;
  uint64_t id = 0;
  auto operator<=>(const ManifestKey&) const = default;
};

inline constexpr uint64_t kAbsent = 0;  // the version of a key that does not exist

// A conditional change of one entry: it is made if the entry has the expected version.
struct VersionEdit {
  ManifestKey key;
  uint64_t expected_version = kAbsent;
  bool remove = false;               // removes the key and all its items
  std::optional<std::string> state;  // absent: unchanged
  std::vector<std::pair<uint64_t, std::string>> put_items;
  std::vector<uint64_t> remove_items;

  bool creates() const { return expected_version == kAbsent; }
};

// Tells an edit from every other one, over all sessions and nodes. 0: none.
using EditId = Strong<struct EditIdTag, uint64_t>;

// What the kinds have in common.
struct ManifestEdit {
  ManifestEdit() = default;
  explicit ManifestEdit(std::vector<VersionEdit> all) : changes(std::move(all)) {}
  explicit ManifestEdit(VersionEdit one) { changes.push_back(std::move(one)); }

  std::vector<VersionEdit> changes;
  // For a store that reads outcomes back (ManifestStore::reads_outcomes_back).
  EditId id;
};

// Changes tablets that exist. Each change is made or not by itself, atomically.
struct TabletEdit : ManifestEdit {
  using ManifestEdit::ManifestEdit;
  static bool allows(const VersionEdit& change) {
    return change.key.kind == ManifestKey::Kind::tablet && !change.remove && !change.creates();
  }
};

// Replaces tablets of one table by others, or changes one that moves; and takes their ids from the
// node's entry. All or nothing.
struct ReshapeEdit : ManifestEdit {
  using ManifestEdit::ManifestEdit;
  static bool allows(const VersionEdit& change) {
    return change.key.kind == ManifestKey::Kind::tablet ||
           change.key.kind == ManifestKey::Kind::node;
  }
};

// Changes entries that are no tablet's, and makes or removes tablets, with their table. All or
// nothing.
struct CatalogEdit : ManifestEdit {
  using ManifestEdit::ManifestEdit;
  static bool allows(const VersionEdit& change) {
    return change.key.kind != ManifestKey::Kind::tablet || change.creates() || change.remove;
  }
};

}  // namespace cellar::engine
