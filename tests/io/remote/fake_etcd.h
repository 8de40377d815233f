// FakeEtcd: a server on the simulated network that answers as a test says, with any bytes at any
// pace, also as no etcd does.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/net/tls_stream.h"
#include "io/sim/sim_transport.h"

namespace cellar::test {

// What a server does with a request.
struct Reply {
  std::string bytes;
  size_t piece = 0;      // sent at a time; 0: all at once
  int64_t pause_us = 0;  // before each piece
  bool close = false;    // behind the bytes
  bool hang = false;     // says nothing more, and reads nothing
};

inline Reply json_reply(std::string body, int status = 200) {
  return {fmt::format(
      "HTTP/1.1 {} Any\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}", status,
      body.size(), body)};
}
inline Reply refusal_reply(int status, int code, const std::string& message) {
  return json_reply(fmt::format(R"({{"error":"{0}","message":"{0}","code":{1}}})", message, code),
                    status);
}
// A stream: each message is a chunk; it stays open unless `end` is set.
inline Reply stream_reply(const std::vector<std::string>& messages, bool end = false) {
  Reply reply{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"};
  for (const std::string& message : messages) {
    reply.bytes += fmt::format("{:x}\r\n{}\n\r\n", message.size() + 1, message);
  }
  if (end) reply.bytes += "0\r\n\r\n";
  return reply;
}

struct Request {
  std::string path;
  std::string head;
  std::string body;
};

// Declared after its world, and stopped before it ends: SimWorld::crash() does that.
class FakeEtcd {
 public:
  using Handler = std::function<Reply(const Request&)>;

  FakeEtcd(SimFabric& fabric, SimLoop& loop, std::string host, Handler handler,
           std::shared_ptr<const TlsContext> tls = nullptr)
      : network_(fabric, loop),
        loop_(loop),
        host_(std::move(host)),
        handler_(std::move(handler)),
        tls_(std::move(tls)) {
    spawn(loop.executor(), [this]() -> Async<void> { co_await serve(); });
  }

  // Its handler is not called again: what it refers to may go. Connections end at their next
  // request.
  void retire() { handler_ = nullptr; }

  const std::vector<Request>& requests() const { return requests_; }
  size_t connections() const { return connections_; }
  size_t count(const std::string& path) const {
    size_t found = 0;
    for (const Request& one : requests_) found += one.path == path ? 1 : 0;
    return found;
  }

 private:
  Async<void> serve() {
    auto listener = co_await network_.listen(host_, 2379, false);
    while (listener) {
      auto stream = co_await (*listener)->accept();
      if (!stream) co_return;
      ++connections_;
      std::shared_ptr<ByteStream> shared = std::move(*stream);
      spawn(loop_.executor(), [this, shared]() mutable -> Async<void> { co_await speak(shared); });
    }
  }

  Async<void> speak(std::shared_ptr<ByteStream> stream) {
    if (tls_ != nullptr) {
      auto secure = std::make_shared<TlsStream>(std::make_unique<Shared>(stream), tls_);
      const auto shaken = co_await secure->handshake();
      if (!shaken) co_return;
      stream = secure;
    }
    std::string text;
    for (;;) {
      size_t body_at = text.find("\r\n\r\n");
      while (body_at == std::string::npos || text.size() < body_at + 4 + length_of(text)) {
        std::array<std::byte, 4096> buffer;
        const auto n = co_await stream->read_some(buffer);
        if (!n || *n == 0) co_return stream->close();
        text.append(reinterpret_cast<const char*>(buffer.data()), *n);
        body_at = text.find("\r\n\r\n");
      }
      const size_t end = body_at + 4 + length_of(text);
      const std::string head = text.substr(0, body_at);
      Request request{head.substr(5, head.find(" HTTP") - 5), head,
                      text.substr(body_at + 4, end - body_at - 4)};
      text.erase(0, end);
      requests_.push_back(request);
      if (handler_ == nullptr) co_return stream->close();
      const Reply reply = handler_(request);
      const bool goes_on = co_await send(*stream, reply);
      if (!goes_on) co_return;
    }
  }

  Async<bool> send(ByteStream& stream, const Reply& reply) {
    const size_t piece = reply.piece == 0 ? std::max<size_t>(1, reply.bytes.size()) : reply.piece;
    for (size_t at = 0; at < reply.bytes.size(); at += piece) {
      if (reply.pause_us > 0) co_await sleep_us(loop_.timers(), reply.pause_us);
      const std::string_view part = std::string_view(reply.bytes).substr(at, piece);
      const std::array<Bytes, 1> parts = {part};
      const auto sent = co_await stream.write(parts);
      if (!sent) co_return false;
    }
    if (reply.hang) co_await sleep_us(loop_.timers(), 3'000'000'000);
    if (reply.close) stream.close();
    co_return !reply.close && !reply.hang;
  }

  static size_t length_of(const std::string& text) {
    const size_t at = text.find("Content-Length: ");
    return at == std::string::npos ? 0 : std::stoul(text.substr(at + 16));
  }

  // TlsStream owns the stream below it.
  class Shared final : public ByteStream {
   public:
    explicit Shared(std::shared_ptr<ByteStream> below) : below_(std::move(below)) {}
    Async<Result<size_t>> read_some(std::span<std::byte> into) override {
      return below_->read_some(into);
    }
    Async<Result<void>> write(std::span<const Bytes> parts) override {
      return below_->write(parts);
    }
    Result<size_t> try_write(std::span<const Bytes> parts) override {
      return below_->try_write(parts);
    }
    void close() override { below_->close(); }
    std::string peer() const override { return below_->peer(); }

   private:
    std::shared_ptr<ByteStream> below_;
  };

  SimNetwork network_;
  SimLoop& loop_;
  const std::string host_;
  Handler handler_;
  const std::shared_ptr<const TlsContext> tls_;
  std::vector<Request> requests_;
  size_t connections_ = 0;
};

}  // namespace cellar::test
