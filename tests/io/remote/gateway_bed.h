// EtcdGateway on the simulated network with servers that answer as a test says (fake_etcd.h).
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "io/remote/etcd/base64.h"
#include "io/remote/etcd/etcd_gateway.h"
#include "tests/io/remote/fake_etcd.h"
#include "tests/support/certificates.h"

namespace cellar::test {

using namespace etcd;

inline constexpr int64_t kTimeoutUs = 3'000'000;

inline std::string range_answer(int64_t revision, const std::string& value) {
  return fmt::format(
      R"({{"header":{{"revision":"{0}"}},"kvs":[{{"key":"{1}","create_revision":"{0}","mod_revision":"{0}","version":"1","value":"{2}"}}],"count":"1"}})",
      revision, to_base64("a"), to_base64(value));
}
inline std::string txn_answer(int64_t revision) {
  return fmt::format(
      R"({{"header":{{"revision":"{0}"}},"succeeded":true,"responses":[{{"response_put":{{"header":{{"revision":"{0}"}}}}}}]}})",
      revision);
}
inline std::string created() { return R"({"result":{"header":{"revision":"9"},"created":true}})"; }
inline std::string event(int64_t revision) {
  return fmt::format(R"({{"kv":{{"key":"{}","mod_revision":"{}","version":"1","value":"{}"}}}})",
                     to_base64("a"), revision, to_base64(std::to_string(revision)));
}
inline std::string events(const std::vector<int64_t>& revisions, bool fragment = false) {
  std::string list;
  for (const int64_t revision : revisions) list += (list.empty() ? "" : ",") + event(revision);
  return fmt::format(R"({{"result":{{"header":{{"revision":"9"}},{}"events":[{}]}}}})",
                     fragment ? R"("fragment":true,)" : "", list);
}

class EtcdGatewayTest : public testing::Test {
 protected:
  // A handler refers to variables of its test, which are gone, and a watch may still ask.
  void TearDown() override {
    for (const auto& server : servers_list_) server->retire();
  }
  ~EtcdGatewayTest() override {
    // Everything that is suspended goes before what it refers to.
    if (port_ != nullptr) world_.block_on(loop_, port_->close());
    world_.crash();
  }

  FakeEtcd& serve(FakeEtcd::Handler handler, std::shared_ptr<const TlsContext> tls = nullptr) {
    const std::string host = fmt::format("10.0.0.{}", ++servers_);
    servers_list_.push_back(
        std::make_unique<FakeEtcd>(fabric_, loop_, host, std::move(handler), std::move(tls)));
    options_.endpoints.push_back({host, 2379});
    world_.run_until_idle();
    return *servers_list_.back();
  }
  // The port gets a user, and so TLS, of which this is the server's side. Before serve().
  std::shared_ptr<const TlsContext> use_password() {
    const auto folder =
        std::filesystem::temp_directory_path() / fmt::format("etcd_tls_{}", ::getpid());
    Authority authority(folder, "ca");
    authority.issue("etcd", {.addresses = {"10.0.0.1"}});
    auto server_side = *TlsContext::make_server({authority.cert("etcd"), authority.key("etcd")});
    options_.tls = *TlsContext::make_client({.ca = authority.ca()});
    std::filesystem::remove_all(folder);
    options_.user = "root";
    options_.password = "secret";
    return server_side;
  }
  EtcdGateway& port() {
    if (port_ == nullptr) {
      auto made =
          EtcdGateway::make(options_, network_, loop_.timers(), loop_.executor(), world_.random());
      EXPECT_TRUE(made.has_value()) << made.error().to_string();
      port_ = std::move(*made);
    }
    return *port_;
  }
  Result<RangeAnswer> read(int64_t timeout_us = kTimeoutUs) {
    return world_.block_on(loop_, port().range(Range{Keys::one("a")}, timeout_us));
  }
  Result<TxnOutcome> put(int64_t timeout_us = kTimeoutUs) {
    Txn txn;
    txn.then.push_back(Put{"a", "v"});
    return world_.block_on(loop_, port().txn(std::move(txn), timeout_us));
  }
  // "done", "unknown", or the name of the error, which says: not applied.
  std::string outcome_of(const Result<TxnOutcome>& outcome) {
    if (!outcome) {
      EXPECT_EQ(outcome.error().applied, Applied::not_applied);
      return std::string(errc_name(outcome.error().code));
    }
    if (std::holds_alternative<Done>(*outcome)) return "done";
    return std::holds_alternative<Unknown>(*outcome) ? "unknown" : "refused";
  }
  Result<WatchNews> next(Watch& watch, int64_t timeout_us = kTimeoutUs) {
    return world_.block_on(loop_, watch.next(timeout_us));
  }
  std::vector<int64_t> told(Watch& watch, size_t at_least) {
    std::vector<int64_t> revisions;
    while (revisions.size() < at_least) {
      auto news = next(watch, 60'000'000);
      if (!news || !std::holds_alternative<Changes>(*news)) break;
      for (const Change& change : std::get<Changes>(*news).changes) {
        revisions.push_back(change.now.modified.value());
      }
    }
    return revisions;
  }

  SimWorld world_{3};
  SimFabric fabric_{world_};
  SimLoop& loop_ = world_.add_loop();
  SimNetwork network_{fabric_, loop_};
  EtcdOptions options_;
  int servers_ = 0;
  std::vector<std::unique_ptr<FakeEtcd>> servers_list_;
  std::unique_ptr<EtcdGateway> port_;
};

}  // namespace cellar::test
