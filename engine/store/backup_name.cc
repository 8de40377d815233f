#include <algorithm>

#include "engine/store/backup_store.h"

namespace cellar::engine {
namespace {

constexpr size_t kMaxNameBytes = 64;

}  // namespace

std::string backup_path(std::string_view name) {
  return fmt::format("backups/{}.backup", name);
}

Result<void> check_backup_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  };
  if (!name.empty() && name.size() <= kMaxNameBytes && name.front() != '.' &&
      std::all_of(name.begin(), name.end(), allowed)) {
    return {};
  }
  return fail(Errc::invalid_argument,
              "'{}' is no name of a backup: 1 to {} letters, digits, '.', '-' and '_', not "
              "beginning with '.'",
              escape_bytes(name), kMaxNameBytes);
}

}  // namespace cellar::engine
