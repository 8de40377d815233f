// The client library against a node, by its public headers alone.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <mutex>
#include <thread>

// The library's own names; those of the tree would be ambiguous.
#define CELLAR_LIBRARY_BUILD
#include <cellar/cellar.h>

#include "tests/cases/node_process.h"

namespace cellar::library_test {
namespace {

namespace fs = std::filesystem;
using v0::Client;
using v0::Code;
using v0::Mutation;
using v0::Row;

class Library : public testing::Test {
 protected:
  Library() : scratch_(fs::temp_directory_path() / fmt::format("library_test.{}", getpid())) {
    fs::remove_all(scratch_);
    fs::create_directories(scratch_);
    const fs::path bin = fs::read_symlink("/proc/self/exe").parent_path();
    node_ = std::make_unique<cases::NodeProcess>(
        bin / "cellard", scratch_ / "data",
        std::vector<std::string>{"--shards", "2", "--memory-total", "64MiB"});
    const auto started = node_->start();
    EXPECT_TRUE(started) << started.error().message;
    client_ = std::make_unique<Client>(options());
    v0::TableSpec spec;
    spec.name = "t";
    spec.micros = true;
    spec.families.emplace_back("f", v0::Rule::max_versions(3));
    spec.splits = {"m"};
    const auto made = client_->create_table(spec);
    EXPECT_TRUE(made) << made.error().message;
  }
  ~Library() override {
    client_.reset();
    node_.reset();
    if (!HasFailure()) fs::remove_all(scratch_);
  }
  v0::Options options() const {
    v0::Options options;
    options.address = node_->address();
    return options;
  }
  void set(const std::string& row, const std::string& value) {
    Mutation m(row);
    m.set("f", "q", value);
    const auto done = client_->mutate_row("t", m);
    ASSERT_TRUE(done) << done.error().message;
  }

  const fs::path scratch_;
  std::unique_ptr<cases::NodeProcess> node_;
  std::unique_ptr<Client> client_;
};

TEST_F(Library, ThreadsShareAClient) {
  constexpr int kThreads = 4;
  constexpr int kEach = 100;
  std::vector<std::thread> threads;
  std::atomic<int> failed{0};
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      v0::ReadModifyWrite modify("counter");
      modify.increment("f", "all").increment("f", fmt::format("of {}", i), 2);
      for (int k = 0; k < kEach; ++k) failed += !client_->read_modify_write("t", modify).ok();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  const auto row = client_->read_row("t", "counter");
  ASSERT_TRUE(row && *row);
  EXPECT_EQ(v0::number_of((*row)->find("f", "all")->value), kThreads * kEach);
  EXPECT_EQ(v0::number_of((*row)->find("f", "of 2")->value), 2 * kEach);
}

TEST_F(Library, WritesOfARowApplyInTheOrderOfTheCalls) {
  constexpr int kWrites = 500;
  std::mutex lock;
  std::vector<uint64_t> stamps;
  std::promise<void> all;
  for (int i = 0; i < kWrites; ++i) {
    Mutation m("row");
    m.set("f", "q", std::to_string(i));
    client_->async_mutate_row("t", m, {}, [&](v0::Result<v0::Commit> done) {
      const std::lock_guard hold(lock);
      stamps.push_back(done ? done->stamp_ns : 0);
      if (stamps.size() == kWrites) all.set_value();
    });
  }
  all.get_future().wait();
  EXPECT_TRUE(std::ranges::is_sorted(stamps));
  EXPECT_GT(stamps.front(), 0u);
  const auto row = client_->read_row("t", "row");
  ASSERT_TRUE(row && *row);
  EXPECT_EQ((*row)->cells.size(), 3u);
  EXPECT_EQ((*row)->cells.front().value, std::to_string(kWrites - 1));
}

TEST_F(Library, ReadsWhatFiltersAndRangesSelect) {
  std::vector<Mutation> all;
  for (int i = 0; i < 3'000; ++i) {
    all.emplace_back(fmt::format("r{:05}", i))
        .set("f", "q", "v")
        .set("f", "p", std::string(50, 'x'));
  }
  const auto written = client_->mutate_rows("t", all);
  ASSERT_TRUE(written) << written.error().message;
  for (const auto& one : *written) EXPECT_TRUE(one);
  const auto keys_of = [&](const v0::ReadRows& read) {
    std::vector<std::string> keys;
    v0::Scanner scanner = client_->read_rows("t", read);
    while (true) {
      auto rows = scanner.next();
      EXPECT_TRUE(rows) << rows.error().message;
      if (!rows || rows->empty()) return keys;
      for (const Row& row : *rows) {
        keys.push_back(row.key);
        EXPECT_EQ(row.cells.size(), 1u);
      }
    }
  };
  v0::ReadRows read;
  read.prefix = "r";
  read.filter = v0::Filter::qualifier_regex("q");
  const auto forward = keys_of(read);
  EXPECT_EQ(forward.size(), 3'000u);
  EXPECT_TRUE(std::ranges::is_sorted(forward));
  read.reversed = true;
  read.row_limit = 2;
  EXPECT_EQ(keys_of(read), (std::vector<std::string>{"r02999", "r02998"}));
  v0::ReadRows some;
  some.keys = {"r00007", "absent"};
  some.ranges.push_back({"r00100", "r00102"});
  some.filter = v0::Filter::chain({v0::Filter::qualifier_regex("p"), v0::Filter::strip_value()});
  EXPECT_EQ(keys_of(some), (std::vector<std::string>{"r00007", "r00100", "r00101"}));
}

TEST_F(Library, AnIndexFindsRowsByValue) {
  set("old", "x");
  v0::Index index;
  index.name = "by_value";
  index.family = "f";
  index.qualifier = "q";
  index.order = {v0::IndexPart::value};
  index.covered = {{"f", "n"}};
  const auto made = client_->create_index("t", index);
  ASSERT_TRUE(made) << made.error().message;
  const auto ready = [&] {
    const auto indexes = client_->describe_indexes("t");
    EXPECT_TRUE(indexes && indexes->size() == 1);
    return indexes && indexes->size() == 1 && indexes->front().ready;
  };
  for (int i = 0; i < 1'000 && !ready(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  Mutation m("z");
  m.set("f", "q", "x").set("f", "n", "name");
  ASSERT_TRUE(client_->mutate_row("t", m));
  set("other", "y");
  v0::ReadIndex read;
  read.index = "by_value";
  read.value = "x";
  const auto rows_of = [&] {
    std::string seen;
    v0::Scanner scanner = client_->read_index("t", read);
    while (true) {
      const auto rows = scanner.next();
      if (!rows) return seen + "! " + rows.error().message;
      if (rows->empty()) return seen;
      for (const Row& row : *rows) {
        seen += row.key;
        for (const v0::Cell& cell : row.cells) seen += " " + cell.qualifier + "=" + cell.value;
        seen += "; ";
      }
    }
  };
  EXPECT_EQ(rows_of(), "old q=x; z q=x n=name; ");
  read.whole_rows = read.reversed = true;
  read.limit = 1;
  EXPECT_EQ(rows_of(), "z n=name q=x; ");
  v0::IndexChange change;
  change.name = "by_value";
  change.max_age_given = true;
  change.max_age_us = 3'600'000'000;
  ASSERT_TRUE(client_->alter_index("t", change));
  EXPECT_EQ(client_->describe_indexes("t")->front().index.max_age_us, 3'600'000'000);
  ASSERT_TRUE(client_->drop_index("t", "by_value"));
  EXPECT_TRUE(client_->describe_indexes("t")->empty());
}

// The node breaks its chunks inside rows.
TEST_F(Library, AScanReturnsEveryRowOnceAndWhole) {
  constexpr int kRows = 3'000;
  std::vector<Mutation> all;
  for (int i = 0; i < kRows; ++i) {
    all.emplace_back(fmt::format("r{:05}", i))
        .set("f", "p", std::string(100, 'x'))
        .set("f", "q", std::string(100, 'y'));
  }
  const auto written = client_->mutate_rows("t", all);
  ASSERT_TRUE(written) << written.error().message;
  // Larger than a chunk by itself.
  Mutation large("s");
  for (int i = 0; i < 6; ++i) large.set("f", std::to_string(i), std::string(100'000, 'z'));
  ASSERT_TRUE(client_->mutate_row("t", large));
  v0::Scanner scanner = client_->read_rows("t", {});
  int count = 0;
  while (true) {
    const auto rows = scanner.next();
    ASSERT_TRUE(rows) << rows.error().message;
    if (rows->empty()) break;
    for (const Row& row : *rows) {
      EXPECT_EQ(row.key, count < kRows ? fmt::format("r{:05}", count) : "s");
      EXPECT_EQ(row.cells.size(), count < kRows ? 2u : 6u) << row.key;
      ++count;
    }
  }
  EXPECT_EQ(count, kRows + 1);
}

TEST_F(Library, AnExpiryBelongsToTheCellThatWasSetLast) {
  Mutation m("row");
  m.set("f", "kept", "1").set("f", "q", "2").delete_column("f", "other").with_ttl(3'600'000'000);
  const auto commit = client_->mutate_row("t", m);
  ASSERT_TRUE(commit) << commit.error().message;
  v0::ReadRows read;
  read.with_expiry = true;
  v0::Scanner scanner = client_->read_rows("t", read);
  const auto rows = scanner.next();
  ASSERT_TRUE(rows && rows->size() == 1u && rows->front().cells.size() == 2u);
  EXPECT_FALSE(rows->front().find("f", "kept")->expire_at_us);
  EXPECT_EQ(rows->front().find("f", "q")->expire_at_us,
            static_cast<int64_t>(commit->stamp_ns / 1000) + 3'600'000'000);
  Mutation nothing_set("row");
  nothing_set.delete_row().with_expire_at(1);
  EXPECT_TRUE(client_->mutate_row("t", nothing_set));
}

TEST_F(Library, ExpiriesConditionsAndDeletes) {
  Mutation m("row");
  m.set("f", "q", "v").with_ttl(3'600'000'000);
  const auto commit = client_->mutate_row("t", m);
  ASSERT_TRUE(commit);
  v0::ReadRows read;
  read.with_expiry = true;
  v0::Scanner scanner = client_->read_rows("t", read);
  const auto rows = scanner.next();
  ASSERT_TRUE(rows && rows->size() == 1u);
  EXPECT_EQ(rows->front().cells.front().expire_at_us,
            static_cast<int64_t>(commit->stamp_ns / 1000) + 3'600'000'000);
  v0::CheckAndMutate check;
  check.row = "row";
  check.predicate = v0::Filter::value_regex("v");
  check.then_mutation.delete_column("f", "q");
  auto checked = client_->check_and_mutate("t", check);
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_TRUE(checked->matched);
  checked = client_->check_and_mutate("t", check);
  EXPECT_TRUE(checked && !checked->matched && checked->commit.stamp_ns == 0);
  set("x1", "v");
  v0::DropRows drop;
  drop.prefix = "x";
  const auto dropped = client_->drop_row_range("t", drop);
  EXPECT_TRUE(dropped && dropped->stamp_ns > commit->stamp_ns);
  const auto gone = client_->read_row("t", "x1");
  EXPECT_TRUE(gone && !*gone);
}

TEST_F(Library, TokensMakeRepetitionsHarmless) {
  v0::ReadModifyWrite modify("row");
  modify.increment("f", "n");
  modify.token = "once";
  const auto first = client_->read_modify_write("t", modify);
  const auto again = client_->read_modify_write("t", modify);
  ASSERT_TRUE(first && again) << again.error().message;
  EXPECT_FALSE(first->commit.repeated);
  EXPECT_TRUE(again->commit.repeated);
  EXPECT_EQ(v0::number_of(again->row.cells.front().value), 1);
}

TEST_F(Library, ATokenIsKnownToTheClientsOfOneClientId) {
  const auto incremented_by = [&](const std::string& client_id, std::int64_t issued_us) {
    v0::Options with = options();
    with.client_id = client_id;
    Client client(with);
    v0::ReadModifyWrite modify("row");
    modify.increment("f", "n");
    modify.token = "once";
    modify.token_issued_us = issued_us;
    return client.read_modify_write("t", modify);
  };
  const auto first = incremented_by("billing", 0);
  const auto again = incremented_by("billing", 0);
  ASSERT_TRUE(first && again) << again.error().message;
  EXPECT_TRUE(again->commit.repeated);
  EXPECT_EQ(v0::number_of(again->row.cells.front().value), 1);
  const auto other = incremented_by("shipping", 0);
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ(v0::number_of(other->row.cells.front().value), 2);
}

TEST_F(Library, ATokenIssuedBeforeTheWindowIsRefused) {
  const auto now_us = client_->ping();
  ASSERT_TRUE(now_us);
  const std::int64_t old_us = *now_us - 3'600'000'000;
  const auto refused = [](const auto& result) {
    return !result && result.error().code == Code::failed_precondition &&
           result.error().applied == v0::Applied::maybe_applied;
  };
  Mutation m("row");
  m.set("f", "q", "v").with_token("old", old_us);
  EXPECT_TRUE(refused(client_->mutate_row("t", m)));
  v0::ReadModifyWrite modify("row");
  modify.increment("f", "n");
  modify.token = "old";
  modify.token_issued_us = old_us;
  EXPECT_TRUE(refused(client_->read_modify_write("t", modify)));
}

TEST_F(Library, ErrorsAreValues) {
  const auto absent = client_->read_row("nowhere", "row");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, Code::not_found);
  EXPECT_STREQ(v0::name_of(absent.error().code), "NOT_FOUND");
  EXPECT_EQ(absent.error().applied, v0::Applied::not_applied);
  v0::Options nobody;
  nobody.address = "127.0.0.1:1";
  Client lonely(nobody);
  EXPECT_EQ(lonely.ping().error().code, Code::unavailable);
  const auto undone = client_->undo_rule("t", "f");
  ASSERT_FALSE(undone);
  EXPECT_EQ(undone.error().code, Code::failed_precondition);
}

TEST_F(Library, ABlockingCallInACallbackIsRefused) {
  std::promise<Code> code;
  client_->async_read_row("t", "row", {}, [&](v0::Result<std::optional<Row>>) {
    code.set_value(client_->ping().error().code);
  });
  EXPECT_EQ(code.get_future().get(), Code::failed_precondition);
}

TEST_F(Library, AScannerMayOutliveItsClient) {
  set("a", "1");
  auto scanner = std::make_unique<v0::Scanner>(client_->read_rows("t", {}));
  v0::Scanner moved = std::move(*scanner);
  scanner.reset();
  ASSERT_TRUE(moved.next());
  client_.reset();
  const auto after = moved.next();
  ASSERT_FALSE(after);
  EXPECT_EQ(after.error().code, Code::cancelled);
}

// A listening socket: connections to it open, and nothing is ever sent over them.
class Silence {
 public:
  Silence() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&at), size), 0);
    EXPECT_EQ(::listen(socket_, 8), 0);
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&at), &size), 0);
    address_ = fmt::format("127.0.0.1:{}", ntohs(at.sin_port));
  }
  ~Silence() { ::close(socket_); }
  const std::string& address() const { return address_; }

 private:
  int socket_;
  std::string address_;
};

TEST(LibraryEnd, EveryPendingRequestIsCalledBackOnce) {
  const Silence silence;
  v0::Options options;
  options.address = silence.address();
  constexpr int kRequests = 50;
  std::atomic<int> called{0};
  std::atomic<int> cancelled{0};
  {
    Client client(options);
    for (int i = 0; i < kRequests; ++i) {
      client.async_read_row("t", "row", {}, [&](v0::Result<std::optional<Row>> row) {
        ++called;
        cancelled += !row && row.error().code == Code::cancelled;
      });
    }
  }
  EXPECT_EQ(called, kRequests);
  EXPECT_EQ(cancelled, kRequests);
}

TEST(LibraryEnd, ADeadlineIsKept) {
  const Silence silence;
  v0::Options options;
  options.address = silence.address();
  options.deadline_us = 100'000;
  Client client(options);
  EXPECT_EQ(client.read_row("t", "row").error().code, Code::deadline_exceeded);
}

}  // namespace
}  // namespace cellar::library_test
