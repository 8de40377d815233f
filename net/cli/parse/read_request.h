// What the arguments of a reading command choose: rows, versions, times.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "net/cli/session/arguments.h"
#include "net/cli/session/session.h"

namespace cellar::cli {

// The newest versions within a time range (versions=, since=, until=), as a filter; absent when
// everything is asked for.
Result<std::optional<client::Filter>> cell_filter(const Session& session,
                                                  const Arguments& arguments);

// The key that an argument like prefix=KEY holds.
Result<std::optional<std::string>> key_argument(const Session& session, const Arguments& arguments,
                                                std::string_view name);

// explain and include-dead.
Result<client::ReadNotes> read_notes(const Arguments& arguments);

// numbers: how the session shows timestamps from now on.
Result<void> choose_timestamps(Session& session, const Arguments& arguments);

// prefix=, start=, end= and the above.
Result<client::ReadRows> read_request(const Session& session, const Arguments& arguments);

}  // namespace cellar::cli
