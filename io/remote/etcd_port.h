// EtcdPort: the client of an etcd cluster on one loop. Bodies: EtcdGateway (etcd/etcd_gateway.h),
// over etcd's JSON gateway, and SimEtcdPort (io/sim/remote/sim_etcd_port.h), on virtual time.
//
// Outcomes. A call that only reads answers a Result. A call that changes something answers a Result
// of a variant, and the caller has to look at each alternative:
//
//   an Error   certainly not applied, and never will be
//   Unknown    applied, or not, or still to be applied: the request left, and no answer came
//   the rest   the answer of etcd; for a transaction Done or Refused
//
// The port repeats a request by itself only while it is certain that no attempt was applied. What
// follows from Unknown is the caller's: it reads again, and repeats with a guard on what it read. A
// guard on the revision that was read makes a late application harmless, because one of the two
// fails. Refused after an Unknown of the same guard may be the own first attempt: only another read
// tells.
//
//   Txn take;                                              // become the owner of "o"
//   take.compares = {Compare::absent("o")};
//   take.then = {Put{"o", my_name, my_lease}};
//   Result<TxnOutcome> outcome = co_await port.txn(std::move(take), 1'000'000);
//   if (!outcome) co_return ...;                           // not the owner
//   if (std::holds_alternative<Done>(*outcome)) ...;       // the owner
//   else ...;                                              // Refused or Unknown: read who is
//
// Watches. A watch tells every change of its keys from a revision on, in order, each once. It
// survives broken connections by resuming after the last revision that it reported. If etcd has
// compacted revisions that it has not reported, it ends with Compacted: the caller reads the keys
// again and watches from that revision + 1. Changes of other keys do not advance the position of a
// watch. So a compaction also ends a watch whose keys have not changed, although it missed nothing.
//
// Leases. A lease shows that its holder is alive. It is no fence: its holder must not conclude that
// no other process acts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "io/base/result.h"
#include "io/base/strong.h"
#include "io/loop/async.h"

namespace cellar::etcd {

// ---- bounds; the first three are etcd's own defaults ----
inline constexpr size_t kMaxRequestBytes = 1'572'864;  // keys and values of a transaction, 1.5 MiB
inline constexpr size_t kMaxTxnOps = 128;              // comparisons, and operations of each branch
inline constexpr size_t kOpOverheadBytes = 64;  // counted for each operation of a transaction
inline constexpr size_t kMaxKeyBytes = 4 * 1024;
inline constexpr int64_t kMaxRangeItems = 10'000;           // of one page
inline constexpr size_t kMaxAnswerBytes = 8 * 1024 * 1024;  // of one answer, encoded
inline constexpr size_t kMaxInFlight = 64;                  // calls of one port
inline constexpr size_t kMaxWatches = 64;                   // of one port
inline constexpr size_t kMaxEndpoints = 16;
inline constexpr int64_t kMaxLeaseSeconds = 86'400;
inline constexpr int64_t kMaxTimeoutUs = 600'000'000;  // of one call

// Counts the changes of a whole cluster: each transaction that changes something is one.
struct RevisionTag;
using Revision = Strong<RevisionTag, int64_t>;
inline constexpr int64_t kMaxRevision = INT64_MAX / 2;  // an answer that tells more is refused
inline constexpr Revision kLatest{0};  // as the revision to read at: the latest, linearizable

struct LeaseTag;
using LeaseId = Strong<LeaseTag, int64_t>;
inline constexpr LeaseId kNoLease{0};

struct KeyValue {
  std::string key;
  std::string value;
  Revision created;     // the change that created the key
  Revision modified;    // its last change
  int64_t version = 0;  // changes since it was created; 1: created
  LeaseId lease;        // with which it goes
  bool operator==(const KeyValue&) const = default;
};

// Keys from `begin` up to, not including, `end`.
struct Keys {
  std::string begin;
  std::string end;  // empty: the key `begin` alone

  static Keys one(std::string key) { return {std::move(key), {}}; }
  // All keys that start with it. The empty prefix is every key.
  static Keys prefix(std::string_view prefix);
  bool contains(std::string_view key) const;
  bool operator==(const Keys&) const = default;
};

// What `end` is for a range without an end.
inline constexpr std::string_view kNoEnd{"\0", 1};

struct Range {
  Keys keys;
  // A page after the first is read at the revision of the first, so that all pages are one moment.
  Revision at = kLatest;
  int64_t limit = kMaxRangeItems;  // 1 to kMaxRangeItems
  bool keys_only = false;          // values stay empty
  bool count_only = false;         // no items
  // Read from one member without asking the others: possibly stale.
  bool serializable = false;
};

struct RangeAnswer {
  Revision revision;            // of the cluster when it was read
  std::vector<KeyValue> items;  // in key order
  int64_t count = 0;            // keys in the whole range
  bool more = false;            // the limit left some out
  bool operator==(const RangeAnswer&) const = default;
};

// The page behind `answer`, whose begin may take kMaxKeyBytes + 1. REQUIRES: answer.more.
Range next_page(const Range& range, const RangeAnswer& answer);

// A comparison, the guard of a transaction.
struct Compare {
  enum class What : uint8_t { version, created, modified, lease, value };
  enum class How : uint8_t { equal, not_equal, greater, less };
  std::string key;
  What what = What::modified;
  How how = How::equal;
  int64_t number = 0;      // for all but value. A key that is absent has 0 of each
  std::string value = {};  // for value. An absent key has none: the comparison fails

  static Compare absent(std::string key) { return {std::move(key), What::created}; }
  // The key is as it was read.
  static Compare unchanged(const KeyValue& read) {
    return {read.key, What::modified, How::equal, read.modified.value()};
  }
};

struct Put {
  std::string key;
  std::string value;
  LeaseId lease = kNoLease;
};
struct Delete {
  Keys keys;
};
using Op = std::variant<Put, Delete, Range>;

// All or nothing, at one revision. A branch changes a key at most once.
struct Txn {
  std::vector<Compare> compares;  // all must hold
  std::vector<Op> then;
  std::vector<Op> otherwise;
};

struct PutAnswer {
  bool operator==(const PutAnswer&) const = default;
};
struct DeleteAnswer {
  int64_t deleted = 0;
  bool operator==(const DeleteAnswer&) const = default;
};
using OpAnswer = std::variant<PutAnswer, DeleteAnswer, RangeAnswer>;

// The comparisons held: `then` is applied.
struct Done {
  Revision revision;
  std::vector<OpAnswer> answers;  // of each operation
};
// A comparison failed: `otherwise` is applied.
struct Refused {
  Revision revision;
  std::vector<OpAnswer> answers;
};
// No answer: the request may have been applied, may still be, or not.
struct [[nodiscard]] Unknown {
  Error why;
};
using TxnOutcome = std::variant<Done, Refused, Unknown>;

template <class T>
using Outcome = std::variant<T, Unknown>;

struct Granted {
  LeaseId id;
  int64_t ttl_s = 0;  // etcd may give more than was asked for
};
struct Renewed {
  int64_t ttl_s = 0;
};
struct Revoked {};
struct Compaction {};

struct LeaseState {
  int64_t granted_s = 0;
  int64_t left_s = 0;
  std::vector<std::string> keys;
};

struct Member {
  uint64_t id = 0;
  std::string name;
  std::vector<std::string> client_urls;
};
struct MemberStatus {
  uint64_t member = 0;
  uint64_t leader = 0;  // 0: it knows none
  std::string version;
  int64_t db_bytes = 0;
};

struct Change {
  enum class Kind : uint8_t { put, removed };
  Kind kind = Kind::put;
  KeyValue now;                         // of a removal: key and modified only
  std::optional<KeyValue> before = {};  // if asked for, and etcd still has it
};
// All changes of the keys at the revisions behind the last news and up to this one.
struct Changes {
  Revision revision;
  std::vector<Change> changes;  // not empty, in order of their revisions
};
// There is no change up to here.
struct Progress {
  Revision revision;
};
// The watch is over: changes before `oldest` are gone, and some were not told.
struct Compacted {
  Revision oldest;
};
using WatchNews = std::variant<Changes, Progress, Compacted>;

struct WatchRequest {
  Keys keys;
  Revision from;  // the first that is told: that of a read + 1. At least 1
  bool before = false;
};

// A watch. Of the loop of its port, which must outlive it. Destruction ends it; no next() may be
// outstanding then.
class Watch {
 public:
  virtual ~Watch() = default;
  Watch() = default;
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // The next news; one call at a time. Connections are renewed inside, without a loss. Errors:
  // DEADLINE_EXCEEDED (nothing so far: call again), CANCELLED (closed), FAILED_PRECONDITION (after
  // Compacted), and what etcd refuses: PERMISSION_DENIED, UNAUTHENTICATED, INVALID_ARGUMENT.
  // DATA_LOSS: the revisions of the cluster are older than what was told, since it was restored
  // from a backup; what was told may be undone, and the keys have to be read anew.
  virtual Async<Result<WatchNews>> next(int64_t timeout_us) = 0;
  virtual void close() = 0;  // idempotent; ends a next()
};

struct EtcdStats {
  uint64_t requests = 0;         // attempts that were sent
  uint64_t failovers = 0;        // changes of the endpoint
  uint64_t unknown = 0;          // outcomes
  uint64_t resumed = 0;          // watches that went on over another connection
  uint64_t refused_answers = 0;  // answers that could not be read, or were too large
};

}  // namespace cellar::etcd

namespace cellar {

// One per loop; everything on that loop. `timeout_us` is from 1 to kMaxTimeoutUs and includes the
// port's own repetitions. Errors of every call: INVALID_ARGUMENT (a bound; nothing was sent),
// RESOURCE_EXHAUSTED (kMaxInFlight; etcd's overload; of reads an answer over kMaxAnswerBytes),
// CANCELLED (closed), UNAVAILABLE (no endpoint answers), DEADLINE_EXCEEDED, UNAUTHENTICATED,
// PERMISSION_DENIED. Of calls that change something each of these says: not applied. That etcd's
// quota is exceeded is Unknown, with RESOURCE_EXHAUSTED: etcd says so of what it has applied, too.
class EtcdPort {
 public:
  virtual ~EtcdPort() = default;
  EtcdPort() = default;
  EtcdPort(const EtcdPort&) = delete;
  EtcdPort& operator=(const EtcdPort&) = delete;

  // Errors: OUT_OF_RANGE if `at` is compacted or in the future.
  virtual Async<Result<etcd::RangeAnswer>> range(etcd::Range request, int64_t timeout_us) = 0;
  // Errors: NOT_FOUND if the lease of a put is gone.
  virtual Async<Result<etcd::TxnOutcome>> txn(etcd::Txn request, int64_t timeout_us) = 0;
  // Changes before `at` are forgotten. Errors: OUT_OF_RANGE if that is done already, or in the
  // future.
  virtual Async<Result<etcd::Outcome<etcd::Compaction>>> compact(etcd::Revision at,
                                                                 int64_t timeout_us) = 0;

  // `id`: kNoLease lets etcd choose; an id of the caller's own is the way to find out, after
  // Unknown, whether it was granted. `ttl_s`: 1 to kMaxLeaseSeconds. Errors: FAILED_PRECONDITION if
  // the id is taken.
  virtual Async<Result<etcd::Outcome<etcd::Granted>>> grant(etcd::LeaseId id, int64_t ttl_s,
                                                            int64_t timeout_us) = 0;
  // The term begins anew between the call and the answer: count it from the call. Errors: NOT_FOUND
  // if it has expired or was revoked.
  virtual Async<Result<etcd::Outcome<etcd::Renewed>>> keep_alive(etcd::LeaseId id,
                                                                 int64_t timeout_us) = 0;
  // Its keys go with it. Errors: NOT_FOUND.
  virtual Async<Result<etcd::Outcome<etcd::Revoked>>> revoke(etcd::LeaseId id,
                                                             int64_t timeout_us) = 0;
  // Errors: NOT_FOUND.
  virtual Async<Result<etcd::LeaseState>> time_to_live(etcd::LeaseId id, int64_t timeout_us) = 0;
  virtual Async<Result<std::vector<etcd::LeaseId>>> leases(int64_t timeout_us) = 0;

  // Connects at the first next(). Errors: INVALID_ARGUMENT, RESOURCE_EXHAUSTED (kMaxWatches).
  virtual Result<std::unique_ptr<etcd::Watch>> watch(etcd::WatchRequest request) = 0;

  virtual Async<Result<std::vector<etcd::Member>>> members(int64_t timeout_us) = 0;
  // Of the member that the port uses at present.
  virtual Async<Result<etcd::MemberStatus>> status(int64_t timeout_us) = 0;
  virtual etcd::EtcdStats stats() const = 0;

  // Ends every call (CANCELLED or Unknown) and every watch; returns when the last call is over.
  // Watches have to be destroyed before the port, and this has to be over.
  virtual Async<void> close() = 0;
};

namespace etcd {

// What every body checks before it sends. INVALID_ARGUMENT names the bound.
Result<void> check(const Range& request);
Result<void> check(const Txn& request);
Result<void> check(const WatchRequest& request);
Result<void> check_ttl(int64_t ttl_s);
Result<void> check_timeout(int64_t timeout_us);

}  // namespace etcd
}  // namespace cellar
