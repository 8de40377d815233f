// Options of a client. Durations are in microseconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/model/types.h"
#include "net/client/api/retry_policy.h"

namespace cellar::client {

inline constexpr const char* kDefaultAddress = "127.0.0.1:7420";
inline constexpr size_t kMaxConnections = 64;
inline constexpr int64_t kNoDeadline = 0;
inline constexpr int64_t kDefaultDeadline = -1;  // the one in ClientOptions

enum class WhenFull : uint8_t { refuse, wait };

// TLS: trusted authorities and the client's certificate. Files are PEM.
struct TlsOptions {
  bool enabled = false;
  std::string ca;           // authorities for the node's certificate; empty: the system's
  std::string certificate;  // of this client, if the node requests one
  std::string key;          // of that certificate
  std::string server_name;  // expected name in the node's certificate; empty: the address's host
  bool verify = true;       // false: any node is accepted. For experiments only
  friend bool operator==(const TlsOptions&, const TlsOptions&) = default;
};

struct ClientOptions {
  std::string address = kDefaultAddress;  // "HOST:PORT"
  size_t connections = 1;                 // 1 to kMaxConnections; requests of one row share one
  std::string client_name = "cellar-client";
  std::string client_id;  // namespace of idempotency tokens, at most 64 bytes; empty: random
  // The first 8 bytes of every connection, from which a proxy may choose the node: equal hints,
  // equal nodes. hint_of() derives one from a name; 0: random for this client.
  uint64_t routing_hint = 0;

  TlsOptions tls;
  // Authentication. `token_file` takes precedence and is read for every connection, so that a new
  // token takes effect. A token is never sent in plain text to another machine.
  std::string token;
  std::string token_file;

  int64_t connect_timeout_us = 5'000'000;    // for connecting, TLS and the hello in total
  int64_t request_deadline_us = 10'000'000;  // default for data operations; kNoDeadline: none
  int64_t admin_deadline_us = 300'000'000;   // default for create, drop, flush, compact and so on

  // If requests wait and nothing has been received for this long, the node is pinged; after the
  // same time again the connection is closed. A scan, which has no deadline, thus does not wait for
  // a dead machine.
  int64_t keepalive_us = 15'000'000;

  // Requests on the wire per connection; the server may permit fewer.
  size_t max_in_flight = 128;
  // Limits of the requests of the whole client that are accepted and not finished, including those
  // between attempts (a single larger one is accepted alone). Beyond them a request is refused at
  // once with RESOURCE_EXHAUSTED, or waits until its deadline.
  size_t max_pending = 65'536;
  size_t max_pending_bytes = 256u << 20;
  WhenFull when_full = WhenFull::refuse;

  // Pause between attempts to connect: doubles from min to max, randomised in [1/2, 1] of that.
  int64_t backoff_min_us = 10'000;
  int64_t backoff_max_us = 2'000'000;
  // false: a failed attempt to connect fails the requests that wait for it (UNAVAILABLE, not
  // applied), even if they have attempts left. true: they wait until their deadline, and so survive
  // a restart of the node.
  bool wait_for_connection = false;

  RetryOptions retry;        // see retry_policy.h
  bool draw_tokens = false;  // for calls that do not set it, see CallOptions
  bool sole_writer = false;

  // true: for a table in regular use, the client fetches its tablets, connects to every shard of
  // the node and sends a row's requests to the shard of its tablet.
  bool route_by_shard = true;
};

// A routing hint from a name, such as a table, or a table and a key prefix ("events/eu"). Never 0;
// the same in every program.
uint64_t hint_of(std::string_view name);

struct CallOptions {
  int64_t deadline_us = kDefaultDeadline;     // from the start of the call; also sent to the server
  std::optional<Durability> durability = {};  // for writes; absent: the table's
  // Gives each write without a token its own one, if it can carry one (row mutations,
  // DropRowRange), so that it can always be retried safely (SEMANTICS 2). A node remembers a
  // bounded number of tokens; beyond it the write is refused with RESOURCE_EXHAUSTED. A node
  // without tokens refuses the write with UNIMPLEMENTED; a DropRowRange is sent without a token if
  // only its tokens are unsupported. Absent: as in ClientOptions.
  std::optional<bool> draw_tokens = {};
  // The caller guarantees that no other write, by any client, touches these rows before this call
  // has ended; more requests are then retried without a token (retry_policy.h). If the guarantee is
  // broken, a retry can undo acknowledged writes. Absent: as in ClientOptions.
  std::optional<bool> sole_writer = {};
  std::optional<bool> wait_for_connection = {};  // absent: as in ClientOptions
};

}  // namespace cellar::client
