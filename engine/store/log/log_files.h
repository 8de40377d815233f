// Names and position arithmetic of log files, shared by writer and reader.
//
// A log is a sequence of positions divided into segments of equal size: segment s holds positions
// [s * segment_bytes, (s + 1) * segment_bytes); its first 4 KiB are the file header. All files are
// in `log/`:
//
//   log/<log id>-<segment>.seg       a segment, 16 and 8 hexadecimal digits
//   log/<log id>-<segment>.seg.tmp   one being prepared, or a trimmed one being removed
//   log/<log id>.gone                the log was removed; its remains are garbage
//   log/<shard>.spare                4 digits; space for the next start (start_spare.h)
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "engine/model/types.h"
#include "io/disk/file.h"

namespace cellar::engine {

inline constexpr std::string_view kLogDirectory = "log";

std::string segment_path(LogId log, uint64_t segment);
std::string gone_path(LogId log);
// The path for the log's shard.
std::string start_spare_path(LogId log);
bool is_start_spare(std::string_view path);

struct LogFileName {
  enum class Kind : uint8_t { segment, temporary, gone };
  Kind kind = Kind::segment;
  LogId log;
  uint64_t segment = 0;
};
// `name` is relative to kLogDirectory; empty if it is not a log file.
std::optional<LogFileName> parse_log_file(std::string_view name);

// The files of one log.
struct LogFiles {
  std::set<uint64_t> segments;
  std::set<uint64_t> temporary;
  bool gone = false;
};
// Empty if the directory does not exist.
Async<Result<std::map<LogId, LogFiles>>> list_log_files(FileSystem& fs);

}  // namespace cellar::engine
