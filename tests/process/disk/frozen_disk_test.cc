// A disk that stops answering: a real file system that is frozen. The test is skipped where one
// cannot be made (no root, no loop devices); tests/net/control/io_watch_test.cc and
// tests/io/disk/io_age_test.cc cover the parts everywhere.
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <thread>

#include "tests/process/support/http_bed.h"

namespace cellar::process {
namespace {

using Seconds = std::chrono::duration<double>;

bool shell(const std::string& command) {
  return std::system((command + " 2>/dev/null").c_str()) == 0;
}

class FrozenDisk : public HttpBed {
 protected:
  FrozenDisk() : data_(scratch_ / "data") {
    std::filesystem::create_directories(data_);
    const std::string image = scratch_ / "image";
    mounted_ =
        geteuid() == 0 && shell(fmt::format("truncate -s 128M '{0}' && mkfs.ext4 -q -F '{0}' && "
                                            "mount -o loop '{0}' '{1}'",
                                            image, data_.string()));
  }
  ~FrozenDisk() override {
    thaw();
    node_.reset();
    if (mounted_) shell(fmt::format("umount -l '{0}'", data_.string()));
  }
  bool freeze() {
    frozen_ = shell(fmt::format("fsfreeze -f '{}'", data_.string()));
    return frozen_;
  }
  void thaw() {
    if (frozen_) shell(fmt::format("fsfreeze -u '{}'", data_.string()));
    frozen_ = false;
  }
  // Waits until /readyz answers with this status; returns the time it took.
  double wait_for(int status, double at_most_s) {
    const auto began = std::chrono::steady_clock::now();
    double passed_s = 0;
    while (passed_s < at_most_s && get("/readyz").status != status) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      passed_s = Seconds(std::chrono::steady_clock::now() - began).count();
    }
    return passed_s;
  }
  // Waits until the body of /readyz names the state; returns the time it took.
  double wait_for_state(std::string_view name, double at_most_s) {
    const auto began = std::chrono::steady_clock::now();
    double passed_s = 0;
    while (passed_s < at_most_s && !get("/readyz").body.contains(name)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      passed_s = Seconds(std::chrono::steady_clock::now() - began).count();
    }
    return passed_s;
  }
  size_t lines_with(std::string_view text) {
    std::ifstream in(scratch_ / "data.log", std::ios::binary);
    size_t count = 0;
    for (std::string line; std::getline(in, line);) count += line.contains(text) ? 1u : 0u;
    return count;
  }

  const std::filesystem::path data_;
  bool mounted_ = false;
  bool frozen_ = false;
};

TEST_F(FrozenDisk, IsToldByReadinessTheLogAndAMetric) {
  if (!mounted_) GTEST_SKIP() << "no file system of its own can be mounted here";
  start({"--disk-reserve", "0", "--log-segment", "1MiB"});
  fill("users", 3);
  EXPECT_EQ(get("/readyz").status, 200);
  if (!freeze()) GTEST_SKIP() << "no file system can be frozen here";
  std::thread writer([this] {
    auto client = connect();
    client::Mutation mutation("user0001");
    mutation.set("f", "mail", "while frozen", 9000);
    EXPECT_TRUE(client->mutate_row("users", mutation)) << "it waits, and is written in the end";
  });
  // The bound of 5 s, two checks, and some time for a busy machine.
  EXPECT_LT(wait_for(503, 10), 8);
  const HttpAnswer ready = get("/readyz");
  EXPECT_NE(ready.body.find("disk-hung"), std::string::npos) << ready.body;
  EXPECT_EQ(get("/healthz").status, 200) << "a restart helps no disk";
  const std::string metrics = get("/metrics").body;
  EXPECT_NE(metrics.find("cellar_node_state{state=\"disk-hung\"} 1"), std::string::npos);
  EXPECT_TRUE(std::regex_search(
      metrics, std::regex("cellar_oldest_io_seconds\\{shard=\"[01]\"\\} ([5-9]|1\\d)")))
      << metrics.substr(metrics.find("cellar_oldest_io_seconds"), 200);
  thaw();
  writer.join();
  EXPECT_LT(wait_for(200, 10), 5);
  EXPECT_EQ(lines_with("the disk does not answer"), 1u);
  EXPECT_EQ(lines_with("the disk answers again"), 1u);
}

// No anchor of the clock is written: after the permission and the bound of 10 s reads are refused.
TEST_F(FrozenDisk, MakesTrustedTimeLagUntilItAnswers) {
  if (!mounted_) GTEST_SKIP() << "no file system of its own can be mounted here";
  start({"--disk-reserve", "0", "--log-segment", "1MiB"});
  fill("users", 3);
  client::ClientOptions once;
  once.address = node_->address();
  once.retry.max_attempts = 1;
  client::SyncClient client(once);
  client::ReadRow row;
  row.row = "user0001";
  if (!freeze()) GTEST_SKIP() << "no file system can be frozen here";
  EXPECT_TRUE(client.read_row("users", row)) << "it needs no disk";
  EXPECT_LT(wait_for_state("clock-lags", 20), 16);
  EXPECT_EQ(get("/readyz").status, 503);
  EXPECT_NE(get("/metrics").body.find("cellar_node_state{state=\"clock-lags\"} 1"),
            std::string::npos);
  const auto read = client.read_row("users", row);
  ASSERT_FALSE(read) << "it would be judged by the time of long ago";
  EXPECT_EQ(read.error().code, Errc::unavailable) << read.error().message;
  EXPECT_NE(read.error().message.find("trusted time lags"), std::string::npos)
      << read.error().message;
  thaw();
  EXPECT_LT(wait_for(200, 10), 5);
  EXPECT_TRUE(client.read_row("users", row));
}

}  // namespace
}  // namespace cellar::process
