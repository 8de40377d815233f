// ReadStream: the answer to Client::read_rows, block by block.
//
//   auto stream = client.read_rows("packages", ReadRows::prefix("lib"));
//   while (true) {
//     CO_TRY(CellBlock block, co_await stream.async_next(use_awaitable));
//     if (block.empty()) break;                       // the end
//     for (const RowPart& row : block.rows()) ...
//   }
//
// The server sends ahead as many chunks as ReadRows::credits says, and no more until blocks are
// taken: a slow reader costs that much memory, here and nowhere else. Letting go of a stream
// cancels it. One async_next at a time. Same loop as its client.
#pragma once

#include <deque>
#include <memory>
#include <utility>

#include "net/client/call.h"
#include "net/client/cells.h"

namespace cellar::client {

class StreamCall final : public Call {
 public:
  StreamCall(Timers& timers, Request request, uint32_t credits)
      : Call(timers, std::move(request)), credits_(credits == 0 ? 1 : credits) {}

  void finish(Result<wire::Frame> answer, Reach reach) override;
  bool chunk(const wire::Frame& frame) override;
  void abandon() override;

  void next(Completion<CellBlock>* waiter);
  void stop_waiting();  // the waiter gets CANCELLED; the stream goes on
  void release();       // the handle lets go

 private:
  ~StreamCall() override = default;
  CellBlock take_block();

  uint32_t credits_;
  uint32_t owed_ = 0;  // blocks taken and not yet told to the server
  std::deque<CellBlock> blocks_;
  bool open_ = true;  // the connection refers to this
  bool held_ = true;  // a handle does
  Result<void> end_;
  Completion<CellBlock>* waiter_ = nullptr;
};

class ReadStream {
 public:
  // Made by Client.
  ReadStream(StreamCall* call, std::shared_ptr<BlockPool> pool, ShardExecutor executor)
      : call_(call), pool_(std::move(pool)), executor_(executor) {}
  ReadStream(ReadStream&& other) noexcept
      : call_(std::exchange(other.call_, nullptr)),
        pool_(std::move(other.pool_)),
        executor_(other.executor_) {}
  ReadStream& operator=(ReadStream&& other) noexcept {
    std::swap(call_, other.call_);
    std::swap(pool_, other.pool_);
    return *this;
  }
  ~ReadStream() { cancel(); }

  // void(Result<CellBlock>): the next block, or an empty one at the end. After an error only the
  // rows that were complete before it count; resume after the last of them.
  template <class Token>
  auto async_next(Token&& token) {
    return asio::async_initiate<Token, void(Result<CellBlock>)>(
        [this](auto handler) { this->launch(std::move(handler)); }, token);
  }

  // Gives the rest up. A pending async_next ends with CANCELLED.
  void cancel() {
    if (call_) std::exchange(call_, nullptr)->release();
  }

 private:
  template <class Handler>
  void launch(Handler handler) {
    auto slot = asio::get_associated_cancellation_slot(handler);
    Completion<CellBlock>* waiter =
        HandlerCompletion<CellBlock, Handler>::make(pool_, executor_, std::move(handler));
    if (!call_) {
      waiter->complete(fail(Errc::cancelled, "the read was cancelled"), Reach::queued);
      return;
    }
    if (slot.is_connected()) {
      StreamCall* call = call_;
      slot.assign([call](asio::cancellation_type) { call->stop_waiting(); });
    }
    call_->next(waiter);
  }

  StreamCall* call_ = nullptr;
  std::shared_ptr<BlockPool> pool_;
  ShardExecutor executor_;
};

}  // namespace cellar::client
