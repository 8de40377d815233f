// Callers of EtcdPort in the simulation: each adds its operations to a ledger, a list of names in
// one key, while requests are lost, late and repeated. What must hold afterwards: an operation that
// was reported as done is in the ledger once, one that was reported as not done is not there, and
// none is there twice.
//
// The right caller guards each change with the revision that it read, and reads again after an
// unknown outcome. Each wrong caller leaves out one thing, and some seed must show it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "io/sim/remote/sim_etcd_port.h"
#include "tests/support/seeds.h"

namespace cellar::test {
namespace {

using namespace etcd;

constexpr int kCallers = 3;
constexpr int kOperations = 12;  // of each caller
constexpr int64_t kTimeoutUs = 1'000'000;
constexpr const char* kLedger = "ledger";

enum class Mistake : uint8_t {
  none,
  no_guard,              // puts what it has computed, whatever stands there by then
  no_read_when_unknown,  // an unknown outcome counts as not applied, and is repeated
  refused_is_not_done,   // after an unknown outcome, a refusal counts as that of the operation
  any_answer,            // the first answer that comes counts, also that of an earlier attempt
  own_timeout,           // no mistake: the same, but an answer counts for its own attempt
};

struct Ledger {
  std::vector<std::string> names;
  KeyValue read;  // version 0: absent
};

// What one caller has reported.
struct Reports {
  std::set<std::string> done;
  std::set<std::string> not_done;
};

class Caller {
 public:
  Caller(EtcdPort& port, Loop& loop, Mistake mistake, int number)
      : port_(port), loop_(loop), mistake_(mistake), number_(number) {}

  Async<void> run() {
    for (int i = 0; i < kOperations; ++i) {
      const std::string name = fmt::format("{}.{}", number_, i);
      if (mistake_ == Mistake::any_answer || mistake_ == Mistake::own_timeout) {
        co_await try_once(name);
      } else {
        co_await add(name);
      }
    }
    while (over_ < attempts_) co_await sleep_us(loop_.timers(), 100'000);
    finished_ = true;
  }
  bool finished() const { return finished_; }
  const Reports& reports() const { return reports_; }

 private:
  Async<Ledger> read() {
    for (;;) {
      auto answer = co_await port_.range(Range{Keys::one(kLedger)}, kTimeoutUs);
      if (!answer) continue;
      Ledger ledger;
      if (answer->items.empty()) co_return ledger;
      ledger.read = answer->items[0];
      std::istringstream in(ledger.read.value);
      for (std::string name; in >> name;) ledger.names.push_back(name);
      co_return ledger;
    }
  }

  Txn adding(const Ledger& ledger, const std::string& name) const {
    Txn txn;
    if (mistake_ != Mistake::no_guard) {
      txn.compares = {ledger.read.version == 0 ? Compare::absent(kLedger)
                                               : Compare::unchanged(ledger.read)};
    }
    txn.then = {Put{kLedger, ledger.read.value + name + " "}};
    return txn;
  }

  // An outcome may stay unknown when a late attempt could still be applied; here every attempt
  // after the first is guarded by a later reading, so that the reading settles the earlier ones.
  Async<void> add(std::string name) {
    for (;;) {
      const Ledger ledger = co_await read();
      const bool there = std::ranges::count(ledger.names, name) > 0;
      const bool looks =
          mistake_ != Mistake::no_read_when_unknown && mistake_ != Mistake::refused_is_not_done;
      if (there && looks) {
        reports_.done.insert(name);
        co_return;
      }
      auto outcome = co_await port_.txn(adding(ledger, name), kTimeoutUs);
      if (!outcome) continue;
      if (std::holds_alternative<Done>(*outcome)) {
        reports_.done.insert(name);
        co_return;
      }
      const bool unknown = std::holds_alternative<Unknown>(*outcome);
      if (mistake_ == Mistake::refused_is_not_done && unknown) {
        // Repeats the same guard, as if only the answer could have been lost.
        auto again = co_await port_.txn(adding(ledger, name), kTimeoutUs);
        const bool done = again && std::holds_alternative<Done>(*again);
        (done ? reports_.done : reports_.not_done).insert(name);
        co_return;
      }
    }
  }

  // Gives up after a time of its own, while the answer may still come, and goes on with its next
  // operation. An answer belongs to an attempt, whose number it carries.
  Async<void> try_once(std::string name) {
    const Ledger ledger = co_await read();
    const int attempt = ++attempts_;
    spawn(loop_.executor(), [this, attempt, txn = adding(ledger, name)]() -> Async<void> {
      auto outcome = co_await port_.txn(txn, 20 * kTimeoutUs);
      arrived_ = {attempt, outcome && std::holds_alternative<Done>(*outcome)};
      ++over_;
    });
    for (int waited = 0; waited < 20; ++waited) {
      co_await sleep_us(loop_.timers(), 200);
      if (!arrived_) continue;
      const auto [of, done] = *std::exchange(arrived_, std::nullopt);
      if (mistake_ == Mistake::own_timeout && of != attempt) continue;
      if (done) reports_.done.insert(name);
      co_return;
    }
  }

  EtcdPort& port_;
  Loop& loop_;
  const Mistake mistake_;
  const int number_;
  bool finished_ = false;
  int attempts_ = 0;
  int over_ = 0;  // attempts that were answered, or are unknown
  std::optional<std::pair<int, bool>> arrived_;
  Reports reports_;
};

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
  faults.delay_us = 4'000;
  std::vector<std::unique_ptr<SimEtcdPort>> ports;
  std::vector<std::unique_ptr<Caller>> callers;
  for (int i = 0; i < kCallers; ++i) {
    SimLoop& loop = world.add_loop();
    ports.push_back(std::make_unique<SimEtcdPort>(etcd, loop));
    callers.push_back(std::make_unique<Caller>(*ports.back(), loop, mistake, i));
    spawn(loop.executor(),
          [caller = callers.back().get()]() -> Async<void> { co_await caller->run(); });
  }
  for (int i = 0; i < 5; ++i) {
    world.run_for_us(static_cast<int64_t>(world.random().below(2'000'000)));
    etcd.lose_leader(static_cast<int64_t>(world.random().below(3'000'000)));
  }
  const bool over = world.run_until(
      [&] { return std::ranges::all_of(callers, [](const auto& c) { return c->finished(); }); });
  world.run_for_us(2 * faults.late_us);  // what is late has arrived
  std::map<std::string, int> found;
  const auto ledger = etcd.range(Range{Keys::one(kLedger)});
  std::istringstream in(ledger->items.empty() ? "" : ledger->items[0].value);
  for (std::string name; in >> name;) ++found[name];
  std::string wrong = over ? "" : "not over; ";
  for (const auto& [name, times] : found) {
    if (times > 1) wrong += fmt::format("{} is there {} times; ", name, times);
  }
  for (const auto& caller : callers) {
    for (const std::string& name : caller->reports().done) {
      if (!found.contains(name)) wrong += fmt::format("{} is reported and lost; ", name);
    }
    for (const std::string& name : caller->reports().not_done) {
      if (found.contains(name)) wrong += fmt::format("{} is there, reported as not; ", name);
    }
  }
  world.crash();
  return wrong;
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
      auto answer = co_await port_.range(Range{Keys::prefix("k/")}, kTimeoutUs);
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
      auto granted = co_await port_.grant(id_, 4, kTimeoutUs);
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
      auto outcome = co_await port_.txn(std::move(take), kTimeoutUs);
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
    auto renewed = co_await port_.keep_alive(id_, 2 * kTimeoutUs);
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
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    caught += moments_of(seed, true, 500'000).first > 0 ? 1 : 0;
  }
  EXPECT_GE(caught, 2) << "of 20 seeds";
}

}  // namespace
}  // namespace cellar::test
