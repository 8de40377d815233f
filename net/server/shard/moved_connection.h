// MovedConnection: a connection on its way to the shard that its hello names (schema/PROTOCOL.md,
// HelloRequest.shard). Its stream belongs to no loop meanwhile.
#pragma once

#include <memory>
#include <string>

#include "io/net/transport.h"
#include "net/server/limits/peer_limiter.h"
#include "net/server/policy/shard_security.h"
#include "net/wire/frame.h"

namespace cellar::server {

struct MovedConnection {
  std::unique_ptr<ByteStream> stream;  // detached
  wire::FrameReader frames;            // the hello, and what was received after it
  StreamFacts facts;
  PeerLimiter::Opening opening;
  std::string via;
};

}  // namespace cellar::server
