// SimRados: a Ceph cluster on virtual time, for the ports of any number of simulated loops.
//
// What a caller can see is modelled, not how Ceph does it: each object has a lock, which a guarded
// write holds alone until it is committed; messages are lost and sent again, come twice, late and
// out of order; a group remembers the results of so many writes and makes the others again; an
// operation whose client has gone, or no longer waits, still takes place. The seed of the world
// decides. A message may overtake another of the same client to the same object, which librados
// does not do: a caller that is right here is right there.
//
//   SimRados cluster(world);
//   cluster.add_pool("log");
//   cluster.faults().lose_reply = 0.05;
//   std::unique_ptr<RadosPort> port = cluster.connect(loop);
//
// Invariants: a request that a port waits for is answered sooner or later, unless the cluster
// hangs; of the copies of a write at most one is made while its result is remembered; nothing of a
// refused write is made.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "io/remote/rados_port.h"
#include "io/sim/sim_loop.h"

namespace cellar {

class SimRadosPort;

// Probabilities, of each message.
struct SimRadosFaults {
  double lose_request = 0;
  double lose_reply = 0;
  double duplicate_request = 0;
  double duplicate_reply = 0;
  double delay = 0;  // by up to `delay_us`, while others pass
  int64_t delay_us = 50'000;
  double fail_look = 0;  // of each listing and each look-up of a pool
};

struct SimRadosOptions {
  int64_t network_us = 100;  // one way
  int64_t jitter_us = 200;
  int64_t commit_us = 1'500;     // of a write, on all replicas
  int64_t resend_us = 20'000;    // after which librados sends a lost message again
  int64_t look_us = 30'000'000;  // after which it gives up a listing or the look-up of a pool
  size_t remembered = 3'000;     // results of writes, in each group
  uint32_t groups = 8;           // of each pool
};

struct SimRadosObject {
  std::string content;
  std::map<std::string, std::string> xattrs;
  std::map<std::string, std::string> omap;
};

// All objects, by pool (in the order of addition), namespace and name.
using SimRadosObjects = std::map<std::tuple<uint32_t, std::string, std::string>, SimRadosObject>;

struct SimRadosCounts {
  uint64_t made = 0;            // writes
  uint64_t refused = 0;         // writes
  uint64_t recognised = 0;      // copies of writes that were made or refused before
  uint64_t made_again = 0;      // copies that were not recognised
  uint64_t made_unawaited = 0;  // for which no call waited any more
  uint64_t lost = 0;            // messages
  uint64_t stale_replies = 0;   // for which no request waited any more
};

class SimRados {
 public:
  // `objects` outlives the cluster, so that another one of another world can have them; null: its
  // own.
  explicit SimRados(SimWorld& world, SimRadosOptions options = {},
                    SimRadosObjects* objects = nullptr);
  ~SimRados();
  SimRados(const SimRados&) = delete;
  SimRados& operator=(const SimRados&) = delete;

  void add_pool(std::string name, bool erasure_coded = false);
  // With its objects; clients that have it open are told ENOENT.
  void remove_pool(const std::string& name);
  // Must be destroyed before the cluster.
  std::unique_ptr<RadosPort> connect(Loop& loop, RadosShare share = RadosPort::share_of(1));

  SimRadosFaults& faults() { return faults_; }
  // Other primaries take over: each write that is not yet committed is kept or lost, and clients
  // send again what was not answered.
  void fail_over();
  // The cluster takes no message for `us`; those of that time wait, and so do listings and look-ups
  // of pools.
  void hang_us(int64_t us);
  // Writes that add data are answered with ENOSPC.
  void set_full(bool full) { full_ = full; }

  // Null: there is no such object.
  const SimRadosObject* peek(const std::string& pool, const std::string& name_space,
                             const std::string& name) const;
  // Damage: changes an object behind the cluster's back.
  SimRadosObject* touch(const std::string& pool, const std::string& name_space,
                        const std::string& name);
  const SimRadosCounts& counts() const { return counts_; }

 private:
  friend class SimRadosPort;
  struct Message;
  struct Answer;
  struct Lock;
  struct Pool;
  struct Group;
  using MessagePtr = std::shared_ptr<const Message>;
  using Key = SimRadosObjects::key_type;
  using CopyId = std::pair<uint64_t, uint64_t>;  // client, number of the request

  bool chance(double p) { return p > 0 && random_.unit() < p; }
  int64_t network_us();
  void schedule(int64_t delay_us, std::function<void()> event);
  void run_due();
  void transmit(const MessagePtr& message);
  void resend_later(const MessagePtr& message);
  bool awaited(const Message& message) const;
  void arrive(const MessagePtr& message);
  void start_waiting(const Key& key);
  void commit(const MessagePtr& message);
  int carry_out(const Message& message, Answer& answer);
  int make(const Message& message);
  bool call_waits(const Message& message) const;
  void reply(const MessagePtr& message, std::shared_ptr<const Answer> answer);
  Group& group_of(const Key& key);

  SimWorld& world_;
  const SimRadosOptions options_;
  SimRadosFaults faults_;
  Random random_;
  SimLoop& loop_;
  Timer timer_;
  std::multimap<int64_t, std::function<void()>> events_;
  std::vector<Pool> pools_;
  SimRadosObjects own_objects_;
  SimRadosObjects& objects_;
  std::map<Key, Lock> locks_;
  std::map<std::pair<uint64_t, Key>, int64_t> last_arrival_us_;  // by client and object
  std::map<uint64_t, SimRadosPort*> clients_;
  std::set<CopyId> made_;  // every write that was made, for counts
  uint64_t next_client_ = 1;
  int64_t hangs_until_us_ = 0;
  bool full_ = false;
  SimRadosCounts counts_;
};

}  // namespace cellar
