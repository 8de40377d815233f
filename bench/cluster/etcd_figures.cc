#include "bench/cluster/etcd_figures.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "bench/cluster/median.h"
#include "io/base/check.h"
#include "io/base/random.h"
#include "io/loop/context_timers.h"
#include "io/loop/shard_loop.h"
#include "io/net/tcp_transport.h"
#include "io/remote/etcd/etcd_gateway.h"

namespace cellar::bench {
namespace {

constexpr int64_t kEtcdCallUs = 5'000'000;
constexpr int64_t kLeaseSeconds = 5;
constexpr int kTimes = 50;

std::vector<Address> addresses_of(std::string_view text) {
  std::vector<Address> all;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view one = text.substr(0, comma);
    constexpr std::string_view kScheme = "http://";
    if (one.starts_with(kScheme)) one.remove_prefix(kScheme.size());
    const auto address = parse_address(one);
    CHECK(address, "{}", address.error().to_string());
    all.push_back(*address);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return all;
}

class Etcd {
 public:
  explicit Etcd(const std::string& endpoints) {
    EtcdOptions options;
    options.endpoints = addresses_of(endpoints);
    auto made =
        EtcdGateway::make(std::move(options), network_, loop_.timers(), loop_.executor(), random_);
    CHECK(made, "{}", made.error().to_string());
    port_ = *std::move(made);
  }
  ~Etcd() { block_on(loop_, port_->close()); }

  std::vector<std::pair<std::string, double>> measure() { return block_on(loop_, run()); }

 private:
  Async<std::vector<std::pair<std::string, double>>> run() {
    std::vector<std::pair<std::string, double>> figures;
    figures.emplace_back("txn_ms", co_await transactions());
    figures.emplace_back("range_ms", co_await ranges());
    figures.emplace_back("watch_ms", co_await news());
    figures.emplace_back("lease_end_ms", co_await lease_end());
    co_return figures;
  }

  Async<etcd::Revision> put(std::string value, etcd::LeaseId lease = etcd::kNoLease) {
    etcd::Txn txn;
    txn.then = {etcd::Put{key_, std::move(value), lease}};
    const auto outcome = co_await port_->txn(std::move(txn), kEtcdCallUs);
    CHECK(outcome, "{}", outcome.error().to_string());
    CHECK(std::holds_alternative<etcd::Done>(*outcome), "a transaction was not done");
    co_return std::get<etcd::Done>(*outcome).revision;
  }

  Async<double> transactions() {
    std::vector<int64_t> taken_us;
    for (int i = 0; i < kTimes; ++i) {
      const int64_t began_us = steady_us();
      (void)co_await put(std::to_string(i));
      taken_us.push_back(steady_us() - began_us);
    }
    co_return median_ms(std::move(taken_us));
  }

  Async<double> ranges() {
    std::vector<int64_t> taken_us;
    for (int i = 0; i < kTimes; ++i) {
      etcd::Range range;
      range.keys = etcd::Keys::one(key_);
      const int64_t began_us = steady_us();
      const auto read = co_await port_->range(std::move(range), kEtcdCallUs);
      CHECK(read, "{}", read.error().to_string());
      taken_us.push_back(steady_us() - began_us);
    }
    co_return median_ms(std::move(taken_us));
  }

  Async<std::unique_ptr<etcd::Watch>> watch_after(etcd::Revision revision) {
    etcd::WatchRequest request;
    request.keys = etcd::Keys::one(key_);
    request.from = etcd::Revision(revision.value() + 1);
    auto watch = port_->watch(std::move(request));
    CHECK(watch, "{}", watch.error().to_string());
    co_return *std::move(watch);
  }
  // Waits until the watch tells a change of this kind.
  static Async<void> until(etcd::Watch& watch, etcd::Change::Kind kind) {
    while (true) {
      const auto news = co_await watch.next(4 * kEtcdCallUs);
      CHECK(news, "{}", news.error().to_string());
      const auto* changes = std::get_if<etcd::Changes>(&*news);
      if (changes != nullptr && changes->changes.front().kind == kind) co_return;
    }
  }

  // From the answer of a put to the news of it: negative if the news came first.
  Async<double> news() {
    const etcd::Revision revision = co_await put("before");
    const auto watch = co_await watch_after(revision);
    std::vector<int64_t> taken_us;
    int64_t told_us = 0;
    bool over = false;
    int told = 0;
    spawn(loop_.executor(), [&]() -> Async<void> {
      for (; told < kTimes; ++told) {
        co_await until(*watch, etcd::Change::Kind::put);
        told_us = steady_us();
      }
      over = true;
    });
    co_await sleep_us(loop_.timers(), 200'000);  // the watch is connected
    for (int i = 0; i < kTimes; ++i) {
      const int64_t began_us = steady_us();
      (void)co_await put(std::to_string(i));
      while (told <= i && !over) co_await sleep_us(loop_.timers(), 1'000);
      taken_us.push_back(told_us - began_us);
    }
    while (!over) co_await sleep_us(loop_.timers(), 1'000);
    co_return median_ms(std::move(taken_us));
  }

  // The time from the grant of a lease, which is not renewed, to the event that removes its key.
  Async<double> lease_end() {
    const int64_t began_us = steady_us();
    const auto granted = co_await port_->grant(etcd::kNoLease, kLeaseSeconds, kEtcdCallUs);
    CHECK(granted, "{}", granted.error().to_string());
    CHECK(std::holds_alternative<etcd::Granted>(*granted), "a lease was not granted");
    const etcd::Revision revision = co_await put("leased", std::get<etcd::Granted>(*granted).id);
    const auto watch = co_await watch_after(revision);
    co_await until(*watch, etcd::Change::Kind::removed);
    co_return static_cast<double>(steady_us() - began_us) / 1e3;
  }

  ShardLoop loop_;
  TcpNetwork network_{loop_.executor(), loop_.timers()};
  Random random_{entropy_seed()};
  std::unique_ptr<EtcdGateway> port_;
  const std::string key_ = fmt::format("/cellar-bench/{:016x}", entropy_seed());
};

}  // namespace

std::vector<std::pair<std::string, double>> measure_etcd(const std::string& endpoints) {
  return Etcd(endpoints).measure();
}

}  // namespace cellar::bench
