// Call: one request from its start to the delivery of its result, over all attempts. A connection
// keeps calls in its lists and does not know their contents; between attempts they belong to their
// owner, the dispatcher. UnaryCall adds the decoder and the caller's completion handler, in one
// block from a pool.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/intrusive/list.hpp>

#include "io/base/result.h"
#include "io/loop/async.h"
#include "io/loop/timers.h"
#include "net/client/api/retry_policy.h"
#include "net/wire/frame.h"
#include "net/wire/status.h"
#include "schema/common_generated.h"

namespace cellar::client {

// An encoded request, made by the Encoder.
struct Request {
  std::string frame;        // header, then body
  int64_t deadline_us = 0;  // from the start of the call; kNoDeadline: none
  uint64_t affinity = 0;    // requests with the same affinity share a connection
  uint64_t argument = 0;    // passed to the decoder of the answer
  bool writes = false;      // its outcome may be in doubt
  Repeat repeat = Repeat::always;
  bool wait = false;        // waits for a connection if none can be made at once
  bool keep_frame = false;  // the call needs the frame after the answer
  // Receives the chunks before the answer instead of the decoder; a new attempt invalidates the
  // chunks of the previous one.
  std::function<void(Bytes body)> on_chunk;
  bool by_row = false;     // routed by `row` alone; names tablet and epoch
  std::string table;       // empty: none, or all
  bool by_handle = false;  // the connection names the table by a handle in the frame's header
  // Position in the frame: the (first) row.
  struct Part {
    uint32_t at = 0;
    uint32_t size = 0;
  };
  Part row;
  // Positions of token issue times that are 0 until the first attempt: the first one, their number
  // and their distance.
  uint32_t token_times_at = 0;
  uint32_t token_times = 0;
  uint32_t token_times_apart = 0;
  // For a node without the feature: the first attempt sends the other frame if there is one;
  // otherwise the call fails with UNIMPLEMENTED.
  bool needs_drop_tokens = false;
  std::string frame_without_token;
  Repeat repeat_without_token = Repeat::unless_applied;

  Bytes part(Part p) const { return Bytes(frame).substr(p.at, p.size); }
};

// The decoder's input, valid during its call only.
struct Answer {
  const wire::Frame& last;
  const std::vector<std::string>& chunks;  // bodies of the preceding frames
  uint64_t argument = 0;
  Bytes row = {};  // the key that a Get asked for
};

// Memory for calls and handlers; freed blocks are reused. One loop.
class BlockPool {
 public:
  static constexpr size_t kBlockBytes = 512;
  static constexpr size_t kKeptBlocks = 1024;

  BlockPool() = default;
  ~BlockPool() {
    for (void* block : free_) ::operator delete(block);
  }
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  void* acquire(size_t bytes) {
    if (bytes > kBlockBytes) return ::operator new(bytes);
    if (free_.empty()) return ::operator new(kBlockBytes);
    void* block = free_.back();
    free_.pop_back();
    return block;
  }
  void release(void* block, size_t bytes) {
    if (bytes > kBlockBytes || free_.size() >= kKeptBlocks) {
      ::operator delete(block);
    } else {
      free_.push_back(block);
    }
  }

 private:
  std::vector<void*> free_;
};

// How a completion handler is invoked: directly if the caller is already in a handler of the loop,
// or through the queue inside the function that starts or cancels the operation.
enum class Reach : uint8_t { now, queued };

// A type-erased completion handler for a Result<T>. complete() is called exactly once and destroys
// the object; abandon() destroys it without a call (the loop is gone).
template <class T>
class Completion {
 public:
  virtual void complete(Result<T> result, Reach reach) = 0;
  virtual void abandon() = 0;

 protected:
  ~Completion() = default;
};

template <class T, class Handler>
class HandlerCompletion final : public Completion<T> {
 public:
  static Completion<T>* make(std::shared_ptr<BlockPool> pool, ShardExecutor executor,
                             Handler handler) {
    void* block = pool->acquire(sizeof(HandlerCompletion));
    return new (block) HandlerCompletion(std::move(pool), executor, std::move(handler));
  }

  void complete(Result<T> result, Reach reach) override {
    if (slot_.is_connected()) slot_.clear();
    Handler handler = std::move(handler_);
    auto work = std::move(work_);
    abandon();
    auto executor = work.get_executor();
    auto call = [handler = std::move(handler), result = std::move(result)]() mutable {
      std::move(handler)(std::move(result));
    };
    if (reach == Reach::now) {
      asio::dispatch(executor, std::move(call));
    } else {
      asio::post(executor, std::move(call));
    }
  }
  void abandon() override {
    const std::shared_ptr<BlockPool> pool = std::move(pool_);
    this->~HandlerCompletion();
    pool->release(this, sizeof(HandlerCompletion));
  }

 private:
  using Executor = asio::associated_executor_t<Handler, ShardExecutor>;
  HandlerCompletion(std::shared_ptr<BlockPool> pool, ShardExecutor executor, Handler handler)
      : pool_(std::move(pool)),
        work_(asio::get_associated_executor(handler, executor)),
        slot_(asio::get_associated_cancellation_slot(handler)),
        handler_(std::move(handler)) {}
  ~HandlerCompletion() = default;

  std::shared_ptr<BlockPool> pool_;
  asio::executor_work_guard<Executor> work_;
  asio::associated_cancellation_slot_t<Handler> slot_;
  Handler handler_;
};

class Connection;
class Call;

// How a failed attempt ended.
enum class Ending : uint8_t {
  answered,     // the node refused it
  lost,         // the connection was lost
  unreachable,  // no connection, and the request does not wait for one
  here,         // deadline, cancel, close: no further attempt
};

// Owns calls between their attempts.
class CallOwner {
 public:
  // An attempt has failed. True: the owner takes the call, which is not finished.
  virtual bool takes_back(Call& call, const Error& error, Ending ending,
                          const wire::TabletHint* hint) = 0;
  // Called before the call finishes.
  virtual void on_finish(Call& call, bool answered) = 0;
  virtual void on_call_timer(Call& call) = 0;
  virtual void cancel_waiting(Call& call, Error why, Reach reach) = 0;

 protected:
  ~CallOwner() = default;
};

class Call : public boost::intrusive::list_base_hook<> {
 public:
  Call(Timers& timers, Request request)
      : timers_(timers), request_(std::move(request)), timer_(timers, &Call::on_timer, this) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // Ends an attempt: the owner takes the call back, or it finishes. The call may be destroyed.
  void end(Result<wire::Frame> answer, Ending ending, Reach reach,
           const wire::TabletHint* hint = nullptr);
  // Called once with the last frame of the answer or an error; the call may be destroyed.
  virtual void finish(Result<wire::Frame> answer, Reach reach) = 0;
  // Clears the results of the last attempt before another one. False: nothing is left to request,
  // and finish() receives an empty answer.
  virtual bool renew() { return true; }
  // The next attempt must wait for the reader of the results: see Dispatcher::go_on().
  virtual bool waits_for_reader() const { return false; }
  // A chunk of the answer, valid during the call. False: this answer has no chunks.
  virtual bool chunk(const wire::Frame& frame) = 0;
  // Destroys the call without completion because the loop is gone.
  virtual void abandon() = 0;

 protected:
  virtual ~Call() = default;
  const Request& request() const { return request_; }
  Request& request() { return request_; }
  CallOwner* owner() const { return owner_; }
  uint32_t attempts() const { return attempts_; }
  // An attempt made progress: the count of attempts restarts.
  void made_progress() { attempts_ = 1; }
  // Whether any attempt may have been applied, whatever the last one returned.
  bool in_doubt() const { return in_doubt_; }
  Ending ending() const { return ending_; }  // of the last attempt
  int64_t left_us() const;                   // until the deadline

 private:
  friend class Connection;
  friend class Dispatcher;
  static void on_timer(void* context);

  Timers& timers_;
  Request request_;
  CallOwner* owner_ = nullptr;
  uint32_t attempts_ = 0;
  uint32_t redirects_ = 0;
  Ending ending_ = Ending::here;
  bool in_doubt_ = false;             // an attempt may have been applied
  uint64_t sticky_row_ = 0;           // key of the row whose writes stay on one connection; 0: none
  size_t charged_bytes_ = 0;          // charged to the client's limits; 0: none
  Connection* connection_ = nullptr;  // in which it waits or was sent; null when finished
  uint32_t request_id_ = 0;           // 0: not on the wire yet
  uint64_t tablet_id_ = 0;            // named beside the table; 0: none
  uint64_t epoch_ = 0;
  uint64_t wire_end_ = 0;            // end of its frame in the connection's output
  int64_t deadline_us_ = INT64_MAX;  // in the loop's time
  int64_t sent_us_ = 0;
  Timer timer_;
};

using CallList = boost::intrusive::list<Call>;

// A call with one answer. `decode` converts the last frame and the chunks before it to T.
template <class T>
class UnaryCall final : public Call {
 public:
  using Decode = Result<T> (*)(const Answer& answer);

  static UnaryCall* make(std::shared_ptr<BlockPool> pool, Timers& timers, Request request,
                         Decode decode, bool takes_chunks, Completion<T>* completion) {
    void* block = pool->acquire(sizeof(UnaryCall));
    return new (block)
        UnaryCall(std::move(pool), timers, std::move(request), decode, takes_chunks, completion);
  }

  void finish(Result<wire::Frame> answer, Reach reach) override {
    Completion<T>* completion = completion_;
    const std::vector<std::string> chunks = std::move(chunks_);
    const Decode decode = decode_;
    const uint64_t argument = request().argument;
    const bool is_get = answer && answer->header.op == static_cast<uint16_t>(wire::fb::Op::Get);
    const std::string row(is_get ? request().part(request().row) : Bytes());
    abandon_memory();
    if (!answer) {
      completion->complete(std::unexpected(std::move(answer).error()), reach);
    } else {
      completion->complete(decode(Answer{*answer, chunks, argument, row}), reach);
    }
  }
  bool renew() override {
    chunks_.clear();
    return true;
  }
  bool chunk(const wire::Frame& frame) override {
    if (request().on_chunk) {
      request().on_chunk(frame.body);
      return true;
    }
    if (takes_chunks_) chunks_.emplace_back(frame.body);
    return takes_chunks_;
  }
  void abandon() override {
    completion_->abandon();
    abandon_memory();
  }

 private:
  UnaryCall(std::shared_ptr<BlockPool> pool, Timers& timers, Request request, Decode decode,
            bool takes_chunks, Completion<T>* completion)
      : Call(timers, std::move(request)),
        pool_(std::move(pool)),
        decode_(decode),
        takes_chunks_(takes_chunks),
        completion_(completion) {}
  ~UnaryCall() override = default;
  void abandon_memory() {
    const std::shared_ptr<BlockPool> pool = std::move(pool_);
    this->~UnaryCall();
    pool->release(this, sizeof(UnaryCall));
  }

  std::shared_ptr<BlockPool> pool_;
  Decode decode_;
  bool takes_chunks_;
  std::vector<std::string> chunks_;
  Completion<T>* completion_;
};

}  // namespace cellar::client
