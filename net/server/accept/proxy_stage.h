// ProxyStage: the first bytes of a connection, before TLS and the session.
//
// From a peer in `proxy.trusted` a PROXY protocol header is read, if one comes or is required; its
// client then becomes the peer. From other peers nothing is read here, so a header from them is an
// invalid preface, which ends the connection. Bytes that belong to the next stage are passed on
// unchanged.
//
// The stage lasts at most the handshake timeout, counts among the shard's connections and ends with
// the shard.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <boost/intrusive/list.hpp>

#include "io/loop/timers.h"
#include "io/net/transport.h"
#include "net/server/config/network_list.h"

namespace cellar::server {

// The result: a stream whose peer() is the client.
struct ProxiedStream {
  std::unique_ptr<ByteStream> stream;
  std::string via;  // "HOST:PORT" of the proxy that named the peer; empty: none
};

// One connection in this stage. Belongs to a loop; lives until its coroutine ends.
class ProxyStage : public boost::intrusive::list_base_hook<
                       boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  // `rules` and `timers` must outlive it.
  ProxyStage(std::unique_ptr<ByteStream> stream, const ProxyRules& rules, Timers& timers);

  // Whether this peer's stream has to be read here.
  static bool needed(const ByteStream& stream, const ProxyRules& rules) {
    return !rules.trusted.empty() && rules.trusted.contains(stream.peer());
  }
  // Errors: INVALID_ARGUMENT with a sentence about the peer's bytes, UNAVAILABLE if the peer closed
  // without sending, DEADLINE_EXCEEDED, CANCELLED after close().
  Async<Result<ProxiedStream>> run(int64_t timeout_us);
  void close();
  const std::string& peer() const { return peer_; }

 private:
  Async<Result<ProxiedStream>> read_header();
  Async<Result<void>> receive(size_t until);

  std::unique_ptr<ByteStream> stream_;
  const ProxyRules& rules_;
  const std::string peer_;
  std::string received_;
  Timers& timers_;
};

}  // namespace cellar::server
