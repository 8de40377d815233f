// The restore drill with a place in a simulated Ceph cluster: what tests/process/operate_test.cc
// does with real programs. The cluster is slow and loses messages.
#include <gtest/gtest.h>

#include "engine/backup/backup.h"
#include "engine/store/manifest/local_manifest_store.h"
#include "engine/store/rados/rados_backup_store.h"
#include "io/sim/remote/sim_rados.h"
#include "tests/support/durations.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

using engine::BackupProgress;
using Cells = std::vector<OwnedCell>;
constexpr int64_t kDrillStartUs = 1'000 * kHourUs;

TestNodeOptions drill_options(uint32_t shards, int64_t start_us = kDrillStartUs) {
  TestNodeOptions options;
  options.shards = shards;
  options.start_wall_us = start_us;
  return options;
}

// The store as the home shard of a node reaches it, over objects that outlive the node.
class RadosDestination {
 public:
  RadosDestination(TestNode& node, SimRadosObjects& objects)
      : node_(node), cluster_(node.world(), {}, &objects) {
    cluster_.add_pool("backup");
    cluster_.faults() = {.lose_request = 0.01,
                         .lose_reply = 0.03,
                         .duplicate_request = 0.03,
                         .duplicate_reply = 0.03,
                         .delay = 0.03,
                         .delay_us = 30'000};
    port_ = cluster_.connect(node.loop(0));
    auto opened = node.world().block_on(
        node.loop(0),
        engine::open_rados_backup_store(*port_, runtime_, engine::RadosPlace{"backup", "node1"}));
    CHECK(opened, "{}", opened.error().to_string());
    store_ = *std::move(opened);
  }
  ~RadosDestination() { node_.world().block_on(node_.loop(0), port_->close()); }
  engine::BackupStore& operator*() { return *store_; }
  SimRados& cluster() { return cluster_; }
  RadosPort& port() { return *port_; }

 private:
  TestNode& node_;
  TrustedClock clock_{node_.world().clock()};
  Random random_{node_.world().random().next()};
  Runtime runtime_{node_.loop(0).executor(), node_.loop(0).timers(), clock_, random_};
  SimRados cluster_;
  std::unique_ptr<RadosPort> port_;
  std::unique_ptr<engine::BackupStore> store_;
};

class RadosDrill : public testing::Test {
 protected:
  template <class T>
  T run(Async<T> work) {
    return node_.world().block_on(node_.loop(0), std::move(work));
  }
  static engine::BackupRequest request(std::string name) {
    return {std::move(name), {}, std::string(32, 'a'), "test"};
  }
  Result<void> back_up(std::string name) {
    RadosDestination there(node_, objects_);
    progress_ = {};
    return run(node_.node().back_up(ShardId{0}, *there, request(std::move(name)), progress_));
  }
  Result<engine::BackupSummary> verify(std::string name) {
    RadosDestination there(node_, objects_);
    progress_ = {};
    return run(engine::verify_backup(*there, std::move(name), node_.loop(0).timers(),
                                     node_.loop(0).executor(), progress_));
  }
  Result<engine::TableEntry> restore(std::string name, std::string as) {
    RadosDestination there(node_, objects_);
    progress_ = {};
    return run(node_.node().restore_backup(
        ShardId{0}, *there, {std::move(name), "t", std::move(as)}, node_.author, progress_));
  }
  std::vector<std::string> names() {
    RadosDestination there(node_, objects_);
    return run((*there).names()).value();
  }
  void fill(const std::string& prefix, int rows) {
    Random random(static_cast<uint64_t>(rows));
    for (int i = 0; i < rows; ++i) {
      std::string value(200, ' ');
      for (char& c : value) c = static_cast<char>('!' + random.below(90));
      ASSERT_TRUE(
          node_.set("t", fmt::format("{}{:03}", prefix, i), "f:q", kDrillStartUs + i, value));
    }
  }
  size_t blob_objects() const {
    size_t count = 0;
    for (const auto& [key, object] : objects_) count += std::get<2>(key).find('/') > 16;
    return count;
  }

  explicit RadosDrill(const TestNodeOptions& options = drill_options(2)) : node_(options) {}

  TestNode node_;
  SimRadosObjects objects_;
  BackupProgress progress_;
};

class RadosDrillOfLargeBlobs : public RadosDrill {
 protected:
  RadosDrillOfLargeBlobs() : RadosDrill(large_memtables()) {}
  static TestNodeOptions large_memtables() {
    TestNodeOptions options = drill_options(1);
    options.engine.memtable_bytes = 16u << 20;
    options.engine.table_bytes = 64u << 20;
    return options;
  }
};

TEST_F(RadosDrill, TheRestoreDrill) {
  ASSERT_TRUE(node_.create_table("t", {"f"}, {"m"}));
  fill("a", 300);
  fill("z", 300);
  const Cells first = node_.cells("t");
  ASSERT_TRUE(back_up("first"));
  const uint64_t copied = progress_.copied_bytes;
  fill("b", 30);
  const Cells second = node_.cells("t");
  ASSERT_TRUE(back_up("second"));
  EXPECT_GT(progress_.copied_bytes, 0u);
  EXPECT_LT(progress_.copied_bytes, copied);
  fill("c", 300);

  // The node ends in the middle of the third.
  SimRadosObjects left;
  {
    RadosDestination there(node_, objects_);
    std::optional<Result<void>> done;
    progress_ = {};
    progress_.rate_bytes_per_s = 20'000;
    auto work = [&]() -> Async<void> {
      done = co_await node_.node().back_up(ShardId{0}, *there, request("third"), progress_);
    };
    spawn(node_.loop(0).executor(), work);
    node_.world().run_until([&] { return done || progress_.copied_bytes > 5'000; });
    ASSERT_FALSE(done.has_value());
    left = objects_;
    progress_.cancelled = true;
    node_.world().run_until([&] { return done.has_value(); });
  }
  objects_ = std::move(left);
  node_.kill();
  ASSERT_TRUE(node_.reopen());

  EXPECT_EQ(names(), (std::vector<std::string>{"first", "second"}));
  for (const auto& [name, cells] : {std::pair{"first", &first}, std::pair{"second", &second}}) {
    const auto verified = verify(name);
    ASSERT_TRUE(verified) << verified.error().message;
    const std::string table = std::string("from_") + name;
    const auto restored = restore(name, table);
    ASSERT_TRUE(restored) << restored.error().message;
    EXPECT_EQ(node_.cells(table), *cells);
  }

  // A new node, of another number of shards, from the newest backup.
  auto target = std::make_unique<MemDisk>();
  const int64_t now_us = node_.clock_report().wall_us;
  {
    RadosDestination there(node_, objects_);
    MemFs fs(node_.loop(0).executor(), *target);
    const auto blobs = engine::make_local_blob_store(fs);
    auto manifest = run(engine::open_local_manifest_store(fs, {}));
    ASSERT_TRUE(manifest);
    progress_ = {};
    const auto done =
        run(engine::restore_directory(*there, "second", *blobs, **manifest, now_us,
                                      node_.loop(0).timers(), node_.loop(0).executor(), progress_));
    EXPECT_TRUE(run((*manifest)->close()));
    ASSERT_TRUE(done) << done.error().message;
  }
  TestNode other(drill_options(3, now_us), std::move(target));
  ASSERT_TRUE(other.is_open()) << other.open_error()->message;
  EXPECT_EQ(other.cells("t"), second);
}

TEST_F(RadosDrill, WhatAnInterruptedBackupLeftIsPruned) {
  ASSERT_TRUE(node_.create_table("t", {"f"}, {"m"}));
  fill("a", 100);
  ASSERT_TRUE(back_up("whole"));
  const size_t whole = blob_objects();
  const size_t all = objects_.size();
  fill("b", 100);
  {
    RadosDestination there(node_, objects_);
    std::optional<Result<void>> done;
    progress_ = {};
    progress_.rate_bytes_per_s = 20'000;
    auto work = [&]() -> Async<void> {
      done = co_await node_.node().back_up(ShardId{0}, *there, request("cut"), progress_);
    };
    spawn(node_.loop(0).executor(), work);
    node_.world().run_until([&] { return done || progress_.copied_bytes > 100; });
    const SimRadosObjects left = objects_;
    progress_.cancelled = true;
    node_.world().run_until([&] { return done.has_value(); });
    objects_ = left;
  }
  EXPECT_GT(blob_objects(), whole);
  // A piece of a removed blob that arrived late, and content of a backup that has no head.
  for (const char* name :
       {"0000000400000fff.0123456789abcdef.7", "content/cut/0123456789abcdef/0"}) {
    objects_[{0, "cellar-backup/node1", name}] = {};
  }
  RadosDestination there(node_, objects_);
  EXPECT_TRUE(run(engine::prune_backups(*there, 7)).value().empty());
  EXPECT_EQ(blob_objects(), whole);
  EXPECT_EQ(objects_.size(), all);
  EXPECT_TRUE(verify("whole"));
}

// A cluster that does not answer fails the backup, and the node's stop need not wait for it.
TEST_F(RadosDrill, AClusterThatHangsFailsTheBackupAndAnInterruptEndsItAtOnce) {
  ASSERT_TRUE(node_.create_table("t", {"f"}, {"m"}));
  fill("a", 10);
  {
    RadosDestination there(node_, objects_);
    there.cluster().hang_us(kHourUs);
    progress_ = {};
    const int64_t began_us = node_.world().now_us();
    const auto done = run(node_.node().back_up(ShardId{0}, *there, request("b"), progress_));
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::deadline_exceeded) << done.error().to_string();
    EXPECT_LT(node_.world().now_us() - began_us, 2 * engine::RadosObjects::kPatienceUs);
  }
  RadosDestination there(node_, objects_);
  there.cluster().hang_us(kHourUs);
  std::optional<Result<void>> done;
  progress_ = {};
  auto work = [&]() -> Async<void> {
    done = co_await node_.node().back_up(ShardId{0}, *there, request("b"), progress_);
  };
  spawn(node_.loop(0).executor(), work);
  node_.world().run_for_us(1'000'000);
  ASSERT_FALSE(done.has_value());
  run(there.port().close());
  node_.world().run_for_us(1'000);
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->error().code, Errc::unavailable) << done->error().to_string();
}

TEST_F(RadosDrill, AFullPoolFailsTheBackupWithItsReason) {
  ASSERT_TRUE(node_.create_table("t", {"f"}, {"m"}));
  fill("a", 10);
  RadosDestination there(node_, objects_);
  there.cluster().set_full(true);
  const auto done = run(node_.node().back_up(ShardId{0}, *there, request("b"), progress_));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::resource_exhausted) << done.error().to_string();
}

TEST_F(RadosDrill, ADamagedOrMissingPieceIsDataLossByTheNameOfTheBlob) {
  ASSERT_TRUE(node_.create_table("t", {"f"}, {"m"}));
  fill("a", 100);
  ASSERT_TRUE(back_up("b"));
  SimRadosObject* piece = nullptr;
  for (auto& [key, object] : objects_) {
    if (object.xattrs.contains("state")) piece = &object;
  }
  ASSERT_NE(piece, nullptr);
  piece->content[piece->content.size() / 2] ^= 1;
  EXPECT_EQ(verify("b").error().code, Errc::data_loss);
  EXPECT_EQ(restore("b", "copy").error().code, Errc::data_loss);
  piece->content.pop_back();
  EXPECT_EQ(verify("b").error().code, Errc::data_loss);
}

// A piece that was lost in the cluster is noticed by the next backup, which copies the blob anew.
TEST_F(RadosDrillOfLargeBlobs, ALaterBackupBringsABlobThatLostAPieceAgain) {
  ASSERT_TRUE(node_.create_table("t", {"f"}, {"m"}));
  Random random(1);
  for (int i = 0; i < 110; ++i) {
    std::string value(90'000, ' ');
    for (char& c : value) c = static_cast<char>(random.below(256));
    ASSERT_TRUE(node_.set("t", fmt::format("a{:03}", i), "f:q", kDrillStartUs + i, value));
  }
  ASSERT_TRUE(node_.compact("t"));
  ASSERT_TRUE(back_up("b0"));  // one blob of three pieces
  for (int lost = 1; lost <= 2; ++lost) {
    const auto is_it = [lost](const auto& entry) {
      return std::get<2>(entry.first).ends_with(fmt::format(".{}", lost));
    };
    ASSERT_EQ(std::erase_if(objects_, is_it), 1u);
    EXPECT_EQ(verify(fmt::format("b{}", lost - 1)).error().code, Errc::data_loss);
    const std::string next = fmt::format("b{}", lost);
    const auto done = back_up(next);
    ASSERT_TRUE(done) << done.error().to_string();
    const auto verified = verify(next);
    EXPECT_TRUE(verified) << verified.error().to_string();
    // An earlier one, which names the same blob, is whole again.
    EXPECT_TRUE(verify("b0"));
  }
  // One that is there but short.
  for (auto& [key, object] : objects_) {
    if (std::get<2>(key).ends_with(".2")) object.content.resize(5);
  }
  EXPECT_EQ(verify("b2").error().code, Errc::data_loss);
  const auto done = back_up("b3");
  ASSERT_TRUE(done) << done.error().to_string();
  EXPECT_TRUE(verify("b3"));
}

}  // namespace
}  // namespace cellar::support
