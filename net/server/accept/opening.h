// Opening: the first bytes of a connection, before it is a session. Whatever comes before the
// preface of PROTOCOL.md is dealt with here, in order: today that is TLS. A proxy's word about who
// the client is would be read before it, from the same bytes.
//
// Bounds: the handshake has the time that the hello has (timeouts.handshake), kMaxHandshakes of a
// shard are under way at one time, others wait in line within their time.
#pragma once

#include <memory>
#include <string>

#include "io/loop/units.h"
#include "io/net/tls_stream.h"
#include "net/server/policy/shard_security.h"

namespace cellar::server {

inline constexpr uint64_t kMaxHandshakes = 64;  // of a shard

struct Opened {
  std::unique_ptr<ByteStream> stream;
  StreamFacts facts;
  bool resumed = false;
};

// With TLS. Errors: DEADLINE_EXCEEDED; FAILED_PRECONDITION: the client speaks no TLS (one that
// speaks the protocol of this node is told so in its words); what tls_handshake() tells.
Async<Result<Opened>> open_tls(Timers& timers, Units& handshakes,
                               std::unique_ptr<ByteStream> stream,
                               std::shared_ptr<const TlsContext> tls, int64_t timeout_us);

}  // namespace cellar::server
