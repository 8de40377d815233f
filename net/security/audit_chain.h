// The lines of the security log and their verification.
//
// Each line is one JSON object that starts with `seq`, incremented by one over all files, and
// `prev`, the SHA-256 of the previous line without its newline; the first line has 64 zeros. A line
// that is changed, removed, inserted or moved is therefore detected at the line after it. A chain
// cannot detect that its end was cut off or rewritten completely: for that the last number and hash
// are kept elsewhere and compared (`ChainEnd`).
//
// A crash may leave an incomplete line. On the next start the node ends it with a newline and
// continues with a line whose event is "resumed" and whose `torn_bytes` is the number of bytes
// left. Only that is accepted as a crash.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "net/security/token.h"

namespace cellar::security {

// An event. Empty fields are omitted from the line. Never contains values or secrets.
struct AuditEvent {
  std::string event;      // login, login_failed, denied, change, reload, resumed, ...
  std::string principal;  // empty: unknown
  std::string address;    // of the client
  std::string operation;
  std::string object;   // "table 'x'"
  std::string outcome;  // a status code by name
  std::string detail;
  uint64_t count = 0;  // events that this line stands for, or the torn bytes of "resumed"
};

// The end of a chain: its last line.
struct ChainEnd {
  uint64_t sequence = 0;  // 0: no line yet
  Digest hash{};
  friend bool operator==(const ChainEnd&, const ChainEnd&) = default;
};

// Returns the next line with its newline and advances `end`.
std::string append_line(ChainEnd& end, int64_t at_us, const AuditEvent& event);

// Verifies a chain line by line.
class ChainReader {
 public:
  // The first line may have any number if older files are gone.
  ChainReader() = default;

  // `line` has no newline. DATA_LOSS describes the fault.
  Result<void> take(std::string_view line);
  // `rest` is the text after the last newline. DATA_LOSS unless it is empty.
  Result<void> finish(std::string_view rest) const;
  const ChainEnd& end() const { return end_; }
  uint64_t lines() const { return lines_; }

 private:
  ChainEnd end_;
  bool begun_ = false;
  uint64_t lines_ = 0;
  std::string torn_;  // an invalid line; a crash if the next line says so
};

// Verifies one whole file, continuing from the state of `reader`. DATA_LOSS names the first broken
// line.
Result<void> read_chain(ChainReader& reader, std::string_view text);

// Where a node continues a file that a crash may have cut at any byte.
struct ChainTail {
  ChainEnd end;
  size_t torn_bytes = 0;       // of an incomplete line
  bool lacks_newline = false;  // the last line is complete except for its newline
};
ChainTail tail_of(std::string_view text);

}  // namespace cellar::security
