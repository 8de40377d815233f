// RawPeer: a connection of a simulated network that sends arbitrary bytes and keeps what arrives.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "io/base/check.h"
#include "io/loop/event.h"
#include "tests/net/server/server_bed.h"

namespace cellar::server {

class RawPeer {
 public:
  RawPeer(ServerBed& bed, const std::string& host, uint16_t port)
      : bed_(bed), network_(bed.fabric(), bed.client_loop()) {
    auto connected =
        bed_.world().block_on(bed_.client_loop(), network_.connect(host, port, 1'000'000));
    CHECK(connected, "no connection: {}", connected.error().message);
    stream_ = std::move(*connected);
    spawn(bed_.client_loop().executor(), read_loop());
  }
  ~RawPeer() {
    stream_->close();
    bed_.world().run_until([&] { return coroutines_ == 0; });
  }

  void send(std::string bytes) {  // returns at once
    spawn(bed_.client_loop().executor(), write_one(std::move(bytes)));
  }
  bool closed() const { return closed_; }  // by the node
  const std::string& received() const { return received_; }

 private:
  Async<void> read_loop() {
    ++coroutines_;
    std::array<std::byte, 4096> buffer;
    while (true) {
      const Result<size_t> n = co_await stream_->read_some(buffer);
      if (!n || *n == 0) break;
      received_ += as_bytes_view(std::span(buffer).first(*n));
    }
    closed_ = true;
    --coroutines_;
  }
  Async<void> write_one(std::string bytes) {
    ++coroutines_;
    {
      const AsyncMutex::Lock lock = co_await writing_.lock();
      const Bytes part = bytes;
      (void)co_await stream_->write({&part, 1});
    }
    --coroutines_;
  }

  ServerBed& bed_;
  SimNetwork network_;
  std::unique_ptr<ByteStream> stream_;
  AsyncMutex writing_;
  std::string received_;
  bool closed_ = false;
  size_t coroutines_ = 0;
};

}  // namespace cellar::server
