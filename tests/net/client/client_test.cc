// The client against a scripted server, on virtual time and a network that the test can cut.
#include <set>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/deferred.hpp>

#include "tests/net/client/client_bed.h"

namespace cellar::client {
namespace {

using ClientTest = ClientBed;

TEST_F(ClientTest, AWriteCarriesItsRowOperationsAndDeadline) {
  client();
  Mutation m("row");
  m.set("f", "q", "v", 5000).delete_column("f", "old", 1000, 2000).delete_family("g").delete_row();
  const auto call = [&]() -> Async<Result<MutateReply>> {
    co_return co_await client_->async_mutate_row("t", m, use_awaitable);
  };
  ASSERT_TRUE(world_.block_on(loop_, call()).has_value());
  ASSERT_EQ(server_.requests.size(), 1u);
  const Received& received = server_.requests[0];
  EXPECT_GT(received.header.deadline_ms, 9'000u);
  EXPECT_LE(received.header.deadline_ms, 10'000u);
  const BodyOf<fb::MutateRowRequest> body(received);
  EXPECT_EQ(received.table, "t");
  EXPECT_EQ(body->table(), nullptr);
  Bytes row;
  ASSERT_TRUE(wire::view(*body->row(), wire::bytes_of(body->arena()), row));
  EXPECT_EQ(row, "row");
  ASSERT_EQ(body->mutations()->size(), 4u);
  EXPECT_EQ(body->mutations()->Get(0)->at(), 5000);
  EXPECT_EQ(body->mutations()->Get(1)->until(), 2000);
  EXPECT_EQ(body->mutations()->Get(3)->kind(), 4);
}

TEST_F(ClientTest, EveryCompletionTokenGetsTheResult) {
  client();
  const auto all = [&]() -> Async<int> {
    int good = 0;
    auto awaited = co_await client_->async_ping(use_awaitable);
    good += awaited.has_value();
    auto operation = client_->async_ping(asio::deferred);
    auto deferred = co_await std::move(operation)(use_awaitable);
    good += deferred.has_value();
    auto [tuple] = co_await client_->async_ping(asio::as_tuple(use_awaitable));
    good += tuple.has_value();
    co_return good;
  };
  EXPECT_EQ(world_.block_on(loop_, all()), 3);
}

TEST_F(ClientTest, RequestsOfOneTurnLeaveInOneWriteAndPipelineOverOneConnection) {
  client();
  (void)write("warm");
  settle();
  const uint64_t writes_before = client_->stats().writes;
  std::vector<std::shared_ptr<Outcome>> outcomes;
  for (int i = 0; i < 100; ++i) outcomes.push_back(write(fmt::format("row{}", i)));
  world_.run_until([&] {
    return std::ranges::all_of(outcomes, [](const auto& one) { return one->has_value(); });
  });
  for (const auto& outcome : outcomes) {
    ASSERT_TRUE(outcome->has_value());
    EXPECT_TRUE((*outcome)->has_value());
  }
  EXPECT_EQ(server_.connections, 1u);
  EXPECT_EQ(client_->stats().requests, 101u);
  EXPECT_LE(client_->stats().writes - writes_before, 2u);
}

TEST_F(ClientTest, RequestsBeyondTheServersBoundWaitTheirTurn) {
  server_.in_flight_limit = 5;
  server_.script = nullptr;  // answers nothing
  client();
  for (int i = 0; i < 10; ++i) (void)write("row");
  settle(1'000'000);
  EXPECT_EQ(server_.requests.size(), 4u);  // one below the bound, for credits and cancels
  for (int i = 0; i < 2; ++i) server_.send(mutate_reply(server_.requests[static_cast<size_t>(i)]));
  settle(1'000'000);
  EXPECT_EQ(server_.requests.size(), 6u);
}

TEST_F(ClientTest, AnswersInAnyOrderFindTheirRequests) {
  std::vector<Received> held;
  server_.script = [&](const Received& r) -> std::string {
    held.push_back(r);
    if (held.size() < 3) return {};
    std::string all;
    for (size_t i = held.size(); i-- > 0;) {
      const std::string body = chunk_body(fmt::format("row{}", i), fmt::format("value{}", i));
      all += frame(wire::FrameKind::reply, held[i].header, body);
    }
    return all;
  };
  client();
  std::vector<std::string> values(3);
  for (size_t i = 0; i < 3; ++i) {
    client_->async_read_row("t", fmt::format("row{}", i), [&values, i](auto row) {
      ASSERT_TRUE(row.has_value() && row->has_value());
      values[i] = (*row)->find("f", "q")->value;
    });
  }
  settle();
  EXPECT_EQ(values, (std::vector<std::string>{"value0", "value1", "value2"}));
}

TEST_F(ClientTest, ARowLargerThanAChunkIsPutTogether) {
  server_.script = [](const Received& r) {
    return frame(wire::FrameKind::chunk, r.header, chunk_body("k", "one", false, false)) +
           frame(wire::FrameKind::chunk, r.header, chunk_body("k", "two", true, true)) +
           frame(wire::FrameKind::end, r.header, {});
  };
  client();
  std::optional<Result<std::optional<Row>>> got;
  client_->async_read_row("t", "k", [&](auto row) { got.emplace(std::move(row)); });
  settle();
  ASSERT_TRUE(got && *got && **got);
  const Row row = std::move(***got);
  ASSERT_EQ(row.cells().size(), 2u);
  EXPECT_EQ(row.key(), "k");
  EXPECT_EQ(row.cells()[1].value, "two");
}

TEST_F(ClientTest, AServersRefusalArrivesWithCodeAndSentence) {
  server_.script = [](const Received& r) {
    return error_frame(r.header, Errc::not_found, "table 't' does not exist");
  };
  client();
  const auto outcome = write("row");
  settle();
  ASSERT_TRUE(*outcome && !**outcome);
  EXPECT_EQ((*outcome)->error().to_string(), "NOT_FOUND: table 't' does not exist");
  EXPECT_EQ((*outcome)->error().applied, Applied::not_applied);
}

TEST_F(ClientTest, EntriesThatAreNotListedSucceeded) {
  server_.script = [](const Received& r) {
    flatbuffers::FlatBufferBuilder b;
    const std::vector<fb::EntryFailure> failures = {fb::EntryFailure(
        1, kRetryNever, fb::Span(0, 3), static_cast<uint8_t>(Errc::out_of_range), 0, 0)};
    const auto vector = b.CreateVectorOfStructs(failures);
    const auto arena = b.CreateVector(std::vector<uint8_t>{'b', 'a', 'd'});
    return frame(wire::FrameKind::reply, r.header,
                 wire::finish_body(b, fb::CreateMutateRowsReply(b, vector, arena)));
  };
  client();
  std::optional<Result<EntryResults>> got;
  client_->async_mutate_rows("t", {one_cell("a"), one_cell("b"), one_cell("c")}, {},
                             [&](auto r) { got.emplace(std::move(r)); });
  settle();
  ASSERT_TRUE(got && *got);
  ASSERT_EQ((*got)->size(), 3u);
  EXPECT_TRUE((**got)[0] && (**got)[2]);
  EXPECT_EQ((**got)[1].error().to_string(), "OUT_OF_RANGE: bad");
}

TEST_F(ClientTest, WhereNobodyListensARequestFailsAtOnceAndNamesTheAddress) {
  server_.stop_listening();
  world_.run_until_idle();
  client();
  const auto outcome = write("row");
  settle(1'000'000);
  ASSERT_TRUE(*outcome && !**outcome);
  EXPECT_EQ((*outcome)->error().code, Errc::unavailable);
  EXPECT_EQ((*outcome)->error().applied, Applied::not_applied);
  EXPECT_TRUE((*outcome)->error().retryable());
  EXPECT_NE((*outcome)->error().message.find("127.0.0.1:7420"), std::string::npos);
}

TEST_F(ClientTest, WithWaitForConnectionARequestOutlastsTheServersAbsence) {
  server_.stop_listening();
  world_.run_until_idle();
  ClientOptions options = one_attempt();
  options.wait_for_connection = true;
  client(options);
  const auto outcome = write("row");
  settle(3'000'000);
  EXPECT_FALSE(outcome->has_value());
  server_.listen(kPort);
  settle(3'000'000);
  ASSERT_TRUE(outcome->has_value());
  EXPECT_TRUE((*outcome)->has_value());
}

TEST_F(ClientTest, AfterALossItConnectsAgainByItself) {
  client();
  const auto first = write("row");
  settle(1'000'000);
  server_.cut();
  settle(1'000'000);
  EXPECT_EQ(server_.connections, 2u);
  const auto second = write("row");
  settle(1'000'000);
  EXPECT_TRUE(*first && **first);
  EXPECT_TRUE(*second && **second);
  EXPECT_EQ(client_->stats().lost, 1u);
}

TEST_F(ClientTest, PausesBetweenAttemptsGrowToTheirBound) {
  fabric_.faults().refuse = true;
  client();
  (void)write("row");
  settle(20'000'000);
  // 10, 20, 40 ... 2000 ms and then 2 s each, each drawn from half of it to all: about 8 + 9 to 8 +
  // 19.
  fabric_.faults().refuse = false;
  settle(2'100'000);
  EXPECT_EQ(server_.connections, 1u);
}

TEST_F(ClientTest, AMachineThatHasVanishedDoesNotHoldAScanForEver) {
  const auto only_pings = [](const Received& r) {
    return r.header.op == static_cast<uint16_t>(fb::Op::Ping) ? mutate_reply(r) : std::string();
  };
  server_.script = only_pings;
  client();
  ReadStream stream = client_->read_rows("t", {});
  std::optional<Error> error;
  stream.async_next([&](Result<CellBlock> block) { error = block.error(); });
  settle(300'000'000);
  EXPECT_FALSE(error.has_value()) << "a slow node answers pings";
  server_.swallow = true;
  settle(60'000'000);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, Errc::unavailable);
  server_.swallow = false;
}

// At whichever byte the connection is cut, the reported outcome is true.
TEST_F(ClientTest, ACutAtAnyByteIsToldHonestly) {
  size_t ok = 0;
  size_t maybe = 0;
  size_t not_applied = 0;
  for (uint64_t at = 0; at < 900; ++at) {
    server_.requests.clear();
    fabric_.faults().cut_after_bytes = at;
    ClientOptions options = one_attempt();
    options.connect_timeout_us = 1'000'000;
    client(options);
    const auto outcome = write("row");
    const bool ended = world_.run_until([&] { return outcome->has_value(); }, 30'000'000);
    ASSERT_TRUE(ended) << "cut after " << at << " bytes";
    fabric_.faults().cut_after_bytes = LinkFaults::kNever;
    const bool served = !server_.requests.empty();
    if (**outcome) {
      ++ok;
      ASSERT_TRUE(served) << at;
    } else if ((*outcome)->error().applied == Applied::not_applied) {
      ++not_applied;
      ASSERT_FALSE(served) << at;
      ASSERT_EQ((*outcome)->error().code, Errc::unavailable) << at;
    } else {
      ++maybe;
      ASSERT_EQ((*outcome)->error().code, Errc::unavailable) << at;
    }
    client_.reset();
    settle(100'000);
  }
  EXPECT_GT(ok, 0u);
  EXPECT_GT(maybe, 0u);
  EXPECT_GT(not_applied, 0u);
}

TEST_F(ClientTest, ReadsLeaveNoDoubtBehind) {
  server_.script = nullptr;
  client();
  std::optional<Error> error;
  client_->async_read_row("t", "row", [&](auto row) { error = row.error(); });
  settle(1'000'000);
  server_.cut();
  settle(1'000'000);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, Errc::unavailable);
  EXPECT_EQ(error->applied, Applied::not_applied);
  EXPECT_TRUE(error->retryable());
}

TEST_F(ClientTest, ADeadlineEndsTheRequestTellsTheServerAndLeavesTheWriteInDoubt) {
  server_.script = nullptr;
  client();
  CallOptions options;
  options.deadline_us = 250'000;
  const auto outcome = write("row", options);
  settle(249'000);
  EXPECT_FALSE(outcome->has_value());
  settle(100'000);
  ASSERT_TRUE(outcome->has_value());
  EXPECT_EQ((*outcome)->error().code, Errc::deadline_exceeded);
  EXPECT_EQ((*outcome)->error().applied, Applied::maybe_applied);
  ASSERT_EQ(server_.requests.size(), 2u);
  EXPECT_LE(server_.requests[0].header.deadline_ms, 250u);
  EXPECT_EQ(server_.requests[1].header.kind, wire::FrameKind::cancel);
  EXPECT_EQ(server_.requests[1].header.request_id, server_.requests[0].header.request_id);
  // The late answer is ignored, and the connection stays usable.
  server_.send(mutate_reply(server_.requests[0]));
  server_.script = mutate_reply;
  const auto next = write("row");
  settle(1'000'000);
  EXPECT_TRUE(*next && **next);
  EXPECT_EQ(server_.connections, 1u);
}

TEST_F(ClientTest, AConnectionThatHasGoneSilentIsGivenUpAfterADeadline) {
  client();
  (void)write("warm");
  settle(3'000'000);
  server_.swallow = true;
  CallOptions options;
  options.deadline_us = 2'000'000;
  const auto outcome = write("row", options);
  settle(2'002'000);
  ASSERT_TRUE(outcome->has_value());
  EXPECT_EQ((*outcome)->error().code, Errc::deadline_exceeded);
  server_.swallow = false;
  const auto next = write("row");
  settle(2'000'000);
  EXPECT_TRUE(*next && **next);
  EXPECT_EQ(server_.connections, 2u);
}

TEST_F(ClientTest, AHelloWithoutAnswerEndsAtTheConnectTimeout) {
  server_.answer_hello = false;
  ClientOptions options = one_attempt();
  options.connect_timeout_us = 500'000;
  client(options);
  const auto outcome = write("row");
  settle(600'000);
  ASSERT_TRUE(outcome->has_value());
  EXPECT_EQ((*outcome)->error().code, Errc::unavailable);
  EXPECT_NE((*outcome)->error().message.find("hello"), std::string::npos);
}

TEST_F(ClientTest, AHelloOfAShardThatCannotBeIsRefused) {
  for (const uint32_t shard : {1u, 0xffffffffu}) {
    server_.says_shard = shard;
    ClientOptions options = one_attempt();
    client(options);
    CallOptions call;
    call.deadline_us = 500'000;
    const auto outcome = write("row", call);
    settle(2'000'000);
    ASSERT_TRUE(outcome->has_value());
    EXPECT_FALSE(outcome->value());
  }
  server_.says_shard = 0;
  client();
  const auto outcome = write("row");
  settle(2'000'000);
  EXPECT_TRUE(*outcome && **outcome);
}

TEST_F(ClientTest, AServerThatSaysGoodbyeAnswersWhatItHasAndIsAskedNothingMore) {
  server_.script = nullptr;
  client();
  const auto first = write("a");
  settle(1'000'000);
  server_.send(frame(wire::FrameKind::goaway, {}, {}));
  settle(10'000);
  server_.script = mutate_reply;
  const auto second = write("b");
  settle(10'000);
  EXPECT_EQ(server_.connections, 2u);
  EXPECT_TRUE(*second && **second) << "it does not wait for the end of the old connection";
  EXPECT_FALSE(first->has_value());
  server_.send_on(1, mutate_reply(server_.requests[0]));
  settle(1'000'000);
  EXPECT_TRUE(*first && **first);
  EXPECT_EQ(client_->stats().lost, 1u) << "the old connection has ended";
}

TEST_F(ClientTest, AGoawayWithAnErrorLeavesInDoubtWhatWasSent) {
  server_.script = nullptr;
  client();
  const auto first = write("a");
  settle(1'000'000);
  flatbuffers::FlatBufferBuilder b;
  const Error error(Errc::invalid_argument, "request id 7 is in use");
  server_.send(frame(wire::FrameKind::goaway, {}, wire::build_status(b, error), wire::kFrameError));
  settle(10'000);
  ASSERT_TRUE(first->has_value()) << "it does not wait for an answer";
  ASSERT_FALSE(**first);
  EXPECT_EQ((*first)->error().code, Errc::unavailable);
  EXPECT_EQ((*first)->error().applied, Applied::maybe_applied);
  EXPECT_NE((*first)->error().message.find("request id 7 is in use"), std::string::npos);
}

TEST_F(ClientTest, CancellingARequestTellsTheServer) {
  server_.script = nullptr;
  client();
  asio::cancellation_signal signal;
  std::optional<Error> error;
  client_->async_mutate_row("t", one_cell("row"),
                            asio::bind_cancellation_slot(
                                signal.slot(), [&](Result<MutateReply> r) { error = r.error(); }));
  settle(1'000'000);
  signal.emit(asio::cancellation_type::terminal);
  settle(100'000);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, Errc::cancelled);
  EXPECT_EQ(error->applied, Applied::maybe_applied);
  ASSERT_EQ(server_.requests.size(), 2u);
  EXPECT_EQ(server_.requests[1].header.kind, wire::FrameKind::cancel);
}

TEST_F(ClientTest, ClosingFailsWhatIsPending) {
  server_.script = nullptr;
  client();
  const auto sent = write("row");
  settle(1'000'000);
  const auto unsent = write("other");
  client_->close();
  const auto late = write("late");
  settle(1'000'000);
  EXPECT_EQ((*sent)->error().applied, Applied::maybe_applied);
  EXPECT_EQ((*unsent)->error().code, Errc::cancelled);
  EXPECT_EQ((*late)->error().code, Errc::cancelled);
  EXPECT_EQ((*late)->error().applied, Applied::not_applied);
}

TEST_F(ClientTest, ARequestLargerThanTheServerTakesIsRefusedHere) {
  client();
  Mutation big("row");
  big.set("f", "q", std::string(2u << 20, 'x'));
  std::optional<Error> error;
  client_->async_mutate_row("t", big, [&](Result<MutateReply> r) { error = r.error(); });
  settle(1'000'000);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, Errc::invalid_argument);
  EXPECT_TRUE(server_.requests.empty());
}

TEST_F(ClientTest, RowsSpreadOverTheConnectionsAndOneRowStaysOnOne) {
  ClientOptions options = one_attempt();
  options.connections = 4;
  client(options);
  for (int i = 0; i < 200; ++i) (void)write(fmt::format("row{}", i % 50));
  settle(1'000'000);
  EXPECT_EQ(server_.connections, 4u);
  ASSERT_EQ(server_.requests.size(), 200u);
  std::map<std::string, std::set<size_t>> connections_of;
  for (const Received& r : server_.requests) connections_of[r.body].insert(r.connection);
  for (const auto& [body, on] : connections_of) EXPECT_EQ(on.size(), 1u);
}

TEST_F(ClientTest, GarbageFromTheServerEndsTheConnectionAndItsRequests) {
  server_.script = [](const Received&) { return std::string(48, '\x7f'); };
  client();
  const auto outcome = write("row");
  settle(1'000'000);
  ASSERT_TRUE(*outcome && !**outcome);
  EXPECT_EQ((*outcome)->error().code, Errc::unavailable);
  EXPECT_EQ((*outcome)->error().applied, Applied::maybe_applied);
}

}  // namespace
}  // namespace cellar::client
