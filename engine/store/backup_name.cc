#include <algorithm>

#include "engine/store/backup_place.h"

namespace cellar::engine {
namespace {

constexpr size_t kMaxNameBytes = 64;

}  // namespace

std::string backup_path(std::string_view name) { return fmt::format("backups/{}.backup", name); }

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

Result<RadosPlace> parse_rados_place(std::string_view text) {
  const std::string_view all = text;
  if (is_rados_place(text)) text.remove_prefix(kRadosScheme.size());
  const size_t slash = std::min(text.find('/'), text.size());
  RadosPlace place{std::string(text.substr(0, slash)),
                   std::string(text.substr(std::min(slash + 1, text.size())))};
  if (is_rados_place(all) && check_backup_name(place.pool) && check_backup_name(place.name)) {
    return place;
  }
  return fail(Errc::invalid_argument,
              "'{}' is no place for backups in Ceph: rados:POOL/NAME, each of 1 to 64 letters, "
              "digits, '.', '-' and '_', not beginning with '.'",
              escape_bytes(all));
}

}  // namespace cellar::engine
