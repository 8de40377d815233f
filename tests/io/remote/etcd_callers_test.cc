// Callers of EtcdPort in the simulation, while requests are lost, late and repeated: of a ledger
// (ledger_callers.h), of watches and of leases. The right ones must never be caught; each wrong one
// leaves out one thing, and some seeds must show it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "io/sim/remote/sim_etcd_port.h"
#include "tests/io/remote/ledger_callers.h"
#include "tests/support/seeds.h"

namespace cellar::test {
namespace {

constexpr int kCallers = 3;
constexpr int kOperations = 12;  // of each caller
constexpr int64_t kShortTimeoutUs = 1'000'000;
constexpr const char* kLedger = "ledger";

// Plays one history. Empty: everything held; otherwise what did not.
std::string play(uint64_t seed, Mistake mistake) {
  SimWorld world(seed);
  SimEtcd etcd(world);
  SimEtcdFaults& faults = etcd.faults();
  faults.unreachable = 30;
  faults.lost = 30;
  faults.unanswered = 30;
  faults.late = 30;
  faults.repeated = 30;
  faults.full = 30;
  faults.delay_us = 4'000;
  std::vector<std::unique_ptr<SimEtcdPort>> ports;
  std::vector<std::unique_ptr<LedgerCaller>> callers;
  for (int i = 0; i < kCallers; ++i) {
    SimLoop& loop = world.add_loop();
    ports.push_back(std::make_unique<SimEtcdPort>(etcd, loop));
    callers.push_back(std::make_unique<LedgerCaller>(*ports.back(), loop, kLedger, i, mistake));
    spawn(loop.executor(),
          [caller = callers.back().get()]() -> Async<void> { co_await caller->run(kOperations); });
  }
  for (int i = 0; i < 5; ++i) {
    world.run_for_us(static_cast<int64_t>(world.random().below(2'000'000)));
    etcd.lose_leader(static_cast<int64_t>(world.random().below(3'000'000)));
  }
  const bool over = world.run_until(
      [&] { return std::ranges::all_of(callers, [](const auto& c) { return c->finished(); }); });
  world.run_for_us(2 * faults.late_us);  // what is late has arrived
  const auto ledger = etcd.range(Range{Keys::one(kLedger)});
  const std::string wrong =
      wrong_in_ledger(ledger->items.empty() ? "" : ledger->items[0].value, callers);
  world.crash();
  return over ? wrong : "not over; " + wrong;
}

TEST(EtcdCallers, TheRightOneIsNeverCaught) {
  for (const uint64_t seed : test_seeds(150)) {
    ASSERT_EQ(play(seed, Mistake::none), "") << "CELLAR_SEED=" << seed;
    ASSERT_EQ(play(seed, Mistake::own_timeout), "") << "CELLAR_SEED=" << seed;
  }
}

class WrongCaller : public testing::TestWithParam<std::pair<Mistake, const char*>> {};

TEST_P(WrongCaller, IsCaught) {
  int caught = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) caught += play(seed, GetParam().first) != "" ? 1 : 0;
  RecordProperty("caught", caught);
  EXPECT_GE(caught, 4) << "of 40 seeds";
}

INSTANTIATE_TEST_SUITE_P(
    Mistakes, WrongCaller,
    testing::Values(std::pair(Mistake::no_guard, "NoGuard"),
                    std::pair(Mistake::no_read_when_unknown, "NoReadWhenUnknown"),
                    std::pair(Mistake::refused_is_not_done, "RefusedIsNotDone"),
                    std::pair(Mistake::any_answer, "AnyAnswer")),
    [](const auto& info) { return info.param.second; });

// ---- watches ----

// Follows a key range by watch and keeps a copy; after Compacted it reads again, or forgets to.
class Follower {
 public:
  Follower(EtcdPort& port, bool reads_again) : port_(port), reads_again_(reads_again) {}

  Async<void> run() {
    for (;;) {
      co_await read();
      std::unique_ptr<Watch> watch = *port_.watch({Keys::prefix("k/"), from_});
      for (;;) {
        auto news = co_await watch->next(5'000'000);
        if (!news && news.error().code == Errc::deadline_exceeded) continue;
        if (!news) co_return;
        if (const auto* compacted = std::get_if<Compacted>(&*news)) {
          ++compacted_;
          if (!reads_again_) {
            from_ = compacted->oldest;
            watch = *port_.watch({Keys::prefix("k/"), from_});
            continue;
          }
          break;
        }
        if (const auto* changes = std::get_if<Changes>(&*news)) take(*changes);
      }
    }
  }
  const std::map<std::string, std::string>& copy() const { return copy_; }
  int compacted() const { return compacted_; }
  const std::string& wrong() const { return wrong_; }

 private:
  Async<void> read() {
    for (;;) {
      auto answer = co_await port_.range(Range{Keys::prefix("k/")}, kShortTimeoutUs);
      if (!answer) continue;
      copy_.clear();
      for (const KeyValue& kv : answer->items) copy_[kv.key] = kv.value;
      from_ = Revision(answer->revision.value() + 1);
      last_ = answer->revision;
      co_return;
    }
  }
  void take(const Changes& news) {
    for (const Change& change : news.changes) {
      if (change.now.modified < last_) wrong_ = "out of order";
      last_ = change.now.modified;
      if (change.kind == Change::Kind::put) {
        copy_[change.now.key] = change.now.value;
      } else {
        copy_.erase(change.now.key);
      }
    }
  }

  EtcdPort& port_;
  const bool reads_again_;
  Revision from_;
  Revision last_;
  int compacted_ = 0;
  std::string wrong_;
  std::map<std::string, std::string> copy_;
};

struct Followed {
  bool equal = false;
  int compacted = 0;
  uint64_t resumed = 0;
};

Followed follow(uint64_t seed, bool reads_again) {
  SimWorld world(seed);
  SimEtcd etcd(world);
  etcd.faults().gap = 100;
  etcd.faults().progress = 100;
  SimLoop& loop = world.add_loop();
  SimEtcdPort port(etcd, loop);
  Follower follower(port, reads_again);
  spawn(loop.executor(), [&]() -> Async<void> { co_await follower.run(); });
  for (int i = 0; i < 300; ++i) {
    Txn txn;
    const std::string key = fmt::format("k/{}", world.random().below(20));
    if (world.random().one_in(4)) {
      txn.then.push_back(Delete{Keys::one(key)});
    } else {
      txn.then.push_back(Put{key, std::to_string(i)});
    }
    (void)etcd.txn(txn);
    if (world.random().one_in(30)) (void)etcd.compact(etcd.revision());
    if (world.random().one_in(60)) etcd.lose_leader(2'000'000);
    world.run_for_us(static_cast<int64_t>(world.random().below(300'000)));
  }
  world.run_for_us(60'000'000);
  std::map<std::string, std::string> truth;
  for (const KeyValue& kv : etcd.range(Range{Keys::prefix("k/")})->items) truth[kv.key] = kv.value;
  const Followed result{follower.copy() == truth && follower.wrong().empty(), follower.compacted(),
                        port.stats().resumed};
  world.crash();
  return result;
}

TEST(EtcdWatchers, ACopyEqualsTheOriginalThroughGapsAndCompaction) {
  int compacted = 0;
  uint64_t resumed = 0;
  for (const uint64_t seed : test_seeds(40)) {
    const Followed result = follow(seed, true);
    ASSERT_TRUE(result.equal) << "CELLAR_SEED=" << seed;
    compacted += result.compacted;
    resumed += result.resumed;
  }
  EXPECT_GT(compacted, 10);
  EXPECT_GT(resumed, 100u);
}

TEST(EtcdWatchers, WhoDoesNotReadAgainIsCaught) {
  int caught = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) caught += follow(seed, false).equal ? 0 : 1;
  EXPECT_GE(caught, 4) << "of 40 seeds";
}

// ---- leases ----

// Two candidates for one key under a lease of 4 s. The right one acts only until it has renewed the
// lease: the call + the term; the wrong one as long as nobody has told it otherwise.
class Candidate {
 public:
  Candidate(SimEtcdPort& port, Loop& loop, int number, bool counts_from_answer)
      : port_(port), loop_(loop), id_(number + 1), counts_from_answer_(counts_from_answer) {}

  Async<void> run() {
    for (;;) {
      const int64_t asked_us = now_us();
      auto granted = co_await port_.grant(id_, 4, kShortTimeoutUs);
      const bool have = granted && std::holds_alternative<Granted>(*granted);
      // Taken already: an earlier, unknown grant.
      if (have || (!granted && granted.error().code == Errc::failed_precondition)) {
        if (have) until_us_ = (counts_from_answer_ ? now_us() : asked_us) + 4'000'000;
        co_await hold();
      }
      owner_ = false;
      co_await sleep_us(loop_.timers(), 300'000);
    }
  }
  bool acts() const { return owner_ && now_us() < until_us_; }

 private:
  int64_t now_us() const { return loop_.timers().now_us(); }

  Async<void> hold() {
    while (co_await renew()) {
      Txn take;
      take.compares = {Compare::absent("owner")};
      take.then = {Put{"owner", std::to_string(id_.value()), id_}};
      take.otherwise = {Range{Keys::one("owner")}};
      auto outcome = co_await port_.txn(std::move(take), kShortTimeoutUs);
      if (outcome && std::holds_alternative<Done>(*outcome)) owner_ = true;
      if (outcome && std::holds_alternative<Refused>(*outcome)) {
        const auto& seen = std::get<RangeAnswer>(std::get<Refused>(*outcome).answers[0]);
        owner_ = !seen.items.empty() && seen.items[0].lease == id_;
      }
      co_await sleep_us(loop_.timers(), 1'000'000);
    }
  }
  Async<bool> renew() {
    const int64_t asked_us = now_us();
    auto renewed = co_await port_.keep_alive(id_, 2 * kShortTimeoutUs);
    if (renewed && std::holds_alternative<Renewed>(*renewed)) {
      until_us_ = (counts_from_answer_ ? now_us() + 4'000'000 : asked_us + 4'000'000);
    }
    co_return renewed.has_value() || renewed.error().code != Errc::not_found;
  }

  SimEtcdPort& port_;
  Loop& loop_;
  const LeaseId id_;
  const bool counts_from_answer_;
  bool owner_ = false;
  int64_t until_us_ = 0;
};

// The moments at which both acted, of about 1,200, and those at which one did.
std::pair<int, int> moments_of(uint64_t seed, bool counts_from_answer, int64_t delay_us) {
  SimWorld world(seed);
  SimEtcd etcd(world);
  etcd.faults().unanswered = 50;
  etcd.faults().lost = 50;
  etcd.faults().delay_us = delay_us;
  std::vector<std::unique_ptr<SimEtcdPort>> ports;
  std::vector<std::unique_ptr<Candidate>> candidates;
  for (int i = 0; i < 2; ++i) {
    SimLoop& loop = world.add_loop();
    ports.push_back(std::make_unique<SimEtcdPort>(etcd, loop));
    candidates.push_back(std::make_unique<Candidate>(*ports.back(), loop, i, counts_from_answer));
    spawn(loop.executor(),
          [one = candidates.back().get()]() -> Async<void> { co_await one->run(); });
  }
  int both = 0;
  int one = 0;
  for (int i = 0; i < 1'200; ++i) {
    if (i % 200 == 100) ports[i / 200 % 2]->cut(true);
    if (i % 200 == 190) {
      for (auto& port : ports) port->cut(false);
    }
    world.run_for_us(100'000);
    const int acting = (candidates[0]->acts() ? 1 : 0) + (candidates[1]->acts() ? 1 : 0);
    both += acting == 2 ? 1 : 0;
    one += acting == 1 ? 1 : 0;
  }
  world.crash();
  return {both, one};
}

TEST(EtcdLeases, AHolderThatCountsFromItsCallIsAloneAndIsReplaced) {
  for (const uint64_t seed : test_seeds(20)) {
    const auto [both, one] = moments_of(seed, false, 500'000);
    EXPECT_EQ(both, 0) << "CELLAR_SEED=" << seed;
    EXPECT_GT(one, 300) << "CELLAR_SEED=" << seed;
  }
}

TEST(EtcdLeases, AHolderThatCountsFromTheAnswerIsCaught) {
  int caught = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    caught += moments_of(seed, true, 500'000).first > 0 ? 1 : 0;
  }
  EXPECT_GE(caught, 2) << "of 100 seeds";
}

}  // namespace
}  // namespace cellar::test
