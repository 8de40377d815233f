// Altering a table and listing its tablets, over a connection.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "tests/net/server/server_bed.h"

namespace cellar::server {
namespace {

namespace fb = wire::fb;
using fb::Op;
using testing::Test;
using Cells = std::vector<std::string>;

class AlterTest : public Test {
 protected:
  void make_table() {
    ASSERT_EQ(peer.code_of(Op::CreateTable, wire::create_table_body("t", {"f", "g"}, {"m"})),
              Errc::ok);
  }
  Errc set(std::string_view row, std::string_view value) {
    return peer.code_of(Op::MutateRow, wire::set_body("t", row, "f", "q", value, 1000));
  }

  ServerBed bed;
  Peer peer{bed};
};

struct Change {
  std::string table = "t";
  std::vector<std::string> add = {}, alter = {}, drop = {};
  std::optional<fb::Durability> durability = {};
  std::optional<uint32_t> block_bytes = {};
  std::optional<double> dead_slack = {};
  bool rule = false;  // the added and altered families get a rule
  bool close_window = false;
};

std::string alter_body(const Change& change) {
  flatbuffers::FlatBufferBuilder builder;
  const auto specs = [&](const std::vector<std::string>& names) {
    std::vector<flatbuffers::Offset<fb::FamilySpec>> out;
    for (const std::string& name : names) {
      const auto text = builder.CreateString(name);
      std::vector<fb::RuleNode> nodes;
      if (change.rule) nodes.emplace_back(1, 0, uint8_t(fb::RuleKind::MaxVersions), 0, 0);
      const auto rule = builder.CreateVectorOfStructs(nodes);
      out.push_back(fb::CreateFamilySpec(builder, text, change.rule, rule));
    }
    return builder.CreateVector(out);
  };
  const auto name = builder.CreateString(change.table);
  const auto add = specs(change.add);
  const auto alter = specs(change.alter);
  const auto drop = builder.CreateVectorOfStrings(change.drop);
  fb::TableOptionsBuilder options(builder);
  if (change.durability) options.add_durability(*change.durability);
  if (change.block_bytes) options.add_block_bytes(*change.block_bytes);
  if (change.dead_slack) options.add_dead_slack(*change.dead_slack);
  const auto option_table = options.Finish();
  return std::string(
      wire::finish_body(builder, fb::CreateAlterTableRequest(builder, name, add, alter, drop,
                                                             option_table, change.close_window)));
}

TEST_F(AlterTest, AnAlterationIsInForceOnEveryShardWhenItIsAnswered) {
  make_table();
  ASSERT_EQ(set("a", "1"), Errc::ok);
  ASSERT_EQ(set("z", "2"), Errc::ok);
  auto answer =
      peer.ask(Op::AlterTable,
               alter_body({.add = {"h"}, .drop = {"f"}, .durability = fb::Durability::Periodic}));
  ASSERT_TRUE(answer);
  const auto* table = answer->root<fb::TableDescription>();
  ASSERT_NE(table, nullptr) << answer->message();
  EXPECT_EQ(table->version(), 2u);
  ASSERT_EQ(table->families()->size(), 2u);
  EXPECT_EQ(table->families()->Get(1)->name()->str(), "h");
  EXPECT_EQ(table->options()->durability(), fb::Durability::Periodic);
  for (int connection = 0; connection < 4; ++connection) {
    Peer other(bed);
    EXPECT_EQ(read_all(other, "t"), Cells{});
    for (const char* key : {"a", "z"}) {
      EXPECT_EQ(other.code_of(Op::MutateRow, wire::set_body("t", key, "f", "q", "3", 1000)),
                Errc::not_found);
      EXPECT_EQ(other.code_of(Op::MutateRow, wire::set_body("t", key, "h", "q", "4", 1000)),
                Errc::ok);
    }
    EXPECT_EQ(read_all(other, "t"), (Cells{"a h:q@1000=4", "z h:q@1000=4"}));
    ASSERT_EQ(other.code_of(Op::AlterTable, alter_body({.drop = {"h"}})), Errc::ok);
    ASSERT_EQ(other.code_of(Op::AlterTable, alter_body({.add = {"h"}})), Errc::ok);
  }
}

// A change of a rule while a stream waits between two rows: the rest is read by the new rule.
TEST_F(AlterTest, AStreamGoesOnByTheRuleInForce) {
  make_table();
  const std::string value(20 * 1024, 'v');
  for (const char* half : {"a", "z"}) {
    for (int i = 0; i < 20; ++i) {
      for (const int64_t t : {1000, 2000}) {
        ASSERT_EQ(peer.code_of(Op::MutateRow, wire::set_body("t", fmt::format("{}{:02}", half, i),
                                                             "f", "q", value, t)),
                  Errc::ok);
      }
    }
  }
  peer.send(wire::request_frame(Op::ReadRows, 900, wire::read_rows_body("t", {.credits = 1})));
  bed.world().run_for_us(200'000);
  Peer other(bed);
  ASSERT_EQ(other.code_of(Op::AlterTable, alter_body({.alter = {"f"}, .rule = true})), Errc::ok);
  flatbuffers::FlatBufferBuilder builder;
  const auto credit = wire::finish_body(builder, fb::CreateCredit(builder, 1000));
  peer.send(wire::request_frame(Op::ReadRows, 900, credit, wire::FrameKind::credit));
  auto end = peer.answer(900);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code(), Errc::ok) << end->message();
  Cells rows;
  std::set<std::string> before;  // sent before, and the row that was open
  size_t chunk = 0;
  for (Answer& answer : peer.received) {
    const bool first = chunk++ == 0;
    for (const std::string& cell : cells_of(answer)) {
      const std::string row = cell.substr(0, 3);
      const bool again = !rows.empty() && rows.back() == row;
      if (first) before.insert(row);
      EXPECT_TRUE(!again || before.contains(row)) << row << " has two versions in chunk " << chunk;
      if (!again) rows.push_back(row);
    }
  }
  EXPECT_GT(chunk, 4u);
  EXPECT_EQ(rows.size(), 40u) << "no row twice, none left out";
  EXPECT_TRUE(std::ranges::is_sorted(rows));
}

// Reads and writes while the edit is slow: none fails, and each is by the rule that is then in
// force.
TEST_F(AlterTest, RequestsDuringAChangeOfARuleAreAnsweredAfterIt) {
  make_table();
  for (const int64_t t : {1000, 2000}) {
    ASSERT_EQ(peer.code_of(Op::MutateRow, wire::set_body("t", "a", "f", "q", "v", t)), Errc::ok);
  }
  std::vector<std::unique_ptr<Peer>> peers;  // on both shards
  for (int i = 0; i < 4; ++i) peers.push_back(std::make_unique<Peer>(bed));
  ASSERT_TRUE(bed.faults().add("write path=manifest/* delay_us=50000"));
  Peer other(bed);
  other.send(wire::request_frame(Op::AlterTable, 9, alter_body({.alter = {"f"}, .rule = true})));
  bed.world().run_for_us(20'000);
  for (auto& each : peers) {
    each->received.clear();
    each->send(
        wire::request_frame(Op::ReadRows, 31, wire::read_rows_body("t", {.credits = 9})) +
        wire::request_frame(Op::MutateRow, 32, wire::set_body("t", "z", "f", "q", "w", 1000)));
  }
  bed.world().run_for_us(10'000);
  for (auto& each : peers) EXPECT_TRUE(each->received.empty());
  EXPECT_EQ(other.answer(9)->code(), Errc::ok);
  for (auto& each : peers) {
    auto end = each->answer(31);
    ASSERT_TRUE(end);
    EXPECT_EQ(end->code(), Errc::ok) << end->message();
    EXPECT_EQ(each->answer(32)->code(), Errc::ok);
    ASSERT_FALSE(each->received.empty());
    EXPECT_EQ(cells_of(each->received[0])[0], "a f:q@2000=v");
    for (const std::string& cell : cells_of(each->received[0])) EXPECT_NE(cell, "a f:q@1000=v");
  }
}

TEST_F(AlterTest, AnAlterationIsRefusedForFormThenExistence) {
  make_table();
  const auto code = [&](const Change& change) {
    return peer.code_of(Op::AlterTable, alter_body(change));
  };
  EXPECT_EQ(code({.table = "none", .add = {"a b"}}), Errc::invalid_argument);
  EXPECT_EQ(code({.table = "none", .add = {"x", "x"}}), Errc::invalid_argument);
  EXPECT_EQ(code({.add = {"x"}, .drop = {"x"}}), Errc::invalid_argument);
  EXPECT_EQ(code({.table = "none", .block_bytes = 7}), Errc::invalid_argument);
  EXPECT_EQ(code({.table = "none", .durability = fb::Durability(9)}), Errc::invalid_argument);
  EXPECT_EQ(code({.table = "none", .add = {"x"}}), Errc::not_found);
  EXPECT_EQ(code({.add = {"x"}, .drop = {"none"}}), Errc::not_found);
  EXPECT_EQ(code({.alter = {"f", "none"}, .rule = true}), Errc::not_found);
  EXPECT_EQ(code({.add = {"x", "f"}, .rule = true}), Errc::already_exists);
  EXPECT_EQ(code({.dead_slack = 1.5}), Errc::invalid_argument);
  EXPECT_EQ(code({}), Errc::ok) << "a change of nothing";
  EXPECT_EQ(code({.alter = {"f"}}), Errc::ok) << "likewise";
  EXPECT_EQ(code({.add = {"x"}}), Errc::ok) << "nothing of the above was applied";
}

TEST_F(AlterTest, SampleRowKeysTellsEveryBoundaryWithTheBytesBeforeItAndTheEnd) {
  make_table();
  flatbuffers::FlatBufferBuilder builder;
  const auto body = [&](const char* table) {
    builder.Clear();
    const auto name = builder.CreateString(table);
    return std::string(wire::finish_body(builder, fb::CreateSampleRowKeysRequest(builder, name)));
  };
  for (const char* key : {"a", "b", "z"}) ASSERT_EQ(set(key, std::string(5'000, 'x')), Errc::ok);
  auto answer = peer.ask(Op::SampleRowKeys, body("t"));
  ASSERT_TRUE(answer);
  const auto* reply = answer->root<fb::SampleRowKeysReply>();
  ASSERT_NE(reply, nullptr) << answer->message();
  ASSERT_EQ(reply->samples()->size(), 2u);
  Bytes key;
  ASSERT_TRUE(wire::view(reply->samples()->Get(0)->key(), wire::bytes_of(reply->arena()), key));
  EXPECT_EQ(key, "m");
  EXPECT_EQ(reply->samples()->Get(1)->key().size(), 0u);
  EXPECT_GE(reply->samples()->Get(0)->bytes_before(), 10'000u);
  EXPECT_GE(reply->samples()->Get(1)->bytes_before(),
            reply->samples()->Get(0)->bytes_before() + 5'000);
  EXPECT_EQ(peer.code_of(Op::SampleRowKeys, body("none")), Errc::not_found);
}

}  // namespace
}  // namespace cellar::server
