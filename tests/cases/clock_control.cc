#include "tests/cases/clock_control.h"

#include <utility>
#include <vector>

#include "io/base/coding.h"
#include "io/loop/shard_loop.h"
#include "io/net/tcp_transport.h"
#include "net/wire/body.h"
#include "net/wire/frame.h"
#include "tests/net/server/clock_ops.h"

namespace cellar::cases {
namespace {

constexpr int64_t kConnectTimeoutUs = 5'000'000;

void append_frame(std::string& out, uint16_t op, uint64_t id, Bytes body) {
  wire::FrameHeader header;
  header.op = op;
  header.request_id = id;
  header.body_bytes = static_cast<uint32_t>(body.size());
  wire::append_header(out, header);
  out += body;
}

// An operation and its arguments.
struct Order {
  tests::ClockOp op;
  std::vector<int64_t> numbers;
};

std::string dialogue(const Order& order) {
  std::string out;
  wire::append_preface(out, {});
  flatbuffers::FlatBufferBuilder builder;
  wire::fb::HelloRequestBuilder hello(builder);
  append_frame(out, static_cast<uint16_t>(wire::fb::Op::Hello), 1,
               wire::finish_body(builder, hello.Finish()));
  std::string body;
  for (const int64_t number : order.numbers) put_u64(body, static_cast<uint64_t>(number));
  append_frame(out, static_cast<uint16_t>(order.op), 2, body);
  return out;
}

Async<Result<void>> talk(Network& network, std::string address, Order order) {
  CO_TRY(const Address to, parse_address(address));
  CO_TRY(auto stream, co_await network.connect(to.host, to.port, kConnectTimeoutUs));
  const std::string out = dialogue(order);
  const Bytes parts[] = {out};
  CO_TRY_VOID(co_await stream->write(parts));
  wire::FrameReader reader(wire::kHandshakeFrameBytes);
  for (int answers = 0; answers < 2;) {
    CO_TRY(const size_t n, co_await stream->read_some(reader.space()));
    if (n == 0) co_return fail(Errc::unavailable, "the node closed the control connection");
    reader.received(n);
    while (true) {
      CO_TRY(const wire::Frame* frame, reader.next());
      if (frame == nullptr) break;
      if (frame->header.flags & wire::kFrameError)
        co_return fail(Errc::internal, "the node refused to move its clock");
      ++answers;
    }
  }
  stream->close();
  co_return Result<void>();
}

Result<void> carry_out(const std::string& address, Order order) {
  ShardLoop loop;
  TcpNetwork network(loop.executor(), loop.timers());
  return block_on(loop, talk(network, address, std::move(order)));
}

}  // namespace

Result<void> set_node_clock(const std::string& address, const ClockReading& reading) {
  return carry_out(address, {tests::ClockOp::set_both, {reading.wall_us, reading.boot_us}});
}

Result<void> set_node_wall_clock(const std::string& address, int64_t wall_us) {
  return carry_out(address, {tests::ClockOp::set_wall, {wall_us}});
}

Result<void> advance_node_clock(const std::string& address, int64_t us) {
  return carry_out(address, {tests::ClockOp::advance, {us}});
}

}  // namespace cellar::cases
