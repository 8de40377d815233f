// Cells, scans and failures of connections, with the client and a real node.
#include "tests/net/client/client_node_bed.h"

namespace cellar::client {
namespace {

class ClientServerTest : public ClientNodeBed {};

TEST_F(ClientServerTest, WhatIsWrittenIsReadBack) {
  ASSERT_TRUE(create("t").has_value());
  Mutation m("row");
  m.set("f", "q", "old", 1000).set("f", "q", "new", 2000).set("g", "", std::string("\0\xff", 2), 0);
  ASSERT_TRUE(write(m).has_value());
  const auto row = read("row");
  ASSERT_TRUE(row && *row);
  ASSERT_EQ((*row)->cells().size(), 3u);
  EXPECT_EQ((*row)->key(), "row");
  EXPECT_EQ((*row)->find("f", "q")->value, "new");
  EXPECT_EQ((*row)->find("f", "q")->timestamp_us, 2000);
  EXPECT_EQ((*row)->find("g", "")->value, Bytes("\0\xff", 2));
  const auto absent = read("other");
  ASSERT_TRUE(absent.has_value());
  EXPECT_FALSE(absent->has_value());
}

TEST_F(ClientServerTest, FiltersChooseTimeAndVersions) {
  ASSERT_TRUE(create("t").has_value());
  Mutation m("row");
  for (int64_t t = 1; t <= 5; ++t) m.set("f", "q", fmt::format("v{}", t), t * 1000);
  ASSERT_TRUE(write(m).has_value());
  const auto row =
      read("row", Filter::chain({Filter::time_range(2000, 5000), Filter::cells_per_column(2)}));
  ASSERT_TRUE(row && *row) << row.error().to_string();
  ASSERT_EQ((*row)->cells().size(), 2u);
  EXPECT_EQ((*row)->cells()[0].value, "v4");
  EXPECT_EQ((*row)->cells()[1].value, "v3");
}

TEST_F(ClientServerTest, ABadRowOfABatchFailsAlone) {
  ASSERT_TRUE(create("t").has_value());
  std::vector<Mutation> entries = {cell("a", "1"), cell("b", "2", 1001), cell("c", "3")};
  const auto results = wait<EntryResults>(
      [&](auto done) { client_->async_mutate_rows("t", entries, {}, std::move(done)); });
  ASSERT_TRUE(results.has_value());
  EXPECT_TRUE((*results)[0] && (*results)[2]);
  EXPECT_EQ((*results)[1].error().code, Errc::invalid_argument);
  EXPECT_TRUE(read("a")->has_value());
  EXPECT_FALSE(read("b")->has_value());
}

TEST_F(ClientServerTest, AScanOverManyChunksAndTabletsIsWholeAndInOrder) {
  ASSERT_TRUE(create("t", {"row0500", "row1500"}).has_value());
  const std::string value(700, 'x');
  for (int batch = 0; batch < 20; ++batch) {
    std::vector<Mutation> entries;
    for (int i = 0; i < 100; ++i) {
      entries.push_back(cell(fmt::format("row{:04}", batch * 100 + i), value));
    }
    const auto results = wait<EntryResults>(
        [&](auto done) { client_->async_mutate_rows("t", entries, {}, std::move(done)); });
    ASSERT_TRUE(results.has_value());
  }
  ReadRows request;
  request.credits = 2;
  ReadStream stream = client_->read_rows("t", request);
  int rows = 0;
  int blocks = 0;
  while (true) {
    const auto block = wait<CellBlock>([&](auto done) { stream.async_next(std::move(done)); });
    ASSERT_TRUE(block.has_value()) << block.error().to_string();
    if (block->empty()) break;
    ++blocks;
    for (const RowPart& part : block->rows()) {
      if (!part.continued) {
        ASSERT_EQ(part.key, fmt::format("row{:04}", rows++));
      }
    }
  }
  EXPECT_EQ(rows, 2000);
  EXPECT_GT(blocks, 5);
}

TEST_F(ClientServerTest, ARowOfManyChunksIsReadAtOnce) {
  ASSERT_TRUE(create("t").has_value());
  Mutation m("wide");
  for (int i = 0; i < 3000; ++i) m.set("f", fmt::format("q{:04}", i), std::string(300, 'v'), 1000);
  ASSERT_TRUE(write(m).has_value());
  const auto row = read("wide");
  ASSERT_TRUE(row && *row);
  ASSERT_EQ((*row)->cells().size(), 3000u);
  EXPECT_EQ((*row)->cells()[2999].qualifier, "q2999");
}

TEST_F(ClientServerTest, FiltersRunOnTheNodeAndLabelsComeBack) {
  ASSERT_TRUE(create("t").has_value());
  ASSERT_TRUE(write(cell("row", "v")).has_value());
  using Kind = Filter::Kind;
  const auto both = read("row", Filter::interleave({Filter::label("kept"), Filter::strip_value()}));
  ASSERT_TRUE(both.has_value()) << both.error().to_string();
  ASSERT_TRUE(both->has_value());
  ASSERT_EQ((*both)->cells().size(), 2u);
  EXPECT_EQ((*both)->cells()[0].value, "v");
  EXPECT_EQ((*both)->cells()[0].labels, "kept");
  EXPECT_EQ((*both)->cells()[1].value, "");
  EXPECT_EQ((*both)->cells()[1].labels, "");
  const auto other = read("row", Filter::regex(Kind::family_regex, "g"));
  ASSERT_TRUE(other.has_value());
  EXPECT_FALSE(other->has_value());
  const auto bad = read("row", Filter::regex(Kind::value_regex, "["));
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().code, Errc::invalid_argument);
}

TEST_F(ClientServerTest, ConditionalWritesAnswerWhatTheySaw) {
  ASSERT_TRUE(create("t").has_value());
  const auto check = [&](const char* row, const char* value) {
    CheckAndMutate asked{row, std::nullopt, Mutation(Bytes()), cell("", value), std::nullopt};
    const auto reply = wait<CheckAndMutateReply>(
        [&](auto done) { client_->async_check_and_mutate("t", asked, {}, std::move(done)); });
    return !reply ? std::string(errc_name(reply.error().code)) : reply->matched ? "then" : "else";
  };
  for (const char* row : {"a", "zz"}) {  // on each shard
    EXPECT_EQ(check(row, "v"), "else");
    ReadModifyWrite modify{row, {{"f", "q", "more", 0}, {"f", "n", std::nullopt, 7}}, std::nullopt};
    const auto made = wait<Row>(
        [&](auto done) { client_->async_read_modify_write("t", modify, {}, std::move(done)); });
    ASSERT_TRUE(made.has_value()) << made.error().to_string();
    EXPECT_EQ(made->find("f", "q")->value, "vmore");
    EXPECT_EQ(made->find("f", "n")->value, std::string("\0\0\0\0\0\0\0\7", 8));
    EXPECT_EQ(check(row, "w"), "then");
    EXPECT_EQ((*read(row))->find("f", "q")->value, "vmore") << "at the server's time";
    modify.rules = {{"f", "q", std::nullopt, 1}};
    const auto refused = wait<Row>(
        [&](auto done) { client_->async_read_modify_write("t", modify, {}, std::move(done)); });
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, Errc::failed_precondition);
  }
}

// The outcome that the client reports is the one that a later read shows.
TEST_F(ClientServerTest, ACutAtAnyByteIsToldAsItIs) {
  ASSERT_TRUE(create("t").has_value());
  size_t ok = 0;
  size_t not_applied = 0;
  size_t maybe = 0;
  for (uint64_t at = 0; at < 1200; at += 3) {
    client_.reset();
    bed_.fabric().faults().cut_after_bytes = at;
    connect();
    const std::string row = fmt::format("row{}", at);
    const auto reply = write(cell(row, "v"));
    bed_.fabric().faults().cut_after_bytes = LinkFaults::kNever;
    bed_.world().run_for_us(50'000);
    connect();
    const auto found = read(row);
    ASSERT_TRUE(found.has_value()) << found.error().to_string();
    if (reply) {
      ++ok;
      ASSERT_TRUE(found->has_value()) << at;
    } else if (reply.error().applied == Applied::not_applied) {
      ++not_applied;
      ASSERT_FALSE(found->has_value()) << at;
    } else {
      ++maybe;
    }
  }
  EXPECT_GT(ok, 0u);
  EXPECT_GT(not_applied, 0u);
  EXPECT_GT(maybe, 0u);
}

TEST_F(ClientServerTest, AnIdleConnectionServesAgainAfterAnHour) {
  ASSERT_TRUE(create("t").has_value());
  bed_.world().run_for_us(int64_t{3600} * 1'000'000);
  EXPECT_TRUE(write(cell("row", "v")).has_value());
}

}  // namespace
}  // namespace cellar::client
