#include "net/security/roles.h"

namespace cellar::security {

std::string_view role_name(Role role) {
  switch (role) {
    case Role::read:
      return "read";
    case Role::write:
      return "write";
    case Role::schema:
      return "schema";
    case Role::retention:
      return "retention";
    case Role::monitor:
      return "monitor";
    case Role::admin:
      return "admin";
  }
  return "?";
}

Result<Role> parse_role(std::string_view name) {
  for (const Role role : kAllRoles) {
    if (name == role_name(role)) return role;
  }
  return fail(Errc::invalid_argument,
              "there is no role '{}'; there are read, write, schema, retention, monitor, admin",
              name);
}

std::string to_text(Roles roles, std::string_view between) {
  std::string text;
  for (const Role role : kAllRoles) {
    if (!roles.has(role)) continue;
    if (!text.empty()) text += fmt::format(" {} ", between);
    text += role_name(role);
  }
  return text;
}

}  // namespace cellar::security
