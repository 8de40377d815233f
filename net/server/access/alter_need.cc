#include "net/server/access/alter_need.h"

#include <algorithm>
#include <span>

#include "net/wire/body.h"

namespace cellar::server {
namespace {

using security::Roles;
namespace fb = wire::fb;

// The roles required to change each field. An unknown field, which a client with a later schema may
// send, requires all of them.
struct FieldRoles {
  flatbuffers::voffset_t field;
  Roles roles;
  bool vector = false;  // an empty one changes nothing
};
constexpr FieldRoles kAlterFields[] = {
    {fb::AlterTableRequest::VT_NAME, {}},
    {fb::AlterTableRequest::VT_ADD, kAlterSchema.roles, true},
    {fb::AlterTableRequest::VT_ALTER, kAlterRetention.roles, true},
    {fb::AlterTableRequest::VT_DROP, kAlterSchema.roles, true},
    {fb::AlterTableRequest::VT_OPTIONS, {}},  // depends on its contents
    {fb::AlterTableRequest::VT_CLOSE_OLDEST_UNDO_WINDOW, kAlterRetention.roles},
};
constexpr FieldRoles kOptionFields[] = {
    {fb::TableOptions::VT_DURABILITY, kAlterSchema.roles},
    {fb::TableOptions::VT_COMPRESSION, kAlterSchema.roles},
    {fb::TableOptions::VT_BLOCK_BYTES, kAlterSchema.roles},
    {fb::TableOptions::VT_RECLAIM_WITHIN_US, kAlterRetention.roles},
    {fb::TableOptions::VT_DEAD_SLACK, kAlterRetention.roles},
    {fb::TableOptions::VT_RECLAIM_SHARE, kAlterRetention.roles},
    {fb::TableOptions::VT_COMPACTION, kAlterSchema.roles},
    {fb::TableOptions::VT_BOTTOM_COMPRESSION, kAlterSchema.roles},
};
constexpr FieldRoles kAlterIndexFields[] = {
    {fb::AlterIndexRequest::VT_TABLE, {}},
    {fb::AlterIndexRequest::VT_NAME, {}},
    {fb::AlterIndexRequest::VT_MAX_AGE_GIVEN, kAlterRetention.roles},
    {fb::AlterIndexRequest::VT_MAX_AGE_US, kAlterRetention.roles},
    {fb::AlterIndexRequest::VT_TIGHTER_BASE, kAlterRetention.roles},
};

// Collects the roles for every set field from the FlatBuffer's vtable, without naming accessors.
Roles roles_of_fields(const flatbuffers::Table& table, std::span<const FieldRoles> known) {
  constexpr flatbuffers::voffset_t kFirstField = 4;  // after the sizes of vtable and table
  const auto end =
      flatbuffers::ReadScalar<flatbuffers::voffset_t>(table.GetVTable());  // its size in bytes
  Roles roles;
  for (flatbuffers::voffset_t field = kFirstField; field < end; field += 2) {
    if (table.GetOptionalFieldOffset(field) == 0) continue;
    const auto at = std::ranges::find(known, field, &FieldRoles::field);
    const bool is_known = at != known.end();
    using AnyVector = flatbuffers::Vector<uint8_t>;
    if (is_known && at->vector && table.GetPointer<const AnyVector*>(field)->size() == 0) continue;
    roles.add(is_known ? at->roles : kAlterTable.roles);
  }
  return roles;
}

template <class Root>
Roles roles_of(const Root* root, std::span<const FieldRoles> known) {
  return roles_of_fields(*reinterpret_cast<const flatbuffers::Table*>(root), known);
}

}  // namespace

security::Need alter_need_of(Bytes body) {
  const auto* alter = wire::verified<fb::AlterTableRequest>(body);
  if (alter == nullptr) return kAlterTable;
  Roles roles = roles_of(alter, kAlterFields);
  if (const auto* options = alter->options()) roles.add(roles_of(options, kOptionFields));
  return {roles.empty() ? kAlterTable.roles : roles};
}

security::Need alter_index_need_of(Bytes body) {
  const auto* alter = wire::verified<fb::AlterIndexRequest>(body);
  if (alter == nullptr) return kAlterTable;
  const Roles roles = roles_of(alter, kAlterIndexFields);
  return {roles.empty() ? kAlterTable.roles : roles};
}

}  // namespace cellar::server
