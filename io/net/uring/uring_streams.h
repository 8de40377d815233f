// UringStreams: TCP streams that receive through the ring of their loop.
//
//   TcpNetwork network(executor, timers, std::make_shared<UringStreams>(*Ring::of(loop)));
//
// A receive that waits for bytes is an operation of the ring: a loop with many connections asks the
// kernel for all of them with one system call per turn, where the reactor needs one each and one to
// learn which are ready. Bytes are sent by send(2) at once, as by the other streams; a stream whose
// socket is full polls it through the ring.
//
// There are no provided buffers and no multishot receives: a stream receives into the memory of its
// reader, only when the reader asks, so a reader that pauses slows the peer down and no bytes are
// copied. bench/NOTES.md says what both would give.
#pragma once

#include <memory>
#include <string>

#include "io/net/tcp_transport.h"
#include "io/ring/ring.h"

namespace cellar {

// One per loop. Streams hold the ring.
class UringStreams final : public DescriptorStreams {
 public:
  explicit UringStreams(std::shared_ptr<Ring> ring) : ring_(std::move(ring)) {}
  std::unique_ptr<ByteStream> make(int fd, std::string peer) override;

 private:
  const std::shared_ptr<Ring> ring_;
};

}  // namespace cellar
