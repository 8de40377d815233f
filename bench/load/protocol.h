// One connection's dialogue with a server under load: bytes out, bytes in. Stateful, one per
// connection. The same generator drives every server through it, so that only the servers differ.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "io/base/bytes.h"
#include "io/base/result.h"

namespace cellar::bench {

// Receives every answer. `id` is that of the encoded request.
class ReplySink {
 public:
  virtual ~ReplySink() = default;
  virtual void reply(uint64_t id, bool ok, Bytes error) = 0;
};

class Protocol {
 public:
  virtual ~Protocol() = default;
  // The first bytes to send; the first `greetings()` replies answer them and are not counted.
  virtual void encode_greeting(std::string& out) = 0;
  virtual int greetings() const = 0;
  // The server asks clients to leave: nothing more is sent, and after the last answer the dialogue
  // begins again on another connection.
  virtual bool leaving() const { return false; }
  // Whether this connection sends requests for that key; known after the greeting.
  virtual bool wants(Bytes) const { return true; }
  virtual void encode_write(std::string& out, uint64_t id, Bytes key, Bytes value) = 0;
  virtual void encode_read(std::string& out, uint64_t id, Bytes key) = 0;
  // Consumes complete answers from the head of `in` and returns their length in bytes. An error
  // ends the connection.
  virtual Result<size_t> parse(Bytes in, ReplySink& sink) = 0;
};

// The keys of a connection: any; those whose tablet is served by the connection's own shard; or
// only those of other shards, to which its shard forwards.
enum class Route { any, direct, forwarded };
// The shard that serves a key.
using ShardOf = std::function<uint32_t(Bytes key)>;

// Writes and reads column f:q of the table, which must exist. `token` may be empty.
std::unique_ptr<Protocol> make_cellar_protocol(uint64_t table_id, Route route, ShardOf shard_of,
                                               std::string token);
// SET and GET.
std::unique_ptr<Protocol> make_redis_protocol();

}  // namespace cellar::bench
