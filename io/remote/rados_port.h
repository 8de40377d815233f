// RadosPort: the objects of a Ceph cluster, as one shard uses them. The bodies are librados
// (rados/librados_port.h) and the simulated cluster (io/sim/remote/sim_rados.h).
//
// A write ends in one of three ways, which are types:
//
//   RadosApplied   the changes are durable.
//   RadosRefused   a guard did not hold when the cluster judged it. That is no proof that the
//                  changes were not made: a write that librados sent again, after the cluster had
//                  forgotten that it made it, finds its own changes. Read the object.
//   RadosUnknown   no answer came in time, or one that does not tell (the pool is full: an earlier
//                  copy may have been made). The changes may have been made, may be made later (the
//                  cluster still has the write), or never. Read the object, and guard what follows
//                  so that a late arrival does no harm.
//
// An Error says that the write was not made and will not be: it did not fit the port's bounds, its
// time was up before it was sent, or the cluster rejects such a write.
//
// Invariants: an answer belongs to the call that it answers, however late it comes: each call has a
// request of its own, which no other call reuses. Calls beyond the bounds wait in the order of
// their beginning, so that librados, which would block the loop, never has more than kMaxInFlight
// operations of a handle.
//
//   auto outcome = co_await port.write(object, std::move(append), kSecond);
//   if (!outcome) co_return std::unexpected(outcome.error());
//   if (std::holds_alternative<RadosApplied>(*outcome)) ...
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <boost/intrusive/list.hpp>

#include "io/base/aligned_buffer.h"
#include "io/base/result.h"
#include "io/loop/async.h"
#include "io/loop/event.h"
#include "io/loop/timers.h"
#include "io/loop/waiter.h"
#include "io/remote/rados_request.h"
#include "io/remote/rados_write.h"

namespace cellar {

struct RadosApplied {};
struct RadosRefused {
  enum class Reason : uint8_t { guard, absent, exists };
  Reason reason = Reason::guard;
};
struct RadosUnknown {
  Error error;  // why; maybe_applied
};
using RadosOutcome = std::variant<RadosApplied, RadosRefused, RadosUnknown>;

// What a port may have in flight. The ports of one handle divide the handle's bounds.
struct RadosShare {
  size_t operations;
  uint64_t bytes;
};

// Counts since the port was made; the first three are present values.
struct RadosFigures {
  size_t in_flight = 0;
  uint64_t bytes_in_flight = 0;
  size_t waiting = 0;
  uint64_t applied = 0;
  uint64_t refused = 0;
  uint64_t unknown = 0;
  uint64_t reads = 0;
  uint64_t failed = 0;  // calls that ended with an error
  uint64_t late = 0;    // answers that came after their call had ended
};

// Used on one loop. REQUIRES: close() was awaited before destruction, or the loop has crashed.
class RadosPort {
 public:
  // Of a handle. librados blocks its caller above objecter_inflight_ops (1,024) and
  // objecter_inflight_op_bytes (100 MiB).
  static constexpr size_t kMaxInFlight = 256;
  static constexpr uint64_t kMaxBytesInFlight = 48u << 20;
  static constexpr uint32_t kMaxShardsOfHandle = 4;
  // Calls of a port that wait for room.
  static constexpr size_t kMaxWaiting = 4096;
  // Bytes that one call writes or reads; below a quarter of kMaxBytesInFlight.
  static constexpr size_t kMaxCallBytes = 8u << 20;
  static constexpr size_t kMaxPools = 64;  // that a port has open
  static constexpr size_t kMaxSteps = 1024;
  static constexpr size_t kMaxNameBytes = 1024;
  static constexpr size_t kMaxXattrBytes = 16u << 10;  // of a value
  static constexpr size_t kMaxOmapEntries = 1024;      // of one page
  static constexpr size_t kMaxListed = 4'000'000;      // names of one listing
  static constexpr int64_t kMaxTimeoutUs = int64_t{3'600} * 1'000'000;

  // The share of one of `shards` ports of a handle. REQUIRES: 1..kMaxShardsOfHandle.
  static RadosShare share_of(uint32_t shards);

  virtual ~RadosPort();
  RadosPort(const RadosPort&) = delete;
  RadosPort& operator=(const RadosPort&) = delete;

  // NOT_FOUND names the pool; RESOURCE_EXHAUSTED beyond kMaxPools. An empty namespace is the
  // default one.
  virtual Async<Result<RadosPool>> open_pool(std::string pool, std::string name_space) = 0;

  // Errors of every call: INVALID_ARGUMENT beyond the bounds above, RESOURCE_EXHAUSTED beyond
  // kMaxWaiting, UNAVAILABLE once closed. `timeout_us` is 1..kMaxTimeoutUs, from now, waiting
  // included.
  Async<Result<RadosOutcome>> write(RadosObject object, RadosWrite write, int64_t timeout_us);

  // Reads: NOT_FOUND names the object; DEADLINE_EXCEEDED and UNAVAILABLE may be tried again;
  // DATA_LOSS if no replica is intact.
  // `size` is 1 or more; fewer bytes come only at the end of the object. `any_replica` may be used
  // for content that does not change any more: another replica than the primary may answer.
  Async<Result<RadosBytes>> read(RadosObject object, uint64_t offset, size_t size,
                                 int64_t timeout_us, bool any_replica = false);
  Async<Result<RadosStat>> stat(RadosObject object, int64_t timeout_us);
  // All attributes at one instant, sorted by name.
  Async<Result<RadosPairs>> xattrs(RadosObject object, int64_t timeout_us);
  // Entries with keys after `after`, sorted, at most `most` (1..kMaxOmapEntries).
  Async<Result<RadosOmapPage>> omap(RadosObject object, std::string after, size_t most,
                                    int64_t timeout_us);
  // Those of `keys` that exist, at most kMaxOmapEntries.
  Async<Result<RadosPairs>> omap_values(RadosObject object, std::vector<std::string> keys,
                                        int64_t timeout_us);

  // The names in the pool's namespace that begin with `prefix`, sorted. Costs a look at every
  // object of the pool, on a thread of the blocking pool, which close() waits for.
  // RESOURCE_EXHAUSTED beyond kMaxListed; NOT_FOUND: the pool has been deleted; UNAVAILABLE: not
  // within the handle's time for operations.
  virtual Async<Result<std::vector<std::string>>> list(RadosPool pool, std::string prefix) = 0;

  // Ends every call: those in flight with RadosUnknown or UNAVAILABLE. Returns when the body holds
  // no request any more. Idempotent; a call during another one waits for its end, so the
  // port may be destroyed when any of them returns.
  Async<void> close();

  bool is_closed() const { return closed_; }

  RadosFigures figures() const;

 protected:
  RadosPort(Timers& timers, RadosShare share) : timers_(timers), share_(share) {}

  // The body sends `request`, which stays in place, and calls landed() for it once, later, on the
  // loop.
  virtual void send(RadosRequest& request) = 0;
  // The call has ended without an answer because the port closes: land the request soon.
  virtual void give_up(RadosRequest& request) = 0;
  void landed(RadosRequest& request);
  // close() has waited for every request: the body gives back what else it holds.
  virtual Async<void> release() { co_return; }
  // Of a listing or of the look-up of a pool that ended with -errno.
  static Error look_error(int result, std::string_view what);
  // Whether one more pool may be opened where `open` are.
  Result<void> admit_pool(size_t open) const;
  // Destroys the requests in flight. For a body whose loop has crashed.
  void drop_in_flight();

 private:
  using RequestPtr = std::unique_ptr<RadosRequest>;

  // A call between its begin and its end, in the frame of its coroutine.
  struct Call : AutoUnlink {
    enum class End : uint8_t { open, landed, timed_out, closed };

    Call(RadosPort& p, RequestPtr r);
    ~Call();
    static void on_time(void* self);

    RadosPort& port;
    RequestPtr request;            // before it is sent and after it has landed
    RadosRequest* sent = nullptr;  // in flight, and this call waits for it
    bool was_sent = false;
    bool waits = false;  // for room
    End end = End::open;
    Timer timer;
    Waiter waiter;
  };

  // Returns the landed request.
  Async<Result<RequestPtr>> carry_out(RequestPtr request, int64_t timeout_us);
  Result<void> admit(const RadosRequest& request, int64_t timeout_us) const;
  Result<RequestPtr> finished(Call& call);
  void send_waiting();
  void end_early(Call& call, Errc why);

  Timers& timers_;
  const RadosShare share_;
  boost::intrusive::list<Call, boost::intrusive::constant_time_size<false>> waiting_;
  boost::intrusive::list<RadosRequest, boost::intrusive::constant_time_size<false>> in_flight_;
  RadosFigures figures_;
  bool closed_ = false;
  ConditionVariable empty_;  // nothing is in flight
  bool closing_ = false;
  ConditionVariable closing_over_;
};

}  // namespace cellar
