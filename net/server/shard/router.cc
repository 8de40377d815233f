#include "net/server/shard/router.h"

namespace cellar::server {

Result<const engine::TableEntry*> find_table(const engine::TableMap& tables,
                                             const wire::FrameHeader& header,
                                             std::string_view name) {
  if (header.table != nullptr && header.map_version == tables.version) return header.table;
  if (header.table_id != 0) {
    if (const auto* entry = tables.find(TableId{header.table_id})) return entry;
    return fail(Errc::not_found, "table {} does not exist", header.table_id);
  }
  // A handle decides, as it does for access (access.h), whatever the body says.
  if (!header.table_name.empty()) name = header.table_name;
  if (name.empty()) return fail(Errc::invalid_argument, "the request names no table");
  if (const auto* entry = tables.find(Bytes(name))) return entry;
  return fail(Errc::not_found, "table '{}' does not exist", escape_bytes(name));
}

Error existence_error(const Result<void>& form, const Error& not_found) {
  const bool malformed = !form && form.error().code == Errc::invalid_argument;
  return malformed ? form.error() : not_found;
}

bool names_tablet(const wire::FrameHeader& header, const engine::TabletDescriptor& tablet) {
  return (header.tablet_id == 0 || header.tablet_id == tablet.id.value()) &&
         (header.epoch == 0 || header.epoch == tablet.epoch.value());
}

Error stale_error(const wire::FrameHeader& header, const engine::TabletDescriptor& tablet) {
  Error error(Errc::aborted,
              fmt::format("tablet {} at epoch {} does not hold the row; tablet {} at epoch {} does",
                          header.tablet_id, header.epoch, tablet.id, tablet.epoch));
  return std::move(error).retry_after(0);
}

wire::TabletHint hint_of(const engine::TabletDescriptor& tablet) {
  return {tablet.table, tablet.id, tablet.epoch, tablet.shard.value(), {}};
}

}  // namespace cellar::server
