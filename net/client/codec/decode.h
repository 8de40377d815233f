// Decoders of answers: from the last frame and the chunks before it to the caller's value. INTERNAL
// if the server sent something invalid.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "net/client/api/admin.h"
#include "net/client/api/cells.h"
#include "net/client/api/operate.h"
#include "net/client/codec/call.h"
#include "net/client/codec/requests.h"

namespace cellar::client {

struct ServerHello {
  std::string server_version;
  uint32_t shard = 0;
  uint32_t shards = 0;
  uint32_t frame_bytes = 0;  // 0: not reported
  uint32_t in_flight = 0;
  int64_t now_us = 0;        // the node's trusted clock
  uint64_t instance = 0;     // of this run of the node; 0: not reported
  std::string advertise;     // the node's own address; empty: not reported
  bool drop_tokens = false;  // supports drop_row_range_tokens
  bool shard_choice = false;
};

Result<void> decode_nothing(const Answer& answer);
Result<ServerHello> decode_hello(const Answer& answer);
Result<Pong> decode_ping(const Answer& answer);
Result<ServerInfo> decode_info(const Answer& answer);
Result<ClockReport> decode_clock(const Answer& answer);
Result<MutateReply> decode_mutate(const Answer& answer);
// answer.argument: the number of entries.
Result<EntryResults> decode_entries(const Answer& answer);
Result<std::optional<Row>> decode_row(const Answer& answer);
Result<Row> decode_modified(const Answer& answer);
Result<DropReply> decode_drop(const Answer& answer);
Result<CheckAndMutateReply> decode_check(const Answer& answer);
Result<std::vector<SplitPoint>> decode_samples(const Answer& answer);
Result<std::vector<TableSummary>> decode_list(const Answer& answer);
Result<TableDescription> decode_table(const Answer& answer);
Result<std::vector<TabletDescription>> decode_reshape(const Answer& answer);
Result<TabletPage> decode_tablets(const Answer& answer);
Result<RuleHistory> decode_history(const Answer& answer);
Result<AuditPage> decode_audit(const Answer& answer);
Result<PreviewReply> decode_preview(const Answer& answer);
Result<std::vector<IndexDescription>> decode_indexes(const Answer& answer);
Result<IndexCheck> decode_index_check(const Answer& answer);
Result<BackupStatus> decode_backup(const Answer& answer);
Result<ControlStatus> decode_control(const Answer& answer);
Result<ReclaimReport> decode_reclaim(const Answer& answer);
// Decodes a preceding chunk; empty if it is not a progress report.
std::optional<PreviewProgress> decode_progress(Bytes body);
std::optional<IndexCheck> decode_check_progress(Bytes body);

}  // namespace cellar::client
