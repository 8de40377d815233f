// Router: from what a request names to the tablet that serves it. Reads the shard's own copy of the
// table map; never waits.
#pragma once

#include <string_view>

#include "engine/catalog/table_map.h"
#include "io/base/result.h"
#include "net/wire/frame.h"
#include "net/wire/status.h"

namespace cellar::server {

// By the header's table id, or where that is 0 by name. NOT_FOUND; INVALID_ARGUMENT when neither is
// given. The entry lives until the map changes, so not across a co_await.
Result<const engine::TableEntry*> find_table(const engine::TableMap& tables,
                                             const wire::FrameHeader& header,
                                             std::string_view name);

// False when the header names another tablet or epoch than this one: the client's map is stale.
bool names_tablet(const wire::FrameHeader& header, const engine::TabletDescriptor& tablet);
Error stale_error(const wire::FrameHeader& header, const engine::TabletDescriptor& tablet);
wire::TabletHint hint_of(const engine::TabletDescriptor& tablet);

}  // namespace cellar::server
