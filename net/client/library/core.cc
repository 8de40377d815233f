#include "net/client/library/core.h"

#include <utility>

#include "io/base/check.h"
#include "io/base/random.h"
#include "io/net/tcp_transport.h"

namespace cellar::v0::internal {
namespace {

constexpr int kFarewellTurns = 16;  // enough for closed connections to end

}  // namespace

Core::Core(client::ClientOptions options) {
  std::promise<void> serving;
  thread_ = std::thread([this, &serving, own = std::move(options)]() mutable {
    TcpNetwork network(loop_.executor(), loop_.timers());
    const client::ClientEnv env{loop_.executor(), loop_.timers(), network, entropy_seed()};
    client::Client client(env, std::move(own));
    client_ = &client;
    serving.set_value();
    loop_.run();
    streams_.clear();
    client.close();
    for (int i = 0; i < kFarewellTurns; ++i) loop_.turn(false);
  });
  serving.get_future().wait();
}

Core::~Core() { stop(); }

void Core::stop() {
  {
    const std::lock_guard lock(posting_);
    if (std::exchange(stopped_, true)) return;
  }
  CHECK(std::this_thread::get_id() != thread_.get_id(), "a client is destroyed in its callback");
  asio::post(loop_.executor(), [this] { loop_.stop(); });
  thread_.join();
}

v0::Error Core::ended() {
  v0::Error error;
  error.code = v0::Code::cancelled;
  error.message = "the client has ended";
  return error;
}

v0::Error Core::in_callback() {
  v0::Error error;
  error.code = v0::Code::failed_precondition;
  error.message = "a blocking call in a callback would wait for itself";
  return error;
}

uint64_t Core::open(std::function<client::ReadStream(client::Client&)> begin) {
  const uint64_t number = next_stream_.fetch_add(1, std::memory_order_relaxed);
  post([&] {
    return [this, number, begin = std::move(begin)] {
      streams_.emplace(number, Stream{begin(*client_)});
    };
  });
  return number;
}

void Core::next(uint64_t stream, Callback<std::vector<v0::Row>> done) {
  const bool posted = post([this, stream, &done] {
    return [this, stream, done = std::move(done)]() mutable { advance(stream, std::move(done)); };
  });
  if (!posted) done(ended());
}

void Core::advance(uint64_t stream, Callback<std::vector<v0::Row>> done) {
  const auto at = streams_.find(stream);
  if (at == streams_.end()) return done(ended());
  at->second.read.async_next(
      [this, stream, done = std::move(done)](cellar::Result<client::CellBlock> block) mutable {
        if (!block) return done(library::to_public(block.error()));
        if (block->empty()) return done(std::vector<v0::Row>());
        const auto from = streams_.find(stream);
        if (from == streams_.end()) return done(ended());
        std::vector<v0::Row> rows = from->second.take(*block);
        // No rows would mean the end.
        if (rows.empty()) return advance(stream, std::move(done));
        done(std::move(rows));
      });
}

std::vector<v0::Row> Core::Stream::take(const client::CellBlock& block) {
  std::vector<v0::Row> rows;
  for (const client::RowPart& part : block.rows()) {
    if (!part.continued) {
      open = {std::string(part.key), {}};
      open.cells.reserve(part.cells.size());
    }
    for (const client::Cell& cell : part.cells) {
      open.cells.push_back(library::to_public(cell, block.tells_expiry()));
    }
    if (part.complete) rows.push_back(std::exchange(open, {}));
  }
  return rows;
}

void Core::close(uint64_t stream) {
  post([this, stream] { return [this, stream] { streams_.erase(stream); }; });
}

}  // namespace cellar::v0::internal
