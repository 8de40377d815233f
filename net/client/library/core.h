// Core: the thread of a Client, its loop, and the client of net/client on it.
//
// Invariants:
// - The loop, the network, the internal client and the streams are used on the thread alone; other
//   threads post work to it.
// - Work that is posted is carried out before the thread ends, because the end is posted too.
// - A scanner may outlive the client: its core then refuses with CANCELLED.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>

#include "io/loop/shard_loop.h"
#include "net/client/client.h"
#include "net/client/library/convert.h"

namespace cellar {
namespace v0::internal {

class Core {
 public:
  explicit Core(client::ClientOptions options);
  ~Core();
  // Ends every request with CANCELLED, and the thread. Not on the thread.
  void stop();

  // begin(client, handler) on the thread; `done` gets the converted result there.
  template <class T, class Internal, class Begin>
  void run(Begin begin, Callback<T> done) {
    const bool posted = post([this, &begin, &done] {
      return [this, begin = std::move(begin), done = std::move(done)]() mutable {
        begin(*client_, [done = std::move(done)](cellar::Result<Internal> result) {
          if (!result) return done(library::to_public(result.error()));
          if constexpr (std::is_void_v<Internal>) {
            done(v0::Result<void>());
          } else {
            done(v0::Result<T>(library::to_public(*result)));
          }
        });
      };
    });
    if (!posted) done(ended());
  }

  // Calls begin(callback) and waits for the callback.
  template <class T, class Begin>
  v0::Result<T> wait(Begin begin) {
    if (std::this_thread::get_id() == thread_.get_id()) return in_callback();
    std::promise<v0::Result<T>> promise;
    begin([&promise](v0::Result<T> result) { promise.set_value(std::move(result)); });
    return promise.get_future().get();
  }

  // ---- streams
  uint64_t open(std::function<client::ReadStream(client::Client&)> begin);
  void next(uint64_t stream, Callback<std::vector<v0::Row>> done);
  void close(uint64_t stream);

 private:
  // A read, and the row whose last part has not been taken: a row that is larger than what is left
  // of a chunk comes in several parts.
  struct Stream {
    client::ReadStream read;
    v0::Row open = {};
    std::vector<v0::Row> take(const client::CellBlock& block);  // the rows that it completes
  };
  // On the thread. Calls itself until a block completes a row.
  void advance(uint64_t stream, Callback<std::vector<v0::Row>> done);

  // Queues the result of make_work() for the thread. False, without a call of make_work(), after
  // stop(). Queued work starts before the thread ends, so its callback is always called.
  template <class Make>
  bool post(Make make_work) {
    const std::lock_guard lock(posting_);
    if (stopped_) return false;
    asio::post(loop_.executor(), make_work());
    return true;
  }
  static v0::Error ended();
  static v0::Error in_callback();

  ShardLoop loop_;
  client::Client* client_ = nullptr;  // of the thread
  std::map<uint64_t, Stream> streams_;
  std::atomic<uint64_t> next_stream_{1};
  std::mutex posting_;
  bool stopped_ = false;  // under posting_
  std::thread thread_;
};

}  // namespace v0::internal
}  // namespace cellar
