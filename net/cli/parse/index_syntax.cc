#include "net/cli/parse/index_syntax.h"

#include <algorithm>
#include <array>
#include <utility>

#include "net/cli/parse/filter_json.h"
#include "net/cli/text/byte_forms.h"
#include "net/cli/text/columns.h"
#include "net/cli/text/times.h"

namespace cellar::cli {

namespace {

using client::IndexColumn;
using client::IndexMatch;
using client::IndexPart;
using client::IndexSpec;
using client::IndexType;
using client::TighterBase;

template <class Enum>
using Named = std::pair<std::string_view, Enum>;

constexpr std::array<Named<IndexPart>, 3> kParts = {
    {{"value", IndexPart::value}, {"time", IndexPart::time}, {"qualifier", IndexPart::qualifier}}};
constexpr std::array<Named<IndexType>, 2> kTypes = {
    {{"bytes", IndexType::bytes}, {"int64", IndexType::int64}}};
constexpr std::array<Named<IndexMatch>, 2> kMatches = {
    {{"newest", IndexMatch::newest}, {"any", IndexMatch::any}}};
constexpr std::array<Named<TighterBase>, 2> kAnswers = {
    {{"follow", TighterBase::follow}, {"refuse", TighterBase::refuse}}};

template <class Names, class Enum>
std::string_view known_name(const Names& names, Enum value) {
  for (const auto& [name, each] : names) {
    if (each == value) return name;
  }
  return "unknown";
}

template <class Enum, size_t n>
Result<Enum> parse_name(const char* key, std::string_view word,
                        const std::array<Named<Enum>, n>& names) {
  std::string all;
  for (const auto& [name, value] : names) {
    if (name == word) return value;
    all += all.empty() ? "" : ", ";
    all += name;
  }
  return fail(Errc::invalid_argument, "{}={} is none of {}", key, word, all);
}

Result<int64_t> duration_of(const char* key, const std::string& text) {
  const auto us = parse_duration(text);
  if (us) return *us;
  return fail(Errc::invalid_argument, "{}={}", key, us.error().message);
}

// A family, or a column of it.
Result<void> read_place(const Session& session, const Arguments& arguments, IndexSpec& index) {
  const std::string* on = arguments.find("on");
  if (on == nullptr) {
    return fail(Errc::invalid_argument,
                "index create needs on=FAMILY:QUALIFIER, or on=FAMILY for all its columns");
  }
  if (on->find(':') == std::string::npos) {
    index.family = *on;
    return {};
  }
  TRY(const Column column, parse_column(*on));
  index.family = column.family;
  TRY(index.qualifier, session.input(column.qualifier));
  return {};
}

Result<void> read_order(const Arguments& arguments, IndexSpec& index) {
  if (!arguments.has("order")) {
    index.parts = {index.qualifier ? IndexPart::value : IndexPart::time};
    return {};
  }
  for (const std::string& word : split_list(arguments.get("order"))) {
    TRY(const IndexPart part, parse_name("order", word, kParts));
    index.parts.push_back(part);
  }
  return {};
}

Result<void> read_covered(const Session& session, const Arguments& arguments, IndexSpec& index) {
  for (const std::string& word : split_list(arguments.get("covered"))) {
    TRY(const Column column, parse_column(word));
    TRY(std::string qualifier, session.input(column.qualifier));
    index.covered.push_back({column.family, std::move(qualifier)});
  }
  return {};
}

// The bytes in an argument, if it is given.
Result<std::optional<std::string>> bytes_of(const Session& session, const Arguments& arguments,
                                            const char* key) {
  const std::string* text = arguments.find(key);
  if (text == nullptr) return std::optional<std::string>();
  TRY(std::string bytes, session.input(*text));
  return std::optional<std::string>(std::move(bytes));
}

Result<std::optional<client::RowRange>> range_of(const Session& session, const Arguments& arguments,
                                                 const char* key) {
  const std::string* text = arguments.find(key);
  if (text == nullptr) return std::optional<client::RowRange>();
  const auto range = parse_range(session, *text);
  if (!range) return fail(Errc::invalid_argument, "{}={}", key, range.error().message);
  return std::optional<client::RowRange>(*range);
}

struct Ends {
  std::string_view start, end;
};

Result<Ends> split_range(std::string_view text) {
  const size_t dots = text.find("..");
  if (dots != text.npos) return Ends{text.substr(0, dots), text.substr(dots + 2)};
  return fail(Errc::invalid_argument,
              "'{}' is no range; write it as A..B, where A or B may be left out", text);
}

Result<void> read_times(const Session& session, const Arguments& arguments,
                        client::ReadIndex& read) {
  const std::string* text = arguments.find("time");
  if (text == nullptr) return {};
  TRY(const Ends ends, split_range(*text));
  if (!ends.start.empty()) {
    TRY(read.start_us, parse_time(ends.start, session.now_us()));
  }
  if (!ends.end.empty()) {
    TRY(read.end_us, parse_time(ends.end, session.now_us()));
  }
  return {};
}

Result<void> read_rows(const Session& session, const Arguments& arguments,
                       client::ReadIndex& read) {
  for (const std::string& word : split_list(arguments.get("rows"))) {
    TRY(std::string key, session.input(word));
    read.keys.push_back(std::move(key));
  }
  if (arguments.has("rows") && read.keys.empty()) {
    return fail(Errc::invalid_argument, "rows= names no row");
  }
  for (const std::string& word : split_list(arguments.get("range"))) {
    const auto range = parse_range(session, word);
    if (!range) return fail(Errc::invalid_argument, "range={}", range.error().message);
    read.ranges.push_back(*range);
  }
  TRY(const auto prefix, bytes_of(session, arguments, "prefix"));
  if (prefix) read.ranges.push_back(client::ReadRows::prefix(*prefix).ranges.front());
  return {};
}

Result<void> read_limit(const Arguments& arguments, client::ReadIndex& read) {
  const bool limited = arguments.has("limit");
  if (limited && arguments.has("count")) {
    return fail(Errc::invalid_argument, "give either limit= or count=");
  }
  const char* const key = limited ? "limit" : "count";
  if (!arguments.has(key)) return {};
  TRY(const uint64_t count, arguments.number(key, 0));
  if (count == 0 || count > INT64_MAX) {
    return fail(Errc::invalid_argument, "{}={} is not at least 1; without it all is shown", key,
                arguments.get(key));
  }
  read.limit = static_cast<int64_t>(count);
  return {};
}

}  // namespace

std::vector<KeySpec> index_definition_keys() {
  return {
      {"on", "COLUMN", "what it finds: FAMILY:QUALIFIER, or FAMILY for all its columns"},
      {"order", "PARTS",
       "of a column: value (default), value,time or time; of a family: time (default) or "
       "qualifier,time"},
      {"type", "TYPE", "of values: bytes (default), or int64 for the order of numbers"},
      {"match", "WHICH", "newest (default): the newest version of a column; any: every version"},
      {"covered", "LIST", "columns shown with each hit: family:qualifier, separated by commas"},
  };
}

std::vector<KeySpec> index_change_keys() {
  return {
      {"max-age", "DURATION|none", "its own age: older cells are not found (default: none)"},
      {"tighter-base", "ANSWER",
       "to a rule that kills before that age: follow (default) or refuse"},
  };
}

std::vector<KeySpec> index_read_keys() {
  return {
      {"value", "VALUE", "cells with this value; int64:5 for a number"},
      {"values", "A..B",
       "with a value from A up to before B; A..=B: up to B; either may be absent"},
      {"qualifier", "QUALIFIER", "in this column of the family"},
      {"qualifiers", "A..B", "in columns from A up to before B"},
      {"time", "A..B", "with a timestamp from A up to before B"},
      {"rows", "LIST", "in these rows, separated by commas"},
      {"range", "A..B", "in rows from A up to before B; several are separated by commas"},
      {"prefix", "KEY", "in rows that begin with KEY"},
      {"row", "", "show whole rows, each where its first hit stands"},
      {"filter", "JSON", "with --row: what passes this filter: {\"cells_per_row\": 3}"},
      {"limit", "N", "at most N hits, or rows"},
      {"count", "N", "the same as limit"},
      {"reversed", "BOOL", "the other way round"},
      {"explain", "", "show also what is in the index and not found, and what hides it"},
      {"numbers", "", "show timestamps as numbers, as sequence numbers are meant"},
  };
}

Result<IndexSpec> index_spec(const Session& session, const Arguments& arguments) {
  IndexSpec index;
  index.name = arguments[1];
  TRY_VOID(read_place(session, arguments, index));
  TRY_VOID(read_order(arguments, index));
  if (const std::string* type = arguments.find("type")) {
    TRY(index.type, parse_name("type", *type, kTypes));
  }
  if (const std::string* match = arguments.find("match")) {
    TRY(index.match, parse_name("match", *match, kMatches));
  }
  TRY_VOID(read_covered(session, arguments, index));
  const std::string* age = arguments.find("max-age");
  if (age != nullptr && *age != "none") {
    TRY(index.max_age_us, duration_of("max-age", *age));
  }
  if (const std::string* answer = arguments.find("tighter-base")) {
    TRY(index.tighter_base, parse_name("tighter-base", *answer, kAnswers));
  }
  return index;
}

Result<client::AlterIndex> index_change(const Arguments& arguments) {
  client::AlterIndex change;
  change.table = arguments[0];
  change.name = arguments[1];
  if (const std::string* age = arguments.find("max-age")) {
    change.max_age_given = true;
    if (*age != "none") {
      TRY(change.max_age_us, duration_of("max-age", *age));
    }
  }
  if (const std::string* answer = arguments.find("tighter-base")) {
    TRY(change.tighter_base, parse_name("tighter-base", *answer, kAnswers));
  }
  if (!change.max_age_given && !change.tighter_base) {
    return fail(Errc::invalid_argument, "index alter needs max-age= or tighter-base=");
  }
  return change;
}

Result<client::RowRange> parse_range(const Session& session, std::string_view text) {
  TRY(const Ends ends, split_range(text));
  client::RowRange range;
  if (!ends.start.empty()) {
    TRY(range.start, session.input(std::string(ends.start)));
  }
  range.end_closed = ends.end.starts_with('=');
  const std::string_view end = ends.end.substr(range.end_closed ? 1 : 0);
  if (!end.empty() || range.end_closed) {
    TRY(range.end, session.input(std::string(end)));
  }
  return range;
}

Result<client::ReadIndex> index_read(const Session& session, const Arguments& arguments) {
  client::ReadIndex read;
  read.index = arguments[1];
  TRY(read.value, bytes_of(session, arguments, "value"));
  TRY(read.values, range_of(session, arguments, "values"));
  TRY(read.qualifier, bytes_of(session, arguments, "qualifier"));
  TRY(read.qualifiers, range_of(session, arguments, "qualifiers"));
  TRY_VOID(read_times(session, arguments, read));
  TRY_VOID(read_rows(session, arguments, read));
  TRY(read.whole_rows, arguments.flag("row"));
  if (const std::string* filter = arguments.find("filter")) {
    if (!read.whole_rows) {
      return fail(Errc::invalid_argument, "filter= is of whole rows; add --row");
    }
    TRY(read.filter, parse_filter_json(*filter, session.now_us()));
  }
  TRY_VOID(read_limit(arguments, read));
  TRY(read.reversed, arguments.flag("reversed"));
  TRY(read.explain, arguments.flag("explain"));
  return read;
}

std::string_view name_of(IndexPart part) { return known_name(kParts, part); }
std::string_view name_of(IndexType type) { return known_name(kTypes, type); }
std::string_view name_of(IndexMatch match) { return known_name(kMatches, match); }
std::string_view name_of(TighterBase answer) { return known_name(kAnswers, answer); }

}  // namespace cellar::cli
