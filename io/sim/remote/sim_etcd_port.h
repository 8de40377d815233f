// SimEtcdPort: a client of SimEtcd on one loop of its world. Each request makes its way there and
// back in virtual time and meets the faults that SimEtcd draws.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "io/loop/event.h"
#include "io/loop/gate.h"
#include "io/remote/etcd_port.h"
#include "io/sim/remote/sim_etcd.h"

namespace cellar {

class SimWatch;

// `etcd` and the loop outlive it.
class SimEtcdPort final : public EtcdPort {
 public:
  static constexpr int64_t kAttemptUs = 1'000'000;  // as the real one, see EtcdOptions
  static constexpr int64_t kPauseUs = 50'000;       // between attempts
  static constexpr int64_t kQuietUs = 3'000'000;    // a watch without news is opened again

  SimEtcdPort(SimEtcd& etcd, Loop& loop) : etcd_(etcd), loop_(loop) {}
  ~SimEtcdPort() override;

  // Cut off: requests do not arrive, news do not come.
  void cut(bool off) { cut_ = off; }

  Async<Result<etcd::RangeAnswer>> range(etcd::Range request, int64_t timeout_us) override;
  Async<Result<etcd::TxnOutcome>> txn(etcd::Txn request, int64_t timeout_us) override;
  Async<Result<etcd::Outcome<etcd::Compaction>>> compact(etcd::Revision at,
                                                         int64_t timeout_us) override;
  Async<Result<etcd::Outcome<etcd::Granted>>> grant(etcd::LeaseId id, int64_t ttl_s,
                                                    int64_t timeout_us) override;
  Async<Result<etcd::Outcome<etcd::Renewed>>> keep_alive(etcd::LeaseId id,
                                                         int64_t timeout_us) override;
  Async<Result<etcd::Outcome<etcd::Revoked>>> revoke(etcd::LeaseId id, int64_t timeout_us) override;
  Async<Result<etcd::LeaseState>> time_to_live(etcd::LeaseId id, int64_t timeout_us) override;
  Async<Result<std::vector<etcd::LeaseId>>> leases(int64_t timeout_us) override;
  Result<std::unique_ptr<etcd::Watch>> watch(etcd::WatchRequest request) override;
  Async<Result<std::vector<etcd::Member>>> members(int64_t timeout_us) override;
  Async<Result<etcd::MemberStatus>> status(int64_t timeout_us) override;
  etcd::EtcdStats stats() const override { return stats_; }
  Async<void> close() override;

 private:
  friend class SimWatch;
  enum class Fate : uint8_t { served, unreachable, lost, unanswered, late };
  enum class Nature : uint8_t { reads, repeats, changes };  // as in EtcdGateway
  template <class T>
  using Apply = std::function<Result<T>()>;

  // The answer. An error whose outcome is maybe_applied is unknown.
  template <class T>
  Async<Result<T>> carry(Apply<T> apply, int64_t timeout_us, Nature nature);
  template <class T>
  Async<Result<T>> attempt(Apply<T> apply, int64_t timeout_us, Nature nature);
  // The same as an answer of the port.
  template <class Answer, class T>
  Async<Result<Answer>> change(Apply<T> apply, int64_t timeout_us, Nature nature);

  Fate draw_fate();
  int64_t draw_delay_us();
  Async<void> pause_until(int64_t at_us);  // or until close()
  int64_t now_us() const { return loop_timers().now_us(); }
  Timers& loop_timers() const { return loop_.timers(); }

  SimEtcd& etcd_;
  Loop& loop_;
  bool cut_ = false;
  bool closing_ = false;
  size_t in_flight_ = 0;
  std::set<SimWatch*> watches_;
  ConditionVariable closed_;
  Gate gate_{"the etcd client"};
  etcd::EtcdStats stats_;
};

// A watch of SimEtcd.
class SimWatch final : public etcd::Watch {
 public:
  SimWatch(SimEtcdPort& port, etcd::WatchRequest request);
  ~SimWatch() override;

  Async<Result<etcd::WatchNews>> next(int64_t timeout_us) override;
  void close() override;

 private:
  static void arrive(void* self);
  void notice();
  std::optional<etcd::WatchNews> take();
  void begin_stream();
  bool over() const { return closed_ || compacted_ || port_.closing_; }

  SimEtcdPort& port_;
  const etcd::WatchRequest request_;
  int64_t told_;            // where the next stream begins: silence does not move it
  int64_t seen_;            // what this stream has looked at
  int64_t heard_us_;        // when the stream began, or its last news came
  int64_t visible_ = 0;     // what has arrived
  bool new_stream_ = true;  // what is compacted is found out when a stream begins
  bool compacted_ = false;
  bool closed_ = false;
  bool waiting_ = false;
  ConditionVariable changed_;
  Timer arrival_;
};

}  // namespace cellar
