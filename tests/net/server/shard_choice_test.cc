// A hello that names a shard: the connection is handed over to it, whatever it came through.
#include <gtest/gtest.h>

#include "tests/net/server/server_bed.h"

namespace cellar::server {
namespace {

namespace fb = wire::fb;
using fb::Op;

constexpr uint32_t kFourShards = 4;
constexpr uint32_t kAny = UINT32_MAX;

std::string preface() {
  std::string bytes;
  wire::append_preface(bytes, {});
  return bytes;
}
std::string hello_frame(uint32_t shard) {
  return wire::request_frame(Op::Hello, 1, wire::hello_to(shard));
}

class ShardChoice : public testing::Test {
 protected:
  explicit ShardChoice(ServerOptions options = {}) : bed(kFourShards, std::move(options)) {}

  // The shard that the answer to the hello (request 1) tells; empty: no answer.
  static std::optional<uint32_t> shard_of(Peer& peer) {
    auto answer = peer.answer(1);
    if (!answer || answer->error()) return {};
    const auto* reply = answer->root<fb::HelloReply>();
    return reply == nullptr ? std::nullopt : std::optional(reply->shard());
  }
  std::optional<uint32_t> shard_after(const std::string& bytes) {
    Peer peer(bed, false);
    peer.send(bytes);
    return shard_of(peer);
  }
  uint64_t sum(uint64_t ShardServer::Counters::* counter) {
    uint64_t all = 0;
    for (uint32_t i = 0; i < kFourShards; ++i) all += bed.shard(i).counters().*counter;
    return all;
  }
  uint64_t taken_over() { return sum(&ShardServer::Counters::taken_over); }

  ServerBed bed;
};

TEST_F(ShardChoice, TheNamedShardServesTheConnection) {
  for (int round = 0; round < 5; ++round) {
    for (uint32_t shard = 0; shard < kFourShards; ++shard) {
      EXPECT_EQ(shard_after(preface() + hello_frame(shard)), shard);
    }
  }
  EXPECT_GT(taken_over(), 0u);
  EXPECT_EQ(sum(&ShardServer::Counters::accepted), 5 * kFourShards);
  bed.world().run_for_us(1'000'000);
  for (uint32_t i = 0; i < kFourShards; ++i) EXPECT_EQ(bed.shard(i).admission().connections(), 0u);
}

TEST_F(ShardChoice, WhatFollowsTheHelloIsServedThereInOrder) {
  Peer reader(bed);
  ASSERT_EQ(reader.code_of(Op::CreateTable, wire::create_table_body("t", {"f"})), Errc::ok);
  for (uint32_t shard = 0; shard < kFourShards; ++shard) {
    const auto write = [](uint64_t id, const std::string& value) {
      return wire::request_frame(Op::MutateRow, id,
                                 wire::set_body("t", "r", "f", "q", value, 1000));
    };
    Peer peer(bed, false);
    peer.send(preface() + hello_frame(shard) + wire::bind_frame(1, {.table = "t"}) +
              write(2, "old") + write(3, fmt::format("new{}", shard)));
    EXPECT_EQ(shard_of(peer), shard);
    for (const uint64_t id : {2, 3}) {
      auto written = peer.answer(id);
      ASSERT_TRUE(written);
      EXPECT_EQ(written->code(), Errc::ok) << written->message();
    }
    EXPECT_EQ(read_all(reader, "t"),
              std::vector<std::string>{fmt::format("r f:q@1000=new{}", shard)});
  }
}

TEST_F(ShardChoice, ByteByByteIsTheSame) {
  for (uint32_t shard = 0; shard < kFourShards; ++shard) {
    Peer peer(bed, false);
    for (const char byte : preface() + hello_frame(shard)) {
      peer.send(std::string(1, byte));
      bed.world().run_for_us(200);
    }
    EXPECT_EQ(shard_of(peer), shard);
    EXPECT_EQ(peer.code_of(Op::Ping, ""), Errc::ok);
  }
}

TEST_F(ShardChoice, WithoutAShardOrWithOneThatIsNotThereNothingMoves) {
  for (const uint32_t shard : {kAny, kFourShards, 1000u}) {
    for (int round = 0; round < 4; ++round) {
      EXPECT_TRUE(shard_after(preface() + hello_frame(shard)));
    }
  }
  EXPECT_TRUE(shard_after(preface() + wire::request_frame(Op::Hello, 1, "")));
  EXPECT_EQ(taken_over(), 0u);
}

TEST_F(ShardChoice, AHelloAfterAnotherFrameIsAnsweredWhereItCame) {
  const std::string ping = wire::request_frame(Op::Ping, 7, "");
  const std::string bind = wire::bind_frame(1, {.table = "t"});
  for (const std::string& before : {ping, bind}) {
    for (uint32_t shard = 0; shard < kFourShards; ++shard) {
      EXPECT_TRUE(shard_after(preface() + before + hello_frame(shard)));
    }
  }
  EXPECT_EQ(taken_over(), 0u);
}

TEST_F(ShardChoice, AHelloThatIsRefusedIsRefusedThere) {
  flatbuffers::FlatBufferBuilder builder;
  fb::HelloRequestBuilder hello(builder);
  hello.add_min_version(99);
  hello.add_max_version(99);
  hello.add_shard(2);
  const std::string body(wire::finish_body(builder, hello.Finish()));
  for (int round = 0; round < 4; ++round) {
    Peer peer(bed, false);
    peer.send(preface() + wire::request_frame(Op::Hello, 1, body));
    auto refused = peer.answer(1);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code(), Errc::failed_precondition);
    // The next one may not move the connection again.
    peer.send(wire::request_frame(Op::Hello, 2, wire::hello_to(3)));
    auto answer = peer.answer(2);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->root<fb::HelloReply>()->shard(), 2u);
  }
}

TEST_F(ShardChoice, AStopWhileConnectionsMoveEndsThem) {
  std::vector<std::unique_ptr<Peer>> peers;
  for (uint32_t i = 0; i < 40; ++i) {
    peers.push_back(std::make_unique<Peer>(bed, false));
    peers.back()->send(preface() + hello_frame(i % kFourShards));
    if (i % 4 == 0) bed.world().run_for_us(20);
  }
  bed.stop();
  for (auto& peer : peers) EXPECT_TRUE(peer->closes());
}

ServerOptions few_connections() {
  ServerOptions options;
  options.net.connections = 3;
  return options;
}

class FullShard : public ShardChoice {
 protected:
  FullShard() : ShardChoice(few_connections()) {}
};

TEST_F(FullShard, AShardAtItsBoundClosesWhatIsHandedOver) {
  std::vector<std::unique_ptr<Peer>> there;
  while (bed.shard(1).admission().connections() < 3) {
    auto peer = std::make_unique<Peer>(bed, false);
    peer->send(preface() + hello_frame(1));
    if (shard_of(*peer) == 1u) there.push_back(std::move(peer));
  }
  const uint64_t refused = bed.shard(1).counters().refused;
  Peer late(bed, false);
  late.send(preface() + hello_frame(1));
  EXPECT_TRUE(late.closes());
  EXPECT_GT(bed.shard(1).counters().refused, refused);
  there.pop_back();
  bed.world().run_for_us(1'000'000);
  EXPECT_EQ(shard_after(preface() + hello_frame(1)), 1u);
}

}  // namespace
}  // namespace cellar::server
