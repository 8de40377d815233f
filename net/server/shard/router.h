// Router: finds the tablet for a request in the shard's own copy of the table map. Never waits.
#pragma once

#include <string_view>

#include "engine/catalog/table_map.h"
#include "io/base/result.h"
#include "net/wire/frame.h"
#include "net/wire/status.h"

namespace cellar::server {

// The header's table if it was looked up in this version of the map; otherwise finds by the
// header's table id or, if that is 0, by `name`, or by the name of the header's handle. NOT_FOUND;
// INVALID_ARGUMENT if none is given. The entry is valid until the map changes: do not keep it
// across a co_await.
Result<const engine::TableEntry*> find_table(const engine::TableMap& tables,
                                             const wire::FrameHeader& header,
                                             std::string_view name);

// The refusal of a request whose table does not exist. Form is checked before existence: a
// malformed request is refused as such. `form`: the check against an empty schema.
Error existence_error(const Result<void>& form, const Error& not_found);

// False if the header names another tablet or epoch: the client's map is stale.
bool names_tablet(const wire::FrameHeader& header, const engine::TabletDescriptor& tablet);
Error stale_error(const wire::FrameHeader& header, const engine::TabletDescriptor& tablet);
wire::TabletHint hint_of(const engine::TabletDescriptor& tablet);

}  // namespace cellar::server
