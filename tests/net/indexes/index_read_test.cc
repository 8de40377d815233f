// Reads through an index on the wire: order over tablets, credits, positions, waits, refusals, and
// tablets that change meanwhile.
#include <gtest/gtest.h>

#include <algorithm>

#include "io/base/random.h"
#include "tests/net/indexes/index_server_bed.h"
#include "tests/support/seeds.h"

namespace cellar::server {
namespace {

namespace fb = wire::fb;
using fb::Op;
using wire::FrameKind;
using Cells = std::vector<std::string>;

// Table "t" in two tablets, [, m) and [m, ), with index "i" on f:q by value.
class IndexReadTest : public testing::Test, protected IndexBed {
 protected:
  IndexReadTest() {
    create_table({"m"});
    create_index("i");
  }
};

TEST_F(IndexReadTest, HitsOfAllTabletsComeInTheOrderOfTheIndex) {
  set("b", "x", 1000);
  set("a", "x", 2000);
  set("z", "x", 1000);
  set("n", "w", 1000);
  set("c", "", 1000);
  EXPECT_EQ(read(),
            (Cells{"c f:q@1000=", "n f:q@1000=w", "a f:q@2000=x", "b f:q@1000=x", "z f:q@1000=x"}));
  EXPECT_EQ(read({.value = "x"}), (Cells{"a f:q@2000=x", "b f:q@1000=x", "z f:q@1000=x"}));
  EXPECT_EQ(read({.limit = 2, .reversed = true}), (Cells{"z f:q@1000=x", "b f:q@1000=x"}));
  EXPECT_EQ(read({.value = "x", .keys = {"b", "z", "q"}}), (Cells{"b f:q@1000=x", "z f:q@1000=x"}));
  EXPECT_EQ(read({.value = "y"}), Cells());
  EXPECT_EQ(end_rows(), 0u);
  set("b", "y", 2000);
  EXPECT_EQ(read({.value = "x"}), (Cells{"a f:q@2000=x", "z f:q@1000=x"}));
  EXPECT_EQ(end_rows(), 2u);
}

TEST_F(IndexReadTest, CoveredCellsFollowTheIndexedOneAndWholeRowsPassAFilter) {
  create_index("c", {.covered = {{"g", "p"}, {"f", "a"}}});
  set("a", "x", 1000);
  set("z", "x", 1000);
  put("z", "f", "a", "1", 1000);
  put("z", "g", "p", "2", 1000);
  put("z", "g", "p", "3", 2000);
  EXPECT_EQ(read("c", {.value = "x"}),
            (Cells{"a f:q@1000=x", "z f:q@1000=x", "z f:a@1000=1", "z g:p@2000=3"}));
  EXPECT_EQ(
      read({.value = "x", .whole_rows = true}),
      (Cells{"a f:q@1000=x", "z f:a@1000=1", "z f:q@1000=x", "z g:p@2000=3", "z g:p@1000=2"}));
  const auto newest = wire::filter_node(fb::FilterKind::CellsPerColumnLimit, 1);
  EXPECT_EQ(read({.value = "x", .whole_rows = true, .filter = {newest}, .limit = 2}),
            (Cells{"a f:q@1000=x", "z f:a@1000=1", "z f:q@1000=x", "z g:p@2000=3"}));
  EXPECT_EQ(end_rows(), 2u);
}

TEST_F(IndexReadTest, RowsThatAFilterExcludesAreNotRead) {
  set("a", "a", 1000);
  set("z", "a", 1000);
  // The expression is the value at the beginning of the arena.
  const fb::FilterNode row_is_a(0, 0, 0, fb::Span(0, 1), fb::Span(0, 0), fb::Span(0, 0), 0,
                                static_cast<uint8_t>(fb::FilterKind::RowRegex), 0, 0);
  EXPECT_EQ(read({.value = "a", .whole_rows = true, .filter = {row_is_a}}), Cells{"a f:q@1000=a"});
  const auto nothing = wire::filter_node(fb::FilterKind::BlockAll);
  EXPECT_EQ(read({.value = "a", .whole_rows = true, .filter = {nothing}}), Cells());
}

TEST_F(IndexReadTest, ExplainNamesWhatHidACandidate) {
  set("a", "x", 1000);
  set("a", "y", 2000);
  set("z", "x", 1000);
  EXPECT_EQ(read({.value = "x", .explain = true}), (Cells{"a f:q@1000=x", "z f:q@1000=x"}));
  ASSERT_EQ(peer.received.size(), 1u);
  const auto& notes = *peer.received[0].root<fb::ReadChunk>()->explain();
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_EQ(notes.Get(0)->cause(), static_cast<uint8_t>(fb::DeathCause::NotNewest));
  EXPECT_TRUE(notes.Get(0)->dead());
  EXPECT_EQ(notes.Get(1)->cause(), static_cast<uint8_t>(fb::DeathCause::None));
  EXPECT_FALSE(notes.Get(1)->dead());
}

TEST_F(IndexReadTest, EveryRefusalComesBeforeTheFirstChunk) {
  set("a", "x", 1000);
  EXPECT_EQ(read("j"), Cells{"!NOT_FOUND: table 't' has no index 'j'"});
  EXPECT_EQ(code("u", "i"), Errc::not_found);
  EXPECT_EQ(code("t", "i", {.value = "a", .values = wire::PartRangeShape()}),
            Errc::invalid_argument);
  EXPECT_EQ(code("t", "i", {.qualifier = "q"}), Errc::invalid_argument);
  EXPECT_EQ(code("t", "i", {.limit = 0}), Errc::invalid_argument);
  EXPECT_EQ(code("t", "i", {.after = "\x01"}), Errc::invalid_argument);
  EXPECT_EQ(code("t", "i", {.filter = {wire::filter_node(fb::FilterKind::PassAll)}}),
            Errc::invalid_argument);
  EXPECT_EQ(peer.code_of(Op::ReadIndex, wire::flush_body("t")), Errc::invalid_argument);
  EXPECT_TRUE(peer.received.empty());
  EXPECT_EQ(scans(), 0u);
}

TEST_F(IndexReadTest, AnIndexThatIsNotReadyIsRefusedWithTheShareOfTheTable) {
  put("a", "f", "r", std::string(1000, 'v'), 1000);
  put("z", "f", "r", "v", 1000);
  ASSERT_EQ(peer.code_of(Op::FlushTable, wire::flush_body("t")), Errc::ok);
  ASSERT_EQ(peer.code_of(Op::CreateIndex, wire::create_index_body("t", "late", {.qualifier = "r"})),
            Errc::ok);
  const Cells refused = read("late");
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_TRUE(
      refused.front().starts_with("!FAILED_PRECONDITION: index 'late' of table 't' is not ready: "))
      << refused.front();
  EXPECT_EQ(scans(), 0u);
}

// It opens no tablet that would refuse it.
TEST_F(IndexReadTest, AnIndexThatIsNotReadyIsRefusedAlsoWhereAFilterPassesNothing) {
  put("a", "f", "r", "v", 1000);
  ASSERT_EQ(peer.code_of(Op::FlushTable, wire::flush_body("t")), Errc::ok);
  ASSERT_EQ(peer.code_of(Op::CreateIndex, wire::create_index_body("t", "late", {.qualifier = "r"})),
            Errc::ok);
  const wire::ReadIndexShape nothing{.whole_rows = true,
                                     .filter = {wire::filter_node(fb::FilterKind::BlockAll)}};
  EXPECT_EQ(code("t", "late", nothing), Errc::failed_precondition);
  EXPECT_EQ(code("t", "i", nothing), Errc::ok);
}

TEST_F(IndexReadTest, BoundsHaveLimits) {
  create_index(
      "q", {.qualifier = std::nullopt, .parts = {fb::IndexPart::Qualifier, fb::IndexPart::Time}});
  const auto says = [this](std::string_view index, const wire::ReadIndexShape& shape,
                           std::string_view what) {
    const Cells refused = read(index, shape);
    ASSERT_EQ(refused.size(), 1u);
    EXPECT_TRUE(refused.front().starts_with(what)) << refused.front();
  };
  const size_t cell_bytes = bed.shard(0).options().engine.limits.cell_bytes;
  says("i", {.value = std::string(cell_bytes + 1, 'v')},
       "!INVALID_ARGUMENT: the start of the values asked for has ");
  says("q", {.qualifier = std::string((16 << 10) + 1, 'q')},
       "!INVALID_ARGUMENT: the start of the qualifiers asked for has 16385 bytes; at most 16384");
  EXPECT_EQ(read({.value = std::string(cell_bytes, 'v')}), Cells());
  for (const char* row : {"c", "e", "g", "p", "r", "t"}) split(peer, row, row);
  says("i", {.value = std::string(cell_bytes, 'v')},
       "!RESOURCE_EXHAUSTED: the bounds of a read through index 'i' have ");
  EXPECT_EQ(read("q", {.qualifier = std::string(16 << 10, 'q')}), Cells());
  EXPECT_EQ(scans(), 0u);
}

// More tablets than begin their batches at once.
TEST(IndexReads, OverManyTabletsWithAndWithoutMemory) {
  IndexBed bed(3);
  std::vector<std::string> splits;
  Cells wanted;
  for (int i = 1; i < 150; ++i) splits.push_back(fmt::format("{:03}", i));
  bed.create_table(splits);
  bed.create_index("i");
  for (int i = 0; i < 150; ++i) {
    bed.set(fmt::format("{:03}", i), fmt::format("{:03}", (i * 7) % 150), 1000);
    const int row = (i * 43) % 150;  // 7 * 43 is 1 modulo 150
    wanted.push_back(fmt::format("{:03} f:q@1000={:03}", row, i));
  }
  EXPECT_EQ(bed.read(), wanted);
  // Full from the first tablet on.
  const auto most = static_cast<ptrdiff_t>(bed.bed.shard(0).memory().answers_bound()) - 1;
  bed.bed.shard(0).count_answers(most);
  EXPECT_EQ(bed.read(), wanted);
  EXPECT_EQ(bed.read({.limit = 3}), Cells(wanted.begin(), wanted.begin() + 3));
  bed.bed.shard(0).count_answers(-most);
  EXPECT_EQ(bed.held_bytes(), 0u);
}

// ---- streams

// 40 hits, each with 40 KiB in a covered column.
class IndexStreamTest : public IndexReadTest {
 protected:
  static constexpr int kHits = 40;

  IndexStreamTest() {
    create_index("c", {.covered = {{"g", "p"}}});
    for (int i = 0; i < kHits; ++i) {
      set(row(i), fmt::format("{:03}", i), 1000);
      put(row(i), "g", "p", std::string(40 * 1024, 'v'), 1000);
    }
  }
  // In turn in either tablet.
  static std::string row(int i) { return fmt::format("{}{:03}", i % 2 == 0 ? "a" : "z", i); }
  static Cells all_rows() {
    Cells rows;
    for (int i = 0; i < kHits; ++i) rows.push_back(row(i));
    return rows;
  }
  void begin(wire::ReadIndexShape shape, uint32_t deadline_ms = 0) {
    peer.received.clear();
    peer.send(wire::request_frame(Op::ReadIndex, 5, wire::read_index_body("t", "c", shape),
                                  FrameKind::request, deadline_ms));
    bed.world().run_for_us(100'000);
  }
  void credit(uint32_t chunks) {
    flatbuffers::FlatBufferBuilder builder;
    const auto body = wire::finish_body(builder, fb::CreateCredit(builder, chunks));
    peer.send(wire::request_frame(Op::ReadIndex, 5, body, FrameKind::credit));
    bed.world().run_for_us(100'000);
  }
  size_t chunks() const {
    return static_cast<size_t>(std::ranges::count_if(
        peer.received, [](const Answer& a) { return a.header.kind == FrameKind::chunk; }));
  }
  Errc finish() {
    credit(64);
    auto end = peer.answer(5);
    return end ? end->code() : Errc::unknown;
  }
};

TEST_F(IndexStreamTest, NoMoreChunksThanCredits) {
  begin({.credits = 2});
  EXPECT_EQ(chunks(), 2u);
  bed.world().run_for_us(500'000);
  EXPECT_EQ(chunks(), 2u);
  credit(3);
  EXPECT_EQ(chunks(), 5u);
  EXPECT_EQ(finish(), Errc::ok);
  EXPECT_EQ(complete_rows(), all_rows());
  EXPECT_EQ(held_bytes(), 0u);
}

TEST_F(IndexStreamTest, EachChunkTellsThePositionBehindWhichTheReadIsResumed) {
  for (const bool reversed : {false, true}) {
    Cells rows;
    std::string after;
    for (int turn = 0; turn < 2 * kHits; ++turn) {
      begin({.reversed = reversed, .credits = 1, .after = after});
      for (const std::string& one : complete_rows()) rows.push_back(one);
      const std::string last = last_position();
      peer.send(wire::request_frame(Op::ReadIndex, 5, "", FrameKind::cancel));
      auto end = peer.answer(5);
      ASSERT_TRUE(end);
      if (last.empty()) break;
      after = last;
    }
    Cells wanted = all_rows();
    if (reversed) std::ranges::reverse(wanted);
    EXPECT_EQ(rows, wanted);
  }
}

TEST_F(IndexStreamTest, CancelDeadlineAndHangUpEndAStreamThatWaits) {
  begin({.credits = 1});
  peer.send(wire::request_frame(Op::ReadIndex, 5, "", FrameKind::cancel));
  EXPECT_EQ(peer.answer(5)->code(), Errc::cancelled);
  begin({.credits = 1}, 500);
  EXPECT_EQ(scans(), 1u);
  EXPECT_EQ(peer.answer(5)->code(), Errc::deadline_exceeded);
  begin({.credits = 1});
  EXPECT_EQ(scans(), 1u);
  EXPECT_GT(held_bytes(), 0u);
  peer.hang_up();
  bed.world().run_for_us(1'000'000);
  EXPECT_EQ(scans(), 0u);
  EXPECT_EQ(held_bytes(), 0u);
}

TEST_F(IndexStreamTest, AStreamThatWaitsGivesUpWhatItHoldsAndGoesOnBehindItsLastHit) {
  begin({.credits = 2});
  const size_t sent = complete_rows().size();
  ASSERT_GT(held_bytes(), 0u);
  bed.world().run_for_us(5'000'000);
  EXPECT_EQ(released(), 1u);
  EXPECT_EQ(held_bytes(), 0u);
  // What it had read ahead is read again: this one is not found any more.
  Peer other(bed);
  ASSERT_LT(sent + 1, static_cast<size_t>(kHits));
  const std::string changed = row(static_cast<int>(sent));
  ASSERT_EQ(other.code_of(Op::MutateRow, wire::set_body("t", changed, "f", "q", "!", 2000)),
            Errc::ok);
  EXPECT_EQ(finish(), Errc::ok);
  Cells wanted = all_rows();
  std::erase(wanted, changed);
  EXPECT_EQ(complete_rows(), wanted);
  EXPECT_EQ(scans(), 0u);
}

TEST_F(IndexStreamTest, AReaderThatAsksForNothingLosesItsStreamWithTheTimeOfSilence) {
  begin({.credits = 1});
  bed.world().run_for_us(14 * 60'000'000LL);
  EXPECT_EQ(scans(), 1u);
  auto end = peer.answer(5);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code(), Errc::unavailable);
  EXPECT_EQ(end->message(), "the client has asked for no chunk for 15m");
  EXPECT_EQ(scans(), 0u);
}

TEST_F(IndexStreamTest, AReadWaitsForMemoryAndForAPeerThatDoesNotReceive) {
  const auto bound = static_cast<ptrdiff_t>(bed.shard(0).memory().answers_bound());
  bed.shard(0).count_answers(bound);
  begin({.credits = 64});
  bed.world().run_for_us(5'000'000);
  EXPECT_EQ(chunks(), 0u);
  EXPECT_EQ(scans(), 1u);
  peer.pause_reading();
  bed.shard(0).count_answers(-bound);
  bed.world().run_for_us(5'000'000);
  EXPECT_EQ(scans(), 1u);
  peer.resume_reading();
  ASSERT_EQ(finish(), Errc::ok);
  EXPECT_EQ(complete_rows(), all_rows());
  EXPECT_EQ(held_bytes(), 0u);
}

// Its own half-full chunk is part of what it would wait for.
TEST_F(IndexStreamTest, AReadThatHoldsPartOfAChunkDoesNotWaitForMemory) {
  const auto most = static_cast<ptrdiff_t>(bed.shard(0).memory().answers_bound()) - 1;
  bed.shard(0).count_answers(most);
  Cells keys;
  for (int i = 0; i < kHits; i += 2) keys.push_back(row(i));
  begin({.keys = keys, .credits = 64});
  bed.world().run_for_us(1'000'000);
  EXPECT_GT(chunks(), 0u);
  bed.world().run_for_us(10'000'000);
  EXPECT_EQ(complete_rows(), keys);
  EXPECT_EQ(scans(), 0u);
  bed.shard(0).count_answers(-most);
  EXPECT_EQ(held_bytes(), 0u);
}

// A hit of several chunks has its position where it ends.
TEST_F(IndexStreamTest, ALargeHitSpansChunks) {
  for (int i = 0; i < 10; ++i)
    put("big", "g", fmt::format("{}", i), std::string(50'000, 'w'), 1000);
  set("big", "000", 1000);
  begin({.value = "000", .whole_rows = true, .limit = 2, .credits = 64});
  ASSERT_EQ(peer.answer(5)->code(), Errc::ok);
  EXPECT_EQ(complete_rows(), (Cells{"a000", "big"}));
  EXPECT_GT(chunks(), 3u);
  const Cells positions = all_positions();
  EXPECT_EQ(std::ranges::count(positions, ""), static_cast<ptrdiff_t>(positions.size()) - 2);
  EXPECT_NE(positions.back(), "");
  // It waits inside the hit: what it holds besides is given up, and after a minute it ends.
  begin({.value = "000", .whole_rows = true, .credits = 2});
  bed.world().run_for_us(10'000'000);
  EXPECT_EQ(scans(), 1u);
  EXPECT_GT(held_bytes(), 500'000u);
  credit(1);
  EXPECT_EQ(finish(), Errc::ok);
  EXPECT_EQ(complete_rows(), (Cells{"a000", "big"}));
  begin({.value = "000", .whole_rows = true, .credits = 2});
  bed.world().run_for_us(61'000'000);
  EXPECT_EQ(peer.answer(5)->code(), Errc::unavailable);
}

// Chunks end inside hits, behind which the batch has others: a stream that is given up there gives
// each once.
TEST_F(IndexStreamTest, AStreamThatWaitsInsideAHitGivesNoneTwice) {
  Cells rows;
  for (int i = 10; i < 30; ++i) {
    rows.push_back(fmt::format("l{}", i));
    for (int cell = 0; cell < 10; ++cell)
      put(rows.back(), "g", fmt::format("{}", cell), std::string(3'000, 'w'), 1000);
    set(rows.back(), "several", 1000);
  }
  for (uint32_t credits = 1; credits <= 3; ++credits) {
    begin({.value = "several", .whole_rows = true, .credits = credits});
    bed.world().run_for_us(5'000'000);
    EXPECT_EQ(finish(), Errc::ok);
    EXPECT_EQ(complete_rows(), rows) << credits << " chunks before the wait";
  }
  EXPECT_GE(released(), 2u);
}

// ---- tablets that change meanwhile

TEST_F(IndexStreamTest, AStreamGoesOnWhereItsTabletsSplitMoveAndMerge) {
  begin({.credits = 1});
  Peer other(bed);
  split(other, "a", "a015");
  credit(1);
  move(other, "a020");
  credit(1);
  merge(other, "a000", "a020");
  credit(1);
  move(other, "z");
  EXPECT_EQ(finish(), Errc::ok);
  EXPECT_EQ(complete_rows(), all_rows());
}

TEST_F(IndexStreamTest, AStreamGoesOnWhenItsTableIsAlteredAndEndsWhenItsIndexIsDropped) {
  begin({.credits = 1});
  Peer other(bed);
  ASSERT_EQ(other.code_of(Op::CreateIndex, wire::create_index_body("t", "k")), Errc::ok);
  credit(2);
  EXPECT_EQ(chunks(), 3u);
  ASSERT_EQ(other.code_of(Op::DropIndex, drop_index_body("t", "c")), Errc::ok);
  // The name is used again for another index.
  ASSERT_EQ(other.code_of(Op::CreateIndex, wire::create_index_body("t", "c")), Errc::ok);
  EXPECT_EQ(finish(), Errc::not_found);
  EXPECT_EQ(scans(), 0u);
}

TEST_F(IndexStreamTest, AStreamEndsWhenItsTableIsDropped) {
  begin({.credits = 1});
  Peer other(bed);
  ASSERT_EQ(other.code_of(Op::DropTable, drop_table_body("t")), Errc::ok);
  EXPECT_EQ(bed.shard(0).tables().find("t"), nullptr);
  EXPECT_EQ(bed.shard(1).tables().find("t"), nullptr);
  EXPECT_EQ(chunks(), 1u);
  EXPECT_EQ(finish(), Errc::not_found);
  EXPECT_LT(complete_rows().size(), static_cast<size_t>(kHits));
}

TEST_F(IndexStreamTest, AHandleThatNamesATabletReadsItAlone) {
  const engine::TabletDescriptor& left = tablet_of("a");
  peer.send(wire::bind_frame(1, {.table = "t", .tablet_id = left.id.value()}));
  const auto ask = [&](const wire::ReadIndexShape& shape) {
    peer.received.clear();
    peer.send(wire::request_frame(Op::ReadIndex, 6, wire::read_index_body("", "i", shape),
                                  FrameKind::request, 0, 1));
    auto end = peer.answer(6);
    return end ? end->code() : Errc::unknown;
  };
  EXPECT_EQ(ask({}), Errc::aborted);
  EXPECT_EQ(ask({.keys = {row(0), row(2)}}), Errc::ok);
  EXPECT_EQ(complete_rows(), (Cells{row(0), row(2)}));
}

// The client's map is stale: the answer names the tablet that has the rows now.
TEST_F(IndexStreamTest, AStreamThatNamesATabletEndsWithAHintWhenItIsReplaced) {
  const engine::TabletDescriptor left = tablet_of("a");
  Cells keys;
  for (int i = 0; i < kHits; i += 2) keys.push_back(row(i));
  peer.send(wire::bind_frame(1, {.table = "t", .tablet_id = left.id.value()}));
  peer.send(wire::request_frame(Op::ReadIndex, 5,
                                wire::read_index_body("", "c", {.keys = keys, .credits = 1}),
                                FrameKind::request, 0, 1));
  bed.world().run_for_us(100'000);
  Peer other(bed);
  split(other, "a", "a015");
  credit(64);
  auto end = peer.answer(5);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code(), Errc::aborted);
  const auto* status = end->root<fb::Status>();
  EXPECT_NE(status->tablet_id(), 0u);
  EXPECT_NE(status->tablet_id(), left.id.value());
}

// Many tablets on three shards, random writes and reads, tablets that split, move and merge between
// them; every read is compared with what was written.
TEST(IndexReads, FindWhatWasWritten) {
  for (const uint64_t seed : test_seeds(3)) {
    Random random(seed);
    IndexBed bed(3);
    std::vector<std::string> splits;
    for (char c = 'b'; c <= 'y'; ++c) splits.emplace_back(1, c);
    bed.create_table(splits);
    bed.create_index("i");
    std::map<std::string, std::string> values;  // by row
    for (int turn = 0; turn < 150; ++turn) {
      const std::string row = {static_cast<char>('a' + random.below(26)),
                               static_cast<char>('a' + random.below(3))};
      const std::string value(1, static_cast<char>('0' + random.below(8)));
      bed.set(row, value, 1000);
      values[row] = value;
      if (random.one_in(10)) bed.change_tablets(random, row);
      if (random.one_in(4)) continue;
      wire::ReadIndexShape shape{.reversed = random.one_in(2)};
      if (random.one_in(2)) shape.value = value;
      if (random.one_in(3)) shape.limit = static_cast<int64_t>(1 + random.below(9));
      std::vector<std::pair<std::string, std::string>> found;
      for (const auto& [key, held] : values) {
        if (!shape.value || held == *shape.value) found.emplace_back(held, key);
      }
      std::ranges::sort(found);
      if (shape.reversed) std::ranges::reverse(found);
      if (shape.limit) found.resize(std::min<size_t>(found.size(), *shape.limit));
      Cells wanted;
      for (const auto& [held, key] : found) {
        wanted.push_back(fmt::format("{} f:q@1000={}", key, held));
      }
      ASSERT_EQ(bed.read(shape), wanted) << "seed " << seed << " turn " << turn;
    }
    EXPECT_EQ(bed.held_bytes(), 0u);
  }
}

}  // namespace
}  // namespace cellar::server
