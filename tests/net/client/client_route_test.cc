// Routing: tablet map, connections of every shard, stale maps, order while the map changes.
#include <map>
#include <set>

#include "net/client/connections/tablet_map.h"
#include "tests/net/client/client_bed.h"

namespace cellar::client {
namespace {

TEST(TabletMapTest, LocatesAndIsCorrected) {
  TabletMap map;
  EXPECT_FALSE(map.known());
  map.assign({{1, 10, "", "g", 0}, {2, 20, "g", "p", 1}, {3, 30, "p", "", 2}});
  EXPECT_EQ(map.locate("a").tablet_id, 1u);
  EXPECT_EQ(map.locate("g").tablet_id, 2u);
  EXPECT_EQ(map.locate("ozzz").tablet_id, 2u);
  EXPECT_EQ(map.locate("zz").shard, 2u);
  // The tablet has moved.
  EXPECT_FALSE(map.correct("h", {TableId{1}, TabletId{2}, Epoch{21}, 3, {}}));
  EXPECT_EQ(map.locate("h").shard, 3u);
  EXPECT_EQ(map.locate("h").epoch, 21u);
  // The node reports it, and that it is gone.
  EXPECT_FALSE(map.learn({"t", 2, 20, 1})) << "older than the map";
  EXPECT_TRUE(map.learn({"t", 2, 22, 1}));
  EXPECT_FALSE(map.learn({"t", 2, 22, 1}));
  EXPECT_EQ(map.locate("h").shard, 1u);
  EXPECT_EQ(map.locate("h").epoch, 22u);
  EXPECT_TRUE(map.learn({"t", 2, 0, 0}));
  EXPECT_FALSE(map.learn({"t", 2, 0, 0}));
  EXPECT_FALSE(map.learn({"t", 0, 0, 0}));
  EXPECT_FALSE(map.learn({"t", 77, 5, 0}));
  EXPECT_EQ(map.locate("h").tablet_id, 0u);
  EXPECT_EQ(map.locate("h").shard, 1u);
  // The tablet was split: the row lies in one that the map does not have.
  EXPECT_TRUE(map.correct("z", {TableId{1}, TabletId{9}, Epoch{1}, 1, {}}));
  EXPECT_EQ(map.locate("z").tablet_id, 0u);
  EXPECT_EQ(map.locate("z").epoch, 0u);
}

// A node of four shards whose tablets the test moves.
class RouteTest : public ClientBed {
 protected:
  struct Tablet {
    uint64_t id, epoch;
    std::string start, end;
    uint32_t shard;
  };

  RouteTest() {
    server_.shards = 4;
    for (uint32_t i = 0; i < 4; ++i) {
      const std::string start = i == 0 ? "" : fmt::format("{}", i * 2);
      const std::string end = i == 3 ? "" : fmt::format("{}", i * 2 + 2);
      tablets_.push_back({i + 1, 1, start, end, i});
    }
    server_.script = [this](const Received& r) { return serve(r); };
  }
  const Tablet& tablet_of(Bytes row) const {
    for (const Tablet& tablet : tablets_) {
      if (tablet.end.empty() || row < tablet.end) return tablet;
    }
    return tablets_.back();
  }
  std::string describe(const Received& r) {
    ++describes_;
    flatbuffers::FlatBufferBuilder b;
    std::string arena;
    std::vector<fb::TabletRec> records;
    for (const Tablet& t : tablets_) {
      const fb::Span start(static_cast<uint32_t>(arena.size()),
                           static_cast<uint32_t>(t.start.size()));
      arena += t.start;
      const fb::Span end(static_cast<uint32_t>(arena.size()), static_cast<uint32_t>(t.end.size()));
      arena += t.end;
      records.emplace_back(t.id, t.epoch, start, end, t.shard, 0u);
    }
    const auto name = b.CreateString("t");
    const auto tablets = b.CreateVectorOfStructs(records);
    const auto bytes = b.CreateVector(reinterpret_cast<const uint8_t*>(arena.data()), arena.size());
    fb::TableDescriptionBuilder out(b);
    out.add_name(name);
    out.add_table_id(7);
    out.add_tablets(tablets);
    out.add_arena(bytes);
    return frame(wire::FrameKind::reply, r.header, wire::finish_body(b, out.Finish()));
  }
  std::string serve(const Received& r) {
    if (r.header.op == static_cast<uint16_t>(fb::Op::DescribeTable)) return describe(r);
    const Tablet& tablet = tablet_of(written_row(r));
    const bool stale = (r.header.tablet_id != 0 && r.header.tablet_id != tablet.id) ||
                       (r.header.epoch != 0 && r.header.epoch != tablet.epoch);
    if (stale) {
      ++stale_;
      flatbuffers::FlatBufferBuilder b;
      const wire::TabletHint hint{
          TableId{7}, TabletId{tablet.id}, Epoch{tablet.epoch}, tablet.shard, {}};
      Error error(Errc::aborted, "stale");
      error.retry_after_ms = 0;
      return frame(wire::FrameKind::reply, r.header, wire::build_status(b, error, &hint),
                   wire::kFrameError);
    }
    (server_.shard_of.at(r.connection) == tablet.shard ? direct_ : forwarded_) += 1;
    return mutate_reply(r);
  }
  void write_rows(int n) {
    std::vector<std::shared_ptr<Outcome>> outcomes;
    for (int i = 0; i < n; ++i) {
      outcomes.push_back(write(fmt::format("{}row{}", i % 8, i)));
      if (i % 10 == 0) settle(5'000);
    }
    settle(3'000'000);
    for (const auto& outcome : outcomes) {
      ASSERT_TRUE(outcome->has_value());
      EXPECT_TRUE((*outcome)->has_value()) << (*outcome)->error().to_string();
    }
  }

  std::vector<Tablet> tablets_;
  int describes_ = 0, stale_ = 0, direct_ = 0, forwarded_ = 0;
};

TEST_F(RouteTest, EveryShardGetsAConnectionAndItsRows) {
  client(ClientOptions());
  write_rows(100);
  EXPECT_EQ(describes_, 1);
  EXPECT_EQ(server_.connections, 4u);
  direct_ = forwarded_ = 0;
  write_rows(200);
  EXPECT_EQ(direct_, 200);
  EXPECT_EQ(forwarded_, 0);
  EXPECT_GE(client_->stats().routed, 200u);
}

TEST_F(RouteTest, AFewRequestsDoNotPayForAMap) {
  client(ClientOptions());
  write_rows(static_cast<int>(Dispatcher::kRouteAfter));
  EXPECT_EQ(describes_, 0);
  EXPECT_EQ(server_.connections, 1u);
}

TEST_F(RouteTest, WithoutRoutingNothingIsAskedAndNothingNamed) {
  ClientOptions options;
  options.route_by_shard = false;
  client(options);
  write_rows(200);
  EXPECT_EQ(describes_, 0);
  for (const Received& r : server_.requests) EXPECT_EQ(r.header.tablet_id, 0u);
}

TEST_F(RouteTest, AMovedTabletIsFollowedByItsHint) {
  client(ClientOptions());
  write_rows(100);
  tablets_[1].shard = 3;
  tablets_[1].epoch = 2;
  write_rows(100);
  EXPECT_GT(stale_, 0);
  EXPECT_LT(stale_, 20) << "what one request learns, the next ones know";
  EXPECT_EQ(describes_, 1) << "the hint says all";
  direct_ = forwarded_ = 0;
  write_rows(100);
  EXPECT_EQ(forwarded_, 0);
}

TEST_F(RouteTest, ASplitTabletMakesTheMapBeFetchedAgain) {
  client(ClientOptions());
  write_rows(100);
  tablets_[0] = {1, 2, "", "1", 0};
  tablets_.insert(tablets_.begin() + 1, {9, 1, "1", "2", 2});
  write_rows(100);
  EXPECT_GE(describes_, 2);
  EXPECT_LE(describes_, 3);
  direct_ = forwarded_ = stale_ = 0;
  write_rows(100);
  EXPECT_EQ(stale_, 0);
  EXPECT_EQ(forwarded_, 0);
}

TEST_F(RouteTest, AMapThatNeverSettlesIsNotFollowedForEver) {
  ClientOptions options;
  options.retry.max_attempts = 3;
  client(options);
  write_rows(100);
  server_.script = [this](const Received& r) {
    if (r.header.op == static_cast<uint16_t>(fb::Op::DescribeTable)) return describe(r);
    flatbuffers::FlatBufferBuilder b;
    const wire::TabletHint hint{TableId{7}, TabletId{++stale_ + 100u}, Epoch{1}, 1, {}};
    Error error(Errc::aborted, "stale");
    error.retry_after_ms = 0;
    return frame(wire::FrameKind::reply, r.header, wire::build_status(b, error, &hint),
                 wire::kFrameError);
  };
  server_.requests.clear();
  const auto outcome = write("row");
  settle(20'000'000);
  ASSERT_TRUE(*outcome && !**outcome);
  EXPECT_EQ((*outcome)->error().code, Errc::aborted);
  EXPECT_LE(server_.requests.size(), 12u);
}

TEST_F(RouteTest, WithFewerConnectionsThanShardsItWorksByForwarding) {
  server_.shards = 1;
  client(ClientOptions());
  (void)write("a");
  settle(1'000'000);
  // Every new connection claims to be on a shard that has one already.
  client_.reset();
  settle(1'000'000);
  tablets_[0].shard = 0;
  server_.shards = 4;
  ClientOptions options;
  options.connections = 1;
  client(options);
  fabric_.faults() = LinkFaults();
  write_rows(50);
  fabric_.faults().refuse = true;  // probes fail
  write_rows(200);
  fabric_.faults().refuse = false;
  EXPECT_GT(direct_ + forwarded_, 200);
}

TEST_F(RouteTest, ALostConnectionOfAShardIsMadeAgain) {
  client(ClientOptions());
  write_rows(100);
  server_.cut();
  settle(1'000'000);
  write_rows(100);
  direct_ = forwarded_ = 0;
  write_rows(100);
  EXPECT_EQ(direct_, 100);
}

TEST_F(RouteTest, ANodeThatLetsChooseGetsOneConnectionForEachShard) {
  server_.features = {"shard_choice"};
  server_.shards = 24;  // drawn at random, they would take some ninety connections
  for (uint32_t i = 0; i < 4; ++i) tablets_[i].shard = 5 * i + 3;
  client(ClientOptions());
  write_rows(100);
  EXPECT_EQ(server_.connections, 24u);
  direct_ = forwarded_ = 0;
  write_rows(200);
  EXPECT_EQ(direct_, 200);
  server_.cut();
  settle(1'000'000);
  write_rows(100);
  EXPECT_LE(server_.connections, 48u);
  direct_ = forwarded_ = 0;
  write_rows(100);
  EXPECT_EQ(direct_, 100);
}

TEST_F(RouteTest, ANodeThatObeysNoChoiceIsUsedByForwarding) {
  server_.features = {"shard_choice"};
  server_.says_shard = 0;
  client(ClientOptions());
  write_rows(300);
  EXPECT_GE(direct_, 70);
  EXPECT_LE(server_.connections, 1 + ConnectionPool::kProbesPerShard * server_.shards);
}

class StaleRouteTest : public RouteTest {
 protected:
  void SetUp() override {
    client(ClientOptions());
    write_rows(100);
    for (const Received& r : server_.requests) {
      if (r.header.tablet_id == 2) named_ = r;
    }
    ASSERT_TRUE(named_);
  }
  // On the connection that named tablet 2.
  void tell(uint32_t handle, uint64_t epoch, uint32_t shard) {
    flatbuffers::FlatBufferBuilder b;
    tell_body(handle, wire::finish_body(b, fb::CreateStale(b, epoch, shard)));
  }
  void tell_body(uint32_t handle, Bytes body) {
    wire::FrameHeader header;
    header.kind = wire::FrameKind::stale;
    header.handle = handle;
    header.body_bytes = static_cast<uint32_t>(body.size());
    std::string bytes;
    wire::append_header(bytes, header);
    server_.send_on(named_->connection, bytes + std::string(body));
    settle(1'000'000);
  }
  uint32_t handle() const { return named_->header.handle; }

  std::optional<Received> named_;
};

TEST_F(StaleRouteTest, AMovedTabletIsFollowedBeforeARequestIsRefused) {
  tablets_[1].shard = 3;
  tablets_[1].epoch = 2;
  tell(handle(), 2, 3);
  tell(handle(), 2, 3);
  tell(handle(), 1, 0);
  tell(1000, 5, 0);
  direct_ = forwarded_ = 0;
  write_rows(100);
  EXPECT_EQ(direct_, 100);
  EXPECT_EQ(stale_, 0);
  EXPECT_EQ(describes_, 1) << "the news says all";
  EXPECT_EQ(client_->stats().stale, 1u);
}

TEST_F(StaleRouteTest, ATabletThatIsGoneMakesTheNextRequestFetchTheMap) {
  tablets_[1] = {8, 1, "2", "3", 1};
  tablets_.insert(tablets_.begin() + 2, {9, 1, "3", "4", 0});
  tell_body(handle(), Bytes());
  EXPECT_EQ(describes_, 1) << "nothing is fetched for a client that does nothing";
  write_rows(100);
  EXPECT_EQ(describes_, 2);
  EXPECT_EQ(stale_, 0);
  direct_ = forwarded_ = 0;
  write_rows(100);
  EXPECT_EQ(direct_, 100);
}

TEST_F(StaleRouteTest, NewsThatCannotBeReadEndsTheConnection) {
  tell_body(handle(), Bytes("12345678"));
  EXPECT_GE(client_->stats().lost, 1u);
  write_rows(100);
}

// Writes of one row are never on two connections at once, whatever the map and the connections do.
TEST_F(RouteTest, ARowKeepsToOneConnectionWhileItsWritesAreUnderWay) {
  std::map<std::string, std::multiset<size_t>> under_way;
  std::vector<Received> held;
  server_.script = [&](const Received& r) -> std::string {
    if (r.header.op == static_cast<uint16_t>(fb::Op::DescribeTable)) return describe(r);
    auto& on = under_way[written_row(r)];
    on.insert(r.connection);
    EXPECT_EQ(on.count(r.connection), on.size()) << written_row(r);
    held.push_back(r);
    return {};
  };
  client(ClientOptions());
  Random random(3);
  std::vector<std::shared_ptr<Outcome>> outcomes;
  std::set<size_t> connections;
  for (int i = 0; i < 2000; ++i) {
    outcomes.push_back(write(fmt::format("{}row", random.below(8))));
    if (random.one_in(3)) settle(300);
    while (held.size() > 20) {
      const size_t at = random.below(held.size());
      const Received r = held[at];
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(at));
      connections.insert(r.connection);
      auto& on = under_way[written_row(r)];
      on.erase(on.find(r.connection));
      server_.send_on(r.connection, mutate_reply(r));
    }
  }
  while (!held.empty()) {
    const Received r = held.back();
    held.pop_back();
    auto& on = under_way[written_row(r)];
    on.erase(on.find(r.connection));
    server_.send_on(r.connection, mutate_reply(r));
    settle(1'000);
  }
  for (const auto& outcome : outcomes) EXPECT_TRUE(*outcome && **outcome);
  EXPECT_GT(connections.size(), 1u);
}

}  // namespace
}  // namespace cellar::client
