// Reads in chunks: order, credits, cancelling, loss.
#include <boost/asio/bind_cancellation_slot.hpp>

#include "tests/net/client/client_bed.h"

namespace cellar::client {
namespace {

class StreamTest : public ClientBed {
 protected:
  // Sends as many chunks as there are credits, up to `total`.
  void serve_rows(size_t total) {
    server_.script = [this, total](const Received& r) {
      if (r.header.kind == wire::FrameKind::cancel) {
        return error_frame(r.header, Errc::cancelled, "cancelled by the client");
      }
      if (r.header.kind == wire::FrameKind::request) {
        credits_ = BodyOf<fb::ReadRowsRequest>(r)->credits();
      }
      if (r.header.kind == wire::FrameKind::credit) credits_ += BodyOf<fb::Credit>(r)->chunks();
      std::string out;
      for (; credits_ > 0 && sent_ < total; --credits_, ++sent_) {
        out += frame(wire::FrameKind::chunk, r.header,
                     chunk_body(fmt::format("row{:04}", sent_), "v"));
        if (sent_ + 1 == total) out += frame(wire::FrameKind::end, r.header, {});
      }
      return out;
    };
  }
  static ReadRows with_credits(uint32_t n) {
    ReadRows read;
    read.credits = n;
    return read;
  }
  Result<CellBlock> next(ReadStream& stream) {
    const auto call = [&]() -> Async<Result<CellBlock>> {
      co_return co_await stream.async_next(use_awaitable);
    };
    return world_.block_on(loop_, call());
  }
  size_t credits_ = 0;
  size_t sent_ = 0;
};

TEST_F(StreamTest, GivesEveryBlockInOrderAndThenAnEmptyOne) {
  serve_rows(50);
  client();
  ReadStream stream = client_->read_rows("t", with_credits(4));
  for (size_t i = 0; i < 50; ++i) {
    auto block = next(stream);
    ASSERT_TRUE(block.has_value());
    ASSERT_EQ(block->rows().size(), 1u);
    EXPECT_EQ(block->rows()[0].key, fmt::format("row{:04}", i));
    EXPECT_TRUE(block->rows()[0].complete);
  }
  auto end = next(stream);
  ASSERT_TRUE(end.has_value());
  EXPECT_TRUE(end->empty());
}

TEST_F(StreamTest, AReaderThatDoesNotReadHoldsTheServerBack) {
  serve_rows(1000);
  client();
  ReadStream stream = client_->read_rows("t", with_credits(4));
  settle(1'000'000);
  EXPECT_EQ(sent_, 4u);
  ASSERT_TRUE(next(stream).has_value());
  ASSERT_TRUE(next(stream).has_value());
  settle(1'000'000);
  EXPECT_EQ(sent_, 6u);
}

TEST_F(StreamTest, BlocksTakenBetweenTwoConnectionsStillMakeRoom) {
  serve_rows(40);
  ClientOptions options;
  options.wait_for_connection = true;
  client(options);
  ReadStream stream = client_->read_rows("t", with_credits(4));
  settle(1'000'000);
  ASSERT_EQ(sent_, 4u);
  server_.stop_listening();
  server_.cut();
  settle(1'000'000);  // the read waits, with the credits that four waiting blocks leave
  for (size_t i = 0; i < 4; ++i) ASSERT_TRUE(next(stream).has_value());
  server_.listen(kPort);
  size_t blocks = 4;
  while (true) {
    const auto block = next(stream);
    ASSERT_TRUE(block.has_value()) << block.error().message;
    if (block->empty()) break;
    ++blocks;
  }
  EXPECT_EQ(blocks, 40u);
}

TEST_F(StreamTest, LettingGoCancelsTheReadAndFreesItsPlace) {
  serve_rows(1000);
  client();
  {
    ReadStream stream = client_->read_rows("t", with_credits(4));
    ASSERT_TRUE(next(stream).has_value());
  }
  settle(1'000'000);
  EXPECT_EQ(server_.requests.back().header.kind, wire::FrameKind::cancel);
  server_.script = mutate_reply;
  const auto outcome = write("row");
  settle(1'000'000);
  EXPECT_TRUE(*outcome && **outcome);
  EXPECT_EQ(server_.connections, 1u);
}

TEST_F(StreamTest, ALostConnectionEndsTheStreamAfterTheBlocksThatCame) {
  serve_rows(1000);
  client();
  ReadStream stream = client_->read_rows("t", with_credits(4));
  settle(1'000'000);
  server_.cut();
  settle(10'000);
  size_t blocks = 0;
  Result<CellBlock> last;
  while (true) {
    last = next(stream);
    if (!last) break;
    ++blocks;
    ASSERT_LE(blocks, 4u);
  }
  EXPECT_EQ(blocks, 4u);
  EXPECT_EQ(last.error().code, Errc::unavailable);
  EXPECT_TRUE(last.error().retryable());
}

// Ends the stream as a node does whose client asks for no chunk, each time its credits are used up.
TEST_F(StreamTest, AFullWindowWaitsForItsReaderBeforeTheReadIsRenewed) {
  std::vector<uint32_t> asked;
  server_.script = [&](const Received& r) {
    if (r.header.kind != wire::FrameKind::request || asked.size() > 100) return std::string();
    uint32_t credits = BodyOf<fb::ReadRowsRequest>(r)->credits();
    asked.push_back(credits);
    std::string out;
    for (; credits > 0; --credits, ++sent_) {
      const std::string row = fmt::format("row{:04}", sent_);
      out += frame(wire::FrameKind::chunk, r.header, chunk_body(row, "v"));
    }
    flatbuffers::FlatBufferBuilder b;
    const Error forgotten = Error(Errc::unavailable, "forgotten").retry_after(0);
    return out + frame(wire::FrameKind::reply, r.header, wire::build_status(b, forgotten),
                       wire::kFrameError);
  };
  ClientOptions options;
  options.retry.max_attempts = 3;
  client(options);
  ReadStream stream = client_->read_rows("t", with_credits(4));
  settle(1'000'000);
  EXPECT_EQ(asked, std::vector<uint32_t>{4});
  for (size_t i = 0; i < 20; ++i) {
    const auto block = next(stream);
    ASSERT_TRUE(block.has_value()) << block.error().message;
    EXPECT_EQ(block->rows()[0].key, fmt::format("row{:04}", i));
    settle(1'000'000);
    EXPECT_LE(sent_, i + 1 + 4) << "blocks taken, and a window";
  }
  EXPECT_EQ(sent_, 24u);
}

// Both were in flight on the connection: the handler of the first may end the second, or
// everything.
TEST_F(StreamTest, AHandlerOfALostCallMayEndTheOthers) {
  for (const bool all : {false, true}) {
    server_.script = [](const Received&) { return std::string(); };
    client();
    std::optional<ReadStream> stream;
    bool ended = false;
    client_->async_mutate_row("t", one_cell("row"), {}, [&](const Result<MutateReply>& reply) {
      EXPECT_FALSE(reply);
      ended = true;
      stream.reset();
      if (all) client_.reset();
    });
    stream.emplace(client_->read_rows("t", with_credits(4)));
    settle(1'000);
    server_.cut();
    settle();
    EXPECT_TRUE(ended);
  }
}

TEST_F(StreamTest, CancellingAWaitLeavesTheStreamWhole) {
  serve_rows(0);
  server_.script = nullptr;
  client();
  ReadStream stream = client_->read_rows("t", with_credits(4));
  asio::cancellation_signal signal;
  std::optional<Error> error;
  stream.async_next(
      asio::bind_cancellation_slot(signal.slot(), [&](Result<CellBlock> r) { error = r.error(); }));
  settle(1'000'000);
  signal.emit(asio::cancellation_type::terminal);
  settle(10'000);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, Errc::cancelled);
  const wire::FrameHeader request = server_.requests[0].header;
  server_.send(frame(wire::FrameKind::chunk, request, chunk_body("k", "v")));
  auto block = next(stream);
  ASSERT_TRUE(block.has_value());
  EXPECT_EQ(block->rows()[0].key, "k");
}

}  // namespace
}  // namespace cellar::client
