// Requests while tablets split, merge and move: each write is applied once, in the order sent on
// its connection; scans are complete, without repeated rows; stale routes are corrected.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/net/server/server_bed.h"
#include "tests/support/seeds.h"

namespace cellar::server {
namespace {

namespace fb = wire::fb;
using engine::TabletDescriptor;
using fb::Op;

constexpr uint32_t kShards = 3;

std::string merge_body(uint64_t left, uint64_t right) {
  flatbuffers::FlatBufferBuilder builder;
  return std::string(
      wire::finish_body(builder, fb::CreateMergeTabletsRequest(builder, 0, left, right)));
}

// A write to a row: a cell of its own, and its number in a cell that the next write replaces.
struct RowWrite {
  std::string row;
  uint64_t number = 0;
  std::string qualifier() const { return fmt::format("{:05}", number); }
};

std::vector<fb::MutationRec> recs_of(const RowWrite& write, wire::ArenaText& arena) {
  return {wire::set_rec(arena, "f", write.qualifier(), "v", 1000),
          wire::set_rec(arena, "f", "last", write.qualifier(), 1000)};
}

std::string batch_body(const std::vector<RowWrite>& rows) {
  flatbuffers::FlatBufferBuilder builder;
  wire::ArenaText arena;
  std::vector<fb::EntryRec> entries;
  std::vector<fb::MutationRec> recs;
  for (const RowWrite& write : rows) {
    entries.emplace_back(arena.put(write.row), fb::Span(0, 0), 0, 2, 0);
    for (const auto& rec : recs_of(write, arena)) recs.push_back(rec);
  }
  const auto name = builder.CreateString("t");
  const auto entry_list = builder.CreateVectorOfStructs(entries);
  const auto list = builder.CreateVectorOfStructs(recs);
  const auto bytes = wire::bytes_vector(builder, arena.bytes);
  return std::string(wire::finish_body(
      builder, fb::CreateMutateRowsRequest(builder, name, entry_list, list, bytes)));
}

// A connection that writes its own rows and knows their final contents.
class Writer {
 public:
  Writer(ServerBed& bed, char letter, Random& random)
      : bed_(bed),
        peer_(bed, true, wire::hello_as(std::string(1, letter))),
        letter_(letter),
        random_(random) {}

  // A few requests at once: rows, batches, sometimes a delete of all its rows.
  void send_some() {
    for (uint64_t n = random_.below(10); n > 0; --n) {
      if (random_.one_in(25)) {
        send(Op::DropRowRange, drop_body());
        holds_.clear();
      } else if (random_.one_in(3)) {
        std::vector<RowWrite> rows;
        for (int i = 0; i < 5; ++i) rows.push_back(next());
        send(Op::MutateRows, batch_body(rows));
      } else {
        const RowWrite write = next();
        wire::ArenaText arena;
        const auto recs = recs_of(write, arena);
        send(Op::MutateRow, wire::mutate_row_body("t", write.row, std::move(arena), recs));
      }
    }
  }
  // Waits for the answers; none may be an error.
  void settle() {
    for (const uint64_t id : waiting_) {
      auto answer = peer_.answer(id);
      ASSERT_TRUE(answer) << "request " << id << " is lost";
      EXPECT_EQ(answer->code(), Errc::ok) << answer->message();
      if (answer->header.op == static_cast<uint16_t>(Op::MutateRows) && !answer->body.empty()) {
        const auto* reply = answer->root<fb::MutateRowsReply>();
        ASSERT_NE(reply, nullptr);
        EXPECT_EQ(reply->failures() == nullptr ? 0u : reply->failures()->size(), 0u);
      }
    }
    waiting_.clear();
    EXPECT_TRUE(peer_.received.empty()) << "an answer too many";
  }
  // "row f:qualifier@1000=v", and for each row the number of its last write.
  void add_cells(std::set<std::string>& cells) const {
    for (const auto& [row, writes] : holds_) {
      for (const std::string& one : writes) cells.insert(fmt::format("{} f:{}@1000=v", row, one));
      cells.insert(fmt::format("{} f:last@1000={}", row, writes.back()));
    }
  }

 private:
  RowWrite next() {
    RowWrite write{fmt::format("{}{:02}", letter_, random_.below(20)), ++count_};
    holds_[write.row].push_back(write.qualifier());
    return write;
  }
  void send(Op op, const std::string& body) {
    peer_.send(wire::request_frame(op, ++last_id_, body));
    waiting_.push_back(last_id_);
  }
  // Some drops have a token, and therefore two steps.
  std::string drop_body() {
    const std::string token = random_.one_in(3) ? "" : fmt::format("drop{}", last_id_);
    return wire::drop_rows_body("t", std::string(1, letter_), token,
                                bed_.shard(0).clock().now_us());
  }

  ServerBed& bed_;
  Peer peer_;
  const char letter_;
  Random& random_;
  uint64_t last_id_ = 100;
  uint64_t count_ = 0;
  std::vector<uint64_t> waiting_;
  std::map<std::string, std::vector<std::string>> holds_;  // by row, the writes in order
};

class Reshaper {
 public:
  Reshaper(ServerBed& bed, Random& random) : bed_(bed), peer_(bed), random_(random) {}

  // One change of the current tablets; does not wait.
  void send_one() {
    const auto* table = bed_.node().tables(ShardId{0}).find(Bytes("t"));
    const auto& tablets = table->tablets;
    const size_t i = random_.below(tablets.size());
    const uint64_t id = tablets[i].id.value();
    const uint64_t kind = random_.below(3);
    if (kind == 0 && tablets.size() < 12) {
      const std::string row =
          fmt::format("{}{:02}", static_cast<char>('a' + random_.below(4)), random_.below(20));
      const uint64_t owner = table->locate(row).id.value();
      send(Op::SplitTablet, wire::split_body(owner, row));
    } else if (kind == 1 && i + 1 < tablets.size()) {
      send(Op::MergeTablets, merge_body(id, tablets[i + 1].id.value()));
    } else {
      send(Op::MoveTablet, wire::move_body(id, static_cast<uint32_t>(random_.below(kShards))));
    }
  }
  // The number of changes that were made.
  int settle() {
    int done = 0;
    for (const uint64_t id : waiting_) {
      auto answer = peer_.answer(id);
      EXPECT_TRUE(answer);
      if (!answer) continue;
      const Errc code = answer->code();
      done += code == Errc::ok;
      // Another change came first.
      const std::set<Errc> late = {Errc::ok, Errc::out_of_range, Errc::not_found,
                                   Errc::invalid_argument, Errc::aborted};
      EXPECT_TRUE(late.contains(code)) << answer->message();
    }
    waiting_.clear();
    return done;
  }

 private:
  void send(Op op, const std::string& body) {
    peer_.send(wire::request_frame(op, ++last_id_, body));
    waiting_.push_back(last_id_);
  }

  ServerBed& bed_;
  Peer peer_;
  Random& random_;
  uint64_t last_id_ = 100;
  std::vector<uint64_t> waiting_;
};

TEST(Reshape, EachWriteOnceInOrderAndScansComplete) {
  int done = 0;
  for (const uint64_t seed : test_seeds(4)) {
    SCOPED_TRACE(fmt::format("CELLAR_SEED={}", seed));
    Random random(seed);
    ServerBed bed(kShards, ServerOptions(), seed);
    Peer reader(bed);
    ASSERT_EQ(reader.code_of(Op::CreateTable, wire::create_table_body("t", {"f"}, {"b10"})),
              Errc::ok);
    std::vector<std::unique_ptr<Writer>> writers;
    for (char letter : {'a', 'b', 'c', 'd'}) {
      writers.push_back(std::make_unique<Writer>(bed, letter, random));
    }
    Reshaper reshaper(bed, random);
    for (int step = 0; step < 40; ++step) {
      for (auto& writer : writers) writer->send_some();
      reshaper.send_one();
      bed.world().run_for_us(static_cast<int64_t>(random.below(4000)));
      for (auto& writer : writers) writer->send_some();
      if (step % 8 != 7) continue;

      // Everything acknowledged before a scan begins is in it, whatever happens meanwhile.
      for (auto& writer : writers) ASSERT_NO_FATAL_FAILURE(writer->settle());
      std::set<std::string> cells;
      for (auto& writer : writers) writer->add_cells(cells);
      for (int i = 0; i < 3; ++i) reshaper.send_one();
      for (const bool reversed : {false, true}) {
        std::vector<std::string> got = read_all(reader, "t", {.reversed = reversed});
        const std::set<std::string> sorted(got.begin(), got.end());
        EXPECT_EQ(sorted.size(), got.size()) << "a cell twice";
        EXPECT_EQ(sorted, cells) << "step " << step;
      }
    }
    done += reshaper.settle();
    for (auto& writer : writers) ASSERT_NO_FATAL_FAILURE(writer->settle());
  }
  EXPECT_GT(done, 40) << "changes that were carried out";
}

// ---- one route after the other

std::string routed_frame(Op op, uint64_t id, std::string_view body, TabletId tablet, Epoch epoch) {
  const std::string bind =
      wire::bind_frame(1, {.table = "t", .tablet_id = tablet.value(), .epoch = epoch.value()});
  return bind + wire::request_frame(op, id, body, wire::FrameKind::request, 0, 1);
}

class Routes : public testing::Test {
 protected:
  Routes() {
    CHECK(peer.code_of(Op::CreateTable, wire::create_table_body("t", {"f"})) == Errc::ok);
    CHECK(peer.code_of(Op::MutateRow, wire::set_body("t", "k", "f", "q", "v", 1000)) == Errc::ok);
  }
  TabletDescriptor holder(std::string_view row) {
    return bed.node().tables(ShardId{0}).find(Bytes("t"))->locate(row);
  }
  // The error of a request that names the tablet `was`; its hint must name the present tablet.
  void expect_corrected(const TabletDescriptor& was) {
    const TabletDescriptor is = holder("k");
    for (const Op op : {Op::MutateRow, Op::ReadRow, Op::ReadRows}) {
      const std::string body = op == Op::MutateRow ? wire::set_body("t", "k", "f", "q", "w", 1000)
                               : op == Op::ReadRow ? wire::read_row_body("t", "k")
                                                   : wire::read_rows_body("t", {{{"k", "l"}}});
      peer.send(routed_frame(op, ++id, body, was.id, was.epoch));
      auto refused = peer.answer(id);
      ASSERT_TRUE(refused);
      ASSERT_EQ(refused->code(), Errc::aborted);
      const auto* status = refused->root<fb::Status>();
      EXPECT_EQ(status->tablet_id(), is.id.value());
      EXPECT_EQ(status->epoch(), is.epoch.value());
      EXPECT_EQ(status->shard(), is.shard.value());
      EXPECT_EQ(status->applied(), fb::Applied::NotApplied);
      peer.send(routed_frame(op, ++id, body, is.id, is.epoch));
      auto taken = peer.answer(id);
      ASSERT_TRUE(taken);
      EXPECT_EQ(taken->code(), Errc::ok) << taken->message();
    }
    peer.received.clear();
  }

  ServerBed bed{kShards};
  Peer peer{bed};
  uint64_t id = 10;
};

TEST_F(Routes, AStaleOneIsCorrectedAfterEveryKindOfChange) {
  TabletDescriptor was = holder("k");
  ASSERT_EQ(peer.code_of(Op::MoveTablet, wire::move_body(was.id.value(), 2)), Errc::ok);
  EXPECT_EQ(holder("k").shard, ShardId{2});
  expect_corrected(was);
  was = holder("k");
  ASSERT_EQ(peer.code_of(Op::SplitTablet, wire::split_body(was.id.value(), "g")), Errc::ok);
  expect_corrected(was);
  was = holder("k");
  const TabletDescriptor left = holder("a");
  ASSERT_EQ(peer.code_of(Op::MergeTablets, merge_body(left.id.value(), was.id.value())), Errc::ok);
  expect_corrected(was);
  EXPECT_EQ(read_all(peer, "t"), std::vector<std::string>{"k f:q@1000=w"});
}

TEST_F(Routes, RefusalsOfChangesNameWhatIsWrong) {
  const uint64_t tablet = holder("k").id.value();
  EXPECT_EQ(peer.code_of(Op::SplitTablet, wire::split_body(0, "")), Errc::invalid_argument);
  EXPECT_EQ(peer.code_of(Op::SplitTablet, wire::split_body(0, "k")), Errc::invalid_argument);
  EXPECT_EQ(peer.code_of(Op::SplitTablet, wire::split_body(tablet, std::string(5000, 'k'))),
            Errc::invalid_argument);
  EXPECT_EQ(peer.code_of(Op::SplitTablet, wire::split_body(999, "k")), Errc::not_found);
  EXPECT_EQ(peer.code_of(Op::MergeTablets, merge_body(tablet, 0)), Errc::invalid_argument);
  EXPECT_EQ(peer.code_of(Op::MergeTablets, merge_body(tablet, 999)), Errc::not_found);
  EXPECT_EQ(peer.code_of(Op::MoveTablet, wire::move_body(tablet, kShards)), Errc::invalid_argument);
  EXPECT_EQ(peer.code_of(Op::MoveTablet, wire::move_body(999, 0)), Errc::not_found);
}

// A long read that began in one tablet continues while the tablet is split, moved and merged.
TEST_F(Routes, AStreamOutlivesItsTablets) {
  const std::string value(30 * 1024, 'v');
  for (int i = 0; i < 40; ++i) {
    const std::string row = fmt::format("r{:02}", i);
    ASSERT_EQ(peer.code_of(Op::MutateRow, wire::set_body("t", row, "f", "q", value, 1000)),
              Errc::ok);
  }
  Peer reader(bed);
  for (const bool reversed : {false, true}) {
    reader.received.clear();
    reader.send(wire::request_frame(
        Op::ReadRows, 5, wire::read_rows_body("t", {.reversed = reversed, .credits = 1})));
    bed.world().run_for_us(2'000'000);  // the stream waits, and its cursor is released
    const std::string cut = reversed ? "r31" : "r11";
    ASSERT_EQ(peer.code_of(Op::SplitTablet, wire::split_body(holder(cut).id.value(), cut)),
              Errc::ok);
    const TabletDescriptor one = holder("r39");
    ASSERT_EQ(peer.code_of(Op::MoveTablet,
                           wire::move_body(one.id.value(), (one.shard.value() + 1) % kShards)),
              Errc::ok);
    flatbuffers::FlatBufferBuilder builder;
    const auto body = wire::finish_body(builder, fb::CreateCredit(builder, 64));
    reader.send(wire::request_frame(Op::ReadRows, 5, body, wire::FrameKind::credit));
    auto end = reader.answer(5);
    ASSERT_TRUE(end);
    EXPECT_EQ(end->code(), Errc::ok) << end->message();
    std::vector<std::string> rows;
    for (Answer& chunk : reader.received) {
      for (const std::string& cell : cells_of(chunk)) rows.push_back(cell.substr(0, 3));
    }
    ASSERT_EQ(rows.size(), 41u);
    if (reversed) std::reverse(rows.begin(), rows.end());
    EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
    EXPECT_EQ(std::set<std::string>(rows.begin(), rows.end()).size(), 41u);
  }
}

// The list in pages equals the list at once.
TEST_F(Routes, TabletsAreListedInPages) {
  for (const char* row : {"c", "m", "x"}) {
    ASSERT_EQ(peer.code_of(Op::SplitTablet, wire::split_body(holder(row).id.value(), row)),
              Errc::ok);
  }
  std::vector<std::string> starts;
  uint64_t next_table = 0;
  std::string next_row;
  do {
    flatbuffers::FlatBufferBuilder builder;
    const auto name = builder.CreateString("t");
    const auto from = wire::bytes_vector(builder, next_row);
    auto answer =
        peer.ask(Op::ListTablets,
                 std::string(wire::finish_body(
                     builder, fb::CreateListTabletsRequest(builder, name, next_table, from, 3))));
    ASSERT_TRUE(answer);
    ASSERT_EQ(answer->code(), Errc::ok) << answer->message();
    const auto* page = answer->root<fb::ListTabletsReply>();
    ASSERT_NE(page, nullptr);
    ASSERT_LE(page->tablets()->size(), 3u);
    const Bytes arena = wire::bytes_of(page->arena());
    for (const auto* one : *page->tablets()) {
      starts.emplace_back(arena.substr(one->start().at(), one->start().size()));
    }
    EXPECT_EQ(wire::text(page->tables()->Get(0)->name()), "t");
    next_table = page->next_table();
    next_row = arena.substr(page->next_row()->at(), page->next_row()->size());
  } while (next_table != 0);
  EXPECT_EQ(starts, (std::vector<std::string>{"", "c", "m", "x"}));
}

}  // namespace
}  // namespace cellar::server
