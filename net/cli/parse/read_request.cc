#include "net/cli/parse/read_request.h"

#include <algorithm>
#include <set>

#include "net/cli/parse/filter_json.h"
#include "net/cli/text/columns.h"
#include "net/cli/text/times.h"

namespace cellar::cli {

namespace {

// The chosen columns, each once.
client::Filter columns_filter(const ColumnChoice& columns) {
  using client::Filter;
  std::vector<Filter> parts;
  std::set<ColumnChoice::Entry> taken;
  for (const ColumnChoice::Entry& entry : columns.entries()) {
    const auto& all = columns.entries();
    const bool within =
        entry.qualifier &&
        std::ranges::find(all, ColumnChoice::Entry{entry.family, std::nullopt}) != all.end();
    if (within || !taken.insert(entry).second) continue;
    Filter::Bounds bounds;
    bounds.start = bounds.end = entry.qualifier;
    bounds.end_closed = entry.qualifier.has_value();
    parts.push_back(Filter::column_range(entry.family, std::move(bounds)));
  }
  return parts.size() == 1 ? std::move(parts.front()) : Filter::interleave(std::move(parts));
}

}  // namespace

void keep_one_cell(std::optional<client::Filter>& filter) {
  using client::Filter;
  std::vector<Filter> parts;
  if (filter) parts.push_back(*std::move(filter));
  parts.push_back(Filter::counted(Filter::Kind::cells_per_row, 1));
  parts.push_back(Filter::strip_value());
  filter = Filter::chain(std::move(parts));
}

// What is shown of a row, applied in this order: matching rows and values, the filter, the time
// range, the newest versions. Empty if
// everything is shown.
Result<std::optional<client::Filter>> cell_filter(const Session& session,
                                                  const Arguments& arguments,
                                                  std::optional<int64_t> now_us) {
  using client::Filter;
  const int64_t now = now_us.value_or(session.now_us());
  std::vector<Filter> parts;
  for (const auto& [name, kind] : {std::pair("regex", Filter::Kind::row_regex),
                                   std::pair("values", Filter::Kind::value_regex)}) {
    if (const std::string* text = arguments.find(name)) parts.push_back(Filter::regex(kind, *text));
  }
  if (const std::string* text = arguments.find("filter")) {
    TRY(Filter filter, parse_filter_json(*text, now));
    parts.push_back(std::move(filter));
  }
  if (arguments.has("since") || arguments.has("until")) {
    std::optional<int64_t> since;
    std::optional<int64_t> until;
    if (const std::string* text = arguments.find("since")) {
      TRY(since, parse_time(*text, now));
    }
    if (const std::string* text = arguments.find("until")) {
      TRY(until, parse_time(*text, now));
    }
    parts.push_back(Filter::time_range(since, until));
  }
  if (arguments.has("versions")) {
    TRY(const uint64_t versions, arguments.number("versions", 0));
    if (versions < 1 || versions > INT32_MAX) {
      return fail(Errc::invalid_argument, "versions={} is not between 1 and {}", versions,
                  INT32_MAX);
    }
    parts.push_back(Filter::cells_per_column(static_cast<int64_t>(versions)));
  }
  if (parts.empty()) return std::optional<Filter>();
  if (parts.size() == 1) return std::optional<Filter>(std::move(parts[0]));
  return std::optional<Filter>(Filter::chain(std::move(parts)));
}

Result<std::optional<client::Filter>> selected_cells(const Session& session,
                                                     const Arguments& arguments,
                                                     std::optional<int64_t> now_us) {
  TRY(auto cells, cell_filter(session, arguments, now_us));
  TRY(const ColumnChoice columns,
      ColumnChoice::parse(arguments.get("columns"), session.escaped_input));
  if (columns.everything()) return cells;
  if (!cells) return std::optional<client::Filter>(columns_filter(columns));
  std::vector<client::Filter> both;
  both.push_back(
      *std::move(cells));  // a filter of the user may count cells, so it sees all of them
  both.push_back(columns_filter(columns));
  return std::optional<client::Filter>(client::Filter::chain(std::move(both)));
}

Result<std::optional<std::string>> key_argument(const Session& session, const Arguments& arguments,
                                                std::string_view name) {
  const std::string* text = arguments.find(name);
  if (!text) return std::optional<std::string>();
  TRY(std::string key, session.input(*text));
  return std::optional<std::string>(std::move(key));
}

Result<void> choose_timestamps(Session& session, const Arguments& arguments) {
  TRY(session.plain_timestamps, arguments.flag("numbers"));
  return {};
}

Result<client::ReadNotes> read_notes(const Session& session, const Arguments& arguments) {
  client::ReadNotes notes;
  notes.with_expiry = session.json;
  TRY(notes.explain, arguments.flag("explain"));
  TRY(notes.include_dead, arguments.flag("include-dead"));
  return notes;
}

Result<client::ReadRows> read_request(const Session& session, const Arguments& arguments,
                                      std::optional<int64_t> now_us) {
  TRY(const auto prefix, key_argument(session, arguments, "prefix"));
  TRY(const auto start, key_argument(session, arguments, "start"));
  TRY(const auto end, key_argument(session, arguments, "end"));
  if (prefix && (start || end)) {
    return fail(Errc::invalid_argument, "give either prefix= or start= and end=");
  }
  client::ReadRows read;
  if (prefix) read = client::ReadRows::prefix(*prefix);
  if (start || end) {
    client::RowRange& range = read.ranges.emplace_back();
    range.start = start;
    range.end = end;
  }
  TRY(read.filter, selected_cells(session, arguments, now_us));
  TRY(read.notes, read_notes(session, arguments));
  return read;
}

}  // namespace cellar::cli
