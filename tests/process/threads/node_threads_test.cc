// A whole node in this process, with real threads, sockets and files: clients write and read while
// an operator splits, merges, moves, alters, indexes, previews, undoes, backs up and drops, the
// settings are reloaded, and the HTTP pages are read. ThreadSanitizer watches it. It runs for
// CELLAR_LOAD_S seconds (default 3).
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <thread>

#include "io/base/random.h"
#include "net/client/sync_client.h"
#include "net/http/http_companion.h"
#include "net/server/server.h"
#include "tests/process/support/http_call.h"
#include "tests/support/loopback.h"

namespace cellar::process {
namespace {

namespace fs = std::filesystem;
using client::SyncClient;

constexpr int kClients = 3;
constexpr uint64_t kRows = 40;  // of each client

class NodeThreads : public testing::Test {
 protected:
  NodeThreads() {
    fs::create_directories(dir_ / "backups");
    config_.options = options();
    const auto up = http_->start(config_, readiness_);
    CHECK(up, "HTTP did not start: {}", up.error().to_string());
    auto started = server::Server::start(options(), clock_, &readiness_);
    CHECK(started, "the node did not start: {}", started.error().to_string());
    server_ = *std::move(started);
    http_->serve(*server_);
    server_->on_home([this] { server_->reloads().open(); });
  }
  ~NodeThreads() override {
    server_->on_home([this] { server_->reloads().close(); });
    http_->stop();
    EXPECT_TRUE(server_->stop());
    server_.reset();
    fs::remove_all(dir_);
  }

  server::ServerOptions options() const {
    server::ServerOptions options;
    options.data_dir = (dir_ / "data").string();
    options.listen = own_loopback_host() + ":0";
    options.http.listen = own_loopback_host() + ":7421";
    options.shards = 3;
    options.pin = false;
    options.engine.memory_bytes = 128u << 20;
    options.engine.memtable_bytes = 256u << 10;
    options.backup.directories = (dir_ / "backups").string();
    return options;
  }
  std::unique_ptr<SyncClient> connect(const std::string& id) const {
    client::ClientOptions options;
    options.address = server_->address();
    options.client_id = id;
    return std::make_unique<SyncClient>(std::move(options));
  }
  static int64_t load_us() {
    const char* seconds = std::getenv("CELLAR_LOAD_S");
    return (seconds == nullptr ? 3 : std::atoi(seconds)) * int64_t{1'000'000};
  }
  bool over() const { return clock_.boot_us() >= until_us_; }

  // One client: it alone writes its rows, so it knows what they hold.
  void write_and_read(int number) {
    const auto client = connect(fmt::format("client{}", number));
    Random random(static_cast<uint64_t>(number) + 1);
    std::map<std::string, uint64_t> written;
    std::map<std::string, int64_t> counted;
    while (!over()) {
      const std::string row =
          fmt::format("{}{:02}", static_cast<char>('a' + number * 8), random.below(kRows));
      switch (random.below(6)) {
        case 0:
          count(*client, row, counted);
          break;
        case 1:
          batch(*client, row, written);
          break;
        case 2:
          scan(*client, row.substr(0, 1), written);
          break;
        default:
          put_and_get(*client, row, written);
      }
      ++done_;
    }
  }
  void put_and_get(SyncClient& client, const std::string& row,
                   std::map<std::string, uint64_t>& written) {
    const uint64_t value = ++written[row];
    client::Mutation set(row);
    set.set("f", "v", std::to_string(value) + std::string(value % 7 * 300, '.'));
    set.with_token({fmt::format("{}-{}", row, value)});
    const auto put = client.mutate_row("t", set);
    ASSERT_TRUE(put) << put.error().to_string();
    expect(client, row, value);
  }
  void batch(SyncClient& client, const std::string& row, std::map<std::string, uint64_t>& written) {
    std::vector<client::Mutation> entries;
    for (int i = 0; i < 5; ++i) {
      const uint64_t value = ++written[row];
      entries.emplace_back(row)
          .set("f", "v", std::to_string(value))
          .set("g", "age", "x")
          .with_ttl(1000);
      entries.back().with_token({fmt::format("{}-{}", row, value)});
    }
    const auto put = client.mutate_rows("t", entries);
    ASSERT_TRUE(put) << put.error().to_string();
    for (const auto& each : *put) ASSERT_TRUE(each) << each.error().to_string();
    expect(client, row, written[row]);
  }
  static void expect(SyncClient& client, const std::string& row, uint64_t value) {
    const auto read = client.read_row("t", {.row = row, .filter = {}});
    ASSERT_TRUE(read && *read) << row;
    const client::Cell* cell = (*read)->find("f", "v");
    ASSERT_NE(cell, nullptr);
    EXPECT_EQ(std::stoull(std::string(cell->value)), value) << row;
    find(client, row, std::string(cell->value));
  }
  // Other clients may have rows of that value.
  static void find(SyncClient& client, const std::string& row, const std::string& value) {
    client::ReadIndex read;
    read.index = "by_value";
    read.value = value;
    auto stream = client.read_index("t", read);
    size_t found = 0;
    while (true) {
      const auto block = client.next(stream);
      ASSERT_TRUE(block) << block.error().to_string();
      if (block->empty()) break;
      for (const client::RowPart& hit : block->rows()) {
        found += hit.key == row;
        EXPECT_EQ(hit.cells.front().value, value) << hit.key;
      }
    }
    EXPECT_EQ(found, 1u) << row;
  }
  static void count(SyncClient& client, const std::string& row,
                    std::map<std::string, int64_t>& counted) {
    client::ReadModifyWrite add;
    add.row = row + "#";
    add.rules.push_back({"f", "n", std::nullopt, 1});
    add.token = client::Token{fmt::format("{}-{}", row, ++counted[row])};
    const auto made = client.read_modify_write("t", add);
    ASSERT_TRUE(made) << made.error().to_string();
    const client::Cell* cell = made->find("f", "n");
    ASSERT_NE(cell, nullptr);
    int64_t n = 0;
    for (const char c : cell->value) n = n << 8 | static_cast<unsigned char>(c);
    EXPECT_EQ(n, counted[row]);
  }
  static void scan(SyncClient& client, const std::string& prefix,
                   const std::map<std::string, uint64_t>& written) {
    auto stream = client.read_rows("t", client::ReadRows::prefix(prefix));
    size_t rows = 0;
    while (true) {
      const auto block = client.next(stream);
      ASSERT_TRUE(block) << block.error().to_string();
      if (block->empty()) break;
      for (const client::RowPart& part : block->rows())
        rows += part.complete && part.key.find('#') == part.key.npos;
    }
    EXPECT_EQ(rows, written.size());
  }

  // What the operator does may be refused, because another change came first.
  void operate() {
    const auto client = connect("operator");
    Random random(99);
    while (!over()) {
      change_tablets(*client, random);
      change_rule(*client, random);
      change_index(*client);
      if (random.below(4) == 0) change_side_table(*client);
      if (random.below(4) == 0) back_up(*client);
      (void)client->audit_log({});
      (void)client->reclaim_report({});
      (void)client->server_info();
      ++operated_;
    }
  }
  void change_tablets(SyncClient& client, Random& random) {
    const auto table = client.describe_table("t");
    ASSERT_TRUE(table) << table.error().to_string();
    const auto& tablets = table->tablets;
    const size_t at = random.below(tablets.size());
    if (tablets.size() < 6) {
      const std::string row = fmt::format(
          "{}{:02}", static_cast<char>('a' + random.below(kClients) * 8), random.below(kRows));
      (void)client.split_tablet({.table = "t", .tablet_id = 0, .row = row});
    } else if (at + 1 < tablets.size()) {
      (void)client.merge_tablets("t", tablets[at].tablet_id, tablets[at + 1].tablet_id);
    }
    (void)client.move_tablet("t", tablets[at].tablet_id, static_cast<uint32_t>(random.below(3)));
  }
  static void change_rule(SyncClient& client, Random& random) {
    client::TableChange change;
    change.name = "t";
    client::FamilySpec& family = change.alter.emplace_back();
    family.name = "f";
    family.rule_given = true;
    family.rule = client::RetentionRule::max_versions(1 + static_cast<int64_t>(random.below(4)));
    (void)client.preview_rule({.table = "t", .family = "f", .rule = family.rule});
    (void)client.alter_table(change);
    if (random.below(2) == 0) (void)client.undo_rule({.table = "t", .family = "f"});
  }
  static client::IndexSpec index_on(const char* family, const char* qualifier, const char* name,
                                    client::IndexPart part) {
    client::IndexSpec index;
    index.name = name;
    index.family = family;
    index.qualifier = qualifier;
    index.parts = {part};
    return index;
  }
  static void change_index(SyncClient& client) {
    (void)client.create_index("t", index_on("g", "age", "by_age", client::IndexPart::time));
    client::CheckIndex check;
    check.table = "t";
    check.name = "by_value";
    const auto checked = client.check_index(check);
    EXPECT_TRUE(!checked || checked->equal());
    (void)client.drop_index("t", "by_age");
  }
  static void change_side_table(SyncClient& client) {
    client::TableSpec spec;
    spec.name = "side";
    spec.families.emplace_back().name = "f";
    (void)client.create_table(spec);
    (void)client.mutate_row("side", client::Mutation("r").set("f", "q", "v"));
    (void)client.flush_table("side");
    (void)client.drop_table("side");
    (void)client.restore_table("side");
    (void)client.compact_table("t");
    client::DropRows drop;
    drop.prefix = "r";
    (void)client.drop_row_range("side", drop);
    (void)client.drop_table("side");
  }
  void back_up(SyncClient& client) const {
    const std::string directory = (dir_ / "backups").string();
    (void)client.backup({.action = client::BackupAction::take, .directory = directory});
    (void)client.backup({.action = client::BackupAction::status});
    (void)client.backup({.action = client::BackupAction::prune, .directory = directory, .keep = 2});
  }
  void look_at_pages() {
    const std::string address = own_loopback_host() + ":7421";
    while (!over()) {
      for (const char* page : {"/metrics", "/readyz", "/", "/api/v1/tables", "/api/v1/node"}) {
        EXPECT_NE(http_get(address, page).status, 0) << page;
      }
      ++looked_;
    }
  }

  const fs::path dir_ = fs::temp_directory_path() / fmt::format("node_threads_test.{}", ::getpid());
  const SystemClock clock_;
  server::Readiness readiness_{clock_};
  server::Config config_;
  const std::unique_ptr<server::Sidecar> http_ = http::make_companion(clock_);
  std::unique_ptr<server::Server> server_;
  int64_t until_us_ = INT64_MAX;
  std::atomic<uint64_t> done_{0};
  std::atomic<uint64_t> operated_{0};
  std::atomic<uint64_t> looked_{0};
};

TEST_F(NodeThreads, MixedLoadAmidChangesOfEverything) {
  client::TableSpec spec;
  spec.name = "t";
  spec.splits = {"i", "q"};
  for (const char* name : {"f", "g"}) spec.families.emplace_back().name = name;
  const auto made = connect("maker")->create_table(spec);
  ASSERT_TRUE(made) << made.error().to_string();
  const auto index =
      connect("maker")->create_index("t", index_on("f", "v", "by_value", client::IndexPart::value));
  ASSERT_TRUE(index) << index.error().to_string();
  until_us_ = clock_.boot_us() + load_us();
  std::vector<std::thread> threads;
  for (int i = 0; i < kClients; ++i) threads.emplace_back([this, i] { write_and_read(i); });
  threads.emplace_back([this] { operate(); });
  threads.emplace_back([this] { look_at_pages(); });
  for (uint32_t round = 0; !over(); ++round) {
    server::ServerOptions wanted = options();
    wanted.net.in_flight = 512 + round % 2;
    (void)server_->reload(wanted);
    server_->refresh_security(true);
    (void)server_->connections();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(done_, 50u);
  EXPECT_GT(operated_, 1u);
  EXPECT_GT(looked_, 1u);
}

}  // namespace
}  // namespace cellar::process
