// ProxyStage: the very first bytes of a connection, before TLS and before a session.
//
// From a peer in one of the networks of `proxy.trusted` the header of the PROXY protocol is taken,
// if one comes or must come, and the client that it names is the peer from then on. From any other
// peer nothing is read here, so that a header from there is what it is: bytes that are no preface,
// which end the connection. What is read here and belongs to what follows is given back to it, byte
// for byte.
//
// It lasts no longer than the handshake may, counts among the shard's connections, and ends with
// the shard.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <boost/intrusive/list.hpp>

#include "io/loop/timers.h"
#include "io/net/transport.h"
#include "net/server/config/proxy_rules.h"

namespace cellar::server {

// What came of it: a stream whose peer() is the client.
struct ProxiedStream {
  std::unique_ptr<ByteStream> stream;
  std::string via;  // "HOST:PORT" of the proxy that vouched for the peer; empty: none
};

// One connection in this stage. Belongs to a loop; lives until its coroutine has ended.
class ProxyStage : public boost::intrusive::list_base_hook<
                       boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  // `rules` and `timers` outlive it.
  ProxyStage(std::unique_ptr<ByteStream> stream, const ProxyRules& rules, Timers& timers);

  // Whether anything has to be read at all.
  static bool needed(const ByteStream& stream, const ProxyRules& rules) {
    return !rules.trusted.empty() && rules.trusted.contains(stream.peer());
  }
  // Errors: INVALID_ARGUMENT with a sentence about the peer's bytes, UNAVAILABLE when it went
  // before it said anything, DEADLINE_EXCEEDED, CANCELLED after close().
  Async<Result<ProxiedStream>> run(int64_t timeout_us);
  void close();
  const std::string& peer() const { return peer_; }

 private:
  Async<Result<ProxiedStream>> read_header();
  Async<Result<void>> receive(size_t until);
  void expire();

  std::unique_ptr<ByteStream> stream_;
  const ProxyRules& rules_;
  const std::string peer_;
  std::string received_;
  bool late_ = false;
  int64_t timeout_us_ = 0;
  Timer timer_;
};

}  // namespace cellar::server
