// A small file system that real nodes fill, are killed on, and start on again.
#include <sys/mount.h>

#include <cstring>
#include <random>
#include <thread>

#include "tests/process/support/operate_bed.h"

namespace cellar::process {
namespace {

constexpr auto kSize = "192M";

struct SetUp {
  uint32_t shards;
  std::string reserve;
};

class FullDisk : public Operate, public testing::WithParamInterface<SetUp> {
 protected:
  void SetUp() override {
    std::string said;
    const std::string image = path("disk.img");
    fs::create_directories(path("disk"));
    // Without reserved blocks for root, which runs this test.
    const int made =
        run(fmt::format("truncate -s {} {} && mkfs.ext4 -q -F -m 0 {}", kSize, image, image), said);
    mounted_ = made == 0 && run(fmt::format("mount -o loop {} {}", image, path("disk")), said) == 0;
    if (!mounted_) {
      if (std::getenv("CI") != nullptr && geteuid() == 0 && fs::exists("/dev/loop0")) {
        FAIL() << "no file system could be mounted: " << said;
      }
      GTEST_SKIP() << "needs root and a loop device: " << said;
    }
    node_ = std::make_unique<cases::NodeProcess>(
        bin() / "cellard", path("disk/data"),
        std::vector<std::string>{"--shards", std::to_string(GetParam().shards), "--memory-total",
                                 "64MiB", "--log-segment", "4MiB", "--disk-reserve",
                                 GetParam().reserve});
  }
  void TearDown() override {
    node_.reset();
    std::string said;
    // The kernel completes the operations of a killed process after its end.
    for (int i = 0; mounted_ && i < 100; ++i) {
      if (run("umount " + path("disk"), said) == 0) mounted_ = false;
      if (mounted_) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    EXPECT_FALSE(mounted_) << said;
  }
  client::SyncClient connect(int64_t request_deadline_us = 30'000'000) {
    client::ClientOptions options = options_of(*node_);
    options.request_deadline_us = request_deadline_us;
    return client::SyncClient(options);
  }
  void create_tables() {
    client::SyncClient client = connect();
    for (const char* name : {"t", "big"}) {
      client::TableSpec spec;
      spec.name = name;
      spec.families.resize(1);
      spec.families[0].name = "f";
      spec.families[0].undo_window_us = 0;
      for (uint32_t i = 1; i < GetParam().shards; ++i) spec.splits.push_back(row(i * 100));
      ASSERT_TRUE(client.create_table(spec));
    }
  }
  static std::string row(uint32_t i) { return fmt::format("r{:06}", i); }
  // Writes until some writes were refused, each after its whole deadline.
  void fill(const std::string& table) {
    client::SyncClient client = connect(1'000'000);
    uint32_t next = 0;
    for (int refused = 0; refused < 4 && next < 20'000; ++next) {
      client::Mutation m(row(next * 7919 % (GetParam().shards * 100)) + std::to_string(next));
      std::string value(64'000, ' ');
      for (size_t i = 0; i < value.size(); i += 8) {
        const uint64_t bits = random_();
        std::memcpy(value.data() + i, &bits, 8);
      }
      const std::string key(m.row());
      m.set("f", "q", value, 1000);
      if (client.mutate_row(table, m)) {
        if (table == "t") rows_[key] = std::move(value);
      } else {
        if (table == "t") in_doubt_.insert({key, ""});
        ++refused;
      }
    }
  }
  void expect_rows() {
    client::SyncClient client = connect();
    Rows found = read(client, "t");
    for (const auto& [key, value] : in_doubt_) {
      if (!rows_.contains(key)) found.erase(key);
    }
    EXPECT_EQ(found.size(), rows_.size());
    EXPECT_TRUE(found == rows_);
  }
  void delete_some() {
    client::SyncClient client = connect();
    for (int i = 0; i < 3; ++i) {
      client::Mutation m(rows_.begin()->first);
      m.delete_row();
      const auto deleted = client.mutate_row("t", m);
      ASSERT_TRUE(deleted) << deleted.error().to_string();
      rows_.erase(rows_.begin());
    }
    const std::string prefix = rows_.begin()->first;
    client::DropRows drop;
    drop.prefix = prefix;
    const auto dropped = client.drop_row_range("t", drop);
    ASSERT_TRUE(dropped) << dropped.error().to_string();
    std::erase_if(rows_, [&](const auto& one) { return one.first.starts_with(prefix); });
  }
  // A node that has used its spares makes new ones in the background.
  bool has_spares() {
    size_t spares = 0;
    for (const auto& file : fs::directory_iterator(path("disk/data/log"))) {
      spares += file.path().extension() == ".spare" ? 1 : 0;
    }
    return spares == GetParam().shards && fs::exists(path("disk/data/manifest/spare"));
  }
  void await_spares() {
    for (int i = 0; i < 300 && !has_spares(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    EXPECT_TRUE(has_spares());
  }
  // Another program takes the remaining space.
  void take_all() {
    std::string said;
    (void)run(fmt::format("dd if=/dev/zero of={} bs=64K; dd if=/dev/zero of={}.2 bs=512; sync",
                          path("disk/other"), path("disk/other")),
              said);
  }

  void give_back() {
    for (const char* other : {"disk/other", "disk/other.2"}) fs::remove(path(other));
  }

  bool mounted_ = false;
  std::mt19937_64 random_{7};
  std::unique_ptr<cases::NodeProcess> node_;
  Rows rows_, in_doubt_;
};

TEST_P(FullDisk, ANodeStartsReadsDeletesAndWritesWhenThereIsRoom) {
  ASSERT_TRUE(node_->start());
  ASSERT_NO_FATAL_FAILURE(create_tables());
  std::this_thread::sleep_for(std::chrono::seconds(1));
  {
    client::SyncClient client = connect();
    for (uint32_t i = 0; i < 300; ++i) {
      client::Mutation m(row(i));
      m.set("f", "q", std::string(2'000, static_cast<char>('a' + i % 26)), 1000);
      ASSERT_TRUE(client.mutate_row("t", m));
      rows_[row(i)] = std::string(2'000, static_cast<char>('a' + i % 26));
    }
  }
  fill("big");
  fill("t");
  for (int life = 0; life < 3; ++life) {
    SCOPED_TRACE(life);
    await_spares();
    node_->kill_now();
    if (life == 1) take_all();
    const auto started = node_->start();
    ASSERT_TRUE(started) << started.error().to_string() << read_all(path("disk/data.log"));
    EXPECT_EQ(read_all(path("disk/data.log")).find("read-only"), std::string::npos)
        << read_all(path("disk/data.log"));
    expect_rows();
    ASSERT_NO_FATAL_FAILURE(delete_some());
    expect_rows();
    if (life == 1) give_back();  // otherwise there is no space for the next spares
  }
  {
    client::SyncClient client = connect();
    ASSERT_TRUE(client.drop_table("big"));
  }
  client::SyncClient client = connect();
  client::Mutation m("room");
  m.set("f", "q", "again", 1000);
  const auto written = client.mutate_row("t", m);
  ASSERT_TRUE(written) << written.error().to_string();
  rows_["room"] = "again";
  expect_rows();
  EXPECT_EQ(node_->terminate().value(), 0);
  std::string said;
  EXPECT_EQ(run(fmt::format("{} verify {}", (bin() / "cellar-inspect").string(), path("disk/data")),
                said),
            0)
      << said;
}

INSTANTIATE_TEST_SUITE_P(Disks, FullDisk,
                         testing::Values(SetUp{2, "0"}, SetUp{2, "20MiB"}, SetUp{16, "0"},
                                         SetUp{16, "32MiB"}, SetUp{32, "0"}, SetUp{32, "32MiB"}),
                         [](const auto& one) {
                           return fmt::format("{}Shards{}", one.param.shards, one.param.reserve);
                         });

}  // namespace
}  // namespace cellar::process
