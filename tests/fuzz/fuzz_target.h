// Fuzz targets: functions over bytes that abort if an invariant is violated. Each is a libFuzzer
// program of its own and has a smoke run among the tests (fuzz_smoke.cc).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/base/bytes.h"

namespace cellar::fuzz {

struct FuzzTarget {
  std::string_view name;
  void (*run)(Bytes input);
  // Valid inputs to start from.
  std::vector<std::string> (*seeds)();
};

// wire: a stream of frames from a client, each body decoded according to its operation.
extern const FuzzTarget kWireTarget;
// reply: bodies that a node sends to a client.
extern const FuzzTarget kReplyTarget;
// stored: contents of blocks, records and manifests behind valid checksums.
extern const FuzzTarget kStoredTarget;
// log: logs and manifests of valid records in orders that no writer produces.
extern const FuzzTarget kLogTarget;
// table: whole tables with damage that their checksums do not show.
extern const FuzzTarget kTableTarget;
// backup: a directory of backups that was changed, and what a node does with it.
extern const FuzzTarget kBackupTarget;
// session: a connection of a whole node, any bytes in any pieces.
extern const FuzzTarget kSessionTarget;
// http: a connection of the HTTP listener of a whole node.
extern const FuzzTarget kHttpTarget;
// tls: a connection of a node with TLS before its session, and behind proxies.
extern const FuzzTarget kTlsTarget;
// text: input of users, files and proxies: rules, filters, rows as JSON and CSV, HTTP, settings.
extern const FuzzTarget kTextTarget;

// An input whose first byte selects one of `n` decoders; the rest is the decoder's.
struct Choice {
  size_t number = 0;
  Bytes rest;
};
inline Choice choose(Bytes input, size_t n) {
  if (input.empty()) return {};
  return {static_cast<uint8_t>(input.front()) % n, input.substr(1)};
}
inline std::string chosen(size_t number, Bytes rest) {
  return std::string(1, static_cast<char>(number)).append(rest);
}

}  // namespace cellar::fuzz
