#include "net/server/config/backup_directories.h"

#include <algorithm>

#include "engine/store/backup_place.h"
#include "io/base/bytes.h"

namespace cellar::server {
namespace {

bool has_parent_part(std::string_view path) {
  for (size_t at = 0; (at = path.find("..", at)) != std::string_view::npos; at += 2) {
    const bool begins = at == 0 || path[at - 1] == '/';
    const bool ends = at + 2 == path.size() || path[at + 2] == '/';
    if (begins && ends) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> directories_of(std::string_view list) {
  std::vector<std::string> all;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    std::string_view one = list.substr(0, comma);
    while (one.ends_with('/')) one.remove_suffix(1);
    if (!one.empty()) all.emplace_back(one);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return all;
}

Result<void> check_backup_directory(std::string_view directory, std::string_view allowed) {
  if (engine::is_rados_place(directory)) {
    TRY_VOID(engine::parse_rados_place(directory));
  } else if (!directory.starts_with('/') || has_parent_part(directory)) {
    return fail(Errc::invalid_argument, "'{}' is no absolute path on the node",
                escape_bytes(directory));
  }
  for (const std::string& one : directories_of(allowed)) {
    if (!directory.starts_with(one)) continue;
    if (directory.size() == one.size() || directory[one.size()] == '/') return {};
  }
  return fail(Errc::permission_denied,
              "'{}' is not in one of the node's backup.directories; its configuration names where "
              "backups may lie",
              escape_bytes(directory));
}

Result<void> check_backup_schedule(const BackupOptions& backup) {
  if (backup.every_us == 0) return {};
  const auto within = check_backup_directory(backup.into, backup.directories);
  if (within) return {};
  return fail(Errc::failed_precondition,
              "backup.every is set, but backup.into ('{}') is no absolute path and no "
              "rados:POOL/NAME within backup.directories ('{}')",
              backup.into, backup.directories);
}

}  // namespace cellar::server
