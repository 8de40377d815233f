// The client and a real node on simulated time, over a network that breaks repeatedly: scans return
// what a model returns, repeatable writes always succeed, and the results of a batching writer
// match the data.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "net/client/batch_writer.h"
#include "tests/net/client/client_node_bed.h"
#include "tests/support/seeds.h"

namespace cellar::client {
namespace {

class ResumeTest : public ClientBed {
 protected:
  explicit ResumeTest(uint64_t seed = 11) : ClientBed({}, seed) { connect(); }
  ~ResumeTest() override { bed_.fabric().faults() = LinkFaults(); }
  void connect() {
    ClientOptions options;
    options.retry.max_attempts = 200;
    options.retry.backoff_max_us = 20'000;
    options.backoff_max_us = 20'000;
    options.request_deadline_us = 600'000'000;
    options.wait_for_connection = true;
    client_ = client_with(std::move(options));
  }
  // Like ClientBed's wait(), while connections break.
  template <class T, class Start>
  Result<T> wait(Start start) {
    std::optional<Result<T>> result;
    start([&](Result<T> r) { result.emplace(std::move(r)); });
    constexpr int kMaxSlices = 100'000;
    for (int i = 0; i < kMaxSlices && !result; ++i) {
      bed_.world().run_until([&] { return result.has_value(); }, 30'000);
      // The faults of the next connections are drawn again, so that no bad draw is permanent.
      if (breaking_) break_things(*breaking_);
    }
    CHECK(result.has_value(), "the operation never ended");
    return *std::move(result);
  }
  void create(std::vector<std::string> splits) {
    TableSpec spec;
    spec.name = "t";
    spec.splits = std::move(splits);
    spec.families.emplace_back().name = "f";
    const auto made = wait<TableDescription>(
        [&](auto done) { client_->async_create_table(spec, std::move(done)); });
    ASSERT_TRUE(made) << made.error().to_string();
  }
  // Rows of many sizes; some are larger than a chunk.
  void fill(Random& random) {
    for (int i = 0; i < 400; ++i) {
      const std::string row = fmt::format("row{:04}", i * 7 % 400);
      Mutation m(row);
      const size_t cells = random.one_in(50) ? 300 : 1 + random.below(5);
      for (size_t c = 0; c < cells; ++c) {
        m.set("f", fmt::format("q{:03}", c), std::string(10 + random.below(900), 'x'), 1000);
      }
      model_[row] = cells;
      const auto written =
          wait<MutateReply>([&](auto done) { client_->async_mutate_row("t", m, std::move(done)); });
      ASSERT_TRUE(written) << written.error().to_string();
    }
  }
  std::string some_row(Random& random) { return fmt::format("row{:04}", random.below(410)); }
  ReadRows some_read(Random& random) {
    ReadRows read;
    for (size_t n = random.below(3); n > 0; --n) {
      RowRange range;
      std::string a = some_row(random);
      std::string b = some_row(random);
      if (b < a) std::swap(a, b);
      if (!random.one_in(4)) range.start = a;
      if (!random.one_in(4)) range.end = b + "+";
      range.start_open = range.start && random.one_in(2);
      range.end_closed = range.end && random.one_in(2);
      read.ranges.push_back(std::move(range));
    }
    for (size_t n = random.one_in(3) ? random.below(20) : 0; n > 0; --n) {
      read.keys.push_back(some_row(random));
    }
    if (random.one_in(3)) read.row_limit = 1 + random.below(300);
    read.reversed = random.one_in(2);
    read.credits = 1 + static_cast<uint32_t>(random.below(4));
    return read;
  }
  std::vector<std::string> expected(const ReadRows& read) const {
    const auto within = [&](const std::string& row) {
      if (read.keys.empty() && read.ranges.empty()) return true;
      if (std::find(read.keys.begin(), read.keys.end(), row) != read.keys.end()) return true;
      return std::any_of(read.ranges.begin(), read.ranges.end(), [&](const RowRange& r) {
        if (r.start && (row < *r.start || (r.start_open && row == *r.start))) return false;
        return !r.end || row < *r.end || (r.end_closed && row == *r.end);
      });
    };
    std::vector<std::string> rows;
    for (const auto& [row, cells] : model_) {
      if (within(row)) rows.push_back(row);
    }
    if (read.reversed) std::reverse(rows.begin(), rows.end());
    if (read.row_limit > 0 && rows.size() > read.row_limit) rows.resize(read.row_limit);
    return rows;
  }
  // Every new connection breaks after this many bytes.
  void break_things(Random& random) {
    bed_.fabric().faults().cut_after_bytes =
        random.one_in(3) ? 300 + random.below(3000) : 20'000 + random.below(300'000);
  }

  std::map<std::string, size_t> model_;
  Random* breaking_ = nullptr;  // draws when connections break
};

TEST_F(ResumeTest, AScanThatIsInterruptedAgainAndAgainGivesWhatTheModelGives) {
  create({"row0100", "row0250"});
  Random random(4711);
  fill(random);
  breaking_ = &random;
  for (int round = 0; round < 60; ++round) {
    const ReadRows read = some_read(random);
    break_things(random);
    connect();
    std::vector<std::string> rows;
    std::map<std::string, size_t> cells;
    ReadStream stream = client_->read_rows("t", read);
    while (true) {
      const auto block = wait<CellBlock>([&](auto done) { stream.async_next(std::move(done)); });
      ASSERT_TRUE(block) << block.error().to_string();
      if (block->empty()) break;
      for (const RowPart& part : block->rows()) {
        if (!part.continued) rows.emplace_back(part.key);
        ASSERT_EQ(rows.back(), part.key);
        cells[rows.back()] += part.cells.size();
      }
    }
    ASSERT_EQ(rows, expected(read)) << "round " << round;
    for (const auto& [row, count] : cells) ASSERT_EQ(count, model_[row]) << row;
  }
}

// Answers are small enough for the lifetime of a connection, so every call ends well.
TEST_F(ResumeTest, AWriteThatMayBeRepeatedSurvivesACutAtAnyByte) {
  create({});
  uint64_t repeats = 0;
  for (uint64_t at = 0; at < 1200; at += 5) {
    bed_.fabric().faults().cut_after_bytes = at;
    connect();
    const std::string row = fmt::format("row{}", at);
    Mutation m(row);
    m.set("f", "q", "v", 1000);
    std::optional<Result<MutateReply>> written;
    CallOptions options;
    options.draw_tokens = true;
    client_->async_mutate_row("t", m, options, [&](auto r) { written.emplace(std::move(r)); });
    bed_.world().run_for_us(2'000);
    bed_.fabric().faults().cut_after_bytes = LinkFaults::kNever;
    bed_.world().run_until([&] { return written.has_value(); });
    ASSERT_TRUE(*written) << at << ": " << written->error().to_string();
    repeats += client_->stats().repeats;
    const auto read = wait<std::optional<Row>>(
        [&](auto done) { client_->async_read_row("t", row, std::move(done)); });
    ASSERT_TRUE(read && *read) << at;
  }
  EXPECT_GT(repeats, 20u);
}

TEST_F(ResumeTest, WhatABatchingWriterAcknowledgesIsThereAndNothingIsLeftInDoubt) {
  create({"row0100", "row0250"});
  Random random(99);
  std::map<std::string, std::string> acknowledged;
  break_things(random);
  connect();
  BatchWriterOptions options{.batch_rows = 20, .max_pending_bytes = 200'000};
  options.call.draw_tokens = true;
  BatchWriter writer(*client_, "t", options);
  int failed = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string row = fmt::format("row{:04}", random.below(400));
    const std::string value = fmt::format("{:06}", i);
    Mutation m(row);
    m.set("f", "q", value, 1000);
    writer.async_write(std::move(m), [&, row, value](Result<void> r) {
      if (!r) ++failed;
      // In the order in which they were added.
      EXPECT_LT(acknowledged[row], value);
      if (r) acknowledged[row] = value;
    });
    if (i % 20 == 0) bed_.world().run_for_us(static_cast<int64_t>(random.below(3000)));
    if (i % 20 == 0) break_things(random);
  }
  breaking_ = &random;
  const auto closed = wait<void>([&](auto done) { writer.async_close(std::move(done)); });
  EXPECT_TRUE(closed) << closed.error().to_string();
  EXPECT_EQ(failed, 0);
  EXPECT_GT(client_->stats().lost, 0u);
  breaking_ = nullptr;
  bed_.fabric().faults() = LinkFaults();
  connect();
  for (const auto& [row, value] : acknowledged) {
    const auto read = wait<std::optional<Row>>(
        [&](auto done) { client_->async_read_row("t", row, std::move(done)); });
    ASSERT_TRUE(read && *read) << row;
    EXPECT_EQ((*read)->find("f", "q")->value, value) << row;
  }
}

}  // namespace
}  // namespace cellar::client
