// Memory as counted by the operating system, against the operator's budget: more data than memory
// is written and read again, and the resident set stays below the budget plus a tenth.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "io/base/random.h"
#include "io/loop/machine_memory.h"
#include "net/client/sync_client.h"
#include "tests/cases/node_process.h"
#include "tests/support/seeds.h"

namespace cellar::process {
namespace {
namespace fs = std::filesystem;
using namespace std::chrono_literals;

#ifdef CELLAR_SANITIZED
constexpr bool kSanitized = true;  // its shadow memory is outside the budget
#else
constexpr bool kSanitized = false;
#endif

constexpr size_t kBudgetBytes = 128u << 20;
constexpr size_t kWrittenBytes = 300u << 20;
constexpr size_t kValueBytes = 1000;
constexpr size_t kRowsPerBatch = 500;
constexpr auto kFlushPause = 100ms;

size_t resident_bytes(pid_t pid) {
  std::ifstream in(fmt::format("/proc/{}/statm", pid));
  size_t total = 0;
  size_t resident = 0;
  in >> total >> resident;
  return resident * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

// Samples the resident set during its lifetime.
class Watch {
 public:
  explicit Watch(pid_t pid) : thread_([this, pid] { run(pid); }) {}
  ~Watch() {
    done_ = true;
    thread_.join();
  }
  size_t most() const { return most_; }

 private:
  static constexpr auto kEvery = 20ms;

  void run(pid_t pid) {
    while (!done_) {
      most_ = std::max<size_t>(most_, resident_bytes(pid));
      std::this_thread::sleep_for(kEvery);
    }
  }

  std::atomic<bool> done_ = false;
  std::atomic<size_t> most_ = 0;
  std::thread thread_;
};

TEST(Memory, StaysWithinTheBudgetWhileMoreThanTwiceOfItIsWrittenAndRead) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's own memory is not the node's";
  const fs::path scratch = fs::temp_directory_path() / fmt::format("memory_test.{}", getpid());
  fs::remove_all(scratch);
  fs::create_directories(scratch);
  cases::NodeProcess node(fs::read_symlink("/proc/self/exe").parent_path() / "cellard",
                          scratch / "data",
                          {"--shards", "2", "--memory-total", "128MiB", "--log-segment", "8MiB"});
  const auto started = node.start();
  ASSERT_TRUE(started) << started.error().message;
  EXPECT_LT(resident_bytes(node.pid()), 64u << 20) << "an idle node";
  const Watch watch(node.pid());

  client::ClientOptions options;
  options.address = node.address();
  client::SyncClient client(options);
  client::TableSpec spec;
  spec.name = "t";
  spec.families.resize(1);
  spec.families[0].name = "f";
  ASSERT_TRUE(client.create_table(spec));

  Random random(1);
  const auto row_of = [](uint64_t i) { return fmt::format("row{:016x}", i * 0x9e3779b97f4a7c15); };
  size_t taken_bytes = 0;
  constexpr uint64_t kBatches = kWrittenBytes / kValueBytes / kRowsPerBatch;
  std::string value(kValueBytes, '\0');
  for (uint64_t batch = 0; batch < kBatches; ++batch) {
    std::vector<client::Mutation> rows;
    for (uint64_t i = 0; i < kRowsPerBatch; ++i) {
      for (size_t at = 0; at < kValueBytes; at += sizeof(uint64_t)) {
        const uint64_t bits = random.next();  // bytes that do not compress
        std::memcpy(value.data() + at, &bits, sizeof bits);
      }
      rows.emplace_back(row_of(batch * kRowsPerBatch + i)).set("f", "q", value, 1000);
    }
    const auto done = client.mutate_rows("t", rows);
    ASSERT_TRUE(done) << done.error().message;
    // A refusal for lack of memory is an answer too; it gives the node time to flush.
    const auto refused = std::ranges::count_if(*done, [](const auto& one) { return !one; });
    taken_bytes += (kRowsPerBatch - static_cast<size_t>(refused)) * kValueBytes;
    if (refused > 0) std::this_thread::sleep_for(kFlushPause);
  }
  for (int i = 0; i < 20'000; ++i) {
    client::ReadRow read;
    read.row = row_of(random.below(kBatches * kRowsPerBatch));
    ASSERT_TRUE(client.read_row("t", read));
  }

  RecordProperty("resident_mib", static_cast<int>(watch.most() >> 20));
  EXPECT_GE(taken_bytes, kBudgetBytes) << "what was refused tells nothing about memory";
  EXPECT_LE(watch.most(), kBudgetBytes + kBudgetBytes / 10);
  const auto code = node.terminate();
  EXPECT_TRUE(code && *code == 0);
  if (!testing::Test::HasFailure()) fs::remove_all(scratch);
}

// A node whose block cache has taken what memtables leave gives it back to a burst of writes.
// The budget is 256 MiB, or CELLAR_MEMORY_MIB.
class Burst : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "a sanitizer's own memory is not the node's";
    fs::remove_all(scratch_);
    fs::create_directories(scratch_);
    node_ = std::make_unique<cases::NodeProcess>(
        fs::read_symlink("/proc/self/exe").parent_path() / "cellard", scratch_ / "data",
        std::vector<std::string>{"--shards", "2", "--memory-total",
                                 fmt::format("{}MiB", budget_ >> 20)});
    const auto started = node_->start();
    ASSERT_TRUE(started) << started.error().message;
    client::ClientOptions options;
    options.address = node_->address();
    options.request_deadline_us = 60'000'000;
    client_ = std::make_unique<client::SyncClient>(options);
    client::TableSpec spec;
    spec.name = "t";
    spec.options.durability = Durability::memory;
    spec.families.resize(1);
    spec.families[0].name = "f";
    ASSERT_TRUE(client_->create_table(spec));
  }
  static std::string row_of(uint64_t i) {
    return fmt::format("row{:016x}", i * 0x9e3779b97f4a7c15);
  }
  // Values of which a half compresses.
  void write(size_t bytes) {
    std::string value(kValueBytes, 'v');
    for (const uint64_t until = rows_ + bytes / kValueBytes; rows_ < until;) {
      std::vector<client::Mutation> rows;
      for (uint64_t i = 0; i < kRowsPerBatch; ++i) {
        for (size_t at = 0; at + 16 <= kValueBytes; at += 16) {
          const uint64_t bits = random_.next();
          std::memcpy(value.data() + at, &bits, sizeof bits);
        }
        rows.emplace_back(row_of(rows_++)).set("f", "q", value, 1000);
      }
      const auto done = client_->mutate_rows("t", rows);
      ASSERT_TRUE(done) << done.error().message;
    }
  }
  // Of random rows, several in a request; `count` requests.
  void read(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      client::ReadRows read;
      for (int row = 0; row < 200; ++row) read.keys.push_back(row_of(random_.below(rows_)));
      scan(read);
    }
  }
  size_t scan(const client::ReadRows& read) {
    client::CallOptions options;
    options.deadline_us = client::kNoDeadline;
    auto stream = client_->read_rows("t", read, options);
    for (size_t cells = 0;;) {
      const auto block = client_->next(stream);
      EXPECT_TRUE(block) << block.error().message;
      if (!block || block->empty()) return cells;
      cells += block->cells().size();
    }
  }
  size_t sum(uint64_t client::ShardStats::* field) {
    const auto info = client_->server_info();
    EXPECT_TRUE(info);
    size_t sum = 0;
    for (const client::ShardStats& one : info->stats) sum += one.*field;
    return sum;
  }

  const size_t budget_ = number_from_environment("CELLAR_MEMORY_MIB", 256) << 20;
  const fs::path scratch_ = fs::temp_directory_path() / fmt::format("memory_test.{}", getpid());
  std::unique_ptr<cases::NodeProcess> node_;
  std::unique_ptr<client::SyncClient> client_;
  Random random_{1};
  uint64_t rows_ = 0;
};

TEST_F(Burst, ResidentMemoryStaysWithinTheBudgetAfterAFullCacheABurstAFlushAndAScan) {
  using Stats = client::ShardStats;
  const size_t budget = budget_;
  const Watch watch(node_->pid());
  const auto within = [&](const char* what) {
    fmt::print("{}: {} MiB resident, at most {}, of {}; cache {}, memtables {}\n", what,
               resident_bytes(node_->pid()) >> 20, watch.most() >> 20, budget >> 20,
               sum(&Stats::cache_bytes) >> 20, sum(&Stats::memtable_bytes) >> 20);
    EXPECT_LE(watch.most(), budget + budget / 10) << what;
  };
  write(budget * 5 / 4);
  ASSERT_TRUE(client_->flush_table("t"));
  scan({});
  // Blocks that leave and come mix the cache's memory.
  read(rows_ / 200);
  EXPECT_GT(sum(&Stats::cache_bytes), budget / 100 * 55) << "more than a quarter";
  within("a full cache");
  for (int round = 0; round < 2; ++round) {
    const size_t full = sum(&Stats::cache_bytes);
    write(budget / 3);
    EXPECT_LT(sum(&Stats::cache_bytes), full - budget / 16) << "the cache has given memory back";
    within("a burst");
    ASSERT_TRUE(client_->flush_table("t"));
    within("a flush");
    scan({});
    read(rows_ / 800);
    within("a scan");
  }
  RecordProperty("resident_mib", static_cast<int>(watch.most() >> 20));
  const auto code = node_->terminate();
  EXPECT_TRUE(code && *code == 0);
  if (!testing::Test::HasFailure()) fs::remove_all(scratch_);
}

// Connections that have not sent anything.
class SilentConnections {
 public:
  SilentConnections(const std::string& address, int count) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    const std::string port = address.substr(address.rfind(':') + 1);
    to.sin_port = htons(static_cast<uint16_t>(std::stoi(port)));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int i = 0; i < count; ++i) {
      const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      EXPECT_GE(fd, 0);
      EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
      fds_.push_back(fd);
    }
  }
  ~SilentConnections() {
    for (const int fd : fds_) ::close(fd);
  }

 private:
  std::vector<int> fds_;
};

// Many large concurrent writes, silent connections, and scans that are not read: the node stays
// below the bound that OPERATIONS states ("Memory"), refuses requests without room, and keeps
// serving.
TEST(Memory, StaysBelowItsDocumentedBoundWhateverClientsDo) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's own memory is not the node's";
  constexpr size_t kLeastBudgetBytes = 64u << 20;
  constexpr size_t kWriters = 40;
  constexpr size_t kCellBytes = 4u << 20;
  constexpr int kScans = 40;
  const fs::path scratch = fs::temp_directory_path() / fmt::format("memory_test.{}", getpid());
  fs::remove_all(scratch);
  fs::create_directories(scratch);
  cases::NodeProcess node(
      fs::read_symlink("/proc/self/exe").parent_path() / "cellard", scratch / "data",
      {"--shards", "2", "--memory-total", fmt::format("{}MiB", kLeastBudgetBytes >> 20)});
  const auto started = node.start();
  ASSERT_TRUE(started) << started.error().message;
  const Watch watch(node.pid());
  client::ClientOptions options;
  options.address = node.address();
  options.request_deadline_us = 5'000'000;
  client::SyncClient client(options);
  client::TableSpec spec;
  spec.name = "t";
  spec.families.resize(1);
  spec.families[0].name = "f";
  ASSERT_TRUE(client.create_table(spec));

  const SilentConnections silent(node.address(), 1000);
  std::string value(kCellBytes, '\0');
  Random random(1);
  for (char& c : value) c = static_cast<char>(random.next());
  std::atomic<size_t> taken = 0;
  // Three rounds, and more until the budget was written: most writes are refused for lack of room.
  const auto until = std::chrono::steady_clock::now() + 60s;
  const auto goes_on = [&](int64_t round) {
    return round < 3 || (taken.load() * kCellBytes < kLeastBudgetBytes &&
                         std::chrono::steady_clock::now() < until);
  };
  {
    std::vector<std::jthread> writers;
    for (size_t i = 0; i < kWriters; ++i) {
      writers.emplace_back([&, i] {
        client::SyncClient one(options);
        for (int64_t round = 0; goes_on(round); ++round) {
          client::Mutation row(fmt::format("row{:03}", i));
          row.set("f", "q", value, 1000 * (1 + round));
          if (one.mutate_row("t", row)) ++taken;
        }
      });
    }
  }
  EXPECT_GE(taken.load() * kCellBytes, kLeastBudgetBytes) << "more than the budget was written";
  {
    std::vector<std::unique_ptr<client::SyncClient>> readers;
    std::vector<client::ReadStream> streams;
    for (int i = 0; i < kScans; ++i) {
      readers.push_back(std::make_unique<client::SyncClient>(options));
      client::ReadRows read;
      read.credits = 1000;
      streams.push_back(readers.back()->read_rows("t", read));
      readers.back()->loop().turn(false);
    }
    std::this_thread::sleep_for(1s);
  }
  client::Mutation last("last");
  last.set("f", "q", "v", 1000);
  EXPECT_TRUE(client.mutate_row("t", last)) << "and it goes on";
  RecordProperty("resident_mib", static_cast<int>(watch.most() >> 20));
  EXPECT_LE(watch.most(), resident_bound_bytes(kLeastBudgetBytes));
  const auto code = node.terminate();
  EXPECT_TRUE(code && *code == 0);
  if (!testing::Test::HasFailure()) fs::remove_all(scratch);
}

}  // namespace
}  // namespace cellar::process
