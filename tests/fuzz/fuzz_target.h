// What is fuzzed: functions over bytes that end the process when something that must hold does not.
// Each is a libFuzzer program of its own, and a smoke run within the tests (fuzz_smoke.cc).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/base/bytes.h"

namespace cellar::fuzz {

struct FuzzTarget {
  std::string_view name;
  void (*run)(Bytes input);
  // What an honest input looks like, to start from.
  std::vector<std::string> (*seeds)();
};

// wire: a stream of frames that a client sends, each body decoded as its operation says.
extern const FuzzTarget kWireTarget;
// reply: bodies that a node sends to a client.
extern const FuzzTarget kReplyTarget;
// stored: what lies in blocks, records and manifests, behind its checksum.
extern const FuzzTarget kStoredTarget;
// log: logs and manifests of whole records that no writer makes.
extern const FuzzTarget kLogTarget;
// table: whole tables with damage that their checksums do not show.
extern const FuzzTarget kTableTarget;
// text: what people, files and proxies say: rules, filters, rows as JSON and CSV, HTTP, settings.
extern const FuzzTarget kTextTarget;

// An input whose first byte chooses one of `n` decoders; the rest is theirs.
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
