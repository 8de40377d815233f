// Handles whose tablet is no longer what the client knows: told to the clients that ask for it.
#include <gtest/gtest.h>

#include "tests/net/server/server_bed.h"

namespace cellar::server {
namespace {

namespace fb = wire::fb;
using engine::TabletDescriptor;
using fb::Op;

constexpr uint32_t kTwoShards = 2;

class Stale : public testing::Test {
 protected:
  Stale() {
    CHECK(admin.code_of(Op::CreateTable, wire::create_table_body("t", {"f"}, {"m"})) == Errc::ok);
  }
  TabletDescriptor holder(std::string_view row) {
    return bed.node().tables(ShardId{0}).find(Bytes("t"))->locate(row);
  }
  static std::string bind(uint32_t handle, const TabletDescriptor& tablet) {
    return wire::bind_frame(
        handle, {.table = "t", .tablet_id = tablet.id.value(), .epoch = tablet.epoch.value()});
  }
  void move(std::string_view row) {
    const TabletDescriptor tablet = holder(row);
    const uint32_t to = (tablet.shard.value() + 1) % kTwoShards;
    ASSERT_EQ(admin.code_of(Op::MoveTablet, wire::move_body(tablet.id.value(), to)), Errc::ok);
  }
  // The handles told so far, and nothing else; `last` is what the last one was told.
  std::vector<uint32_t> told(Peer& peer) {
    bed.world().run_for_us(100'000);
    std::vector<uint32_t> handles;
    for (Answer& frame : peer.received) {
      EXPECT_EQ(frame.header.kind, wire::FrameKind::stale);
      const auto* now = frame.root<fb::Stale>();
      EXPECT_NE(now, nullptr);
      if (now != nullptr) last = {now->epoch(), now->shard()};
      handles.push_back(frame.header.handle);
    }
    peer.received.clear();
    return handles;
  }
  using Handles = std::vector<uint32_t>;

  // Whether the last news is where the row's tablet is.
  bool tells_holder(std::string_view row) {
    const TabletDescriptor is = holder(row);
    return last.epoch == is.epoch.value() && last.shard == is.shard.value();
  }

  ServerBed bed{kTwoShards};
  Peer admin{bed};
  TabletPlaces::Place last;
};

TEST_F(Stale, AHandleIsToldOnceForEachChangeOfItsTablet) {
  for (uint32_t shard = 0; shard < kTwoShards; ++shard) {
    Peer peer(bed, true, wire::hello_to(shard, true));
    peer.send(bind(1, holder("a")) + bind(2, holder("z")) + wire::bind_frame(3, {.table = "t"}));
    EXPECT_EQ(told(peer), Handles());
    for (int round = 0; round < 3; ++round) {
      move("a");
      EXPECT_EQ(told(peer), Handles{1});
      EXPECT_TRUE(tells_holder("a"));
      EXPECT_EQ(told(peer), Handles()) << "it was told";
    }
    peer.send(bind(1, holder("a")));
    EXPECT_EQ(told(peer), Handles());
    const std::string cut = fmt::format("t{}", shard);
    ASSERT_EQ(admin.code_of(Op::SplitTablet, wire::split_body(holder("z").id.value(), cut)),
              Errc::ok);
    EXPECT_EQ(told(peer), Handles{2});
    EXPECT_EQ(last.epoch, 0u) << "it is no more";
    move("z");
    EXPECT_EQ(told(peer), Handles());
    move("a");
    EXPECT_EQ(told(peer), Handles{1});
  }
}

TEST_F(Stale, AnEpochThatIsNotNamedCannotBeStale) {
  Peer peer(bed, true, wire::hello_to(0, true));
  peer.send(wire::bind_frame(4, {.table = "t", .tablet_id = holder("a").id.value()}));
  move("a");
  EXPECT_EQ(told(peer), Handles());
  ASSERT_EQ(admin.code_of(Op::SplitTablet, wire::split_body(holder("a").id.value(), "c")),
            Errc::ok);
  EXPECT_EQ(told(peer), Handles{4});
}

TEST_F(Stale, ADroppedTableMakesItsHandlesStale) {
  Peer peer(bed, true, wire::hello_to(0, true));
  peer.send(bind(7, holder("a")));
  ASSERT_EQ(admin.code_of(Op::CreateTable, wire::create_table_body("other", {"f"})), Errc::ok);
  EXPECT_EQ(told(peer), Handles()) << "changes of other tables are no news";
  ASSERT_EQ(admin.code_of(Op::DropTable, wire::table_body("t", fb::CreateDropTableRequest)),
            Errc::ok);
  EXPECT_EQ(told(peer), Handles{7});
  EXPECT_EQ(last.epoch, 0u);
}

TEST_F(Stale, AClientThatDoesNotAskIsNotTold) {
  Peer peer(bed, true, wire::hello_to(0, false));
  peer.send(bind(1, holder("a")));
  move("a");
  EXPECT_EQ(told(peer), Handles());
}

TEST_F(Stale, ManyHandlesAreToldInTurns) {
  static_assert(wire::kMaxHandles * 8 > 2 * StaleNews::kHandlesPerTurn);
  std::vector<std::unique_ptr<Peer>> peers;
  std::string binds;
  for (uint32_t handle = 1; handle <= wire::kMaxHandles; ++handle) {
    binds += bind(handle, holder(handle % 2 == 0 ? "a" : "z"));
  }
  for (int i = 0; i < 8; ++i) {
    peers.push_back(std::make_unique<Peer>(bed, true, wire::hello_to(0, true)));
    peers.back()->send(binds);
  }
  bed.world().run_for_us(1'000'000);
  move("a");
  for (auto& peer : peers) {
    const Handles handles = told(*peer);
    EXPECT_EQ(handles.size(), wire::kMaxHandles / 2);
    for (const uint32_t handle : handles) EXPECT_EQ(handle % 2, 0u);
  }
}

// A listener that counts, without a node.
struct Counted final : StaleListener {
  size_t tell_stale(TabletPlaces&) override {
    ++rounds;
    return 400;
  }
  int rounds = 0;
};

TEST(StaleNews, ATurnEndsAtItsBoundAndANewerMapBeginsAgain) {
  engine::TableMap tables;
  StaleNews news;
  std::vector<Counted> all(10);
  for (Counted& one : all) news.join(one);
  EXPECT_FALSE(news.due());
  news.map_changed();
  news.turn(tables);
  const auto heard = [&] {
    int sum = 0;
    for (const Counted& one : all) sum += one.rounds;
    return sum;
  };
  EXPECT_EQ(heard(), 3) << "1024 handles";
  EXPECT_TRUE(news.due());
  news.map_changed();
  for (int turn = 0; turn < 4; ++turn) {
    EXPECT_TRUE(news.due());
    news.turn(tables);
  }
  EXPECT_FALSE(news.due());
  EXPECT_EQ(heard(), 13);
  for (const Counted& one : all) EXPECT_GE(one.rounds, 1);
}

}  // namespace
}  // namespace cellar::server
