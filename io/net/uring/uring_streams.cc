#include "io/net/uring/uring_streams.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "io/base/check.h"
#include "io/loop/loop_of.h"
#include "io/loop/waiter.h"
#include "io/net/send_parts.h"

namespace cellar {
namespace {

constexpr size_t kMaxReceiveBytes = size_t{1} << 30;

// Waits for the result of start_receive().
class ReceiveWaiter final : public ReceiveHandler {
 public:
  void on_received(Result<size_t> bytes) override {
    result_ = std::move(bytes);
    waiter_.resume();
  }
  Async<Result<size_t>> wait() {
    co_await waiter_.wait();
    co_return std::move(result_);
  }

 private:
  Waiter waiter_;
  Result<size_t> result_;
};

class UringStream final : public ByteStream {
 public:
  UringStream(int fd, std::string peer, std::shared_ptr<Ring> ring)
      : ring_(std::move(ring)), fd_(fd), peer_(std::move(peer)) {}
  ~UringStream() override {
    if (ring_) {  // not between detach() and attach(), where another thread may destroy this
      ring_->withdraw(receive_);
      ring_->withdraw(room_);
    }
    close();
  }

  Async<Result<size_t>> read_some(std::span<std::byte> into) override {
    ReceiveWaiter waiter;
    if (!start_receive(into, waiter)) co_return was_closed();
    co_return co_await waiter.wait();
  }

  bool start_receive(std::span<std::byte> into, ReceiveHandler& handler) override {
    if (closed_) return false;
    receive_.into = into.first(std::min(into.size(), kMaxReceiveBytes));
    receive_.handler = &handler;
    ring_->submit(receive_);
    return true;
  }

  Async<Result<void>> write(std::span<const Bytes> parts) override {
    size_t skip = 0;  // bytes of parts.front() already sent
    for (;;) {
      if (closed_) co_return was_closed();
      CO_TRY(const bool all, send_parts(fd_, parts, skip, peer_));
      if (all) co_return Result<void>();
      ring_->submit(room_);
      co_await room_.waiter.wait();
    }
  }

  Result<size_t> try_write(std::span<const Bytes> parts) override {
    if (closed_) return was_closed();
    return send_what_fits(fd_, parts, peer_);
  }

  // Shutting the socket down completes what the ring does with it, in a later turn. Until then the
  // descriptor stays open: its number is in operations that may not have been submitted yet.
  void close() override {
    if (!std::exchange(closed_, true)) ::shutdown(fd_, SHUT_RDWR);
    close_descriptor();
  }
  std::string peer() const override { return peer_; }

  bool detach() override {
    if (closed_) return false;
    ring_.reset();
    return true;
  }

  Result<void> attach(ShardExecutor executor) override {
    if (closed_) return was_closed();
    auto ring = Ring::of(loop_of(executor));
    if (!ring) {
      close();
      return std::unexpected(std::move(ring).error());
    }
    ring_ = *std::move(ring);
    return {};
  }

 private:
  struct Receive final : RingOp {
    explicit Receive(UringStream& owner) : stream(owner) {}
    void prepare(io_uring_sqe& sqe) override {
      io_uring_prep_recv(&sqe, stream.fd_, into.data(), into.size(), 0);
      // Usually nothing has come yet.
      if (stream.ring_->knows_poll_first()) sqe.ioprio |= IORING_RECVSEND_POLL_FIRST;
    }
    void done(int result) override { stream.received(result); }

    UringStream& stream;
    std::span<std::byte> into;
    ReceiveHandler* handler = nullptr;
  };
  struct Room final : RingOp {
    explicit Room(UringStream& owner) : stream(owner) {}
    void prepare(io_uring_sqe& sqe) override { io_uring_prep_poll_add(&sqe, stream.fd_, POLLOUT); }
    void done(int /*result*/) override { stream.polled(); }

    UringStream& stream;
    Waiter waiter;
  };

  void received(int result) {
    if ((result == -EINTR || result == -EAGAIN) && !closed_) return ring_->submit(receive_);
    ReceiveHandler& handler = *std::exchange(receive_.handler, nullptr);
    if (closed_) {
      close_descriptor();
      return handler.on_received(was_closed());
    }
    if (result < 0) return handler.on_received(std::unexpected(os_error(-result, peer_)));
    handler.on_received(static_cast<size_t>(result));
  }

  void polled() {
    if (closed_) close_descriptor();
    room_.waiter.resume();  // an error of the socket is told by send()
  }

  void close_descriptor() {
    if (fd_ >= 0 && receive_.idle() && room_.idle()) ::close(std::exchange(fd_, -1));
  }

  std::unexpected<Error> was_closed() const {
    return fail(Errc::cancelled, "{} was closed here", peer_);
  }

  std::shared_ptr<Ring> ring_;
  int fd_;
  bool closed_ = false;
  const std::string peer_;
  Receive receive_{*this};
  Room room_{*this};
};

}  // namespace

std::unique_ptr<ByteStream> UringStreams::make(int fd, std::string peer) {
  return std::make_unique<UringStream>(fd, std::move(peer), ring_);
}

}  // namespace cellar
