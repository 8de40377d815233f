// SimEtcd: an etcd cluster on virtual time, as its clients see it: one history of revisions, leases
// that expire, compaction, a leader that is lost. What happens to a request on its way is drawn
// from the world's generator (SimEtcdFaults), so a seed repeats a run.
//
// The state changes at instants; the ways there and back are those of SimEtcdPort.
//
// Coroutines of the world refer to it: SimWorld::crash() ends them before it goes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "io/remote/etcd_port.h"
#include "io/sim/sim_loop.h"

namespace cellar {

// Each is the chance of a request, of 1,000.
struct SimEtcdFaults {
  unsigned unreachable = 0;  // no connection: nothing left
  unsigned lost = 0;         // it left, and does not arrive
  unsigned unanswered = 0;   // applied; the answer is lost
  unsigned late = 0;         // applied up to late_us after it was sent, and not answered
  unsigned repeated = 0;     // applied again up to late_us later: a proxy has sent it again
  unsigned full = 0;         // of changes: applied or not, answered that etcd's quota is exceeded
  unsigned progress = 0;     // of a poll of a watch without events: it reports Progress
  unsigned gap = 0;          // of news of a watch: they come up to gap_us later, over a new stream
  int64_t delay_us = 500;    // most of a way; answers overtake each other
  int64_t late_us = 8'000'000;
  int64_t gap_us = 5'000'000;
};

class SimEtcd {
 public:
  static constexpr int64_t kMinTtlS = 2;             // a shorter term is made so long
  static constexpr int64_t kExpiryLateUs = 500'000;  // a lease goes at most so late

  explicit SimEtcd(SimWorld& world);
  ~SimEtcd();
  SimEtcd(const SimEtcd&) = delete;
  SimEtcd& operator=(const SimEtcd&) = delete;

  SimEtcdFaults& faults() { return faults_; }
  SimWorld& world() { return world_; }
  // No request is served for so long; a term of each lease begins when there is a leader again.
  void lose_leader(int64_t for_us);
  bool has_leader() const { return world_.now_us() >= leaderless_until_us_; }
  int64_t leaderless_until_us() const { return leaderless_until_us_; }

  etcd::Revision revision() const { return etcd::Revision(revision_); }
  etcd::Revision compacted() const { return etcd::Revision(compacted_); }

  // ---- what a request does, at the present instant ----
  Result<etcd::RangeAnswer> range(const etcd::Range& request) const;
  Result<etcd::TxnOutcome> txn(const etcd::Txn& request);
  Result<etcd::Compaction> compact(etcd::Revision at);
  Result<etcd::Granted> grant(etcd::LeaseId id, int64_t ttl_s);
  Result<etcd::Renewed> keep_alive(etcd::LeaseId id);
  Result<etcd::Revoked> revoke(etcd::LeaseId id);
  Result<etcd::LeaseState> time_to_live(etcd::LeaseId id) const;
  std::vector<etcd::LeaseId> leases() const;

  // Runs `what` after a time, if the world lives.
  void later(int64_t after_us, std::function<void()> what);

  // Changes of the keys at revisions from `from` to `to`, also those that are compacted.
  std::vector<etcd::Change> changes(const etcd::Keys& keys, int64_t from, int64_t to,
                                    bool before) const;
  // Called after each change. The listener removes itself before it goes.
  void add_listener(const void* who, std::function<void()> changed);
  void remove_listener(const void* who) { listeners_.erase(who); }

 private:
  struct Lease {
    int64_t ttl_s = 0;
    int64_t until_us = 0;
    std::set<std::string> keys;
  };
  // The versions of a key, oldest first. A removal has version 0.
  using Versions = std::vector<etcd::KeyValue>;

  const etcd::KeyValue* at(const std::string& key, int64_t revision) const;
  bool holds(const etcd::Compare& compare) const;
  Result<void> check_leases(const std::vector<etcd::Op>& branch) const;
  etcd::OpAnswer apply(const etcd::Op& op, int64_t revision, bool& changed);
  void put(const etcd::Put& put, int64_t revision);
  void remove(const std::string& key, int64_t revision);
  void end_lease(etcd::LeaseId id);
  void look_in_time();  // calls expire() when the next term is over
  void expire();
  void told();

  SimWorld& world_;
  SimLoop& loop_;
  SimEtcdFaults faults_;
  int64_t revision_ = 1;
  int64_t compacted_ = 0;
  int64_t leaderless_until_us_ = 0;
  int64_t look_us_ = INT64_MAX;  // when expire() is called next
  std::map<std::string, Versions> keys_;
  std::vector<etcd::Change> history_;  // in order of revisions
  std::map<etcd::LeaseId, Lease> leases_;
  std::map<const void*, std::function<void()>> listeners_;
};

}  // namespace cellar
