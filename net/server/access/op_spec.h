// OpSpec: all that the node knows about an operation of the protocol: its handler, what it requires
// of a principal, what the security log records, and how a request names its table. The table of
// all operations is in net/server/requests/op_table.cc.
#pragma once

#include <expected>
#include <optional>
#include <string_view>

#include "net/security/authorizer.h"
#include "net/wire/frame.h"
#include "net/wire/status.h"

namespace cellar::server {

class Session;
class ShardServer;

// What a role is checked against.
enum class Scope : uint8_t {
  open,   // nothing: allowed before login
  table,  // the table that the request names
  list,   // the tables listed; others are omitted from the reply
  node,   // the whole node: requires a grant of the empty prefix
};

// Which changes the security log records.
enum class Logged : uint8_t { no, schema, retention, admin };

// The table that a body names, as a view of the body.
struct TableName {
  bool understood = true;  // false: malformed; the handler refuses it
  Bytes name = {};         // empty: no name
  uint64_t tablet = 0;     // set if the body may name a tablet instead
};

// How requests of an operation name their table.
struct TableRef {
  TableName (*in_body)(Bytes body) = nullptr;  // null: they name none
  bool by_id = false;                          // the id in the header counts before the name
  // Whether a table of another node is refused with that node's address before the handler.
  bool has_owner = false;
};

// Why a handler refuses its request.
struct Refusal {
  Refusal(Error e) : error(std::move(e)) {}
  Refusal(Error e, wire::TabletHint h) : error(std::move(e)), hint(std::move(h)) {}
  Error error;
  std::optional<wire::TabletHint> hint;  // where the row or the table is
  bool malformed = false;                // the body is no request of the operation
};

// Without a refusal the request is answered, now or later, or held.
using Handled = std::expected<void, Refusal>;

struct OpSpec {
  using Handler = Handled (*)(ShardServer& shard, Session& session, const wire::Frame& frame);

  Handler handler = nullptr;  // null: the operation does not exist
  Scope scope = Scope::node;
  // If `need_of` is set, a superset of what it returns for any body.
  security::Need need = {{security::Role::admin}};
  Logged logged = Logged::no;
  TableRef table = {};
  std::string_view feature = {};  // announces the operation in the hello; empty: always there
  security::Need (*need_of)(Bytes body) = nullptr;  // null: `need`, whatever the body contains
  bool (*changes)(Bytes body) = nullptr;            // null: always; other requests are not logged
  // Whether a request waits while trusted time stands (net/server/shard/clock_gate.h). Changes of
  // tables check the clock themselves.
  bool needs_time = false;
  // The one row of a request, from a body that has not been checked; null: requests have not one,
  // or are not frequent enough to prepare for them (Engine::expect_rows).
  Bytes (*row_of)(Bytes body) = nullptr;
  bool writes_row = false;
  uint16_t op = 0;
};

}  // namespace cellar::server
