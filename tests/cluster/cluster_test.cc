// Three nodes behind HAProxy: drained, killed, restarted and upgraded under load.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "net/client/sync_client.h"
#include "tests/cluster/cluster_bed.h"
#include "tests/cluster/keeper.h"

namespace cellar::cluster {
namespace {

constexpr int kKeepers = 6;
constexpr int kDrainMs = 20'000;

std::string program(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
}

void make_tables(const std::string& address) {
  client::ClientOptions options;
  options.address = address;
  client::SyncClient client(options);
  // cellar-bench creates its table on one node only.
  for (const char* name : {"bench", kKept}) {
    client::TableSpec spec;
    spec.name = name;
    spec.families.emplace_back().name = "f";
    const auto made = client.create_table(spec);
    ASSERT_TRUE(made) << made.error().to_string();
  }
}

class ClusterTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string lacking = ClusterBed::lacking(); !lacking.empty())
      GTEST_SKIP() << lacking;
    bed_.emplace();
    if (!bed_->whole()) GTEST_SKIP() << "network namespaces are not to be had here";
    for (int node = 0; node < ClusterBed::kNodes; ++node) {
      ASSERT_TRUE(bed_->start_node(node, program("cellard"))) << bed_->log_of(node);
      make_tables(bed_->node_address(node));
    }
    ASSERT_TRUE(bed_->start_proxy()) << "HAProxy does not see the nodes";
  }

  // Runs cellar-bench through the proxy for this long.
  void start_bench(Program& bench, double seconds) {
    bench.start({program("cellar-bench"), "--addr", bed_->any_address(), "--workload", "mixed",
                 "--connections", "6", "--rate", "600", "--max-late-us", "1000000", "--keys",
                 "1000", "--seconds", fmt::format("{}", seconds)},
                bed_->directory() / "bench.log");
  }
  std::string bench_log() { return output_of("cat " + (bed_->directory() / "bench.log").string()); }
  // The failed writes of the keepers since the last call.
  uint64_t failures(Keepers& keepers) {
    std::string first;
    const uint64_t count = keepers.take_failures(first);
    if (count > 0)
      std::printf("%llu failed, the first %s\n", (unsigned long long)count, first.c_str());
    return count;
  }
  // SIGTERM, an orderly end, and the proxy's view meanwhile. No client may see an error.
  void drain(int node, Keepers& keepers) {
    failures(keepers);
    bed_->terminate_node(node);
    EXPECT_TRUE(bed_->waits_for_status(node, "NOLB", 5'000) ||
                bed_->waits_for_status(node, "DOWN", 5'000))
        << bed_->seen_by_proxy(node);
    EXPECT_EQ(bed_->wait_node(node, kDrainMs), 0)
        << "node " << node + 1 << " did not stop in order";
    EXPECT_EQ(failures(keepers), 0u) << "in the drain of node " << node + 1;
  }
  void start(int node, const std::string& path) {
    ASSERT_TRUE(bed_->start_node(node, path)) << bed_->log_of(node);
    ASSERT_TRUE(bed_->waits_for_status(node, "UP", 10'000)) << bed_->seen_by_proxy(node);
  }
  // Every acknowledged row is on one of the nodes.
  void expect_kept(const Keepers& keepers) {
    std::set<std::string> found;
    for (int node = 0; node < ClusterBed::kNodes; ++node) {
      std::set<std::string> rows = kept_rows(bed_->node_address(node));
      std::printf("node %d holds %zu rows\n", node + 1, rows.size());
      EXPECT_FALSE(rows.empty()) << "the routing hints did not spread over the nodes";
      found.merge(rows);
    }
    std::vector<std::string> lost;
    std::set_difference(keepers.promises().begin(), keepers.promises().end(), found.begin(),
                        found.end(), std::back_inserter(lost));
    EXPECT_TRUE(lost.empty()) << lost.size() << " acknowledged rows are lost, the first "
                              << lost.front();
    EXPECT_GT(keepers.promises().size(), 1000u);
  }

  void expect_hints_lead();
  void expect_clients_seen();

  std::optional<ClusterBed> bed_;
};

// A hint leads to the same node on every connection.
void ClusterTest::expect_hints_lead() {
  for (const char* name : {"events", "users", "events/eu"}) {
    std::set<std::string> nodes;
    for (int i = 0; i < 5; ++i) {
      client::ClientOptions options;
      options.address = bed_->proxy_address();
      options.routing_hint = client::hint_of(name);
      client::SyncClient client(options);
      const auto info = client.server_info();
      ASSERT_TRUE(info) << info.error().to_string();
      nodes.insert(info->data_dir);
    }
    EXPECT_EQ(nodes.size(), 1u) << name;
  }
}

// The node knows the client's address, and the proxy's.
void ClusterTest::expect_clients_seen() {
  client::ClientOptions options;
  options.address = bed_->any_address();
  client::SyncClient client(options);
  client::TableSpec spec;
  spec.name = "seen";
  spec.families.emplace_back().name = "f";
  ASSERT_TRUE(client.create_table(spec));
  const auto log = client.audit_log({.table = "seen"});
  ASSERT_TRUE(log && !log->entries.empty());
  const std::string proxy = bed_->proxy_address().substr(0, bed_->proxy_address().find(':'));
  EXPECT_NE(log->entries[0].address.find(" via " + proxy + ":"), std::string::npos)
      << log->entries[0].address;
  EXPECT_FALSE(log->entries[0].address.starts_with(proxy + ":"));
}

TEST_F(ClusterTest, NobodyNoticesADrainAndNothingAcknowledgedIsEverLost) {
  if (IsSkipped()) return;
  expect_hints_lead();
  expect_clients_seen();
  Keepers keepers(bed_->proxy_address(), kKeepers);
  Program bench;
  start_bench(bench, 4);
  drain(0, keepers);
  EXPECT_EQ(bench.wait(20'000), 0) << bench_log();
  start(0, program("cellard"));

  bed_->kill_node(1);
  usleep(500'000);
  EXPECT_EQ(failures(keepers), 0u) << "what may be sent again outlives a killed node";
  start(1, program("cellard"));

  // The upgrade: another program file on the same data.
  const std::string newer = bed_->directory() / "cellard-newer";
  std::filesystem::copy_file(program("cellard"), newer);
  start_bench(bench, 4);
  drain(2, keepers);
  start(2, newer);
  EXPECT_EQ(bench.wait(20'000), 0) << bench_log();
  keepers.stop();
  EXPECT_EQ(failures(keepers), 0u);

  for (int node = 0; node < ClusterBed::kNodes; ++node) bed_->kill_node(node);
  for (int node = 0; node < ClusterBed::kNodes; ++node) {
    ASSERT_TRUE(bed_->start_node(node, program("cellard")));
  }
  expect_kept(keepers);
}

}  // namespace
}  // namespace cellar::cluster
