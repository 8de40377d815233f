// The steps of indexes.
#include "tests/cases/translate.h"

namespace cellar::cases {
namespace {

using client::IndexPart;
using client::ReadIndex;

Result<std::vector<IndexPart>> parse_order(const json::value& value) {
  std::vector<IndexPart> parts;
  for (const auto& word : value.as_array()) {
    TRY(const IndexPart part, named<IndexPart>("part", word,
                                               {{"value", IndexPart::value},
                                                {"time", IndexPart::time},
                                                {"qualifier", IndexPart::qualifier}}));
    parts.push_back(part);
  }
  return parts;
}

Result<client::TighterBase> parse_tighter_base(const json::value& value) {
  return named<client::TighterBase>(
      "tighter_base", value,
      {{"follow", client::TighterBase::follow}, {"refuse", client::TighterBase::refuse}});
}

// A column, or a family if there is no colon.
Result<void> parse_place(const json::value& value, client::IndexSpec& index) {
  TRY(std::string place, parse_bytes(value));
  if (place.find(':') == std::string::npos) {
    index.family = std::move(place);
    return {};
  }
  TRY(auto column, parse_column(value));
  index.family = std::move(column.first);
  index.qualifier = std::move(column.second);
  return {};
}

Result<void> parse_time(const json::object& object, ReadIndex& read) {
  TRY_VOID(only_keys(object, {"start", "end"}));
  TRY(read.start_us, optional_number(object, "start"));
  TRY(read.end_us, optional_number(object, "end"));
  return {};
}

Result<void> parse_conditions(const json::object& object, ReadIndex& read) {
  TRY(read.value, optional_bytes(object, "value"));
  TRY(read.qualifier, optional_bytes(object, "qualifier"));
  for (auto& [key, target] :
       {std::pair("values", &read.values), std::pair("qualifiers", &read.qualifiers)}) {
    if (const auto* value = object.if_contains(key)) {
      TRY(*target, parse_range(*value));
    }
  }
  if (const auto* time = object.if_contains("time")) {
    TRY_VOID(parse_time(time->as_object(), read));
  }
  return {};
}

}  // namespace

Result<client::IndexSpec> parse_index(const json::object& object) {
  TRY_VOID(only_keys(
      object, {"table", "name", "on", "order", "type", "match", "covered", "ttl", "tighter_base"}));
  client::IndexSpec index;
  index.name = object.at("name").as_string();
  TRY_VOID(parse_place(object.at("on"), index));
  TRY(index.parts, parse_order(object.at("order")));
  if (const auto* type = object.if_contains("type")) {
    TRY(index.type, named<client::IndexType>("type", *type,
                                             {{"bytes", client::IndexType::bytes},
                                              {"int64", client::IndexType::int64}}));
  }
  if (const auto* match = object.if_contains("match")) {
    TRY(index.match, named<client::IndexMatch>("match", *match,
                                               {{"newest", client::IndexMatch::newest},
                                                {"any", client::IndexMatch::any}}));
  }
  if (const auto* covered = object.if_contains("covered")) {
    for (const auto& value : covered->as_array()) {
      TRY(auto column, parse_column(value));
      index.covered.push_back({std::move(column.first), std::move(column.second)});
    }
  }
  if (const auto* ttl = object.if_contains("ttl")) {
    TRY(index.max_age_us, parse_duration_us(*ttl));
  }
  if (const auto* answer = object.if_contains("tighter_base")) {
    TRY(index.tighter_base, parse_tighter_base(*answer));
  }
  return index;
}

Result<client::AlterIndex> parse_index_change(const json::object& object) {
  TRY_VOID(only_keys(object, {"table", "name", "ttl", "tighter_base"}));
  client::AlterIndex change;
  change.table = object.at("table").as_string();
  change.name = object.at("name").as_string();
  change.max_age_given = object.contains("ttl");
  TRY(change.max_age_us, optional_duration(object, "ttl"));
  if (const auto* answer = object.if_contains("tighter_base")) {
    TRY(change.tighter_base, parse_tighter_base(*answer));
  }
  return change;
}

Result<ReadIndex> parse_read_index(const json::object& object) {
  TRY_VOID(only_keys(object, {"table", "index", "value", "values", "qualifier", "qualifiers",
                              "time", "rows", "ranges", "fetch", "filter", "limit", "reversed"}));
  ReadIndex read;
  read.index = object.at("index").as_string();
  TRY_VOID(parse_conditions(object, read));
  TRY_VOID(parse_rows(object, read.keys, read.ranges));
  if (const auto* fetch = object.if_contains("fetch")) {
    TRY(read.whole_rows, named<bool>("fetch", *fetch, {{"cells", false}, {"row", true}}));
  }
  if (const auto* filter = object.if_contains("filter")) {
    TRY(read.filter, parse_filter(*filter));
  }
  if (const auto* limit = object.if_contains("limit")) {
    TRY(read.limit, integer(*limit));
  }
  read.reversed = flag(object, "reversed");
  return read;
}

}  // namespace cellar::cases
