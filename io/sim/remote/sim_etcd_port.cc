#include "io/sim/remote/sim_etcd_port.h"

#include <algorithm>
#include <utility>

#include "io/remote/alarm.h"

namespace cellar {

using namespace etcd;

namespace {

std::unexpected<Error> closed() { return fail(Errc::cancelled, "the etcd client is closed"); }

std::unexpected<Error> unanswered() {
  return std::unexpected(Error(Errc::deadline_exceeded, "etcd: an answer took too long")
                             .outcome(Applied::maybe_applied));
}

// etcd says so before it proposes a change, and also once it has applied it.
std::unexpected<Error> too_full() {
  return std::unexpected(
      Error(Errc::resource_exhausted, "etcd: etcdserver: mvcc: database space exceeded")
          .outcome(Applied::maybe_applied));
}

class Counted {
 public:
  explicit Counted(size_t& count) : count_(count) { ++count_; }
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  size_t& count_;
};

}  // namespace

SimEtcdPort::~SimEtcdPort() {
  CHECK(watches_.empty(), "{} watches outlive their port", watches_.size());
}

Async<void> SimEtcdPort::close() {
  closing_ = true;
  closed_.notify_all();
  for (SimWatch* watch : watches_) watch->close();
  co_await gate_.close();
}

// ---- the way there and back ----

SimEtcdPort::Fate SimEtcdPort::draw_fate() {
  if (cut_) return Fate::lost;
  const SimEtcdFaults& faults = etcd_.faults();
  auto draw = static_cast<unsigned>(etcd_.world().random().below(1000));
  const std::pair<unsigned, Fate> fates[] = {{faults.unreachable, Fate::unreachable},
                                             {faults.lost, Fate::lost},
                                             {faults.unanswered, Fate::unanswered},
                                             {faults.late, Fate::late}};
  for (const auto& [chance, fate] : fates) {
    if (draw < chance) return fate;
    draw -= chance;
  }
  return Fate::served;
}

int64_t SimEtcdPort::draw_delay_us() {
  const int64_t most_us = std::max<int64_t>(1, etcd_.faults().delay_us);
  return 1 + static_cast<int64_t>(etcd_.world().random().below(static_cast<uint64_t>(most_us)));
}

Async<void> SimEtcdPort::pause_until(int64_t at_us) {
  while (!closing_ && now_us() < at_us) {
    const Alarm alarm(loop_timers(), closed_, at_us - now_us());
    co_await closed_.wait();
  }
}

template <class T>
Async<Result<T>> SimEtcdPort::attempt(Apply<T> apply, int64_t timeout_us, Nature nature) {
  Random& random = etcd_.world().random();
  const auto late_us = static_cast<uint64_t>(std::max<int64_t>(1, etcd_.faults().late_us));
  const int64_t until_us = now_us() + timeout_us;
  const Fate fate = draw_fate();
  if (fate == Fate::unreachable) co_return fail(Errc::unavailable, "etcd: no endpoint answers");
  ++stats_.requests;
  if (fate == Fate::late && nature != Nature::reads) {
    etcd_.later(static_cast<int64_t>(random.below(late_us)), [apply] { (void)apply(); });
  }
  if (fate == Fate::lost || fate == Fate::late) {
    co_await pause_until(until_us);
    co_return unanswered();
  }
  co_await pause_until(now_us() + draw_delay_us());
  if (!etcd_.has_leader()) {
    const bool in_time = etcd_.leaderless_until_us() < until_us;
    if (!in_time) {
      // What the last leader has taken may be in the log of the next one.
      if (nature != Nature::reads && random.one_in(2)) {
        etcd_.later(etcd_.leaderless_until_us() - now_us() + 1, [apply] { (void)apply(); });
      }
      co_await pause_until(until_us);
      co_return unanswered();
    }
    co_await pause_until(etcd_.leaderless_until_us());
  }
  if (closing_) co_return unanswered();
  const bool full = nature == Nature::changes && random.below(1000) < etcd_.faults().full;
  Result<T> answer = full && random.one_in(2) ? Result<T>(too_full()) : apply();
  if (full) answer = too_full();
  if (nature == Nature::changes && random.below(1000) < etcd_.faults().repeated) {
    etcd_.later(static_cast<int64_t>(random.below(late_us)), [apply] { (void)apply(); });
  }
  const int64_t back_us = now_us() + draw_delay_us();
  if (fate == Fate::unanswered || back_us >= until_us) {
    co_await pause_until(until_us);
    co_return unanswered();
  }
  co_await pause_until(back_us);
  if (closing_) co_return unanswered();
  co_return answer;
}

template <class T>
Async<Result<T>> SimEtcdPort::carry(Apply<T> apply, int64_t timeout_us, Nature nature) {
  if (closing_) co_return closed();
  CO_TRY_VOID(check_timeout(timeout_us));
  if (in_flight_ >= kMaxInFlight) {
    co_return fail(Errc::resource_exhausted,
                   "etcd: {} calls are in flight, as many as are permitted", in_flight_);
  }
  CO_TRY(const Gate::Pass pass, gate_.enter());
  const Counted counted(in_flight_);
  const int64_t until_us = now_us() + timeout_us;
  bool open = false;
  for (;;) {
    int64_t left_us = std::max<int64_t>(1, until_us - now_us());
    if (nature != Nature::changes) left_us = std::min(left_us, kAttemptUs);
    Result<T> answer = co_await attempt<T>(apply, left_us, nature);
    if (answer) co_return answer;
    Error& error = answer.error();
    const bool unknown = error.applied == Applied::maybe_applied;
    open = open || (unknown && nature != Nature::reads);
    const bool again = (unknown && nature != Nature::changes) || error.code == Errc::unavailable;
    if (closing_) error.code = Errc::cancelled;
    if (!again || closing_ || now_us() >= until_us) {
      error.applied = open ? Applied::maybe_applied : Applied::not_applied;
      co_return answer;
    }
    co_await pause_until(std::min(until_us, now_us() + kPauseUs));
  }
}

template <class Answer, class T>
Async<Result<Answer>> SimEtcdPort::change(Apply<T> apply, int64_t timeout_us, Nature nature) {
  Result<T> answer = co_await carry<T>(std::move(apply), timeout_us, nature);
  if (answer) co_return *std::move(answer);
  if (answer.error().applied == Applied::not_applied) co_return std::unexpected(answer.error());
  ++stats_.unknown;
  co_return Unknown{std::move(answer).error()};
}

// ---- calls ----

Async<Result<RangeAnswer>> SimEtcdPort::range(Range request, int64_t timeout_us) {
  CO_TRY_VOID(check(request));
  Apply<RangeAnswer> apply = [this, request] { return etcd_.range(request); };
  co_return co_await carry(std::move(apply), timeout_us, Nature::reads);
}

Async<Result<TxnOutcome>> SimEtcdPort::txn(Txn request, int64_t timeout_us) {
  CO_TRY_VOID(check(request));
  SimEtcd& etcd = etcd_;
  Apply<TxnOutcome> apply = [&etcd, request] { return etcd.txn(request); };
  co_return co_await change<TxnOutcome>(std::move(apply), timeout_us, Nature::changes);
}

Async<Result<Outcome<Compaction>>> SimEtcdPort::compact(Revision at, int64_t timeout_us) {
  SimEtcd& etcd = etcd_;
  Apply<Compaction> apply = [&etcd, at] { return etcd.compact(at); };
  co_return co_await change<Outcome<Compaction>>(std::move(apply), timeout_us, Nature::changes);
}

Async<Result<Outcome<Granted>>> SimEtcdPort::grant(LeaseId id, int64_t ttl_s, int64_t timeout_us) {
  CO_TRY_VOID(check_ttl(ttl_s));
  SimEtcd& etcd = etcd_;
  Apply<Granted> apply = [&etcd, id, ttl_s] { return etcd.grant(id, ttl_s); };
  co_return co_await change<Outcome<Granted>>(std::move(apply), timeout_us, Nature::changes);
}

Async<Result<Outcome<Renewed>>> SimEtcdPort::keep_alive(LeaseId id, int64_t timeout_us) {
  SimEtcd& etcd = etcd_;
  Apply<Renewed> apply = [&etcd, id] { return etcd.keep_alive(id); };
  co_return co_await change<Outcome<Renewed>>(std::move(apply), timeout_us, Nature::repeats);
}

Async<Result<Outcome<Revoked>>> SimEtcdPort::revoke(LeaseId id, int64_t timeout_us) {
  SimEtcd& etcd = etcd_;
  Apply<Revoked> apply = [&etcd, id] { return etcd.revoke(id); };
  co_return co_await change<Outcome<Revoked>>(std::move(apply), timeout_us, Nature::changes);
}

Async<Result<LeaseState>> SimEtcdPort::time_to_live(LeaseId id, int64_t timeout_us) {
  Apply<LeaseState> apply = [this, id] { return etcd_.time_to_live(id); };
  co_return co_await carry(std::move(apply), timeout_us, Nature::reads);
}

Async<Result<std::vector<LeaseId>>> SimEtcdPort::leases(int64_t timeout_us) {
  using List = std::vector<LeaseId>;
  Apply<List> apply = [this]() -> Result<List> { return etcd_.leases(); };
  co_return co_await carry(std::move(apply), timeout_us, Nature::reads);
}

Async<Result<std::vector<Member>>> SimEtcdPort::members(int64_t timeout_us) {
  using List = std::vector<Member>;
  Apply<List> apply = []() -> Result<List> {
    return List{{1, "simulated", {"http://simulated:2379"}}};
  };
  co_return co_await carry(std::move(apply), timeout_us, Nature::reads);
}

Async<Result<MemberStatus>> SimEtcdPort::status(int64_t timeout_us) {
  Apply<MemberStatus> apply = []() -> Result<MemberStatus> {
    return MemberStatus{1, 1, "simulated", 0};
  };
  co_return co_await carry(std::move(apply), timeout_us, Nature::reads);
}

Result<std::unique_ptr<Watch>> SimEtcdPort::watch(WatchRequest request) {
  if (closing_) return closed();
  TRY_VOID(check(request));
  if (watches_.size() >= kMaxWatches) {
    return fail(Errc::resource_exhausted, "etcd: {} watches, as many as are permitted",
                watches_.size());
  }
  return std::make_unique<SimWatch>(*this, std::move(request));
}

// ---- watches ----

SimWatch::SimWatch(SimEtcdPort& port, WatchRequest request)
    : port_(port),
      request_(std::move(request)),
      told_(request_.from.value() - 1),
      seen_(told_),
      heard_us_(port.now_us()),
      arrival_(port.loop_timers(), &SimWatch::arrive, this) {
  port_.watches_.insert(this);
  port_.etcd_.add_listener(this, [this] { notice(); });
  notice();
}

SimWatch::~SimWatch() {
  CHECK(!waiting_, "a watch is destroyed while its next() is outstanding");
  port_.etcd_.remove_listener(this);
  port_.watches_.erase(this);
}

void SimWatch::close() {
  closed_ = true;
  changed_.notify_all();
}

void SimWatch::notice() {
  if (!arrival_.armed()) arrival_.arm_after_us(port_.draw_delay_us());
}

void SimWatch::arrive(void* self) {
  auto& watch = *static_cast<SimWatch*>(self);
  SimEtcd& etcd = watch.port_.etcd_;
  Random& random = etcd.world().random();
  const bool gap = random.below(1000) < etcd.faults().gap;
  if (gap || watch.port_.cut_ || !etcd.has_leader()) {
    if (!std::exchange(watch.new_stream_, true)) ++watch.port_.stats_.resumed;
    const int64_t wait_us =
        gap ? std::max<int64_t>(1, etcd.faults().gap_us) : SimEtcdPort::kAttemptUs;
    const auto after_us = 1 + static_cast<int64_t>(random.below(static_cast<uint64_t>(wait_us)));
    return watch.arrival_.arm_after_us(after_us);
  }
  watch.visible_ = etcd.revision().value();
  watch.changed_.notify_all();
}

void SimWatch::begin_stream() {
  seen_ = told_;
  heard_us_ = port_.now_us();
  compacted_ = told_ + 1 < port_.etcd_.compacted().value();
}

std::optional<WatchNews> SimWatch::take() {
  if (visible_ == 0) return std::nullopt;  // no stream yet
  SimEtcd& etcd = port_.etcd_;
  if (!new_stream_ && port_.now_us() - heard_us_ >= SimEtcdPort::kQuietUs) {
    new_stream_ = true;
    ++port_.stats_.resumed;
  }
  const bool reachable = !port_.cut_ && etcd.has_leader();
  if (reachable && std::exchange(new_stream_, false)) begin_stream();
  if (compacted_) return Compacted{etcd.compacted()};
  Random& random = etcd.world().random();
  while (seen_ < visible_) {
    // A message may end behind any revision.
    const auto behind = static_cast<uint64_t>(visible_ - seen_);
    const bool part = random.one_in(3);
    const int64_t to = part ? seen_ + 1 + static_cast<int64_t>(random.below(behind)) : visible_;
    Changes news;
    news.changes = etcd.changes(request_.keys, seen_ + 1, to, request_.before);
    seen_ = to;
    if (news.changes.empty()) continue;
    news.revision = news.changes.back().now.modified;
    told_ = news.revision.value();
    heard_us_ = port_.now_us();
    return news;
  }
  if (seen_ <= told_ || random.below(1000) >= etcd.faults().progress) return std::nullopt;
  told_ = seen_;
  heard_us_ = port_.now_us();
  return Progress{Revision(told_)};
}

Async<Result<WatchNews>> SimWatch::next(int64_t timeout_us) {
  CO_TRY_VOID(check_timeout(timeout_us));
  const OnlyWaiter only(waiting_);
  const int64_t until_us = port_.now_us() + timeout_us;
  std::optional<WatchNews> news;
  while (!over()) {
    news = take();
    if (news || port_.now_us() >= until_us) break;
    const int64_t reopen_us =
        new_stream_ ? port_.now_us() + SimEtcdPort::kAttemptUs : heard_us_ + SimEtcdPort::kQuietUs;
    const Alarm alarm(port_.loop_timers(), changed_,
                      std::min(reopen_us, until_us) - port_.now_us());
    co_await changed_.wait();
  }
  if (news) co_return *std::move(news);
  if (closed_ || port_.closing_) co_return fail(Errc::cancelled, "the watch is closed");
  if (compacted_) co_return fail(Errc::failed_precondition, "the watch was compacted away");
  co_return fail(Errc::deadline_exceeded, "no news of the watch within {} us", timeout_us);
}

}  // namespace cellar
