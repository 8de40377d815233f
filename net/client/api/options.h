// How a client behaves. Durations are microseconds.
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

// Whom to believe, and what to show. Files are PEM.
struct TlsOptions {
  bool enabled = false;
  std::string ca;  // who may have signed the node's certificate; empty: who the system trusts
  std::string certificate;  // of this client, where the node asks for one
  std::string key;          // of that certificate
  std::string server_name;  // that the node's certificate must be for; empty: the address's host
  bool verify = true;       // false: any node is believed. For trials only
  friend bool operator==(const TlsOptions&, const TlsOptions&) = default;
};

struct ClientOptions {
  std::string address = kDefaultAddress;  // "HOST:PORT"
  size_t connections = 1;                 // 1 to kMaxConnections; those of one row share one
  std::string client_name = "cellar-client";
  std::string client_id;  // identity of idempotency tokens, at most 64 bytes; empty: drawn
  // The first 8 bytes of every connection, by which a proxy may choose the node: one hint, one
  // node. hint_of() makes one of a name; 0: drawn for this client.
  uint64_t routing_hint = 0;

  TlsOptions tls;
  // Proves who this is, to a node that asks. `token_file` is read for every connection, so a new
  // token in it is taken up; it comes before `token`. Never sent in plain text to another machine.
  std::string token;
  std::string token_file;

  int64_t connect_timeout_us = 5'000'000;    // for connecting, TLS and the hello together
  int64_t request_deadline_us = 10'000'000;  // of data operations; kNoDeadline: none
  int64_t admin_deadline_us = 300'000'000;   // of create, drop, flush, compact and the like

  // Requests wait and nothing has come for so long: the node is pinged. Nothing for as long again:
  // the connection is given up. So a scan, which has no deadline, does not wait for a dead machine.
  int64_t keepalive_us = 15'000'000;

  // Requests of one connection that are on the wire at one time; the server may allow fewer.
  size_t max_in_flight = 128;
  // Requests of the whole client that were taken and are not finished, those between two attempts
  // included (one larger than all room is taken alone). Past the bounds a request is refused at
  // once with RESOURCE_EXHAUSTED, or waits for its turn until its deadline.
  size_t max_pending = 65'536;
  size_t max_pending_bytes = 256u << 20;
  WhenFull when_full = WhenFull::refuse;

  // Pause before the next attempt to connect: doubles from min to max, each drawn from [1/2, 1].
  int64_t backoff_min_us = 10'000;
  int64_t backoff_max_us = 2'000'000;
  // false: an attempt to connect that fails also fails the requests that wait for it (UNAVAILABLE,
  // not applied), whatever attempts they have left. true: they wait on until their deadline, and so
  // outlive a restart of the node.
  bool wait_for_connection = false;

  RetryOptions retry;        // see retry_policy.h
  bool draw_tokens = false;  // of calls that do not say otherwise, see CallOptions
  bool sole_writer = false;

  // true: once a table is used more than now and then, its tablets are asked for, connections are
  // made until every shard of the node has one, and a row's requests go where its tablet is served.
  bool route_by_shard = true;
};

// The routing hint of all that share a name, as a table, or a table and a prefix of keys
// ("events/eu"). Never 0; the same in every program.
uint64_t hint_of(std::string_view name);

struct CallOptions {
  int64_t deadline_us = kDefaultDeadline;     // from the call; also told to the server
  std::optional<Durability> durability = {};  // of a write; absent: the table's
  // Gives each write that can carry a token (row mutations, DropRowRange) and has none one of its
  // own, so that it may be sent again whatever it does (SEMANTICS 2). What a node remembers of
  // tokens is bounded; past it the write is refused with RESOURCE_EXHAUSTED. A node without tokens
  // refuses it with UNIMPLEMENTED; to one without tokens of DropRowRange that goes without. Absent:
  // as in ClientOptions.
  std::optional<bool> draw_tokens = {};
  // The caller's word that no other write, of this client or another, touches these rows before
  // this call has ended: more is repeated without a token (retry_policy.h). Where it is not true, a
  // repetition can undo acknowledged writes. Absent: as in ClientOptions.
  std::optional<bool> sole_writer = {};
  std::optional<bool> wait_for_connection = {};  // absent: as in ClientOptions
};

}  // namespace cellar::client
