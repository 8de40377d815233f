// HttpLink: one connection to one endpoint, with at most one request on it. An answer belongs to
// the request that was sent last, because a connection whose answer did not come in time is closed
// and never used again.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "io/loop/timers.h"
#include "io/net/tls_context.h"
#include "io/net/transport.h"

namespace cellar::etcd {

struct HttpAnswer {
  int status = 0;
  std::string body;
  bool keeps_alive = false;
};

class HttpLink {
 public:
  static constexpr size_t kReadBytes = 64 * 1024;

  // `network` and `timers` must outlive the link. With `tls` the certificate is checked against the
  // host. Errors: those of connecting; nothing was sent.
  static Async<Result<std::unique_ptr<HttpLink>>> open(Network& network, Timers& timers,
                                                       Address endpoint,
                                                       std::shared_ptr<const TlsContext> tls,
                                                       int64_t timeout_us);

  // One request and its whole answer. An error has an outcome: not_applied if nothing left.
  // RESOURCE_EXHAUSTED: the answer takes more than kMaxAnswerBytes; DATA_LOSS: it is not HTTP.
  Async<Result<HttpAnswer>> exchange(std::string request, int64_t timeout_us);

  // Of a stream: sends the request; then pieces of the answer, 0 bytes at its end.
  Async<Result<void>> send(std::string request, int64_t timeout_us);
  Async<Result<size_t>> receive(std::span<std::byte> into, int64_t timeout_us);

  void close() { stream_->close(); }
  const Address& endpoint() const { return endpoint_; }

 private:
  HttpLink(std::unique_ptr<ByteStream> stream, Timers& timers, Address endpoint)
      : stream_(std::move(stream)), timers_(timers), endpoint_(std::move(endpoint)) {}

  std::unique_ptr<ByteStream> stream_;
  Timers& timers_;
  const Address endpoint_;
  std::unique_ptr<std::byte[]> buffer_ = std::make_unique<std::byte[]>(kReadBytes);
};

}  // namespace cellar::etcd
