// EtcdGateway and a real etcd that is killed, stopped, and asks for a password over TLS.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "tests/io/remote/etcd_bodies.h"
#include "tests/io/remote/ledger_callers.h"
#include "tests/support/certificates.h"

namespace cellar::test {
namespace {

using namespace etcd;

constexpr int64_t kRealTimeoutUs = 10'000'000;

Txn putting(const std::string& key, const std::string& value) {
  Txn txn;
  txn.then.push_back(Put{key, value});
  return txn;
}

TEST(EtcdRestart, AWatchAndRangesGoOnThroughAKill) {
  EtcdProcess etcd;
  if (!etcd.lacking().empty()) GTEST_SKIP() << etcd.lacking();
  ASSERT_EQ(etcd.failure(), "");
  GatewayBody body({etcd.endpoint()});
  std::vector<int64_t> told;
  bool over = false;
  body.run([](EtcdBody& b, EtcdProcess& e, std::vector<int64_t>& seen, bool& done) -> Async<void> {
    EtcdPort& p = b.port();
    const auto first = co_await p.txn(putting("a", "0"), kRealTimeoutUs);
    const Revision from(std::get<Done>(*first).revision.value() + 1);
    auto watch = *p.watch({Keys::one("a"), from});
    spawn(b.loop().executor(), [&]() -> Async<void> {
      while (seen.size() < 30) {
        auto news = co_await watch->next(kRealTimeoutUs);
        EXPECT_TRUE(news.has_value()) << news.error().to_string();
        if (!news) break;
        const auto* changes = std::get_if<Changes>(&*news);
        if (changes == nullptr) continue;
        for (const Change& change : changes->changes) seen.push_back(std::stoll(change.now.value));
      }
      done = true;
    });
    for (int i = 1; i <= 30; ++i) {
      bool there = false;
      while (!there) {
        const auto outcome = co_await p.txn(putting("a", std::to_string(i)), kRealTimeoutUs);
        there = outcome && std::holds_alternative<Done>(*outcome);
        if (there) continue;
        // A link that the kill has broken may leave it unknown: the key tells.
        const auto now = co_await p.range(Range{Keys::one("a")}, kRealTimeoutUs);
        there = now && now->items.at(0).value == std::to_string(i);
      }
      if (i == 10 || i == 20) e.kill_and_start();
    }
    while (!done) co_await b.sleep(10'000);
  }(body, etcd, told, over));
  ASSERT_EQ(told.size(), 30u);
  for (size_t i = 0; i < told.size(); ++i) EXPECT_EQ(told[i], static_cast<int64_t>(i) + 1);
  EXPECT_GE(body.port().stats().resumed, 2u);
}

TEST(EtcdRestart, AStoppedEtcdLeavesAChangeUnknownInItsTime) {
  EtcdProcess etcd;
  if (!etcd.lacking().empty()) GTEST_SKIP() << etcd.lacking();
  ASSERT_EQ(etcd.failure(), "");
  GatewayBody body({etcd.endpoint()});
  body.run([](EtcdBody& b, EtcdProcess& e) -> Async<void> {
    EtcdPort& p = b.port();
    (void)co_await p.txn(putting("a", "0"), kRealTimeoutUs);
    e.stop();
    const int64_t began_us = b.loop().timers().now_us();
    const auto change = co_await p.txn(putting("a", "1"), 1'500'000);
    EXPECT_TRUE(change && std::holds_alternative<Unknown>(*change));
    const auto read = co_await p.range(Range{Keys::one("a")}, 1'500'000);
    EXPECT_FALSE(read.has_value());
    EXPECT_LT(b.loop().timers().now_us() - began_us, 5'000'000);
    e.resume();
    // What was in the socket is applied now, or never: Unknown says both.
    const auto now = co_await p.range(Range{Keys::one("a")}, kRealTimeoutUs);
    EXPECT_TRUE(now.has_value()) << now.error().to_string();
    if (!now) co_return;
    Txn guarded = putting("a", "2");
    guarded.compares = {Compare::unchanged(now->items.at(0))};
    guarded.otherwise = {Range{Keys::one("a")}};
    const auto outcome = co_await p.txn(std::move(guarded), kRealTimeoutUs);
    EXPECT_TRUE(outcome && !std::holds_alternative<Unknown>(*outcome));
    if (outcome && std::holds_alternative<Refused>(*outcome)) {
      const auto& seen = std::get<RangeAnswer>(std::get<Refused>(*outcome).answers.at(0));
      EXPECT_EQ(seen.items.at(0).value, "1") << "only the late change can have come between";
    }
  }(body, etcd));
}

// What the interface has no call for: the administration of users.
Async<void> make_users(Network& network, Timers& timers, Address endpoint,
                       std::shared_ptr<const TlsContext> tls) {
  const std::pair<const char*, const char*> steps[] = {
      {"/v3/auth/user/add", R"({"name":"root","password":"secret"})"},
      {"/v3/auth/role/add", R"({"name":"root"})"},
      {"/v3/auth/user/grant", R"({"user":"root","role":"root"})"},
      {"/v3/auth/user/add", R"({"name":"guest","password":"guest"})"},
      {"/v3/auth/enable", "{}"}};
  auto link = co_await HttpLink::open(network, timers, endpoint, tls, kRealTimeoutUs);
  EXPECT_TRUE(link.has_value()) << link.error().to_string();
  if (!link) co_return;
  for (const auto& [path, body] : steps) {
    const std::string request =
        fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}", path,
                    std::string_view(body).size(), body);
    const auto answer = co_await (*link)->exchange(request, kRealTimeoutUs);
    EXPECT_TRUE(answer && answer->status == 200) << path;
  }
}

TEST(EtcdUsers, APasswordOpensWhatAnotherUserIsRefused) {
  const auto folder =
      std::filesystem::temp_directory_path() / fmt::format("etcd_ca_{}", ::getpid());
  Authority authority(folder, "ca");
  authority.issue("etcd");
  EtcdProcess etcd(authority.cert("etcd"), authority.key("etcd"));
  if (!etcd.lacking().empty()) GTEST_SKIP() << etcd.lacking();
  ASSERT_EQ(etcd.failure(), "");
  EtcdOptions options;
  options.endpoints = {etcd.endpoint()};
  options.tls = *TlsContext::make_client({.ca = authority.ca()});
  ShardLoop loop;
  TcpNetwork network(loop.executor(), loop.timers());
  Random random(1);
  block_on(loop, make_users(network, loop.timers(), etcd.endpoint(), options.tls));
  const std::tuple<const char*, const char*, Errc> table[] = {
      {"root", "secret", Errc::ok},
      {"root", "wrong", Errc::invalid_argument},
      {"nobody", "x", Errc::invalid_argument},
      {"guest", "guest", Errc::permission_denied}};
  for (const auto& [user, password, expected] : table) {
    options.user = user;
    options.password = password;
    auto port = *EtcdGateway::make(options, network, loop.timers(), loop.executor(), random);
    const auto outcome = block_on(loop, port->txn(putting("a", user), kRealTimeoutUs));
    EXPECT_EQ(outcome ? Errc::ok : outcome.error().code, expected) << user;
    EXPECT_EQ(outcome && std::holds_alternative<Done>(*outcome), expected == Errc::ok) << user;
    {
      auto watch = *port->watch({Keys::one("a"), Revision(1)});
      const auto news = block_on(loop, watch->next(kRealTimeoutUs));
      EXPECT_EQ(news ? Errc::ok : news.error().code, expected) << user;
    }
    block_on(loop, port->close());
  }
  options.user.clear();
  auto port = *EtcdGateway::make(options, network, loop.timers(), loop.executor(), random);
  const auto outcome = block_on(loop, port->txn(putting("a", "x"), kRealTimeoutUs));
  EXPECT_FALSE(outcome.has_value()) << "without a user";
  block_on(loop, port->close());
  std::filesystem::remove_all(folder);
}

// etcd may forget its tokens when it ends, and refuses those that were not used for a while.
TEST(EtcdUsers, AWatchGoesOnThroughARestartAndTheEndOfItsToken) {
  const auto folder =
      std::filesystem::temp_directory_path() / fmt::format("etcd_token_{}", ::getpid());
  Authority authority(folder, "ca");
  authority.issue("etcd");
  EtcdProcess etcd(authority.cert("etcd"), authority.key("etcd"), {"--auth-token-ttl=2"});
  if (!etcd.lacking().empty()) GTEST_SKIP() << etcd.lacking();
  ASSERT_EQ(etcd.failure(), "");
  EtcdOptions options;
  options.endpoints = {etcd.endpoint()};
  options.tls = *TlsContext::make_client({.ca = authority.ca()});
  options.user = "root";
  options.password = "secret";
  ShardLoop loop;
  TcpNetwork network(loop.executor(), loop.timers());
  Random random(1);
  block_on(loop, make_users(network, loop.timers(), etcd.endpoint(), options.tls));
  auto port = *EtcdGateway::make(options, network, loop.timers(), loop.executor(), random);
  // With a token of its own, so that the watch has to find out about the other one by itself.
  auto writer = *EtcdGateway::make(options, network, loop.timers(), loop.executor(), random);
  {
    auto watch = *port->watch({Keys::one("a"), Revision(1)});
    for (int i = 0; i < 3; ++i) {
      std::optional<Revision> done;
      for (int tries = 0; tries < 5 && !done; ++tries) {  // the kill breaks a link: Unknown
        const auto outcome = block_on(loop, writer->txn(putting("a", "v"), kRealTimeoutUs));
        const bool well = outcome && std::holds_alternative<Done>(*outcome);
        if (well) done = std::get<Done>(*outcome).revision;
      }
      EXPECT_TRUE(done.has_value()) << i;
      Revision told;
      while (done && told < *done) {
        const auto news = block_on(loop, watch->next(kRealTimeoutUs));
        EXPECT_TRUE(news.has_value()) << i << ": " << news.error().to_string();
        const auto* changes = news ? std::get_if<Changes>(&*news) : nullptr;
        if (changes == nullptr) break;
        told = changes->revision;
      }
      EXPECT_EQ(told, done.value_or(Revision(-1))) << i;
      if (i == 0) etcd.kill_and_start();
      if (i < 2) block_on(loop, sleep_us(loop.timers(), i == 0 ? 1'500'000 : 5'000'000));
    }
  }
  block_on(loop, port->close());
  block_on(loop, writer->close());
  std::filesystem::remove_all(folder);
}

TEST(EtcdProcess, AnEtcdThatDoesNotStartIsAFailureAndNoReasonToSkip) {
  const auto folder =
      std::filesystem::temp_directory_path() / fmt::format("etcd_fake_{}", ::getpid());
  std::filesystem::create_directory(folder);
  std::filesystem::create_symlink("/bin/false", folder / "etcd");
  const std::string path = std::getenv("PATH") == nullptr ? "" : std::getenv("PATH");
  ::setenv("PATH", folder.c_str(), 1);
  {
    const EtcdProcess etcd;
    EXPECT_EQ(etcd.lacking(), "");
    EXPECT_NE(etcd.failure(), "");
  }
  std::filesystem::remove_all(folder);
  {
    const EtcdProcess etcd;
    EXPECT_NE(etcd.lacking(), "");
  }
  ::setenv("PATH", path.c_str(), 1);
}

TEST(EtcdProcess, EndpointsThatAreNoneAreAnError) {
  const char* before = std::getenv("CELLAR_ETCD_ENDPOINTS");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("CELLAR_ETCD_ENDPOINTS", "10.0.0.1:2379,nonsense", 1);
  EXPECT_FALSE(endpoints_of_environment().has_value());
  ::setenv("CELLAR_ETCD_ENDPOINTS", "", 1);
  EXPECT_FALSE(endpoints_of_environment().has_value());
  ::setenv("CELLAR_ETCD_ENDPOINTS", "10.0.0.1:2379,10.0.0.2:2379", 1);
  EXPECT_EQ(endpoints_of_environment()->size(), 2u);
  ::unsetenv("CELLAR_ETCD_ENDPOINTS");
  EXPECT_TRUE(endpoints_of_environment()->empty());
  if (before != nullptr) ::setenv("CELLAR_ETCD_ENDPOINTS", kept.c_str(), 1);
}

// Played by tests/rig/check, which cuts, stops and kills members of a cluster meanwhile.
TEST(EtcdLedger, HoldsWhileMembersFail) {
  const Result<std::vector<Address>> named = endpoints_of_environment();
  ASSERT_TRUE(named.has_value()) << named.error().to_string();
  const std::vector<Address>& endpoints = *named;
  const char* seconds = std::getenv("CELLAR_ETCD_LEDGER_S");
  if (endpoints.empty() || seconds == nullptr) {
    GTEST_SKIP() << "CELLAR_ETCD_ENDPOINTS and CELLAR_ETCD_LEDGER_S name no cluster and no time";
  }
  ShardLoop loop;
  TcpNetwork network(loop.executor(), loop.timers());
  Random random(1);
  std::vector<std::unique_ptr<EtcdGateway>> ports;
  std::vector<std::unique_ptr<LedgerCaller>> callers;
  const std::string key = fmt::format("ledger/{:016x}", entropy_seed());
  for (int i = 0; i < 3; ++i) {
    EtcdOptions options;
    options.endpoints = endpoints;
    std::ranges::rotate(options.endpoints, options.endpoints.begin() + i % endpoints.size());
    ports.push_back(*EtcdGateway::make(options, network, loop.timers(), loop.executor(), random));
    callers.push_back(std::make_unique<LedgerCaller>(*ports.back(), loop, key, i));
    spawn(loop.executor(),
          [one = callers.back().get()]() -> Async<void> { co_await one->run(1'000'000); });
  }
  block_on(loop, sleep_us(loop.timers(), std::stoll(seconds) * 1'000'000));
  for (const auto& caller : callers) caller->stop();
  for (const auto& caller : callers) {
    while (!caller->finished()) block_on(loop, sleep_us(loop.timers(), 10'000));
  }
  block_on(loop, sleep_us(loop.timers(), 8'000'000));  // what is late has arrived
  const auto ledger = block_on(loop, ports[0]->range(Range{Keys::one(key)}, kRealTimeoutUs));
  ASSERT_TRUE(ledger && !ledger->items.empty());
  EXPECT_EQ(wrong_in_ledger(ledger->items[0].value, callers), "");
  size_t done = 0;
  uint64_t unknown = 0;
  uint64_t failovers = 0;
  for (size_t i = 0; i < callers.size(); ++i) {
    done += callers[i]->reports().done.size();
    unknown += ports[i]->stats().unknown;
    failovers += ports[i]->stats().failovers;
  }
  fmt::print("ledger: {} done, {} unknown, {} failovers\n", done, unknown, failovers);
  EXPECT_GT(done, 50u);
  for (const auto& port : ports) block_on(loop, port->close());
}

}  // namespace
}  // namespace cellar::test
