#include "io/remote/etcd/http_link.h"

#include <array>
#include <utility>

#include "io/net/stream_deadline.h"
#include "io/net/tls_stream.h"
#include "io/remote/etcd/http_reader.h"
#include "io/remote/etcd_port.h"

namespace cellar::etcd {
namespace {

std::unexpected<Error> too_late(const Address& endpoint, std::string_view what) {
  return fail(Errc::deadline_exceeded, "etcd at {}: {} took too long",
              format_address(endpoint.host, endpoint.port), what);
}

std::unexpected<Error> broken(const Address& endpoint, const Error& error) {
  return fail(Errc::unavailable, "etcd at {}: {}", format_address(endpoint.host, endpoint.port),
              error.message);
}

}  // namespace

Async<Result<std::unique_ptr<HttpLink>>> HttpLink::open(Network& network, Timers& timers,
                                                        Address endpoint,
                                                        std::shared_ptr<const TlsContext> tls,
                                                        int64_t timeout_us) {
  const int64_t until_us = timers.now_us() + timeout_us;
  auto connected = co_await network.connect(endpoint.host, endpoint.port, timeout_us);
  if (!connected) co_return broken(endpoint, connected.error());
  std::unique_ptr<ByteStream> stream = std::move(*connected);
  if (tls != nullptr) {
    auto secure = std::make_unique<TlsStream>(std::move(stream), std::move(tls));
    StreamDeadline deadline(timers, *secure, std::max<int64_t>(1, until_us - timers.now_us()));
    const auto shaken = co_await secure->handshake({}, endpoint.host);
    if (deadline.passed()) co_return too_late(endpoint, "the TLS handshake");
    if (!shaken) co_return broken(endpoint, shaken.error());
    stream = std::move(secure);
  }
  co_return std::unique_ptr<HttpLink>(new HttpLink(std::move(stream), timers, std::move(endpoint)));
}

Async<Result<HttpAnswer>> HttpLink::exchange(std::string request, int64_t timeout_us) {
  const int64_t until_us = timers_.now_us() + timeout_us;
  const auto sent = co_await send(std::move(request), timeout_us);
  if (!sent) co_return std::unexpected(Error(sent.error()).outcome(Applied::maybe_applied));
  HttpReader reader(kMaxAnswerBytes);
  HttpReader::Step step = HttpReader::Step::more;
  while (step == HttpReader::Step::more) {
    const std::span<std::byte> into(buffer_.get(), kReadBytes);
    const int64_t left_us = std::max<int64_t>(1, until_us - timers_.now_us());
    const auto received = co_await receive(into, left_us);
    if (!received) {
      co_return std::unexpected(Error(received.error()).outcome(Applied::maybe_applied));
    }
    step = *received == 0 ? reader.feed_end() : reader.feed(into.first(*received));
  }
  if (step == HttpReader::Step::refused) {
    stream_->close();
    Error error(reader.too_large() ? Errc::resource_exhausted : Errc::data_loss,
                fmt::format("etcd at {}: {}", format_address(endpoint_.host, endpoint_.port),
                            reader.refusal()));
    co_return std::unexpected(std::move(error).outcome(Applied::maybe_applied));
  }
  co_return HttpAnswer{reader.status(), reader.take_body(), reader.keeps_alive()};
}

Async<Result<void>> HttpLink::send(std::string request, int64_t timeout_us) {
  const StreamDeadline deadline(timers_, *stream_, timeout_us);
  const std::array<Bytes, 1> parts = {request};
  const auto written = co_await stream_->write(parts);
  if (deadline.passed()) co_return too_late(endpoint_, "a request");
  if (!written) co_return broken(endpoint_, written.error());
  co_return Result<void>();
}

Async<Result<size_t>> HttpLink::receive(std::span<std::byte> into, int64_t timeout_us) {
  const StreamDeadline deadline(timers_, *stream_, timeout_us);
  const auto received = co_await stream_->read_some(into);
  if (deadline.passed()) co_return too_late(endpoint_, "an answer");
  if (!received) co_return broken(endpoint_, received.error());
  co_return *received;
}

}  // namespace cellar::etcd
