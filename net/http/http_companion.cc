#include "net/http/http_companion.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io/base/log.h"
#include "io/loop/shard_pool.h"
#include "io/net/tcp_transport.h"
#include "net/http/http_listener.h"
#include "net/http/http_node.h"

namespace cellar::http {
namespace {

// Lower priority than the shards' threads if cores are short. Linux applies it per thread.
constexpr int kNice = 10;

void become_http_thread(Shard&) {
  pthread_setname_np(pthread_self(), "http");
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kNice);
}

// The thread is a pool of one loop, separate from the node's shards.
class HttpCompanion final : public server::Sidecar {
 public:
  explicit HttpCompanion(const Clock& clock)
      : pool_(clock, {.shards = 1, .pin = false, .spin_us = 0}) {}

  Result<void> start(const server::Config& config, server::Readiness& readiness) override {
    const server::ServerOptions& options = config.options;
    if (options.http.listen.empty()) return {};
    TRY(const Address address, parse_address(options.http.listen));
    pool_.start(become_http_thread);
    running_ = true;
    Result<void> opened;
    pool_.run_on(ShardId{0}, [&](Shard& shard) -> Async<void> {
      network_ = std::make_unique<TcpNetwork>(shard.executor(), shard.timers());
      node_ = std::make_unique<HttpNode>(shard.executor(), shard.timers(), config, readiness);
      auto listener = co_await network_->listen(address.host, address.port, false);
      if (!listener) {
        opened = fail(listener.error().code, "http.listen: {}", listener.error().message);
        co_return;
      }
      log_info("http", "listening address={}", (*listener)->address());
      listener_ = std::make_unique<HttpListener>(shard.executor(), shard.timers(), *node_,
                                                 std::move(*listener));
      node_->set_listener(listener_.get());
      listener_->run();
    });
    if (!opened) stop();
    return opened;
  }

  void serve(server::Server& server) override {
    if (!running_) return;
    served_ = served_node(server);
    pool_.run_on(ShardId{0}, [&](Shard&) -> Async<void> {
      node_->serve(*served_);
      co_return;
    });
  }

  void stop() override {
    if (!running_) return;
    running_ = false;
    pool_.stop(
        [this](Shard&) -> Async<void> {
          if (listener_) co_await listener_->stop();
          if (node_) co_await node_->stop();
        },
        [this](Shard&) {
          listener_.reset();
          node_.reset();
          network_.reset();
        });
    served_.reset();
  }

 private:
  ShardPool pool_;
  bool running_ = false;
  std::unique_ptr<ServedNode> served_;  // used by the loop
  // All belong to the loop.
  std::unique_ptr<TcpNetwork> network_;
  std::unique_ptr<HttpNode> node_;
  std::unique_ptr<HttpListener> listener_;
};

}  // namespace

std::unique_ptr<server::Sidecar> make_companion(const Clock& clock) {
  return std::make_unique<HttpCompanion>(clock);
}

}  // namespace cellar::http
