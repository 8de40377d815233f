// ReadStream: the result of Client::read_rows or read_index, block by block.
//
//   auto stream = client.read_rows("packages", ReadRows::prefix("lib"));
//   while (true) {
//     CO_TRY(CellBlock block, co_await stream.async_next(use_awaitable));
//     if (block.empty()) break;                       // the end
//     for (const RowPart& row : block.rows()) ...
//   }
//
// A lost connection or a transient error does not end the stream: the read resumes after the last
// complete row with the remaining row limit, as often as ClientOptions::retry permits without a row
// in between. A read through an index, each of whose hits is a row here, resumes after the last
// complete hit. Rows are returned whole; see ReadRows::provisional_rows for very large ones.
//
// The server sends up to ReadRows::credits chunks ahead and waits until blocks are taken, so a slow
// reader uses that much memory in this client only. A stream of which no block is taken for the
// server's `timeouts.idle` keeps no place in the server: the read resumes when a block is taken.
// Destroying a stream cancels it. One async_next at a time. Same loop as its client.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/client/api/cells.h"
#include "net/client/codec/call.h"
#include "net/client/codec/encode.h"
#include "net/client/codec/requests.h"

namespace cellar::client {

// What a stream asks for, and what of it is left when it resumes.
class StreamPlan {
 public:
  virtual ~StreamPlan() = default;
  virtual Request encode(Encoder& encoder, uint32_t credits) const = 0;
  virtual uint32_t credits() const = 0;
  virtual bool provisional_rows() const = 0;
  // Notes the complete rows of a chunk. False: the read could not resume behind them.
  virtual bool note(const CellBlock& block) = 0;
  virtual uint64_t rows() const = 0;  // noted in this attempt
  // Reduces the request to what follows the noted rows. False: nothing is left.
  virtual bool resume() = 0;
};

std::unique_ptr<StreamPlan> plan_of(std::string_view table, ReadRows read);
std::unique_ptr<StreamPlan> plan_of(std::string_view table, ReadIndex read);

class StreamCall final : public Call {
 public:
  StreamCall(Timers& timers, Request request, std::shared_ptr<Encoder> encoder,
             std::unique_ptr<StreamPlan> plan)
      : Call(timers, std::move(request)),
        encoder_(std::move(encoder)),
        plan_(std::move(plan)),
        credits_(plan_->credits() == 0 ? 1 : plan_->credits()) {}

  void finish(Result<wire::Frame> answer, Reach reach) override;
  bool chunk(const wire::Frame& frame) override;
  bool renew() override;
  bool waits_for_reader() const override { return full_; }
  void abandon() override;

  void next(Completion<CellBlock>* waiter);
  void stop_waiting();  // completes the waiter with CANCELLED; the stream continues
  void release();       // called by the handle when it is destroyed

 private:
  ~StreamCall() override = default;
  CellBlock take_block();
  void repay_credits();

  std::shared_ptr<Encoder> encoder_;
  std::unique_ptr<StreamPlan> plan_;   // the request of this attempt
  std::vector<CellBlock> unfinished_;  // parts of the row whose end has not arrived
  uint32_t credits_;
  uint32_t owed_ = 0;  // blocks taken, not yet credited to the server
  struct Waiting {
    CellBlock block;
    bool credit;  // taking it permits the server another chunk
  };
  std::deque<Waiting> blocks_;  // complete rows
  bool full_ = false;           // the next attempt waits for a place in the window
  bool open_ = true;            // the connection refers to this
  bool held_ = true;            // a handle refers to this
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
  // rows completed before it are valid; a new read may start after the last of them.
  template <class Token>
  auto async_next(Token&& token) {
    return asio::async_initiate<Token, void(Result<CellBlock>)>(
        [this](auto handler) { this->launch(std::move(handler)); }, token);
  }

  // Cancels the read. A pending async_next completes with CANCELLED.
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
