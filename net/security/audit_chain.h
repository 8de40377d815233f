// The lines of the security log, and whether they are all there.
//
// Every line is one JSON object, and begins with `seq`, counting up by one over all files, and
// `prev`, the SHA-256 of the whole line before it (without its newline); the very first has 64
// zeros. So a line that is changed, left out, put in or moved shows at the line after it. What a
// chain cannot show by itself is that its end was cut off or rewritten as a whole: for that the
// last number and hash are kept elsewhere and compared (`ChainEnd`).
//
// A crash may leave half a line. The node that starts next ends it with a newline and goes on with
// a line of the event "resumed" that tells how many bytes were left, `torn_bytes`; that, and only
// that, is taken for a crash.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "net/security/token.h"

namespace cellar::security {

// What happened. Empty fields are left out of the line. No values, no secrets.
struct AuditEvent {
  std::string event;      // login, login_failed, denied, change, reload, resumed, ...
  std::string principal;  // who; empty: nobody was known
  std::string address;    // from where
  std::string operation;
  std::string object;   // "table 'x'"
  std::string outcome;  // a status code by name
  std::string detail;
  uint64_t count = 0;  // of events that this line stands for, or bytes of "resumed"
};

// Where a chain stands: of its last line.
struct ChainEnd {
  uint64_t sequence = 0;  // 0: there is no line yet
  Digest hash{};
  friend bool operator==(const ChainEnd&, const ChainEnd&) = default;
};

// The next line with its newline; `end` moves on.
std::string append_line(ChainEnd& end, int64_t at_us, const AuditEvent& event);

// Follows a chain line by line.
class ChainReader {
 public:
  // The first line may be any one when the chain's beginning is not there (older files are gone).
  ChainReader() = default;

  // Without its newline. DATA_LOSS tells what is wrong with it.
  Result<void> take(std::string_view line);
  // Whatever follows the last newline. DATA_LOSS when it is anything.
  Result<void> finish(std::string_view rest) const;
  const ChainEnd& end() const { return end_; }
  uint64_t lines() const { return lines_; }

 private:
  ChainEnd end_;
  bool begun_ = false;
  uint64_t lines_ = 0;
  std::string torn_;  // a line that is none; a crash if the next one says so
};

// One file's text from beginning to end, going on where `reader` stands. DATA_LOSS names the first
// line that is broken.
Result<void> read_chain(ChainReader& reader, std::string_view text);

// Where a node goes on in a file that a crash may have left at any byte.
struct ChainTail {
  ChainEnd end;
  size_t torn_bytes = 0;       // of a line that was begun
  bool lacks_newline = false;  // the last line is whole but for it
};
ChainTail tail_of(std::string_view text);

}  // namespace cellar::security
