// Where backups may lie: the setting backup.directories.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/base/result.h"
#include "net/server/config/options.h"

namespace cellar::server {

// The paths of a list that is separated by commas, without slashes at their ends.
std::vector<std::string> directories_of(std::string_view list);

// "/backup" allows "/backup/daily" but not "/backups", and nothing with ".."; "rados:pool" allows
// "rados:pool/node1". The error names the setting.
Result<void> check_backup_directory(std::string_view directory, std::string_view allowed);

// FAILED_PRECONDITION if backup.every is set and backup.into is not within backup.directories.
Result<void> check_backup_schedule(const BackupOptions& backup);

}  // namespace cellar::server
