// Previews and explanations from the client to a real node: progress, cancellation, deadlines,
// concurrent splits of tablets.
#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>

#include "tests/net/client/client_node_bed.h"

namespace cellar::client {
namespace {

class PreviewTest : public ClientBed {
 protected:
  // Disks with latency, so that reads take time.
  PreviewTest() : ClientBed({}, 1, 20'000) {
    ClientOptions options;
    options.retry.max_attempts = 1;
    client_ = client_with(std::move(options));
  }
  SimLoop& loop() { return bed_.client_loop(); }
  // Bytes that do not compress: the rows take many blocks, and each read of a block waits.
  std::string value() {
    std::string bytes;
    while (bytes.size() < 200) bytes.push_back(static_cast<char>(random_.next()));
    return bytes;
  }
  // Rows of 3 versions of f:q, in two tablets, on disk.
  void fill(int rows) {
    TableSpec spec;
    spec.name = "t";
    spec.splits = {fmt::format("row{:05}", rows / 2)};
    spec.families.emplace_back().name = "f";
    ASSERT_TRUE(wait<TableDescription>(
        [&](auto done) { client_->async_create_table(spec, std::move(done)); }));
    std::vector<Mutation> entries;
    for (int i = 0; i < rows; ++i) {
      Mutation& m = entries.emplace_back(fmt::format("row{:05}", i));
      for (int64_t t = 1; t <= 3; ++t) m.set("f", "q", value(), t * 1000);
    }
    ASSERT_TRUE(wait<EntryResults>(
        [&](auto done) { client_->async_mutate_rows("t", entries, {}, std::move(done)); }));
    ASSERT_TRUE(wait<void>([&](auto done) { client_->async_flush_table("t", std::move(done)); }));
  }
  static PreviewRule one_version() {
    PreviewRule preview;
    preview.table = "t";
    preview.family = "f";
    preview.rule = RetentionRule::max_versions(1);
    preview.samples = 3;
    return preview;
  }
  Result<PreviewReply> ask(const PreviewRule& preview, CallOptions options = {},
                           std::function<void(const PreviewProgress&)> progress = {}) {
    return wait<PreviewReply>([&](auto done) {
      client_->async_preview_rule(preview, progress, options, std::move(done));
    });
  }

  Random random_{7};
};

TEST_F(PreviewTest, CountsEveryTabletAndTellsHowFarItIs) {
  fill(3000);
  PreviewProgress last;
  int told = 0;
  const auto reply = ask(one_version(), {}, [&](const PreviewProgress& progress) {
    EXPECT_GE(progress.rows_seen, last.rows_seen);
    EXPECT_LE(progress.rows_seen, 3000u);
    EXPECT_GE(progress.rows_about, 3000u);
    last = progress;
    ++told;
  });
  ASSERT_TRUE(reply) << reply.error().to_string();
  EXPECT_EQ(reply->cells, 6000u);
  EXPECT_EQ(reply->rows, 3000u);
  EXPECT_EQ(reply->cells_seen, 9000u);
  EXPECT_EQ(reply->rows_seen, 3000u);
  EXPECT_GT(reply->bytes, 6000u * 200);
  EXPECT_EQ(reply->samples, (std::vector<std::string>{"row00000", "row00001", "row00002"}));
  EXPECT_EQ(reply->undo_window_us, 86'400'000'000);
  EXPECT_FALSE(reply->approximate);
  EXPECT_EQ(reply->least.cells, 6000u);
  EXPECT_GT(told, 0);
}

TEST_F(PreviewTest, AnApproximateOneAnswersWithoutReading) {
  fill(1000);
  PreviewRule preview = one_version();
  preview.rule = RetentionRule::max_age_us(1000);
  preview.approximate = true;
  const auto aged = ask(preview);
  ASSERT_TRUE(aged) << aged.error().to_string();
  EXPECT_TRUE(aged->approximate);
  EXPECT_EQ(aged->cells, 3000u) << "all of them are from 1970, and nothing else is known";
  EXPECT_EQ(aged->least.cells, 3000u);
  EXPECT_EQ(aged->most.cells, 3000u);
  preview.rule = RetentionRule::max_age_us(INT64_MAX / 2);
  EXPECT_EQ(ask(preview)->most.cells, 0u);
  preview.rule = RetentionRule::max_versions(1);
  const auto counted = ask(preview);
  EXPECT_EQ(counted->least.cells, 0u);
  EXPECT_EQ(counted->most.cells, 3000u);
}

TEST_F(PreviewTest, IsRefusedAsTheAlterationWouldBe) {
  fill(2);
  const auto code = [&](PreviewRule preview) {
    const auto reply = ask(preview);
    return reply ? Errc::ok : reply.error().code;
  };
  PreviewRule preview = one_version();
  preview.rule = RetentionRule::max_versions(0);
  EXPECT_EQ(code(preview), Errc::invalid_argument);
  preview.rule = RetentionRule::any_of({});
  EXPECT_EQ(code(preview), Errc::invalid_argument);
  preview = one_version();
  preview.table = "none";
  EXPECT_EQ(code(preview), Errc::not_found);
  preview = one_version();
  preview.family = "none";
  EXPECT_EQ(code(preview), Errc::not_found);
  preview = one_version();
  preview.samples = 1001;
  EXPECT_EQ(code(preview), Errc::invalid_argument);
}

TEST_F(PreviewTest, EndsAtItsDeadlineAndWhenItIsCancelled) {
  fill(3000);
  CallOptions hurried;
  hurried.deadline_us = 50'000;
  const auto late = ask(one_version(), hurried);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::deadline_exceeded);

  asio::cancellation_signal signal;
  std::optional<Result<PreviewReply>> given_up;
  client_->async_preview_rule(
      one_version(), {}, {},
      asio::bind_cancellation_slot(signal.slot(), [&](Result<PreviewReply> r) { given_up = r; }));
  bed_.world().run_for_us(50'000);
  signal.emit(asio::cancellation_type::all);
  ASSERT_TRUE(bed_.world().run_until([&] { return given_up.has_value(); }));
  EXPECT_EQ(given_up->error().code, Errc::cancelled);
  bed_.world().run_for_us(1'000'000);
  EXPECT_EQ(bed_.shard(0).admission().scans() + bed_.shard(1).admission().scans(), 0u)
      << "what nobody waits for has ended";
}

TEST_F(PreviewTest, GoesOnWhileTabletsAreSplitAndMoved) {
  fill(3000);
  std::optional<Result<PreviewReply>> reply;
  client_->async_preview_rule(one_version(), {}, {},
                              [&](Result<PreviewReply> r) { reply = std::move(r); });
  bed_.world().run_for_us(5'000);
  for (const char* row : {"row00700", "row02000", "row02500"}) {
    SplitTablet split;
    split.table = "t";
    split.row = row;
    ASSERT_TRUE(wait<std::vector<TabletDescription>>(
        [&](auto done) { client_->async_split_tablet(split, std::move(done)); }));
  }
  const bool during = !reply.has_value();
  ASSERT_TRUE(bed_.world().run_until([&] { return reply.has_value(); }));
  ASSERT_TRUE(*reply) << reply->error().to_string();
  EXPECT_TRUE(during) << "the splits came too late to matter";
  EXPECT_EQ((*reply)->cells, 6000u);
  EXPECT_EQ((*reply)->rows_seen, 3000u);
}

TEST_F(PreviewTest, ReadsExplainAndShowTheDead) {
  fill(2);
  TableChange change;
  change.name = "t";
  FamilySpec& family = change.alter.emplace_back();
  family.name = "f";
  family.rule_given = true;
  family.rule = RetentionRule::max_versions(1);
  ASSERT_TRUE(wait<TableDescription>(
      [&](auto done) { client_->async_alter_table(change, std::move(done)); }));
  ReadRow read;
  read.row = "row00000";
  read.notes.include_dead = true;
  const auto row = wait<std::optional<Row>>(
      [&](auto done) { client_->async_read_row("t", read, {}, std::move(done)); });
  ASSERT_TRUE(row && *row);
  ASSERT_EQ((*row)->cells().size(), 3u);
  EXPECT_FALSE((*row)->cells()[0].explained->dead);
  EXPECT_EQ((*row)->cells()[0].explained->dies_at_us, INT64_MAX);
  for (const Cell& cell : (*row)->cells().subspan(1)) {
    EXPECT_TRUE(cell.explained->dead);
    EXPECT_EQ(cell.explained->cause, DeathCause::hidden);
    EXPECT_EQ(cell.explained->clause, 0);
  }
  read.filter = Filter::cells_per_column(2);
  const auto two = wait<std::optional<Row>>(
      [&](auto done) { client_->async_read_row("t", read, {}, std::move(done)); });
  EXPECT_EQ((*two)->cells().size(), 2u) << "filters see the dead too";
  // A condition keeps the cells of a row until its end, with the explanation of each.
  read.filter = Filter::condition(Filter::cells_per_column(1), Filter::pass(), Filter::block());
  const auto kept = wait<std::optional<Row>>(
      [&](auto done) { client_->async_read_row("t", read, {}, std::move(done)); });
  ASSERT_TRUE(kept && *kept);
  ASSERT_EQ((*kept)->cells().size(), 3u);
  EXPECT_FALSE((*kept)->cells()[0].explained->dead);
  EXPECT_EQ((*kept)->cells()[0].explained->dies_at_us, INT64_MAX);
  EXPECT_EQ((*kept)->cells()[2].explained->cause, DeathCause::hidden);
}

}  // namespace
}  // namespace cellar::client
