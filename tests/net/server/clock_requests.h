// ClockRequests: the requests of a node whose clock moves over the wire: those of clock_ops.h, and
// all of the protocol.
#pragma once

#include "net/server/requests/dispatch.h"
#include "net/server/shard/shard_server.h"
#include "tests/net/server/adjustable_clock.h"

namespace cellar::tests {

class ClockRequests final : public server::RequestHandler {
 public:
  explicit ClockRequests(AdjustableClock& clock) : clock_(clock) {}

  void handle(server::ShardServer& shard, server::Session& session,
              const wire::Frame& frame) const override {
    const bool moves_clock = frame.header.op >= static_cast<uint16_t>(ClockOp::advance) &&
                             frame.header.op <= static_cast<uint16_t>(ClockOp::set_both);
    if (!moves_clock || !session.greeted()) {
      return server::request_handler().handle(shard, session, frame);
    }
    const Result<void> moved = clock_.move(static_cast<ClockOp>(frame.header.op), frame.body);
    if (!moved) return session.reply_error(frame.header, moved.error());
    spawn(shard.executor(), answer(shard, session, frame.header));
  }
  size_t rows_of(server::ShardServer& shard, server::HandleTable& handles,
                 std::span<wire::Frame> frames,
                 std::span<engine::ExpectedRow> rows) const override {
    return server::request_handler().rows_of(shard, handles, frames, rows);
  }
  Result<void> check_announced(server::ShardServer& shard, server::Session& session,
                               const wire::FrameHeader& header) const override {
    return server::request_handler().check_announced(shard, session, header);
  }
  bool needs_time(uint16_t op) const override { return server::request_handler().needs_time(op); }

 private:
  static Async<void> answer(server::ShardServer& shard, server::Session& session,
                            wire::FrameHeader header) {
    const Result<void> renewed = co_await shard.node().renew_clock(shard.id());
    if (!renewed) co_return session.reply_error(header, renewed.error());
    session.reply(header, Bytes());
  }

  AdjustableClock& clock_;
};

}  // namespace cellar::tests
