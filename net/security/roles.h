// Roles: permissions of a principal on the tables of a prefix.
//
//   read       rows and cells
//   write      cells, rows and row ranges: set and delete
//   schema     tables and families: create, alter, drop, restore; storage options
//   retention  expiry: rules, windows, undo; preview of a rule
//   monitor    figures, tablets, audit trails, settings, states of jobs; changes nothing and reads
//   no
//              cell
//   admin      flush, compact, tablets, and what `monitor` sees; of the whole node if the prefix is
//              empty
//
// Otherwise no role implies another: a writer cannot read unless it also has `read`.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "io/base/result.h"

namespace cellar::security {

enum class Role : uint8_t { read, write, schema, retention, monitor, admin };
inline constexpr Role kAllRoles[] = {Role::read,      Role::write,   Role::schema,
                                     Role::retention, Role::monitor, Role::admin};

std::string_view role_name(Role role);
Result<Role> parse_role(std::string_view name);  // INVALID_ARGUMENT lists the valid names

// A set of roles.
class Roles {
 public:
  constexpr Roles() = default;
  constexpr Roles(std::initializer_list<Role> roles) {
    for (const Role role : roles) add(role);
  }
  static constexpr Roles all() {
    return {Role::read, Role::write, Role::schema, Role::retention, Role::monitor, Role::admin};
  }
  constexpr void add(Role role) {
    bits_ = static_cast<uint8_t>(bits_ | (1u << static_cast<uint8_t>(role)));
  }
  constexpr void add(Roles other) { bits_ = static_cast<uint8_t>(bits_ | other.bits_); }
  constexpr bool has(Role role) const { return (bits_ >> static_cast<uint8_t>(role)) & 1u; }
  constexpr bool has_all(Roles other) const { return (other.bits_ & ~bits_) == 0; }
  constexpr bool has_any(Roles other) const { return (other.bits_ & bits_) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  friend constexpr bool operator==(Roles, Roles) = default;

 private:
  uint8_t bits_ = 0;
};

// "read and write", "read or write".
std::string to_text(Roles roles, std::string_view between);

}  // namespace cellar::security
