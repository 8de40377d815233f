// Idempotency tokens between client and node: every kind of write, lost answers, and malformed
// requests.
#include <gtest/gtest.h>

#include "engine/model/token.h"
#include "io/sim/manual_clock.h"
#include "tests/net/client/client_node_bed.h"
#include "tests/support/seeds.h"

namespace cellar::client {
namespace {

std::string number_bytes(uint64_t value) {
  std::string bytes(8, '\0');
  for (size_t i = 8; i-- > 0; value >>= 8) bytes[i] = static_cast<char>(value);
  return bytes;
}

class TokenTest : public ClientBed {
 protected:
  TokenTest() {
    client_ = connect("one");
    TableSpec spec;
    spec.name = "t";
    spec.splits = {"m"};
    spec.families.emplace_back().name = "f";
    const auto created = wait<TableDescription>(
        [&](auto done) { client_->async_create_table(spec, std::move(done)); });
    EXPECT_TRUE(created.has_value());
  }
  std::unique_ptr<Client> connect(std::string client_id, uint32_t attempts = 1) {
    ClientOptions options;
    options.client_id = std::move(client_id);
    options.retry.max_attempts = attempts;
    options.wait_for_connection = attempts > 1;
    return client_with(std::move(options));
  }
  Result<Row> modify(Client& client, const std::string& row, ModifyRule rule,
                     std::optional<Token> token, const CallOptions& options = {}) {
    const ReadModifyWrite asked{row, {std::move(rule)}, std::move(token)};
    return wait<Row>(
        [&](auto done) { client.async_read_modify_write("t", asked, options, std::move(done)); });
  }
  // "5", "5 again", or the status.
  std::string add(Client& client, const std::string& row, int64_t by, std::optional<Token> token) {
    const auto made = modify(client, row, {"f", "n", std::nullopt, by}, std::move(token));
    if (!made) return std::string(errc_name(made.error().code));
    const Cell* cell = made->find("f", "n");
    if (cell == nullptr) return "no cell";
    uint64_t value = 0;
    for (const char c : cell->value) value = value << 8 | static_cast<uint8_t>(c);
    return std::to_string(value) + (made->repeated() ? " again" : "");
  }
  Result<MutateReply> write(Client& client, const Mutation& m) {
    return wait<MutateReply>([&](auto done) { client.async_mutate_row("t", m, std::move(done)); });
  }
  std::string value(const std::string& row, const char* qualifier = "n") {
    const auto read = wait<std::optional<Row>>(
        [&](auto done) { client_->async_read_row("t", row, std::move(done)); });
    if (!read || !*read || (*read)->find("f", qualifier) == nullptr) return "none";
    return std::string((*read)->find("f", qualifier)->value);
  }
};

TEST_F(TokenTest, EveryKindOfWriteIsRecognisedOnEitherShard) {
  for (const char* row : {"a", "z"}) {
    SCOPED_TRACE(row);
    EXPECT_EQ(add(*client_, row, 5, Token{"add"}), "5");
    EXPECT_EQ(add(*client_, row, 1, Token{"add again"}), "6");
    EXPECT_EQ(add(*client_, row, 5, Token{"add"}), "5 again");
    EXPECT_EQ(add(*client_, row, 6, Token{"add"}), "INVALID_ARGUMENT");

    Mutation set(row);
    set.set("f", "n", number_bytes(1)).with_token({"set"});
    EXPECT_FALSE(write(*client_, set)->repeated);
    EXPECT_EQ(add(*client_, row, 1, std::nullopt), "2");
    EXPECT_TRUE(write(*client_, set)->repeated);
    EXPECT_EQ(value(row), number_bytes(2));

    CheckAndMutate check{row, std::nullopt, Mutation(Bytes()), Mutation(Bytes()), Token{"check"}};
    check.then_mutation.delete_row();
    const auto ask = [&] {
      return wait<CheckAndMutateReply>(
          [&](auto done) { client_->async_check_and_mutate("t", check, {}, std::move(done)); });
    };
    const auto first = ask();
    EXPECT_TRUE(first && first->matched && !first->repeated);
    EXPECT_EQ(add(*client_, row, 7, std::nullopt), "7") << "the row was deleted";
    const auto again = ask();
    EXPECT_TRUE(again && again->matched && again->repeated && !again->answer_not_kept);
    EXPECT_EQ(value(row), number_bytes(7));
  }
}

TEST_F(TokenTest, EntriesOfABatchHaveEachTheirOwn) {
  std::vector<Mutation> entries;
  for (const char* row : {"a", "z", "b"}) {
    entries.emplace_back(row).set("f", "n", number_bytes(1), 1000);
    if (row[0] != 'b') entries.back().with_token({fmt::format("token of {}", row)});
  }
  const auto batch = [&] {
    const auto results = wait<EntryResults>(
        [&](auto done) { client_->async_mutate_rows("t", entries, {}, std::move(done)); });
    std::string text;
    for (const auto& result : *results) {
      text += std::string(result ? "OK" : errc_name(result.error().code)) + " ";
    }
    return text;
  };
  EXPECT_EQ(batch(), "OK OK OK ");
  for (const char* row : {"a", "z", "b"}) {
    Mutation over(row);
    over.set("f", "n", number_bytes(2), 1000);
    ASSERT_TRUE(write(*client_, over));
  }
  EXPECT_EQ(batch(), "OK OK OK ");
  EXPECT_EQ(value("a"), number_bytes(2));
  EXPECT_EQ(value("z"), number_bytes(2));
  EXPECT_EQ(value("b"), number_bytes(1)) << "it has no token";
  // A single write repeats the entry of the batch; an entry with other content fails without the
  // others.
  EXPECT_TRUE(write(*client_, entries[0])->repeated);
  Mutation other("z");
  other.set("f", "n", "other", 1000).with_token({"token of z"});
  entries[1] = other;
  EXPECT_EQ(batch(), "OK INVALID_ARGUMENT OK ");
}

TEST_F(TokenTest, ATokenIsItsClients) {
  const auto other = connect("two");
  EXPECT_EQ(add(*client_, "a", 1, Token{"same"}), "1");
  EXPECT_EQ(add(*other, "a", 1, Token{"same"}), "2");
  EXPECT_EQ(add(*client_, "a", 1, Token{"same"}), "1 again");
  const auto same = connect("one");  // another connection
  EXPECT_EQ(add(*same, "a", 1, Token{"same"}), "1 again");
}

TEST_F(TokenTest, OfALargeAnswerOnlyTheStatusIsKept) {
  const std::string large(kMaxTokenCellBytes, 'x');
  const ModifyRule append{"f", "l", large, 0};
  const auto first = modify(*client_, "a", append, Token{"large"});
  ASSERT_TRUE(first && first->find("f", "l") != nullptr);
  EXPECT_EQ(first->find("f", "l")->value.size(), large.size());
  EXPECT_FALSE(first->repeated() || first->answer_not_kept());
  const auto again = modify(*client_, "a", append, Token{"large"});
  ASSERT_TRUE(again.has_value()) << again.error().to_string();
  EXPECT_TRUE(again->repeated() && again->answer_not_kept());
  EXPECT_EQ(again->find("f", "l"), nullptr);
  EXPECT_EQ(value("a", "l").size(), large.size());
}

TEST_F(TokenTest, WhatATokenMustNotSay) {
  const auto code = [&](Token token) { return add(*client_, "a", 1, std::move(token)); };
  EXPECT_EQ(code({std::string(65, 't')}), "INVALID_ARGUMENT");
  EXPECT_EQ(code({""}), "INVALID_ARGUMENT");
  EXPECT_EQ(code({"early", 1}), "FAILED_PRECONDITION");
  EXPECT_EQ(code({"late", INT64_MAX}), "INVALID_ARGUMENT");
  const auto early = modify(*client_, "a", {"f", "n", std::nullopt, 1}, Token{"early", 1});
  EXPECT_EQ(early.error().applied, Applied::maybe_applied);
  EXPECT_FALSE(early.error().retryable());
  // A hello without a client id.
  server::Peer peer(bed_);
  flatbuffers::FlatBufferBuilder b;
  const std::string arena = "afq";
  const wire::fb::Span row(0, 1);
  std::vector<wire::fb::MutationRec> recs;
  recs.emplace_back(1000, 0, wire::fb::Span(1, 1), wire::fb::Span(2, 1), wire::fb::Span(0, 0),
                    static_cast<uint8_t>(wire::fb::MutationKind::SetCell),
                    static_cast<uint8_t>(wire::fb::MutationFlag::HasTimestamp), 0, 0);
  const auto name = b.CreateString("t");
  const auto list = b.CreateVectorOfStructs(recs);
  const auto bytes = wire::bytes_vector(b, arena);
  const auto token = wire::fb::CreateToken(b, wire::bytes_vector(b, "t"), 1'700'000'000'000'000);
  const auto request = wire::fb::CreateMutateRowRequest(b, name, &row, list, bytes,
                                                        wire::fb::Durability::TableDefault, token);
  const std::string body(wire::finish_body(b, request));
  EXPECT_EQ(peer.code_of(wire::fb::Op::MutateRow, body), Errc::invalid_argument);
  EXPECT_EQ(value("a"), "none");
}

// The node's time stands for two minutes: a connection in use learns that before its tokens are a
// minute ahead, which the node would refuse.
TEST_F(TokenTest, AClientAsksForTheNodesTimeNowAndThen) {
  EXPECT_EQ(add(*client_, "a", 1, Token{"first"}), "1");
  ManualClock& clock = bed_.world().clock();
  clock.set_wall_us(clock.wall_us() - 120'000'000);
  for (int i = 0; i < 60; ++i) {
    bed_.world().run_for_us(10'000'000);
    EXPECT_EQ(add(*client_, "a", 0, Token{fmt::format("{}", i)}), "1") << i;
  }
  EXPECT_EQ(client_->stats().lost, 0u);
}

// The connection is cut at every few bytes of the exchange, so that requests and answers are lost
// at every place; the client repeats until it has an answer, and each increment counts once.
TEST_F(TokenTest, AClientThatLosesItsConnectionCountsEachIncrementOnce) {
  CallOptions options;
  options.draw_tokens = true;
  uint8_t counted = 0;
  uint64_t repeats = 0;
  for (uint64_t at = 0; at < 1'200; at += 17) {
    SCOPED_TRACE(fmt::format("cut after {} bytes", at));
    bed_.fabric().faults().cut_after_bytes = at;
    client_ = connect(fmt::format("client {}", at), 20);
    std::optional<Result<Row>> done;
    const ReadModifyWrite asked{"a", {{"f", "n", std::nullopt, 1}}, std::nullopt};
    client_->async_read_modify_write("t", asked, options,
                                     [&](Result<Row> r) { done.emplace(std::move(r)); });
    bed_.world().run_for_us(2'000);
    bed_.fabric().faults().cut_after_bytes = LinkFaults::kNever;
    ASSERT_TRUE(bed_.world().run_until([&] { return done.has_value(); }));
    ASSERT_TRUE(*done) << done->error().to_string();
    EXPECT_EQ((*done)->find("f", "n")->value, number_bytes(++counted));
    repeats += client_->stats().repeats;
  }
  EXPECT_GT(repeats, 10u) << "hardly a line was cut";
  EXPECT_EQ(value("a"), number_bytes(counted));
}

}  // namespace
}  // namespace cellar::client
