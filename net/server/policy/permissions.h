// Permissions: what each operation of the protocol requires of a principal, in one table. An
// operation declared in common.fbs or operate.fbs without an entry here does not compile.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "net/security/authorizer.h"
#include "net/wire/body.h"
#include "net/wire/operate.h"

namespace cellar::server {

// What a role is checked against.
enum class Scope : uint8_t {
  open,   // nothing: allowed before login
  table,  // the table that the request names
  list,   // the tables listed; others are omitted from the reply
  node,   // the whole node: requires a grant of the empty prefix
};

// Which changes the security log records.
enum class Logged : uint8_t { no, schema, retention, admin };

struct Permission {
  wire::fb::Op op;
  Scope scope;
  security::Need need;
  Logged logged = Logged::no;
};

namespace permissions {
using security::Need;
using security::Role;
using security::Roles;
using wire::fb::Op;
using wire::fb::OperateOp;

// Any role on a table permits reading its schema.
inline constexpr Need kAny{Roles::all(), true};
inline constexpr Need kReadWrite{{Role::read, Role::write}};
// The parts of AlterTable that change storage and families, and those that change expiry: see
// need_of().
inline constexpr Need kAlterSchema{{Role::schema}};
inline constexpr Need kAlterRetention{{Role::retention}};
inline constexpr Need kAlterTable{{Role::schema, Role::retention}};

inline constexpr std::array kTable = {
    Permission{Op::None, Scope::node, {{Role::admin}}},  // not an operation
    Permission{Op::Hello, Scope::open, {}},
    Permission{Op::Ping, Scope::open, {}},
    Permission{Op::ServerInfo, Scope::node, {{Role::admin}}},

    Permission{Op::MutateRow, Scope::table, {{Role::write}}},
    Permission{Op::MutateRows, Scope::table, {{Role::write}}},
    Permission{Op::ReadRow, Scope::table, {{Role::read}}},
    Permission{Op::ReadRows, Scope::table, {{Role::read}}},
    // Both reveal existing data and change it.
    Permission{Op::CheckAndMutateRow, Scope::table, kReadWrite},
    Permission{Op::ReadModifyWriteRow, Scope::table, kReadWrite},
    Permission{Op::DropRowRange, Scope::table, {{Role::write}}},
    Permission{Op::SampleRowKeys, Scope::table, {{Role::read}}},

    Permission{Op::CreateTable, Scope::table, {{Role::schema}}, Logged::schema},
    // Schema, retention, or both, depending on the change: see need_of().
    Permission{Op::AlterTable, Scope::table, kAlterTable, Logged::schema},
    Permission{Op::DropTable, Scope::table, {{Role::schema}}, Logged::schema},
    Permission{Op::RestoreTable, Scope::table, {{Role::schema}}, Logged::schema},
    Permission{Op::ListTables, Scope::list, kAny},
    Permission{Op::DescribeTable, Scope::table, kAny},
    // Its samples contain row keys.
    Permission{Op::PreviewRule, Scope::table, {{Role::read, Role::retention}}},
    Permission{Op::FlushTable, Scope::table, {{Role::admin}}, Logged::admin},
    Permission{Op::CompactTable, Scope::table, {{Role::admin}}, Logged::admin},
    Permission{Op::SplitTablet, Scope::table, {{Role::admin}}, Logged::admin},
    Permission{Op::MergeTablets, Scope::table, {{Role::admin}}, Logged::admin},
    Permission{Op::MoveTablet, Scope::table, {{Role::admin}}, Logged::admin},
    Permission{Op::ListTablets, Scope::list, {{Role::admin}}},

    Permission{Op::RuleHistory, Scope::table, kAny},
    Permission{Op::UndoRule, Scope::table, {{Role::retention}}, Logged::retention},
    Permission{Op::AuditLog, Scope::table, {{Role::admin}}},
    // Releasing held time lets cells of every table expire.
    Permission{Op::ConfirmTime, Scope::node, {{Role::admin}}, Logged::admin},
    Permission{static_cast<Op>(OperateOp::Reclaim), Scope::table, {{Role::admin}}},
    // A backup contains whole tables and is written where the node may write.
    Permission{static_cast<Op>(OperateOp::Backup), Scope::node, {{Role::admin}}, Logged::admin},
    Permission{static_cast<Op>(OperateOp::Control), Scope::node, {{Role::admin}}, Logged::admin},
};

// Whether the schema declares this number: the compiler prints an enumerator by name and any other
// value as a cast.
template <auto kOp>
consteval bool names_one() {
  const std::string_view text = __PRETTY_FUNCTION__;
  const size_t at = text.rfind("kOp = ") + 6;
  return text[at] != '(' && !(text[at] >= '0' && text[at] <= '9');
}
static_assert(names_one<Op::Hello>() && !names_one<static_cast<Op>(5)>());
static_assert(names_one<OperateOp::Backup>() && !names_one<static_cast<OperateOp>(5)>());

template <size_t kNumber>
consteval bool is_declared() {
  return names_one<static_cast<Op>(kNumber)>() || names_one<static_cast<OperateOp>(kNumber)>();
}

template <size_t kEntries, size_t... kNumbers>
consteval bool is_complete(const std::array<Permission, kEntries>& table,
                           std::index_sequence<kNumbers...>) {
  const auto entries = [&table](Op op) {
    return std::count_if(table.begin(), table.end(),
                         [op](const Permission& one) { return one.op == op; });
  };
  return ((entries(static_cast<Op>(kNumbers)) == (is_declared<kNumbers>() ? 1 : 0)) && ...);
}
inline constexpr size_t kOps =
    std::max(static_cast<size_t>(Op::MAX), static_cast<size_t>(OperateOp::MAX)) + 1;
static_assert(is_complete(kTable, std::make_index_sequence<kOps>()),
              "every operation of the schemas has exactly one entry in permissions.h");

}  // namespace permissions

// Null if there is no such operation.
constexpr const Permission* permission_of(uint16_t op) {
  for (const Permission& one : permissions::kTable) {
    if (static_cast<uint16_t>(one.op) == op) return &one;
  }
  return nullptr;
}

}  // namespace cellar::server
