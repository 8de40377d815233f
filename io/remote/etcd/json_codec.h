// The JSON of etcd's gateway: int64 as strings, bytes as base64, fields of value 0 left out.
//
// Encoding takes checked requests. Decoding takes anything: what has not the form of an answer is
// an error, and nothing is guessed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/remote/etcd_port.h"

namespace cellar::etcd {

std::string encode(const Range& request);
std::string encode(const Txn& request);
std::string encode(const WatchRequest& request, Revision from);
std::string encode_compaction(Revision at);
std::string encode_grant(LeaseId id, int64_t ttl_s);
std::string encode_lease(LeaseId id);
std::string encode_time_to_live(LeaseId id);
std::string encode_user(const std::string& name, const std::string& password);

// A refusal of etcd.
struct Refusal {
  int grpc_code = 0;
  std::string message;
};

// Errors of decoding are DATA_LOSS: the answer says nothing.
// The items are those of a range: in its keys, in order, up to its limit.
Result<RangeAnswer> decode_range(std::string_view text, const Range& request);
// Done or Refused. The answers must be those of the operations of the branch that was applied.
Result<TxnOutcome> decode_txn(std::string_view text, const Txn& request);
Result<void> decode_empty(std::string_view text);
Result<Granted> decode_grant(std::string_view text);
// 0: the lease is gone.
Result<int64_t> decode_keep_alive(std::string_view text);
// Empty: the lease is gone.
Result<std::optional<LeaseState>> decode_time_to_live(std::string_view text);
Result<std::vector<LeaseId>> decode_leases(std::string_view text);
Result<std::vector<Member>> decode_members(std::string_view text);
Result<MemberStatus> decode_status(std::string_view text);
Result<std::string> decode_token(std::string_view text);
// Empty: the text is no refusal in etcd's form.
std::optional<Refusal> decode_refusal(std::string_view text);

// One message of the stream of a watch.
struct WatchMessage {
  Revision revision;  // of the cluster, or 0
  bool created = false;
  bool fragment = false;  // more of the same revision may follow
  bool cancelled = false;
  Revision compacted;              // if cancelled because of it
  std::string reason;              // why cancelled
  std::optional<Refusal> refusal;  // the stream ends with it
  std::vector<Change> changes;
};
Result<WatchMessage> decode_watch(std::string_view line);

}  // namespace cellar::etcd
