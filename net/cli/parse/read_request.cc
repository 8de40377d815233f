#include "net/cli/parse/read_request.h"

#include "net/cli/parse/filter_json.h"
#include "net/cli/text/times.h"

namespace cellar::cli {

// What is shown of a row, applied in this order: matching rows and values, the filter, the time
// range, the newest versions. Empty if everything is shown.
Result<std::optional<client::Filter>> cell_filter(const Session& session,
                                                  const Arguments& arguments) {
  using client::Filter;
  std::vector<Filter> parts;
  for (const auto& [name, kind] : {std::pair("regex", Filter::Kind::row_regex),
                                   std::pair("values", Filter::Kind::value_regex)}) {
    if (const std::string* text = arguments.find(name)) parts.push_back(Filter::regex(kind, *text));
  }
  if (const std::string* text = arguments.find("filter")) {
    TRY(Filter filter, parse_filter_json(*text, session.now_us()));
    parts.push_back(std::move(filter));
  }
  if (arguments.has("since") || arguments.has("until")) {
    std::optional<int64_t> since;
    std::optional<int64_t> until;
    if (const std::string* text = arguments.find("since")) {
      TRY(since, parse_time(*text, session.now_us()));
    }
    if (const std::string* text = arguments.find("until")) {
      TRY(until, parse_time(*text, session.now_us()));
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

Result<client::ReadNotes> read_notes(const Arguments& arguments) {
  client::ReadNotes notes;
  TRY(notes.explain, arguments.flag("explain"));
  TRY(notes.include_dead, arguments.flag("include-dead"));
  return notes;
}

Result<client::ReadRows> read_request(const Session& session, const Arguments& arguments) {
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
  TRY(read.filter, cell_filter(session, arguments));
  TRY(read.notes, read_notes(arguments));
  return read;
}

}  // namespace cellar::cli
