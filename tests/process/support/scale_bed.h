// ScaleBed: a real node with a memory budget, a client, and a watch on the node's resident set.
// Each case does its work n times and 4n times; figure() prints a line of the table of bench/scale,
// and fails the test if four times the work took far more than four times as long, or if memory
// exceeded the budget.
#pragma once

#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "net/client/sync_client.h"
#include "tests/cases/node_process.h"

namespace cellar::process {

class ScaleBed : public testing::Test {
 protected:
  // Of processor time, the node's and the client's: linear work takes 4 times as much, quadratic
  // work 16 times. What the node does beside the work counts too.
  static constexpr double kMostTimes = 9.0;
  // Work this short depends on the machine rather than on n.
  static constexpr double kLeastMs = 3.0;
  // A ratio out of bounds is measured again up to this often: noise disappears, quadratic work does
  // not.
  static constexpr int kMostRounds = 8;
  static constexpr double kMiB = 1 << 20;

  ScaleBed()
      : scratch_(std::filesystem::temp_directory_path() / fmt::format("scale.{}", getpid())) {
    std::filesystem::remove_all(scratch_);
    std::filesystem::create_directories(scratch_);
    // Memory that the client frees is kept, as in a long-lived process. Otherwise large results,
    // and they alone, pay for the page faults of new memory.
    constexpr int kKeptBytes = 1 << 30;
    mallopt(M_MMAP_THRESHOLD, kKeptBytes);
    mallopt(M_TRIM_THRESHOLD, kKeptBytes);
  }
  ~ScaleBed() override {
    client_.reset();
    node_.reset();
    std::filesystem::remove_all(scratch_);
  }

  void start(size_t budget_bytes, std::vector<std::string> more = {}) {
#ifdef CELLAR_SANITIZED
    GTEST_SKIP() << "a sanitizer's time and memory are not the node's";
#endif
    budget_bytes_ = budget_bytes;
    std::vector<std::string> arguments = {"--shards", "2", "--memory-total",
                                          fmt::format("{}MiB", budget_bytes >> 20)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto bin = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    node_ = std::make_unique<cases::NodeProcess>(bin / "cellard", scratch_ / "data", arguments);
    connect();
  }
  // kill -9 and a start on the same data; returns the time until it serves.
  double restart_ms() {
    client_.reset();
    node_->kill_now();
    return time_ms([this] { connect(); });
  }
  void connect() {
    const auto started = node_->start();
    ASSERT_TRUE(started) << started.error().message;
    client::ClientOptions options;
    options.address = node_->address();
    options.request_deadline_us = 120'000'000;
    client_ = std::make_unique<client::SyncClient>(options);
  }

  client::SyncClient& client() { return *client_; }
  const std::string& address() const { return node_->address(); }

  void create(const std::string& name, size_t families = 1) {
    client::TableSpec spec;
    spec.name = name;
    spec.families.resize(families);
    for (size_t i = 0; i < families; ++i) {
      spec.families[i].name = families == 1 ? "f" : fmt::format("f{:04}", i);
    }
    const auto made = client().create_table(spec);
    ASSERT_TRUE(made) << made.error().message;
  }
  // Repeats writes that are refused for lack of memory, as a client should.
  void write(const std::string& table, const client::Mutation& m) {
    for (int i = 0; i < 1000; ++i) {
      const auto done = client().mutate_row(table, m);
      if (done) return;
      ASSERT_EQ(done.error().code, Errc::resource_exhausted) << done.error().message;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    FAIL() << "there was no memory for a write";
  }
  struct Scanned {
    size_t rows = 0;
    size_t cells = 0;
    size_t bytes = 0;
    std::optional<Error> error;
  };
  Scanned scan(const std::string& table, const client::ReadRows& read) {
    Scanned sum;
    client::CallOptions options;
    options.deadline_us = client::kNoDeadline;
    auto stream = client().read_rows(table, read, options);
    while (true) {
      const auto block = client().next(stream);
      if (!block) {
        sum.error = block.error();
        return sum;
      }
      if (block->empty()) return sum;
      sum.cells += block->cells().size();
      for (const auto& part : block->rows()) sum.rows += part.complete;
      for (const auto& cell : block->cells()) sum.bytes += cell.value.size();
    }
  }

  // The peak resident memory of the node, from /proc/PID/status.
  size_t peak_bytes() const {
    std::ifstream in(fmt::format("/proc/{}/status", node_->pid()));
    std::string word;
    while (in >> word) {
      if (word == "VmHWM:") {
        size_t kib = 0;
        in >> kib;
        return kib << 10;
      }
    }
    return 0;
  }

  // Processor time that the node and this process have taken, in all threads.
  double processor_ms() const {
    double sum_ms = 0;
    for (const pid_t process : {node_->pid(), getpid()}) {
      clockid_t clock{};
      timespec taken{};
      EXPECT_EQ(clock_getcpuclockid(process, &clock), 0);
      EXPECT_EQ(clock_gettime(clock, &taken), 0);
      sum_ms += static_cast<double>(taken.tv_sec) * 1e3 + static_cast<double>(taken.tv_nsec) / 1e6;
    }
    return sum_ms;
  }

  static double time_ms(const std::function<void()>& work) {
    const auto began = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began)
        .count();
  }
  struct Cost {
    double ms = 1e12;
    double processor_ms = 1e12;
    void least(const Cost& other) {
      ms = std::min(ms, other.ms);
      processor_ms = std::min(processor_ms, other.processor_ms);
    }
  };
  Cost cost_of(const std::function<void()>& work) const {
    const double began_ms = processor_ms();
    const double ms = time_ms(work);
    return {ms, processor_ms() - began_ms};
  }
  // `work(n)` for n and for 4n; the minimum of `rounds` each, or of a few more.
  void figure(const std::string& what, size_t n, const std::function<void(size_t)>& work,
              int rounds = 2, double most_times = kMostTimes) {
    Cost few;
    Cost many;
    const auto times = [&] { return many.processor_ms / std::max(few.processor_ms, kLeastMs); };
    const int most = rounds == 1 ? 1 : kMostRounds;
    for (int i = 0; i < rounds || (i < most && times() > most_times); ++i) {
      few.least(cost_of([&] { work(n); }));
      many.least(cost_of([&] { work(4 * n); }));
      if (HasFatalFailure()) return;
    }
    fmt::print("scale\t{}\t{}\t{:.0f}\t{}\t{:.0f}\t{:.1f}\t{:.0f}\t{:.0f}\n", what, n, few.ms,
               4 * n, many.ms, many.ms / few.ms, static_cast<double>(peak_bytes()) / kMiB,
               static_cast<double>(budget_bytes_) / kMiB);
    fmt::print("{}: {:.1f} and {:.1f} ms of processor time\n", what, few.processor_ms,
               many.processor_ms);
    EXPECT_LE(times(), most_times) << what << ": not linear";
    expect_within_budget(what);
  }
  void expect_within_budget(const std::string& what) {
    const size_t peak = peak_bytes();
    EXPECT_LE(peak, budget_bytes_ + budget_bytes_ / 10) << what;
    fmt::print("peak after {}: {} of {} MiB\n", what, peak >> 20, budget_bytes_ >> 20);
  }

  std::filesystem::path scratch_;
  size_t budget_bytes_ = 0;
  std::unique_ptr<cases::NodeProcess> node_;
  std::unique_ptr<client::SyncClient> client_;
};

}  // namespace cellar::process
