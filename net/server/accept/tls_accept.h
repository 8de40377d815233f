// Opening: the start of a connection before its session. Everything before the preface of
// PROTOCOL.md is handled here; at present that is TLS. A PROXY header comes earlier
// (proxy_stage.h).
//
// Limits: the handshake has the time of the hello (timeouts.handshake). kMaxHandshakes run
// concurrently per shard; others wait in FIFO order within their time.
#pragma once

#include <memory>
#include <string>

#include "io/loop/semaphore.h"
#include "io/net/tls_stream.h"
#include "net/server/policy/shard_security.h"

namespace cellar::server {

inline constexpr uint64_t kMaxHandshakes = 64;  // per shard

struct Opened {
  std::unique_ptr<ByteStream> stream;
  StreamFacts facts;
  bool resumed = false;
};

// Performs the TLS handshake. Errors: DEADLINE_EXCEEDED; FAILED_PRECONDITION: the client does not
// use TLS (a plain-text client of the protocol receives an error reply); those of tls_handshake().
Async<Result<Opened>> open_tls(Timers& timers, Semaphore& handshakes,
                               std::unique_ptr<ByteStream> stream,
                               std::shared_ptr<const TlsContext> tls, int64_t timeout_us);

}  // namespace cellar::server
