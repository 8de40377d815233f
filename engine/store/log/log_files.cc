#include "engine/store/log/log_files.h"

#include "engine/store/file/hex_name.h"

namespace cellar::engine {
namespace {

constexpr std::string_view kSegmentSuffix = ".seg";
constexpr std::string_view kTemporary = ".seg.tmp";
constexpr std::string_view kGoneSuffix = ".gone";
constexpr std::string_view kSpareSuffix = ".spare";
constexpr size_t kLogDigits = 16;
constexpr size_t kSegmentDigits = 8;

}  // namespace

std::string segment_path(LogId log, uint64_t segment) {
  return fmt::format("{}/{:016x}-{:08x}{}", kLogDirectory, log.value(), segment, kSegmentSuffix);
}

std::string gone_path(LogId log) {
  return fmt::format("{}/{:016x}{}", kLogDirectory, log.value(), kGoneSuffix);
}

std::string start_spare_path(LogId log) {
  return fmt::format("{}/{:04x}{}", kLogDirectory, log.value() & 0xffff, kSpareSuffix);
}

bool is_start_spare(std::string_view path) {
  return path.starts_with(kLogDirectory) && path.ends_with(kSpareSuffix);
}

std::optional<LogFileName> parse_log_file(std::string_view name) {
  LogFileName out;
  const auto log = parse_hex(name.substr(0, kLogDigits), kLogDigits);
  if (!log) return std::nullopt;
  out.log = LogId{*log};
  name.remove_prefix(kLogDigits);
  if (name == kGoneSuffix) {
    out.kind = LogFileName::Kind::gone;
    return out;
  }
  if (!name.starts_with('-')) return std::nullopt;
  name.remove_prefix(1);
  const auto segment = parse_hex(name.substr(0, kSegmentDigits), kSegmentDigits);
  if (!segment) return std::nullopt;
  out.segment = *segment;
  name.remove_prefix(kSegmentDigits);
  if (name == kSegmentSuffix) return out;
  out.kind = LogFileName::Kind::temporary;
  return name == kTemporary ? std::optional(out) : std::nullopt;
}

Async<Result<std::map<LogId, LogFiles>>> list_log_files(FileSystem& fs) {
  std::map<LogId, LogFiles> logs;
  auto entries = co_await fs.list(std::string(kLogDirectory));
  if (!entries && entries.error().code == Errc::not_found) co_return logs;
  if (!entries) co_return std::unexpected(std::move(entries).error());
  for (const DirEntry& entry : *entries) {
    const auto name = parse_log_file(entry.name);
    if (!name || entry.is_dir) continue;
    LogFiles& files = logs[name->log];
    switch (name->kind) {
      case LogFileName::Kind::segment:
        files.segments.insert(name->segment);
        break;
      case LogFileName::Kind::temporary:
        files.temporary.insert(name->segment);
        break;
      case LogFileName::Kind::gone:
        files.gone = true;
        break;
    }
  }
  co_return logs;
}

}  // namespace cellar::engine
