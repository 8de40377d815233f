// A node of 256 MiB under a thousand connections, whose rows age: nothing grows once the node is
// warm, nothing fails, and every value that is read is one that was written.
//
// CELLAR_SOAK_S (15): seconds. The nightly programme runs it for an hour; in a short run the caches
// are still filling, so that resident memory has its upper bound only.
#include <dirent.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "io/loop/machine_memory.h"
#include "net/client/sync_client.h"
#include "tests/cases/node_process.h"

namespace cellar::process {
namespace {

constexpr uint64_t kMemoryBytes = 256u << 20;
constexpr int kConnections = 1000;
constexpr int kLongS = 600;  // from here on memory must be flat

struct Sample {
  uint64_t resident_bytes = 0;
  size_t descriptors = 0;
  size_t threads = 0;
};

size_t entries_of(const std::string& directory) {
  size_t count = 0;
  DIR* open = opendir(directory.c_str());
  if (open == nullptr) return 0;
  while (readdir(open) != nullptr) ++count;
  closedir(open);
  return count;
}

Sample sample_of(pid_t pid) {
  Sample sample;
  std::ifstream in(fmt::format("/proc/{}/statm", pid));
  uint64_t size = 0;
  uint64_t resident = 0;
  in >> size >> resident;
  sample.resident_bytes = resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  sample.descriptors = entries_of(fmt::format("/proc/{}/fd", pid));
  sample.threads = entries_of(fmt::format("/proc/{}/task", pid));
  return sample;
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// The greatest value of a third of the samples.
template <class Field>
uint64_t most(const std::vector<Sample>& samples, size_t third, Field Sample::* field) {
  uint64_t greatest = 0;
  for (size_t i = samples.size() * third / 3; i < samples.size() * (third + 1) / 3; ++i) {
    greatest = std::max<uint64_t>(greatest, samples[i].*field);
  }
  return greatest;
}

class Soak : public testing::Test {
 protected:
  Soak()
      : scratch_(std::filesystem::temp_directory_path() / fmt::format("soak.{}", getpid())),
        bin_(std::filesystem::read_symlink("/proc/self/exe").parent_path()) {
    std::filesystem::remove_all(scratch_);
    std::filesystem::create_directories(scratch_);
  }
  ~Soak() override {
    node_.reset();
    if (!HasFailure()) std::filesystem::remove_all(scratch_);
  }
  void start() {
    node_ = std::make_unique<cases::NodeProcess>(
        bin_ / "cellard", scratch_ / "data",
        std::vector<std::string>{"--shards", "2", "--memory-total", "256MiB"});
    const auto started = node_->start();
    ASSERT_TRUE(started) << started.error().message;
  }
  // Rows of a minute, ten minutes and an hour; half of them are read again.
  int load(int seconds, const char* more) const {
    const std::string command = fmt::format(
        "{} --addr {} --table aging --tablets 8 --durability periodic --workload mixed --keys "
        "100000 "
        "--value-bytes 100:80,2K:20 --ttl 1m:50,10m:30,1h:20 --connections {} --threads 1 "
        "--seconds {} --verify --json {} > {}/bench.json 2> {}/bench.err",
        (bin_ / "cellar-bench").string(), node_->address(), kConnections, seconds, more,
        scratch_.string(), scratch_.string());
    return std::system(command.c_str());
  }

  const std::filesystem::path scratch_;
  const std::filesystem::path bin_;
  std::unique_ptr<cases::NodeProcess> node_;
};

TEST_F(Soak, NothingGrows) {
  const char* asked = std::getenv("CELLAR_SOAK_S");
  const int seconds = asked != nullptr ? std::atoi(asked) : 15;
  ASSERT_GE(seconds, 3);
  rlimit files{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  if (files.rlim_max < 2 * kConnections) GTEST_SKIP() << "a process may open too few files here";
  files.rlim_cur = files.rlim_max;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
  ASSERT_NO_FATAL_FAILURE(start());
  std::atomic<bool> ended = false;
  int code = -1;
  std::thread generator([&] {
    code = load(seconds, "--warmup 1");
    ended = true;
  });
  std::vector<Sample> samples;
  const auto pause = std::chrono::milliseconds(std::max(100, seconds * 1000 / 600));
  while (!ended) {
    // Connections come and go meanwhile.
    client::ClientOptions options;
    options.address = node_->address();
    client::SyncClient passer(options);
    EXPECT_TRUE(passer.ping());
    const Sample sample = sample_of(node_->pid());
    if (sample.descriptors > kConnections) samples.push_back(sample);
    std::this_thread::sleep_for(pause);
  }
  generator.join();
  EXPECT_EQ(code, 0) << content_of(scratch_ / "bench.err") << content_of(scratch_ / "bench.json");
  ASSERT_GE(samples.size(), 15u) << "the load had its connections for too short a time";
  const auto descriptors = [&](size_t third) { return most(samples, third, &Sample::descriptors); };
  const auto resident = [&](size_t third) { return most(samples, third, &Sample::resident_bytes); };
  const std::string told = fmt::format(
      "{} samples; descriptors {}, {}, {}; resident MiB {}, {}, {}; threads {}, {}", samples.size(),
      descriptors(0), descriptors(1), descriptors(2), resident(0) >> 20, resident(1) >> 20,
      resident(2) >> 20, samples.front().threads, samples.back().threads);
  std::printf("%s\n", told.c_str());
  EXPECT_LE(std::max({resident(0), resident(1), resident(2)}), resident_bound_bytes(kMemoryBytes))
      << told;
  // Tables on disk have one each, and their number varies.
  EXPECT_LE(descriptors(2), descriptors(1) + 100) << told;
  EXPECT_LE(samples.back().threads, samples[samples.size() / 2].threads + 1) << told;
  if (seconds >= kLongS) EXPECT_LE(resident(2), resident(1) + resident(1) / 20) << told;
  // All of the load's connections are given back.
  size_t left = SIZE_MAX;
  for (int i = 0; i < 100 && left > kConnections / 2; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    left = sample_of(node_->pid()).descriptors;
  }
  EXPECT_LT(left, size_t{kConnections} / 2);
  const auto stopped = node_->terminate();
  ASSERT_TRUE(stopped) << stopped.error().message;
  EXPECT_EQ(*stopped, 0);
}

}  // namespace
}  // namespace cellar::process
