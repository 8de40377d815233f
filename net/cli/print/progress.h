// How far long work has come, on standard error: a line that is drawn again on a terminal, a line
// every few seconds elsewhere when it was asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "net/cli/session/console.h"

namespace cellar::cli {

struct Progress {
  std::string_view unit;        // "rows", "lines"
  uint64_t units = 0;           // all of them
  uint64_t bytes = 0;           // likewise
  uint64_t units_before = 0;    // of these, done by an earlier run: the rate leaves them out
  uint64_t bytes_before = 0;    // likewise
  std::optional<double> share;  // 0 to 1
  double share_before = 0;      // of an earlier run
  int64_t elapsed_us = 0;
};

// "  [##########          ]  51%   12,345 rows, 41,200/s   3.2 MiB, 10.1 MiB/s   4.2 s left"
std::string progress_text(const Progress& progress);

class ProgressLine {
 public:
  static constexpr int64_t kTerminalEveryUs = 100'000;
  static constexpr int64_t kElsewhereEveryUs = 5'000'000;

  // `wanted`: also where standard error is no terminal.
  ProgressLine(const Console& console, bool wanted) : console_(console), wanted_(wanted) {}
  ~ProgressLine() { clear(); }
  bool due(int64_t elapsed_us) const;
  void show(const Progress& progress);
  void clear();  // before anything else is written to standard error

 private:
  const Console& console_;
  const bool wanted_;
  int64_t shown_us_ = 0;
  bool line_open_ = false;
};

}  // namespace cellar::cli
