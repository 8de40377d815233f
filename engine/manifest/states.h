// The states of the manifest's keys. The manifest store keeps them as opaque bytes. Every
// encoding starts with a version byte: another version is FAILED_PRECONDITION, invalid bytes are
// DATA_LOSS. engine/FORMATS.md has the layouts; golden tests check them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/manifest/range_token.h"
#include "engine/model/session_set.h"
#include "engine/model/types.h"
#include "engine/store/log_span.h"
#include "engine/store/manifest_store.h"
#include "io/base/bytes.h"
#include "io/base/result.h"

namespace cellar::engine {

// How long after their issue tokens are remembered (engine/write/token_memory.h). A longer window
// does not restore tokens already forgotten.
struct TokenWindow {
  int64_t window_us = 0;  // 0: before the first start
  int64_t raised_us = 0;  // before_us limits the window of tokens issued up to this time
  int64_t before_us = 0;

  int64_t for_issue(int64_t issued_us) const {
    return issued_us > raised_us ? window_us : std::min(window_us, before_us);
  }
  bool operator==(const TokenWindow&) const = default;
};

// The state of the node: one key, id 0.
struct NodeState {
  static constexpr uint8_t kVersion = 4;

  SessionEpoch session;   // the last one drawn
  TableId next_table{1};  // ids are never reused
  TabletId next_tablet{1};
  TokenWindow tokens;
  // The sessions that the node drew, the last one included. At a start the others have ended, and
  // what they left that no tablet names is the node's to remove; what another session left is not.
  SessionSet own_sessions;

  // Draws the next session.
  void draw_session() {
    session = SessionEpoch{session.value() + 1};
    own_sessions.add(session);
  }
  bool operator==(const NodeState&) const = default;
};

// The state of a tablet: key id = TabletId. Its items are its tables on disk (TableMeta, by
// blob id).
struct TabletState {
  static constexpr uint8_t kVersion = 3;

  TableId table;
  Epoch epoch{1};
  uint32_t home = 0;           // served by shard home % shards
  std::string start;           // first row
  std::string end;             // first row after it; empty: to the end
  CommitStamp created;         // lower than every stamp of the tablet
  CommitStamp last_flushed;    // commits up to here are in tables on disk
  uint64_t next_run = 1;       // runs are numbered upwards: a higher number has newer commits
  std::vector<LogSpan> spans;  // places of later commits, oldest log first
  // Tokens of commits up to last_flushed, sorted by id; some may have expired.
  std::vector<RangeToken> range_tokens;

  bool operator==(const TabletState&) const = default;
};

// The state of a table is in table_state.h, the audit trail in audit_entry.h.

std::string encode_node_state(const NodeState& state);
Result<NodeState> decode_node_state(Bytes encoded);

std::string encode_tablet_state(const TabletState& state);
Result<TabletState> decode_tablet_state(Bytes encoded);

inline constexpr ManifestKey kNodeKey{ManifestKey::Kind::node, 0};
inline ManifestKey key_of(TableId id) { return {ManifestKey::Kind::table, id.value()}; }
inline ManifestKey key_of(TabletId id) { return {ManifestKey::Kind::tablet, id.value()}; }

// Edits of one key: set its state (creates it if the version is kAbsent), or remove it.
inline VersionEdit put_state(ManifestKey key, uint64_t expected_version, std::string state) {
  VersionEdit edit;
  edit.key = key;
  edit.expected_version = expected_version;
  edit.state = std::move(state);
  return edit;
}
inline VersionEdit remove_key(ManifestKey key, uint64_t expected_version) {
  VersionEdit edit;
  edit.key = key;
  edit.expected_version = expected_version;
  edit.remove = true;
  return edit;
}

}  // namespace cellar::engine
