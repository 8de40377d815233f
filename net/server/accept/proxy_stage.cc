#include "net/server/accept/proxy_stage.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "io/net/stream_deadline.h"
#include "net/server/accept/proxy_header.h"

namespace cellar::server {
namespace {

// A stream with bytes already read, or with a peer other than the socket's.
class ProxiedByteStream final : public ByteStream {
 public:
  ProxiedByteStream(std::unique_ptr<ByteStream> inner, std::string unread, std::string peer)
      : inner_(std::move(inner)), unread_(std::move(unread)), peer_(std::move(peer)) {}

  Async<Result<size_t>> read_some(std::span<std::byte> into) override {
    return unread_.empty() ? inner_->read_some(into) : read_unread(into);
  }
  bool start_receive(std::span<std::byte> into, ReceiveHandler& handler) override {
    return unread_.empty() && inner_->start_receive(into, handler);
  }
  Async<Result<void>> write(std::span<const Bytes> parts) override { return inner_->write(parts); }
  Result<size_t> try_write(std::span<const Bytes> parts) override {
    return inner_->try_write(parts);
  }
  void close() override { inner_->close(); }
  std::string peer() const override { return peer_; }
  bool detach() override { return inner_->detach(); }
  Result<void> attach(ShardExecutor executor) override { return inner_->attach(executor); }

 private:
  Async<Result<size_t>> read_unread(std::span<std::byte> into) {
    const size_t n = std::min(into.size(), unread_.size());
    std::memcpy(into.data(), unread_.data(), n);
    unread_.erase(0, n);
    co_return n;
  }

  std::unique_ptr<ByteStream> inner_;
  std::string unread_;
  const std::string peer_;
};

}  // namespace

ProxyStage::ProxyStage(std::unique_ptr<ByteStream> stream, const ProxyRules& rules, Timers& timers)
    : stream_(std::move(stream)), rules_(rules), peer_(stream_->peer()), timers_(timers) {}

void ProxyStage::close() {
  if (stream_) stream_->close();
}

Async<Result<ProxiedStream>> ProxyStage::run(int64_t timeout_us) {
  const StreamDeadline deadline(timers_, *stream_, timeout_us);
  Result<ProxiedStream> opened = co_await read_header();
  if (!opened && stream_) stream_->close();
  if (!opened && deadline.passed()) {
    co_return fail(Errc::deadline_exceeded, "no whole PROXY header came within {} ms",
                   timeout_us / 1000);
  }
  co_return opened;
}

// Receives until `until` bytes are present, and no more.
Async<Result<void>> ProxyStage::receive(size_t until) {
  while (received_.size() < until) {
    const size_t had = received_.size();
    received_.resize(until);
    const Result<size_t> n = co_await stream_->read_some(
        {reinterpret_cast<std::byte*>(received_.data()) + had, until - had});
    received_.resize(had + (n ? *n : 0));
    if (!n) co_return std::unexpected(n.error());
    if (*n == 0 && had == 0) co_return fail(Errc::unavailable, "it ended before its first byte");
    if (*n == 0) co_return fail(Errc::invalid_argument, "PROXY header: it is cut short");
    // Bytes that cannot become a header must not be waited for.
    if (!may_be_proxy_header(received_)) co_return Result<void>();
  }
  co_return Result<void>();
}

Async<Result<ProxiedStream>> ProxyStage::read_header() {
  CO_TRY_VOID(co_await receive(kProxyFixedBytes));
  if (!may_be_proxy_header(received_)) {
    if (looks_like_proxy_v1(received_)) {
      co_return fail(Errc::invalid_argument, "a PROXY header of version 1; version 2 is wanted");
    }
    if (rules_.required) {
      co_return fail(Errc::invalid_argument,
                     "no PROXY header, which proxy.required asks for from this network");
    }
    co_return ProxiedStream{
        std::make_unique<ProxiedByteStream>(std::move(stream_), std::move(received_), peer_), {}};
  }
  CO_TRY(const size_t bytes, proxy_header_bytes(received_));
  CO_TRY_VOID(co_await receive(bytes));
  CO_TRY(ProxyHeader header, parse_proxy_header(received_));
  if (header.source.empty()) co_return ProxiedStream{std::move(stream_), {}};
  co_return ProxiedStream{
      std::make_unique<ProxiedByteStream>(std::move(stream_), "", std::move(header.source)), peer_};
}

}  // namespace cellar::server
