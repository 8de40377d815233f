// Callers of EtcdPort that share a ledger: a list of names in one key, to which each adds its
// operations. What must hold: an operation that was reported as done is in the ledger, one that was
// reported as not done is not there, and none is there twice.
//
// The right caller guards each change with the revision that it read, and reads again after an
// unknown outcome. A wrong one leaves out one thing.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "io/loop/loop.h"
#include "io/remote/etcd_port.h"

namespace cellar::test {

using namespace etcd;

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

class LedgerCaller {
 public:
  static constexpr int64_t kTimeoutUs = 1'000'000;

  LedgerCaller(EtcdPort& port, Loop& loop, std::string key, int number,
               Mistake mistake = Mistake::none)
      : port_(port), loop_(loop), key_(std::move(key)), number_(number), mistake_(mistake) {}

  // Adds so many, or as many as it can until stop().
  Async<void> run(int operations) {
    for (int i = 0; i < operations && !stopped_; ++i) {
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
  void stop() { stopped_ = true; }
  bool finished() const { return finished_; }
  const Reports& reports() const { return reports_; }

 private:
  Async<Ledger> read() {
    for (;;) {
      auto answer = co_await port_.range(Range{Keys::one(key_)}, kTimeoutUs);
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
      txn.compares = {ledger.read.version == 0 ? Compare::absent(key_)
                                               : Compare::unchanged(ledger.read)};
    }
    txn.then = {Put{key_, ledger.read.value + name + " "}};
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
  const std::string key_;
  const int number_;
  const Mistake mistake_;
  bool stopped_ = false;
  bool finished_ = false;
  int attempts_ = 0;
  int over_ = 0;  // attempts that were answered, or are unknown
  std::optional<std::pair<int, bool>> arrived_;
  Reports reports_;
};

// Empty: everything held; otherwise what did not.
inline std::string wrong_in_ledger(const std::string& ledger,
                                   const std::vector<std::unique_ptr<LedgerCaller>>& callers) {
  std::map<std::string, int> found;
  std::istringstream in(ledger);
  for (std::string name; in >> name;) ++found[name];
  std::string wrong;
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
  return wrong;
}

}  // namespace cellar::test
