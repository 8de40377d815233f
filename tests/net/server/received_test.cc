// Sessions with received bytes that have not advanced yet.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/net/server/server_bed.h"

namespace cellar::server {
namespace {

namespace fb = wire::fb;
using fb::Op;

// A stream whose bytes a test brings, in one receive without a coroutine, as those of io_uring.
class FedStream final : public ByteStream {
 public:
  struct Shared {
    ReceiveHandler* handler = nullptr;
    std::span<std::byte> into;
    std::string sent;  // by the node
    bool closed = false;

    // All bytes, in one receive. REQUIRES: a receive is under way.
    void feed(Bytes bytes) {
      CHECK(handler != nullptr && bytes.size() <= into.size(), "{} bytes for {}", bytes.size(),
            into.size());
      std::memcpy(into.data(), bytes.data(), bytes.size());
      std::exchange(handler, nullptr)->on_received(bytes.size());
    }
  };

  explicit FedStream(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  Async<Result<size_t>> read_some(std::span<std::byte> into) override {
    struct Wait final : ReceiveHandler {
      void on_received(Result<size_t> bytes) override {
        result = std::move(bytes);
        event.set();
      }
      Result<size_t> result;
      Event event;
    } wait;
    shared_->into = into;
    shared_->handler = &wait;
    co_await wait.event.wait();
    co_return wait.result;
  }
  bool start_receive(std::span<std::byte> into, ReceiveHandler& handler) override {
    if (shared_->closed) return false;
    shared_->into = into;
    shared_->handler = &handler;
    return true;
  }
  Async<Result<void>> write(std::span<const Bytes> parts) override {
    for (const Bytes part : parts) shared_->sent += part;
    co_return Result<void>();
  }
  Result<size_t> try_write(std::span<const Bytes> parts) override {
    size_t n = 0;
    for (const Bytes part : parts) {
      shared_->sent += part;
      n += part.size();
    }
    return n;
  }
  void close() override {
    shared_->closed = true;
    if (shared_->handler == nullptr) return;
    std::exchange(shared_->handler, nullptr)->on_received(fail(Errc::cancelled, "closed"));
  }
  std::string peer() const override { return "fed:1"; }

 private:
  const std::shared_ptr<Shared> shared_;
};

class ReceivedTest : public testing::Test {
 protected:
  ReceivedTest() {
    CHECK(peer.code_of(Op::CreateTable, wire::create_table_body("t", {"f"})) == Errc::ok);
  }
  std::shared_ptr<FedStream::Shared> connect() {
    auto shared = std::make_shared<FedStream::Shared>();
    bed.shard(0).serve(std::make_unique<FedStream>(shared));
    bed.world().run_for_us(1'000);
    std::string hello;
    wire::append_preface(hello, {});
    feed(shared, hello + wire::request_frame(Op::Hello, 1, ""));
    bed.world().run_for_us(1'000);
    CHECK(!answers(*shared).empty(), "the hello was not answered");
    shared->sent.clear();
    return shared;
  }
  // In the next turn of the shard.
  void feed(std::shared_ptr<FedStream::Shared> to, std::string bytes) {
    asio::post(bed.shard(0).executor(),
               [to = std::move(to), bytes = std::move(bytes)] { to->feed(bytes); });
  }
  // What the node has sent since the last call.
  static std::vector<Answer> answers(FedStream::Shared& shared) {
    std::vector<Answer> out;
    wire::FrameReader reader(wire::kDefaultFrameBytes);
    for (Bytes rest = shared.sent; !rest.empty();) {
      const std::span<std::byte> space = reader.space();
      const size_t n = std::min(space.size(), rest.size());
      std::memcpy(space.data(), rest.data(), n);
      reader.received(n);
      rest.remove_prefix(n);
      while (auto frame = reader.next()) {
        if (*frame == nullptr) break;
        Answer& answer = out.emplace_back();
        answer.header = (*frame)->header;
        answer.body = (*frame)->body;
      }
    }
    shared.sent.clear();
    return out;
  }

  ServerBed bed;
  Peer peer{bed};
};

// They have received in one turn; some of them end in it.
TEST_F(ReceivedTest, SessionsOfOneTurnDoNotDisturbEachOther) {
  const auto first = connect();
  const auto second = connect();
  const auto third = connect();
  const auto fourth = connect();
  wire::DecodedGet get;
  get.row = "row";
  std::string body;
  wire::append_get(body, get);
  std::string reads = wire::bind_frame(1, {.table = "t"});
  for (uint64_t i = 0; i < 40; ++i)
    reads += wire::request_frame(Op::Get, 10 + i, body, wire::FrameKind::request, 0, 1);
  feed(first, wire::request_frame(Op::None, 0, "", wire::FrameKind::reply));  // garbage
  feed(second, reads);
  feed(third, "");  // the end of the stream
  feed(fourth, reads);
  bed.world().run_for_us(1'000'000);
  EXPECT_TRUE(first->closed);
  EXPECT_TRUE(third->closed);
  for (const auto& stream : {second, fourth}) {
    std::vector<Answer> got = answers(*stream);
    ASSERT_EQ(got.size(), 40u);
    for (uint64_t i = 0; i < 40; ++i) {
      EXPECT_EQ(got[i].header.request_id, 10 + i);
      EXPECT_FALSE(got[i].error());
    }
    feed(stream, "");
  }
  bed.world().run_for_us(1'000'000);
}

}  // namespace
}  // namespace cellar::server
