// One connection's dialogue with a server under load: bytes out, bytes in. Stateful, one per
// connection. The same generator drives every server through it, so that only the servers differ.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/load/workload.h"
#include "io/base/bytes.h"
#include "io/base/result.h"

namespace cellar::bench {

struct Answer {
  bool ok = true;
  uint64_t rows = 0;  // read, scan: rows that were found
  Bytes error = {};   // if not ok
};

// Receives every answer. `id` is that of the encoded request.
class ReplySink {
 public:
  virtual ~ReplySink() = default;
  // A value of an answer, before its reply(): of field `field` of `row`. `row` is empty in the
  // answer to a read. Called only if the protocol was asked for values.
  virtual void value(uint64_t id, Bytes row, Bytes field, Bytes value) = 0;
  virtual void reply(uint64_t id, const Answer& answer) = 0;
};

class Protocol {
 public:
  virtual ~Protocol() = default;
  // Begins the dialogue on a new connection: appends the first bytes to send.
  virtual void greet(std::string& out) = 0;
  // Whether requests may be sent: the server has answered the greeting.
  virtual bool ready() const = 0;
  // The server asks clients to leave: nothing more is sent, and after the last answer the dialogue
  // begins again on another connection.
  virtual bool leaving() const { return false; }
  // Whether this connection sends requests for that key; known when it is ready.
  virtual bool wants(Bytes) const { return true; }
  // Whether the server has this operation.
  virtual bool can(Operation operation) const = 0;
  // Appends a request. Of a `modify`, the read; its update follows as a request of its own.
  virtual void encode(std::string& out, uint64_t id, const Request& request) = 0;
  // Consumes complete answers from the head of `in` and returns their length in bytes; appends to
  // `out` what the dialogue itself has to send. `in` is 8-byte aligned. An error ends the
  // connection.
  virtual Result<size_t> parse(Bytes in, std::string& out, ReplySink& sink) = 0;
};

// The keys of a connection: any; those whose tablet is served by the connection's own shard; or
// only those of other shards, to which its shard forwards.
enum class Route { any, direct, forwarded };
// The shard that serves a key.
using ShardOf = std::function<uint32_t(Bytes key)>;

// Family f of a table. Every connection names the table, because a proxy may lead each to another
// node, and numbers of tables differ between nodes.
struct CellarTarget {
  std::string table;
  std::string token;          // may be empty
  uint64_t routing_hint = 0;  // equal in all connections
  Route route = Route::any;
  ShardOf shard_of;                    // for a route other than any
  std::optional<uint32_t> shard = {};  // that the hello names
  bool wants_values = false;
  std::vector<std::string> columns;  // that point reads name, of the family; none: whole rows
};
std::unique_ptr<Protocol> make_cellar_protocol(CellarTarget target);
// Rows of one field are strings (SET and GET), others are hashes (HSET and HGETALL).
std::unique_ptr<Protocol> make_redis_protocol(uint32_t fields, bool wants_values);
// The fields of a row are one value, which every write replaces (set and get).
std::unique_ptr<Protocol> make_memcached_protocol(uint32_t fields, bool wants_values);
// cellar-bench-echo: requests and answers of the sizes that a plain binary protocol would have.
std::unique_ptr<Protocol> make_echo_protocol(const Workload& workload);

}  // namespace cellar::bench
