// Indexes from the client to a real node: their life, checks, and reads on a network that breaks
// repeatedly, which return what a model returns.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/net/client/client_node_bed.h"

namespace cellar::client {
namespace {

class IndexNodeTest : public ClientBed {
 protected:
  IndexNodeTest() : ClientBed({}, 29) { connect(); }
  ~IndexNodeTest() override { bed_.fabric().faults() = LinkFaults(); }
  void connect() {
    ClientOptions options;
    options.retry.max_attempts = 200;
    options.retry.backoff_max_us = 20'000;
    options.backoff_max_us = 20'000;
    options.wait_for_connection = true;
    client_ = client_with(std::move(options));
  }
  // Like ClientBed's wait(), while connections break.
  template <class T, class Start>
  Result<T> patiently(Start start) {
    std::optional<Result<T>> result;
    start([&](Result<T> r) { result.emplace(std::move(r)); });
    constexpr int kMaxSlices = 100'000;
    for (int i = 0; i < kMaxSlices && !result; ++i) {
      bed_.world().run_until([&] { return result.has_value(); }, 30'000);
      if (breaking_) break_things();
    }
    CHECK(result.has_value(), "the operation never ended");
    return *std::move(result);
  }
  void break_things() {
    bed_.fabric().faults().cut_after_bytes =
        random_.one_in(3) ? 300 + random_.below(3000) : 20'000 + random_.below(300'000);
  }
  void create(std::vector<std::string> splits) {
    TableSpec spec;
    spec.name = "t";
    spec.splits = std::move(splits);
    for (const char* family : {"f", "g"}) spec.families.emplace_back().name = family;
    ASSERT_TRUE(wait<TableDescription>(
        [&](auto done) { client_->async_create_table(spec, std::move(done)); }));
  }
  void make_index() {
    IndexSpec index;
    index.name = "i";
    index.family = "f";
    index.qualifier = "q";
    index.parts = {IndexPart::value};
    index.covered = {{"g", "n"}};
    const auto made = wait<TableDescription>(
        [&](auto done) { client_->async_create_index("t", index, std::move(done)); });
    ASSERT_TRUE(made) << made.error().to_string();
    ASSERT_EQ(made->indexes.size(), 1u);
    for (int looks = 0; looks < 1000; ++looks) {
      const auto told = describe();
      ASSERT_EQ(told.size(), 1u);
      if (told[0].ready) return;
      bed_.world().run_for_us(100'000);
    }
    FAIL() << "it never becomes ready";
  }
  std::vector<IndexDescription> describe() {
    const auto told = wait<std::vector<IndexDescription>>(
        [&](auto done) { client_->async_describe_indexes("t", std::move(done)); });
    EXPECT_TRUE(told) << told.error().to_string();
    return told ? *told : std::vector<IndexDescription>();
  }
  void write(int from, int to) {
    std::vector<Mutation> entries;
    for (int i = from; i < to; ++i) {
      const std::string row = fmt::format("row{:04}", i * 7 % 400);
      const std::string value = fmt::format("v{}", random_.below(9));
      Mutation& m = entries.emplace_back(row);
      m.set("f", "q", value, 1000 + i * 1000);
      m.set("g", "n", std::string(random_.below(2000), 'n'), 1000);
      model_[row] = value;
    }
    const auto written = wait<EntryResults>(
        [&](auto done) { client_->async_mutate_rows("t", entries, {}, std::move(done)); });
    ASSERT_TRUE(written) << written.error().to_string();
  }
  // "value row" of each hit.
  std::vector<std::string> expected(const ReadIndex& read) const {
    std::vector<std::string> hits;
    for (const auto& [row, value] : model_) {
      const bool chosen = (!read.value || *read.value == value) &&
                          (!read.values || (value >= *read.values->start)) &&
                          (read.ranges.empty() || row >= *read.ranges[0].start);
      if (chosen) hits.push_back(value + " " + row);
    }
    std::ranges::sort(hits);
    if (read.reversed) std::ranges::reverse(hits);
    if (read.limit && hits.size() > static_cast<size_t>(*read.limit)) {
      hits.resize(static_cast<size_t>(*read.limit));
    }
    return hits;
  }
  ReadIndex some_read() {
    ReadIndex read;
    read.index = "i";
    if (random_.one_in(3)) read.value = fmt::format("v{}", random_.below(10));
    if (!read.value && random_.one_in(3)) read.values = RowRange{"v3", std::nullopt};
    if (random_.one_in(3)) read.ranges.push_back({"row0150", std::nullopt});
    if (random_.one_in(3)) read.limit = 1 + static_cast<int64_t>(random_.below(300));
    read.reversed = random_.one_in(2);
    read.whole_rows = random_.one_in(2);
    read.credits = 1 + static_cast<uint32_t>(random_.below(4));
    return read;
  }

  Random random_{4711};
  bool breaking_ = false;
  std::map<std::string, std::string> model_;  // the value of f:q of each row
};

TEST_F(IndexNodeTest, AReadThatIsInterruptedAgainAndAgainGivesWhatTheModelGives) {
  create({"row0100", "row0250"});
  write(0, 250);
  make_index();
  write(250, 600);
  breaking_ = true;
  for (int round = 0; round < 60; ++round) {
    const ReadIndex read = some_read();
    break_things();
    connect();
    std::vector<std::string> hits;
    ReadStream stream = client_->read_index("t", read);
    while (true) {
      const auto block =
          patiently<CellBlock>([&](auto done) { stream.async_next(std::move(done)); });
      ASSERT_TRUE(block) << block.error().to_string();
      if (block->empty()) break;
      for (const RowPart& part : block->rows()) {
        if (part.continued) continue;  // a row may go on in the next block
        ASSERT_FALSE(part.cells.empty());
        hits.push_back(fmt::format("{} {}", part.cells[0].value, part.key));
      }
    }
    ASSERT_EQ(hits, expected(read)) << "round " << round;
  }
  EXPECT_GT(client_->stats().repeats, 0u);
}

TEST_F(IndexNodeTest, AnIndexIsDescribedCheckedAlteredAndDropped) {
  create({"row0100"});
  write(0, 200);
  make_index();
  const auto checked = wait<IndexCheck>(
      [&](auto done) { client_->async_check_index({"t", "i"}, nullptr, {}, std::move(done)); });
  ASSERT_TRUE(checked) << checked.error().to_string();
  EXPECT_TRUE(checked->equal());
  EXPECT_EQ(checked->cells, model_.size());
  EXPECT_EQ(checked->hits, model_.size());

  AlterIndex change;
  change.table = "t";
  change.name = "i";
  change.max_age_given = true;
  change.max_age_us = 3'600'000'000;
  const auto altered = wait<TableDescription>(
      [&](auto done) { client_->async_alter_index(change, std::move(done)); });
  ASSERT_TRUE(altered) << altered.error().to_string();
  EXPECT_EQ(altered->indexes[0].max_age_us, 3'600'000'000);
  EXPECT_EQ(describe()[0].index.max_age_us, 3'600'000'000);
  EXPECT_EQ(describe()[0].index.covered, (std::vector<IndexColumn>{{"g", "n"}}));
  const auto dropped = wait<TableDescription>(
      [&](auto done) { client_->async_drop_index("t", "i", std::move(done)); });
  ASSERT_TRUE(dropped) << dropped.error().to_string();
  EXPECT_TRUE(dropped->indexes.empty());
  EXPECT_TRUE(describe().empty());
  const auto missing = wait<TableDescription>(
      [&](auto done) { client_->async_drop_index("t", "i", std::move(done)); });
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::not_found);
}

TEST_F(IndexNodeTest, AReadGoesOnBehindThePlaceWhereAnotherEnded) {
  create({"row0100", "row0250"});
  write(0, 400);
  make_index();
  ReadIndex read;
  read.index = "i";
  read.limit = 7;
  std::vector<std::string> hits;
  while (true) {
    ReadStream stream = client_->read_index("t", read);
    std::string last;
    while (true) {
      const auto block = wait<CellBlock>([&](auto done) { stream.async_next(std::move(done)); });
      ASSERT_TRUE(block) << block.error().to_string();
      if (block->empty()) break;
      if (!block->position().empty()) last = block->position();
      for (const RowPart& part : block->rows()) {
        hits.push_back(fmt::format("{} {}", part.cells[0].value, part.key));
      }
    }
    if (last.empty()) break;
    read.after = last;
  }
  read.limit.reset();
  EXPECT_EQ(hits, expected(read));
}

}  // namespace
}  // namespace cellar::client
