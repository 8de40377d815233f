// A full disk: a node that ran on it starts again with the space it has kept; without that space it
// starts read-only. Acknowledged data is readable either way.
#include <gtest/gtest.h>

#include <map>

#include "engine/store/log_options.h"
#include "tests/support/seeds.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

constexpr uint64_t kMiB = 1u << 20;

std::string noise(Random& random, size_t bytes) {
  std::string text(bytes, ' ');
  for (char& c : text) c = static_cast<char>('!' + random.below(90));
  return text;
}

template <class T>
Result<void> plain(const Result<T>& result) {
  if (!result) return std::unexpected(result.error());
  return {};
}

class FullDisk : public testing::TestWithParam<uint32_t> {
 protected:
  TestNodeOptions options() const {
    TestNodeOptions options;
    options.shards = GetParam();
    options.seed = number_from_environment("CELLAR_SEED", 7) + GetParam();
    options.log.segment_bytes = kMiB;
    options.engine.log_segment_bytes = kMiB;
    options.engine.clock_permit_us = 10'000'000;
    options.engine.clock_renew_us = 4'000'000;
    options.start_wall_us = 1'000'000'000'000;
    return options;
  }
  void SetUp() override {
    node_.emplace(options());
    ASSERT_FALSE(node_->open_error());
    std::vector<std::string> splits;
    for (uint32_t i = 1; i < GetParam(); ++i) splits.push_back(row(i * 1000));
    ASSERT_TRUE(node_->create_table("t", {"f"}, splits));
    node_->world().run_for_us(1'000'000);  // the spares are ready
  }
  static std::string row(uint64_t i) { return fmt::format("r{:06}", i); }
  void limit(uint64_t more) { node_->disk().set_bytes_limit(node_->disk().used_bytes() + more); }
  // Writes until this many writes in a row are refused, each with a proper error.
  void fill(uint64_t rooms) {
    limit(rooms);
    for (int refused = 0; refused < 200;) {
      const std::string key = row(random_.below(GetParam() * 1000));
      const std::string value = noise(random_, 3'000);
      const auto set = node_->set("t", key, "f:q", 5, value);
      if (set) {
        rows_[key] = value;
        refused = 0;
        continue;
      }
      ++refused;
      ASSERT_EQ(set.error().code, Errc::resource_exhausted) << set.error().to_string();
      ASSERT_EQ(set.error().applied, Applied::not_applied);
      node_->world().run_for_us(5'000);
    }
  }
  // The next start has a disk of the size `limit_`.
  Result<void> restart() {
    node_->kill();
    node_->disk().set_bytes_limit(limit_);
    return node_->reopen();
  }
  void remember_limit() { limit_ = node_->disk().used_bytes() + node_->disk().free_bytes(); }
  void expect_rows() {
    std::map<std::string, std::string> found;
    for (const OwnedCell& cell : node_->cells("t")) found[cell.row] = cell.value;
    EXPECT_EQ(found.size(), rows_.size());
    EXPECT_TRUE(found == rows_);
  }
  bool is_read_only_start() { return node_->node().read_only_start() != nullptr; }

  Random random_{number_from_environment("CELLAR_SEED", 7)};
  std::map<std::string, std::string> rows_;
  uint64_t limit_ = 0;
  std::optional<TestNode> node_;
};

TEST_P(FullDisk, ANodeThatFilledItStartsReadsAndDeletes) {
  fill(3 * kMiB + GetParam() * 2 * kMiB);
  remember_limit();
  for (int life = 0; life < 3; ++life) {
    SCOPED_TRACE(life);
    const auto started = restart();
    ASSERT_TRUE(started) << started.error().to_string();
    ASSERT_FALSE(is_read_only_start()) << node_->node().read_only_start()->message;
    expect_rows();
    for (int i = 0; i < 4 && !rows_.empty(); ++i) {
      const std::string victim =
          std::next(rows_.begin(), static_cast<ptrdiff_t>(random_.below(rows_.size())))->first;
      const auto deleted = node_->write("t", victim, {delete_row()});
      ASSERT_TRUE(deleted) << deleted.error().to_string();
      rows_.erase(victim);
    }
    const std::string from = rows_.begin()->first;
    ASSERT_TRUE(node_->drop_rows("t", from, from + "\xff"));
    rows_.erase(from);
    expect_rows();
  }
  limit_ += 64 * kMiB;
  ASSERT_TRUE(restart());
  ASSERT_TRUE(node_->set("t", row(1), "f:q", 6, "room")) << "after room was made";
  rows_[row(1)] = "room";
  ASSERT_TRUE(node_->flush("t"));
  if (rows_.contains(row(1))) EXPECT_EQ(node_->read_row("t", row(1))->front().value, "room");
}

// Another program takes the remaining space; a dropped table frees some.
TEST_P(FullDisk, ANodeThatFindsNothingLeftStartsAndDropsATable) {
  engine::TableSpec spec;
  spec.name = "big";
  spec.families.resize(1);
  spec.families[0].name = "f";
  spec.families[0].undo_window_us = 0;
  ASSERT_TRUE(node_->create_table(spec));
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(
        node_->set("big", row(static_cast<uint64_t>(i)), "f:q", 1000, noise(random_, 9'000)));
  }
  ASSERT_TRUE(node_->flush("big"));
  for (uint64_t i = 0; i < 100; ++i) {
    const std::string key = row(i * GetParam() * 10);
    rows_[key] = noise(random_, 100);
    ASSERT_TRUE(node_->set("t", key, "f:q", 5, rows_[key]));
  }
  limit_ = node_->disk().used_bytes();
  ASSERT_TRUE(restart());
  ASSERT_FALSE(is_read_only_start());
  expect_rows();
  const uint64_t before = node_->disk().used_bytes();
  ASSERT_TRUE(node_->drop_table("big"));
  node_->world().run_for_us(30'000'000);
  EXPECT_LT(node_->disk().used_bytes() + kMiB, before);
}

// Wherever a start is killed, the next start finds the space it needs.
TEST_P(FullDisk, AStartThatIsKilledIsStartedAgain) {
  fill(3 * kMiB + GetParam() * 2 * kMiB);
  remember_limit();
  node_->kill();
  std::unique_ptr<MemDisk> disk = node_->disk().clone();
  node_.reset();
  for (int kill = 0; kill < 12; ++kill) {
    SCOPED_TRACE(kill);
    disk->set_bytes_limit(limit_);
    std::unique_ptr<MemDisk> image;
    uint64_t rounds = 20 + random_.below(400);
    TestNodeOptions killed = options();
    killed.seed += static_cast<uint64_t>(kill);
    killed.on_round = [&](TestNode& node) {
      if (rounds > 0 && --rounds == 0) image = node.crash_image(CrashPolicy::all);
    };
    node_.emplace(killed, disk->clone());
    ASSERT_FALSE(node_->open_error()) << node_->open_error()->to_string();
    ASSERT_FALSE(is_read_only_start()) << node_->node().read_only_start()->message;
    if (kill % 4 == 0) expect_rows();
    if (image) disk = std::move(image);
    node_.reset();
  }
}

// Neither spares nor space: acknowledged data is readable, trusted time stands, and no byte is
// written.
TEST_P(FullDisk, WithoutASpareItStartsReadOnly) {
  fill(3 * kMiB + GetParam() * 2 * kMiB);
  node_->kill();
  std::unique_ptr<MemDisk> disk = node_->disk().clone();
  node_.reset();
  for (const std::string& path : disk->all_files()) {
    if (path.ends_with(".spare") || path == "manifest/spare") ASSERT_TRUE(disk->remove(path));
  }
  const uint64_t used = disk->used_bytes();
  disk->set_bytes_limit(used);
  node_.emplace(options(), std::move(disk));
  ASSERT_FALSE(node_->open_error()) << node_->open_error()->to_string();
  ASSERT_TRUE(is_read_only_start());
  expect_rows();
  for (uint32_t shard = 0; shard < GetParam(); ++shard) {
    const engine::EngineStats stats = node_->node().engine(ShardId{shard}).stats();
    EXPECT_TRUE(stats.read_only);
    EXPECT_TRUE(stats.read_only_start);
  }
  const int64_t stands_us = node_->clock_report().trusted_us;
  for (const Result<void>& refused :
       {plain(node_->set("t", row(1), "f:q", 6, "x")), node_->drop_rows("t", "a", "z"),
        node_->drop_table("t"), node_->flush("t"), node_->compact("t"),
        plain(node_->create_table("u", {"f"})),
        plain(node_->split(node_->table("t")->tablets[0].id, row(1))), node_->renew_clock()}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::unavailable) << refused.error().to_string();
    EXPECT_EQ(refused.error().applied, Applied::not_applied);
    EXPECT_NE(refused.error().message.find("read-only"), std::string::npos)
        << refused.error().message;
  }
  node_->world().run_for_us(60'000'000);
  expect_rows();
  const engine::ClockReport report = node_->clock_report();
  EXPECT_EQ(report.trusted_us, stands_us);
  EXPECT_TRUE(report.stands);
  EXPECT_GT(report.lag_us, 40'000'000);
  for (const std::string& path : node_->disk().all_files()) {
    EXPECT_FALSE(node_->disk().has_unsynced(path)) << path;
  }
  EXPECT_LE(node_->disk().used_bytes(), used) << "what the start took in vain it has given back";
  // With space the next start is a normal one.
  node_->disk().set_bytes_limit(UINT64_MAX);
  ASSERT_TRUE(node_->close());
  ASSERT_TRUE(node_->reopen());
  ASSERT_FALSE(is_read_only_start());
  expect_rows();
  ASSERT_TRUE(node_->set("t", row(1), "f:q", 6, "again"));
}

INSTANTIATE_TEST_SUITE_P(Shards, FullDisk, testing::Values(1u, 2u, 16u));

}  // namespace
}  // namespace cellar::support
