// The package log of Debian (dpkg.log) and the list of installed packages as rows.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "net/cli/transfer/record_source.h"

namespace cellar::cli {

// clang-format off
// One line of dpkg.log:
//   2025-06-24 14:36:25 install libc6:amd64 <none> 2.36-9      row libc6, install:amd64 = 2.36-9
//   2025-06-24 14:36:25 upgrade libc6:amd64 2.36-9 2.36-10     row libc6, upgrade:amd64 = 2.36-9 -> 2.36-10
//   2025-06-24 14:36:25 status unpacked libc6:amd64 2.36-9     row libc6, status:unpacked = 2.36-9
//   2025-06-24 14:36:25 startup archives unpack                row dpkg, startup:archives = unpack
//   2025-06-24 14:36:25 conffile /etc/motd keep                row /etc/motd, conffile: = keep
// clang-format on
struct DpkgEvent {
  std::string row;
  std::string family;
  std::string qualifier;
  std::string value;
  int64_t time_us = 0;  // whole seconds
};
// INVALID_ARGUMENT: not a line of that log. `utc`: the times are UTC instead of local.
Result<DpkgEvent> parse_dpkg_line(std::string_view line, bool utc);

// Numbers the events of each cell within a second. A second may come back later in the log, as when
// the clock was set back or the day has 25 hours: the numbers of the last kMaxNumberedEvents events
// are kept.
class EventNumbers {
 public:
  static constexpr size_t kMaxNumberedEvents = 1u << 20;
  uint64_t next(const DpkgEvent& event);

 private:
  std::unordered_map<uint64_t, uint64_t> seen_;  // by a hash of the cell and its second
  std::deque<uint64_t> order_;                   // in which they came; the oldest are forgotten
};

std::unique_ptr<RecordSource> dpkg_log_source(LineReader lines, const SourceOptions& options);
std::unique_ptr<RecordSource> package_list_source(LineReader lines, const SourceOptions& options);

}  // namespace cellar::cli
