// RequestHandler: who handles the frames of a session's requests. dispatch.h makes the one of a
// node; a session knows this much of it.
#pragma once

#include <cstddef>
#include <span>

#include "engine/engine.h"
#include "io/base/result.h"
#include "net/wire/frame.h"

namespace cellar::server {

class HandleTable;
class Session;
class ShardServer;

// Stateless; the same object serves every shard.
class RequestHandler {
 public:
  virtual ~RequestHandler() = default;
  // Answers the request exactly once, now or later, or has the session hold it.
  virtual void handle(ShardServer& shard, Session& session, const wire::Frame& frame) const = 0;
  // Frames that a session handles next, unchecked. The rows that reads and writes of single rows
  // among them name, for Engine::expect_rows(): at most as many as `rows` has room for. Returns
  // their number. Has no other effect.
  virtual size_t rows_of(ShardServer& shard, HandleTable& handles, std::span<wire::Frame> frames,
                         std::span<engine::ExpectedRow> rows) const = 0;
  // What can be refused of a request whose body is still on its way.
  virtual Result<void> check_announced(ShardServer& shard, Session& session,
                                       const wire::FrameHeader& header) const = 0;
  // Whether the operation has to wait while trusted time stands (clock_gate.h).
  virtual bool needs_time(uint16_t op) const = 0;
};

}  // namespace cellar::server
