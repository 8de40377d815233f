// GatewayWatch: a watch over the gateway. A coroutine follows etcd's stream and queues the news,
// which next() takes. The queue is bounded: while it is full, nothing is read, and etcd waits.
//
// Invariants:
// 1. `told_` is the revision up to which everything is in the queue or was taken. A stream begins
// at
//    told_ + 1, and what comes again is dropped: each change is told once.
// 2. A message may end amid the changes of one revision (a fragment). Those of its last revision
//    are held back until that revision is complete, and forgotten if the stream breaks.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "io/remote/etcd/etcd_gateway.h"
#include "io/remote/etcd/json_codec.h"

namespace cellar {

class GatewayWatch final : public etcd::Watch {
 public:
  static constexpr size_t kMaxMessageBytes = 8 * 1024 * 1024;  // one message, encoded
  static constexpr size_t kMaxHeldBytes = 16 * 1024 * 1024;    // changes of one revision
  static constexpr size_t kMaxQueuedNews = 64;
  static constexpr size_t kMaxQueuedBytes = 8 * 1024 * 1024;  // before the last message

  GatewayWatch(EtcdGateway& port, etcd::WatchRequest request);
  ~GatewayWatch() override;

  Async<Result<etcd::WatchNews>> next(int64_t timeout_us) override;
  void close() override;

 private:
  // Shared with the coroutine, which may end after the watch.
  struct State {
    explicit State(EtcdGateway& p, etcd::WatchRequest r);
    // ---- the coroutine ----
    static Async<void> follow(std::shared_ptr<State> self);
    enum class Stream : uint8_t {
      unopened,  // etcd did not begin it
      broken,    // it began, and ended or was of no use
      quiet,     // it began, and nothing came for watch_quiet_us
    };
    // Follows one stream until it is over.
    Async<Stream> follow_one();
    Async<Result<std::unique_ptr<etcd::HttpLink>>> open();
    Async<Stream> read(etcd::HttpLink& link);
    // Takes the complete lines out of `text`, the first `seen` bytes of which hold no end of a
    // line. False: the stream is of no use any more.
    bool take_lines(std::string& text, size_t& seen, bool& opened);
    bool take(etcd::WatchMessage message, bool& opened);
    bool take_changes(std::vector<etcd::Change> changes, bool fragment);
    bool take_refusal(const etcd::Refusal& refusal);
    void take_reason(std::string_view reason);  // why etcd cancelled the watch
    void take_denial(std::string_view message);
    // Ends the watch if the whole cluster, not only this member, is behind what was told.
    Async<void> compare_revisions();
    void queue(etcd::WatchNews one, size_t bytes);
    void end(Error why);
    bool over() const { return closed || ended || compacted || port.closing_; }
    bool full() const { return news.size() >= kMaxQueuedNews || queued_bytes >= kMaxQueuedBytes; }

    // The link in use by the coroutine, which close() closes.
    class Following {
     public:
      Following(State& state, etcd::HttpLink& link) : state_(state) { state_.link = &link; }
      ~Following() { state_.link = nullptr; }
      Following(const Following&) = delete;
      Following& operator=(const Following&) = delete;

     private:
      State& state_;
    };

    EtcdGateway& port;
    const etcd::WatchRequest request;
    etcd::Revision told;
    std::vector<etcd::Change> held;
    size_t held_bytes = 0;
    std::deque<std::pair<etcd::WatchNews, size_t>> news;
    size_t queued_bytes = 0;
    std::string token;           // of this stream; empty without a user
    bool token_refused = false;  // of this stream
    bool denied = false;         // since the last stream that was permitted
    bool behind = false;         // this stream began at a revision below `told`
    bool began = false;          // a stream was opened
    bool compacted = false;      // Compacted is in the queue or was taken
    bool closed = false;
    std::optional<Error> ended;
    etcd::HttpLink* link = nullptr;
    size_t endpoint = 0;
    ConditionVariable changed;
  };

  std::shared_ptr<State> state_;
  bool started_ = false;
  bool waiting_ = false;
};

}  // namespace cellar
