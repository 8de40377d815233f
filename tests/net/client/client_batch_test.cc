// The batching writer: when batches are sent, how much waits, the order of writes to a row, and the
// result of each mutation.
#include <algorithm>
#include <map>
#include <set>

#include "net/client/batch_writer.h"
#include "tests/net/client/client_bed.h"

namespace cellar::client {
namespace {

class BatchTest : public ClientBed {
 protected:
  struct Entry {
    std::string row;
    std::string value;
  };
  static std::vector<Entry> entries_of(const Received& r) {
    const BodyOf<fb::MutateRowsRequest> body(r);
    const Bytes arena = wire::bytes_of(body->arena());
    std::vector<Entry> entries;
    uint32_t next = 0;
    for (const fb::EntryRec* entry : *body->entries()) {
      const fb::MutationRec* first = body->mutations()->Get(next);
      next += entry->mutation_count();
      entries.push_back({std::string(arena.substr(entry->row().at(), entry->row().size())),
                         std::string(arena.substr(first->value().at(), first->value().size()))});
    }
    return entries;
  }
  static Mutation value(Bytes row, Bytes v) {
    Mutation m(row);
    m.set("f", "q", v, 1000);
    return m;
  }
  BatchWriter& writer(BatchWriterOptions options = {}) {
    client();
    writer_ = std::make_unique<BatchWriter>(*client_, "t", std::move(options));
    return *writer_;
  }
  ~BatchTest() override { writer_.reset(); }
  // Adds without waiting; the result appears in the optional.
  std::shared_ptr<std::optional<Result<void>>> add(Bytes row, Bytes v = "v") {
    auto outcome = std::make_shared<std::optional<Result<void>>>();
    writer_->async_write(value(row, v),
                         [outcome](Result<void> r) { outcome->emplace(std::move(r)); });
    return outcome;
  }
  std::shared_ptr<std::optional<Result<void>>> flush() {
    auto outcome = std::make_shared<std::optional<Result<void>>>();
    writer_->async_flush([outcome](Result<void> r) { outcome->emplace(std::move(r)); });
    return outcome;
  }
  std::unique_ptr<BatchWriter> writer_;
};

TEST_F(BatchTest, AFullBatchLeavesAtOnceAndALonelyOneAfterItsLinger) {
  writer({.batch_rows = 10, .linger_us = 50'000});
  for (int i = 0; i < 25; ++i) (void)add(fmt::format("row{:02}", i));
  settle(20'000);
  ASSERT_EQ(server_.requests.size(), 2u);
  EXPECT_EQ(entries_of(server_.requests[0]).size(), 10u);
  EXPECT_EQ(writer_->pending(), 5u);
  settle(40'000);
  ASSERT_EQ(server_.requests.size(), 3u);
  EXPECT_EQ(entries_of(server_.requests[2]).size(), 5u);
  EXPECT_EQ(writer_->pending(), 0u);
  EXPECT_EQ(writer_->stats().applied, 25u);
}

TEST_F(BatchTest, BytesFillABatchToo) {
  writer({.batch_rows = 1000, .batch_bytes = 10'000, .linger_us = 1'000'000});
  for (int i = 0; i < 10; ++i) (void)add(fmt::format("row{}", i), std::string(2000, 'x'));
  settle(10'000);
  EXPECT_EQ(server_.requests.size(), 2u);
}

TEST_F(BatchTest, NoMoreBatchesAreOnTheirWayThanAllowed) {
  server_.script = nullptr;
  writer({.batch_rows = 10, .max_batches = 3});
  for (int i = 0; i < 100; ++i) (void)add(fmt::format("row{:02}", i));
  settle(1'000'000);
  ASSERT_EQ(server_.requests.size(), 3u);
  server_.send(mutate_reply(server_.requests[1]));
  settle(1'000'000);
  EXPECT_EQ(server_.requests.size(), 4u);
}

TEST_F(BatchTest, WhenItIsFullAnAddWaitsAndATryIsRefused) {
  server_.script = nullptr;
  const size_t bytes = value("row00", "v").memory_bytes();
  writer({.batch_rows = 10, .max_pending_bytes = 20 * bytes});
  for (int i = 0; i < 20; ++i) (void)add(fmt::format("row{:02}", i));
  EXPECT_EQ(writer_->pending_bytes(), 20 * bytes);
  Mutation more = value("row20", "v");
  EXPECT_FALSE(writer_->try_add(more, [](Result<void>) {}));
  EXPECT_EQ(more.row(), "row20");
  bool taken = false;
  writer_->async_add(value("row21", "v"), [&](Result<void> r) { taken = r.has_value(); });
  settle(1'000'000);
  EXPECT_FALSE(taken);
  EXPECT_EQ(writer_->stats().waits, 1u);
  EXPECT_FALSE(writer_->try_add(more, [](Result<void>) {})) << "those who wait come first";
  server_.send(mutate_reply(server_.requests[0]));
  settle(1'000'000);
  EXPECT_TRUE(taken);
  EXPECT_TRUE(writer_->try_add(more, [](Result<void>) {}));
}

TEST_F(BatchTest, AMutationLargerThanAllRoomIsTakenAlone) {
  writer({.max_pending_bytes = 100});
  const auto big = add("row", std::string(5000, 'x'));
  settle();
  EXPECT_TRUE(*big && **big);
}

TEST_F(BatchTest, ARowIsInOneBatchOnItsWayAndItsMutationsKeepTheirOrder) {
  Random random(7);
  std::map<std::string, std::string> written;
  std::vector<Received> held;
  std::multiset<std::string> on_their_way;
  server_.script = [&](const Received& r) -> std::string {
    std::set<std::string> rows;
    for (const Entry& entry : entries_of(r)) {
      rows.insert(entry.row);
      EXPECT_LT(written[entry.row], entry.value) << entry.row;
      written[entry.row] = entry.value;
    }
    for (const std::string& row : rows) {
      EXPECT_FALSE(on_their_way.contains(row)) << row;
      on_their_way.insert(row);
    }
    held.push_back(r);
    return {};
  };
  writer({.batch_rows = 7, .max_batches = 4});
  std::vector<std::shared_ptr<std::optional<Result<void>>>> outcomes;
  size_t added = 0;
  while (added < 2000 || !held.empty() || writer_->pending() > 0) {
    for (size_t n = random.below(30); n > 0 && added < 2000; --n) {
      outcomes.push_back(
          add(fmt::format("row{}", random.below(12)), fmt::format("{:06}", ++added)));
    }
    settle(static_cast<int64_t>(random.below(10'000)));
    if (held.empty()) continue;
    const size_t at = random.below(held.size());
    for (const Entry& entry : entries_of(held[at])) on_their_way.erase(entry.row);
    server_.send(mutate_reply(held[at]));
    held.erase(held.begin() + static_cast<std::ptrdiff_t>(at));
    settle(1000);
  }
  for (const auto& outcome : outcomes) EXPECT_TRUE(*outcome && **outcome);
  EXPECT_LT(writer_->stats().batches, 1500u);
}

TEST_F(BatchTest, AFlushEndsWhenAllBeforeItIsDoneAndTellsTheFirstFailure) {
  server_.script = [](const Received& r) {
    flatbuffers::FlatBufferBuilder b;
    const std::vector<fb::EntryFailure> failures = {fb::EntryFailure(
        1, kRetryNever, fb::Span(0, 3), static_cast<uint8_t>(Errc::out_of_range), 0, 0)};
    const auto vector = b.CreateVectorOfStructs(failures);
    const auto arena = b.CreateVector(std::vector<uint8_t>{'b', 'a', 'd'});
    return frame(wire::FrameKind::reply, r.header,
                 wire::finish_body(b, fb::CreateMutateRowsReply(b, vector, arena)));
  };
  std::vector<std::string> failed;
  BatchWriterOptions options;
  options.linger_us = 10'000'000;
  options.on_failure = [&](Bytes row, const Error&) { failed.emplace_back(row); };
  writer(std::move(options));
  const auto a = add("a");
  const auto b = add("b");
  const auto flushed = flush();
  settle(1'000'000);
  EXPECT_TRUE(*a && **a);
  ASSERT_TRUE(*b && !**b);
  EXPECT_EQ((*b)->error().code, Errc::out_of_range);
  EXPECT_EQ(failed, std::vector<std::string>{"b"});
  ASSERT_TRUE(*flushed && !**flushed);
  EXPECT_EQ((*flushed)->error().to_string(), "OUT_OF_RANGE: row 'b': bad");
  server_.script = mutate_reply;
  const auto c = add("c");
  const auto again = flush();
  settle(1'000'000);
  EXPECT_TRUE(*again && **again) << "a failure is told once";
}

TEST_F(BatchTest, AWriterThatGoesEndsWhatItHasNotSent) {
  server_.script = nullptr;
  writer({.batch_rows = 2, .linger_us = 10'000'000, .max_batches = 1});
  const auto sent = add("a");
  (void)add("b");
  const auto unsent = add("c");
  settle(100'000);
  writer_.reset();
  settle(100'000);
  EXPECT_FALSE(sent->has_value());
  ASSERT_TRUE(*unsent && !**unsent);
  EXPECT_EQ((*unsent)->error().code, Errc::cancelled);
  EXPECT_EQ((*unsent)->error().applied, Applied::not_applied);
  server_.send(mutate_reply(server_.requests[0]));
  settle(100'000);
  EXPECT_TRUE(*sent && **sent);
}

TEST_F(BatchTest, NothingIsTakenAfterACloseAndBadOptionsAreTold) {
  writer();
  const auto before = add("a");
  bool closed = false;
  writer_->async_close([&](Result<void> r) { closed = r.has_value(); });
  const auto after = add("b");
  settle(1'000'000);
  EXPECT_TRUE(closed);
  EXPECT_TRUE(*before && **before);
  EXPECT_EQ((*after)->error().code, Errc::failed_precondition);
  writer_ = std::make_unique<BatchWriter>(*client_, "t", BatchWriterOptions{.batch_rows = 0});
  const auto refused = add("c");
  settle(1'000'000);
  EXPECT_EQ((*refused)->error().code, Errc::invalid_argument);
}

}  // namespace
}  // namespace cellar::client
