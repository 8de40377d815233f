// The selection of a reading command: rows, versions, times.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "net/cli/session/arguments.h"
#include "net/cli/session/session.h"

namespace cellar::cli {

// The newest versions within a time range (versions=, since=, until=) as a filter; empty if
// everything is selected. Relative times count from `now_us`; absent: the session's clock.
Result<std::optional<client::Filter>> cell_filter(const Session& session,
                                                  const Arguments& arguments,
                                                  std::optional<int64_t> now_us = std::nullopt);

// The same of the columns of columns=.
Result<std::optional<client::Filter>> selected_cells(const Session& session,
                                                     const Arguments& arguments,
                                                     std::optional<int64_t> now_us = std::nullopt);

// The key in an argument such as prefix=KEY.
Result<std::optional<std::string>> key_argument(const Session& session, const Arguments& arguments,
                                                std::string_view name);

// Reads explain and include-dead. With --json a cell is printed with its own expiry, which `import`
// takes back.
Result<client::ReadNotes> read_notes(const Session& session, const Arguments& arguments);

// numbers: sets how the session shows timestamps.
Result<void> choose_timestamps(Session& session, const Arguments& arguments);

// Reads prefix=, start=, end= and the above.
Result<client::ReadRows> read_request(const Session& session, const Arguments& arguments,
                                      std::optional<int64_t> now_us = std::nullopt);

// For commands that only ask whether a row has cells: one cell of each row, without its value.
void keep_one_cell(std::optional<client::Filter>& filter);

}  // namespace cellar::cli
