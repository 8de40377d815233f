// What the entries of the manifest mean. The manifest store keeps opaque bytes a subject; these are
// the three kinds of subjects' states. Every encoding opens with a version byte: one that is newer
// than this program is FAILED_PRECONDITION, bytes that are no encoding are DATA_LOSS. The layouts
// stand in engine/FORMATS.md and are held by golden tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/manifest/range_token.h"
#include "engine/model/types.h"
#include "engine/store/log_span.h"
#include "engine/store/manifest_store.h"
#include "io/base/bytes.h"
#include "io/base/result.h"

namespace cellar::engine {

// For how long after their issue tokens are known (engine/write/token_memory.h). Raising the window
// does not bring back what was forgotten under the one before.
struct TokenWindow {
  int64_t window_us = 0;  // 0: no start has known of tokens
  int64_t raised_us = 0;  // for tokens issued up to here
  int64_t before_us = 0;  // it is not more than this

  int64_t for_issue(int64_t issued_us) const {
    return issued_us > raised_us ? window_us : std::min(window_us, before_us);
  }
  bool operator==(const TokenWindow&) const = default;
};

// The node: one subject, id 0.
struct NodeState {
  static constexpr uint8_t kVersion = 2;

  SessionEpoch session;   // of the latest start
  TableId next_table{1};  // ids are never reused
  TabletId next_tablet{1};
  TokenWindow tokens;  // since version 2

  bool operator==(const NodeState&) const = default;
};

// A tablet: subject id = TabletId. Its items are its tables on disk (TableMeta, by blob id).
struct TabletState {
  static constexpr uint8_t kVersion = 2;  // 1 is written where there are no range tokens

  TableId table;
  Epoch epoch{1};
  uint32_t home = 0;           // served by shard home % shards, however many there are now
  std::string start;           // first row
  std::string end;             // first row after it; empty: to the end
  CommitStamp created;         // every stamp of the tablet lies above it
  CommitStamp last_flushed;    // commits up to here are in tables on disk
  uint64_t next_run = 1;       // runs are numbered upwards: a greater number holds newer commits
  std::vector<LogSpan> spans;  // where later commits lie, oldest log first
  // Since version 2: of commits up to last_flushed, sorted by id; some may have ended.
  std::vector<RangeToken> range_tokens;

  bool operator==(const TabletState&) const = default;
};

// A table's state is in table_state.h, the audit trail in audit_entry.h.

std::string encode_node_state(const NodeState& state);
Result<NodeState> decode_node_state(Bytes encoded);

std::string encode_tablet_state(const TabletState& state);
Result<TabletState> decode_tablet_state(Bytes encoded);

inline constexpr Subject kNodeSubject{Subject::Kind::node, 0};
inline Subject subject_of(TableId id) { return {Subject::Kind::table, id.value()}; }
inline Subject subject_of(TabletId id) { return {Subject::Kind::tablet, id.value()}; }

// The edits of one subject: its state set (created, when the version is kAbsent), or all of it
// gone.
inline SubjectEdit put_state(Subject subject, uint64_t expected_version, std::string state) {
  SubjectEdit edit;
  edit.subject = subject;
  edit.expected_version = expected_version;
  edit.state = std::move(state);
  return edit;
}
inline SubjectEdit remove_subject(Subject subject, uint64_t expected_version) {
  SubjectEdit edit;
  edit.subject = subject;
  edit.expected_version = expected_version;
  edit.remove = true;
  return edit;
}

}  // namespace cellar::engine
