// Progress output on standard error: a line that is redrawn on a terminal; elsewhere, if requested,
// a line every few seconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "net/cli/session/console.h"

namespace cellar::cli {

struct Progress {
  std::string_view unit;        // "rows", "lines"
  uint64_t units = 0;           // total
  uint64_t bytes = 0;           // total
  uint64_t units_before = 0;    // of these, done by an earlier run; excluded from the rate
  uint64_t bytes_before = 0;    // of these, done by an earlier run; excluded from the rate
  std::optional<double> share;  // 0 to 1
  double share_before = 0;      // by an earlier run
  int64_t elapsed_us = 0;
};

// "  [##########          ]  51%   12,345 rows, 41,200/s   3.2 MiB, 10.1 MiB/s   4.2 s left"
std::string progress_text(const Progress& progress);

class ProgressLine {
 public:
  static constexpr int64_t kTerminalEveryUs = 100'000;
  static constexpr int64_t kElsewhereEveryUs = 5'000'000;

  // `wanted`: also if standard error is not a terminal.
  ProgressLine(const Console& console, bool wanted) : console_(console), wanted_(wanted) {}
  ~ProgressLine() { clear(); }
  bool due(int64_t elapsed_us) const;
  void show(const Progress& progress);
  void clear();  // call before writing anything else to standard error

 private:
  const Console& console_;
  const bool wanted_;
  int64_t shown_us_ = 0;
  bool line_open_ = false;
};

}  // namespace cellar::cli
