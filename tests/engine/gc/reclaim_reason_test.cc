// Every reason why dead bytes are still on disk, derived from the state that reclaiming uses.
#include "engine/gc/reclaim_reason.h"

#include <gtest/gtest.h>

#include <set>

#include "engine/gc/shard_reclaim.h"
#include "engine/reclaim_figures.h"

namespace cellar::engine {
namespace {

constexpr int64_t kNowUs = 1'000'000'000;
constexpr int64_t kMarginUs = 1'000;

ReclaimFileState file_with(uint64_t blob, double overdue) {
  ReclaimFileState file;
  file.blob = BlobId{blob};
  file.bytes = 100;
  file.dead = file.overdue = file.all_dead = file.all_overdue = overdue;
  file.overdue_since_us = kNowUs - 77;
  file.alone = true;
  return file;
}

ReclaimFileState dead_file(uint64_t blob, int64_t dead_from_us) {
  ReclaimFileState file = file_with(blob, 0);
  file.dead_from_us = dead_from_us;
  return file;
}

ReclaimSnapshot situation(std::vector<ReclaimFileState> files) {
  ReclaimSnapshot of;
  of.tablet = TabletId{7};
  of.files = std::move(files);
  of.runs = 3;
  of.due = true;
  of.now_us = kNowUs;
  of.margin_us = kMarginUs;
  of.not_before_us = kNowUs + 500;
  of.merge_due_us = kNowUs + 900;
  of.us_per_byte = 2;
  return of;
}

ReclaimFile only(const ReclaimSnapshot& of) {
  const std::vector<ReclaimFile> files = reclaim_reasons(of);
  EXPECT_EQ(files.size(), 1u);
  return files.empty() ? ReclaimFile{} : files.front();
}

TEST(ReclaimReasons, WhatHoldsNothingDeadIsNotToldOf) {
  EXPECT_TRUE(reclaim_reasons(situation({file_with(1, 0)})).empty());
}

TEST(ReclaimReasons, WithinTheSlackNobodyIsObliged) {
  ReclaimSnapshot of = situation({file_with(1, 5)});
  of.due = false;
  of.slack_due_us = kNowUs + 4000;
  const ReclaimFile file = only(of);
  EXPECT_EQ(file.reason, ReclaimReason::within_slack);
  EXPECT_EQ(file.until_us, kNowUs + 4000);
  EXPECT_EQ(file.overdue_bytes, 5u);
  EXPECT_EQ(file.overdue_since_us, kNowUs - 77);
  EXPECT_EQ(file.tablet, TabletId{7});
}

TEST(ReclaimReasons, WhatCanBeReclaimedHasItsTurn) {
  const auto files = reclaim_reasons(situation({file_with(1, 20), file_with(2, 90)}));
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].reason, ReclaimReason::its_turn);
  EXPECT_EQ(files[0].until_us, kNowUs + 500);
  EXPECT_EQ(files[1].reason, ReclaimReason::its_turn);
  EXPECT_EQ(files[1].count, 0u) << "it needs no other run";
  EXPECT_EQ(files[1].until_us, kNowUs + 500);
  EXPECT_EQ(files[1].done_us, kNowUs + 500 + 200) << "100 bytes, 2 us each, rests included";
}

TEST(ReclaimReasons, WhereVersionsCountAllRunsAreMerged) {
  ReclaimSnapshot of = situation({file_with(1, 20)});
  of.files[0].alone = false;
  of.counts = true;
  const ReclaimFile file = only(of);
  EXPECT_EQ(file.reason, ReclaimReason::its_turn);
  EXPECT_EQ(file.count, 3u);
  EXPECT_EQ(file.until_us, kNowUs + 500);
}

TEST(ReclaimReasons, WhatGoesIntoTheRunningMergeSaysSo) {
  ReclaimSnapshot of = situation({file_with(1, 20)});
  of.files[0].merging = true;
  of.merge_began_us = kNowUs - 10;
  of.failure = "an earlier one";
  const ReclaimFile file = only(of);
  EXPECT_EQ(file.reason, ReclaimReason::its_turn);
  EXPECT_EQ(file.since_us, kNowUs - 10);
}

TEST(ReclaimReasons, AWhollyDeadFileWaitsForTheMarginThenGoes) {
  ReclaimSnapshot of = situation({dead_file(1, kNowUs - kMarginUs + 1)});
  EXPECT_EQ(only(of).reason, ReclaimReason::margin);
  EXPECT_EQ(only(of).until_us, kNowUs + 1);
  EXPECT_TRUE(only(of).wholly_dead);
  EXPECT_EQ(only(of).dead_bytes, 100u);
  of.files[0].dead_from_us = kNowUs - kMarginUs;
  of.files[0].goes = true;
  of.due = false;  // the slack is of live files
  EXPECT_EQ(only(of).reason, ReclaimReason::its_turn);
  EXPECT_EQ(only(of).until_us, kNowUs + 500);
}

TEST(ReclaimReasons, AWhollyDeadFileThatMasksSomethingNamesWhat) {
  ReclaimSnapshot of = situation({dead_file(1, kNowUs - kMarginUs)});
  of.files[0].masked = BlobId{9};
  EXPECT_EQ(only(of).reason, ReclaimReason::its_turn);
  EXPECT_EQ(only(of).other, BlobId{9});
  EXPECT_EQ(only(of).until_us, kNowUs + 900);
  EXPECT_EQ(only(of).count, 3u);
  of.files[0].masked.reset();
  EXPECT_EQ(only(of).reason, ReclaimReason::its_turn);
  EXPECT_EQ(only(of).other, BlobId{});
  EXPECT_EQ(only(of).count, 3u) << "versions are counted";
}

TEST(ReclaimReasons, AnUndoWindowHoldsUntilItEnds) {
  ReclaimSnapshot of = situation({file_with(1, 0)});
  of.files[0].held = 60;
  of.undo_until_us = kNowUs + 12345;
  const ReclaimFile file = only(of);
  EXPECT_EQ(file.reason, ReclaimReason::undo_window);
  EXPECT_EQ(file.until_us, kNowUs + 12345);
  EXPECT_EQ(file.held_bytes, 60u);
}

TEST(ReclaimReasons, ADamagedFileSaysWhereAndStandsInTheWayOfOthers) {
  ReclaimSnapshot of = situation({file_with(1, 20), file_with(2, 0)});
  of.files[0].alone = false;
  of.files[1].run = 1;
  of.files[1].damaged = true;
  of.files[1].damage = "block 3";
  const auto files = reclaim_reasons(of);
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].reason, ReclaimReason::damaged);
  EXPECT_EQ(files[0].other, BlobId{2});
  EXPECT_EQ(files[1].reason, ReclaimReason::damaged);
  EXPECT_EQ(files[1].error, "block 3");
  EXPECT_EQ(files[1].other, BlobId{});
  of.files[0] = dead_file(1, 5);
  of.files[0].masked = BlobId{2};
  EXPECT_EQ(reclaim_reasons(of)[0].reason, ReclaimReason::damaged);
  EXPECT_EQ(reclaim_reasons(of)[0].other, BlobId{2});
}

TEST(ReclaimReasons, AFailureIsToldWithWhenItIsTriedAgain) {
  ReclaimSnapshot of = situation({file_with(1, 20)});
  of.failure = "no space";
  of.failed_us = kNowUs - 3;
  const ReclaimFile file = only(of);
  EXPECT_EQ(file.reason, ReclaimReason::failed);
  EXPECT_EQ(file.error, "no space");
  EXPECT_EQ(file.since_us, kNowUs - 3);
  EXPECT_EQ(file.until_us, kNowUs + 500);
}

TEST(ReclaimReasons, AShardThatTakesNoWritesReclaimsNothing) {
  ReclaimSnapshot of = situation({file_with(1, 20)});
  of.stopped = "the log failed";
  EXPECT_EQ(only(of).reason, ReclaimReason::failed);
  EXPECT_EQ(only(of).error, "the log failed");
  EXPECT_EQ(only(of).until_us, INT64_MAX) << "it is not tried again";
}

TEST(ReclaimReasons, WhatDoesNotTellWhatDiesInItIsUnknown) {
  ReclaimSnapshot of = situation({file_with(1, 0)});
  of.files[0].unknown = true;
  EXPECT_EQ(only(of).reason, ReclaimReason::unknown);
}

TEST(ReclaimReasons, EachHasItsName) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < kReclaimReasons; ++i) {
    names.insert(reclaim_reason_name(static_cast<ReclaimReason>(i)));
  }
  EXPECT_EQ(names.size(), 13u) << "none, eleven reasons, and no name for numbers that are not used";
  EXPECT_EQ(reclaim_reason_name(ReclaimReason::unknown), "unknown");
  EXPECT_EQ(reclaim_reason_name(static_cast<ReclaimReason>(4)), "");
}

// ---- leftovers of files that several tablets name

TEST(SharedLeftovers, WhatNoTabletNamesAnyMoreIsToldAndWhatAllNameIsNot) {
  std::vector<CutTable> cut = {
      {TableId{1}, TabletId{2}, BlobId{5}, 1000, 490},
      {TableId{1}, TabletId{3}, BlobId{5}, 1000, 500},
      {TableId{1}, TabletId{3}, BlobId{6}, 1000, 300},
  };
  const auto files = shared_leftovers(cut);
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].reason, ReclaimReason::shared);
  EXPECT_EQ(files[0].blob, BlobId{6});
  EXPECT_EQ(files[0].dead_bytes, 700u);
  EXPECT_EQ(files[0].count, 1u);
}

TEST(WorstFilesTest, SumsCountAllAndTheWorstAreKept) {
  WorstFiles worst(2);
  for (uint64_t i = 1; i <= 9; ++i) {
    ReclaimFile file;
    file.blob = BlobId{i};
    file.reason = i % 2 == 0 ? ReclaimReason::margin : ReclaimReason::its_turn;
    file.overdue_bytes = i;
    file.bytes = 10;
    worst.add(std::move(file));
  }
  WorstFiles all(2);
  all.merge(std::move(worst));
  EXPECT_EQ(all.there(), 9u);
  EXPECT_EQ(all.of(ReclaimReason::margin).files, 4u);
  EXPECT_EQ(all.of(ReclaimReason::margin).overdue_bytes, 2u + 4 + 6 + 8);
  const auto files = all.take();
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].blob, BlobId{9});
  EXPECT_EQ(files[1].blob, BlobId{8});
}

// ---- when the deadline is missed

TEST(MissedDeadline, AFileThatShouldBeGoneOrMoreThanTheSlackMissesIt) {
  ReclaimFigures of;
  of.live_bytes = 1000;
  EXPECT_EQ(missed_since_us(of, 0.1, kNowUs), INT64_MAX);
  of.overdue_bytes = 100;
  of.over_slack_us = kNowUs - 50;  // in some tablet, but not in the table as a whole
  EXPECT_EQ(missed_since_us(of, 0.1, kNowUs), INT64_MAX);
  of.overdue_bytes = 101;
  EXPECT_EQ(missed_since_us(of, 0.1, kNowUs), kNowUs - 50);
  of.file_due_us = kNowUs + 1;
  EXPECT_EQ(missed_since_us(of, 0.1, kNowUs), kNowUs - 50);
  of.file_due_us = kNowUs - 90;
  EXPECT_EQ(missed_since_us(of, 0.1, kNowUs), kNowUs - 90);
}

}  // namespace
}  // namespace cellar::engine
