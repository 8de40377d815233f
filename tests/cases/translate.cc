#include "tests/cases/translate.h"

#include <algorithm>

namespace cellar::cases {
namespace {

using client::FamilySpec;
using client::Mutation;
using client::RetentionRule;

Result<std::vector<RetentionRule>> parse_rules(const json::array& array) {
  std::vector<RetentionRule> rules;
  for (const auto& inner : array) {
    TRY(RetentionRule rule, parse_rule(inner));
    rules.push_back(std::move(rule));
  }
  return rules;
}

Result<void> add_set(Mutation& mutation, const json::object& object) {
  TRY_VOID(only_keys(object, {"column", "ts", "value", "ttl", "expire_at"}));
  TRY(const auto column, parse_column(object.at("column")));
  TRY(const std::string value, parse_bytes(object.at("value")));
  TRY(const auto timestamp_us, optional_number(object, "ts"));
  TRY(const auto ttl_us, optional_duration(object, "ttl"));
  TRY(const auto expire_at_us, optional_number(object, "expire_at"));
  if (timestamp_us) {
    mutation.set(column.first, column.second, value, *timestamp_us);
  } else {
    mutation.set(column.first, column.second, value);
  }
  if (ttl_us) mutation.with_ttl(*ttl_us);
  if (expire_at_us) mutation.with_expire_at(*expire_at_us);
  return {};
}

Result<void> add_delete_column(Mutation& mutation, const json::object& object) {
  TRY_VOID(only_keys(object, {"column", "start", "end"}));
  TRY(const auto column, parse_column(object.at("column")));
  TRY(const auto start_us, optional_number(object, "start"));
  TRY(const auto end_us, optional_number(object, "end"));
  mutation.delete_column(column.first, column.second, start_us, end_us);
  return {};
}

Result<void> parse_window(const json::object& object, client::WriteWindow& window) {
  TRY_VOID(only_keys(object, {"past", "future", "unit"}));
  TRY(window.past_us, optional_duration(object, "past"));
  TRY(window.future_us, optional_duration(object, "future"));
  if (const auto* unit = object.if_contains("unit")) {
    TRY(window.whole_seconds, named<bool>("unit", *unit, {{"exact", false}, {"seconds", true}}));
  }
  return {};
}

Result<client::Filter::Bounds> parse_bounds(const json::object& object) {
  client::Filter::Bounds bounds;
  TRY(bounds.start, optional_bytes(object, "start"));
  TRY(bounds.end, optional_bytes(object, "end"));
  bounds.start_open = flag(object, "start_open");
  bounds.end_closed = flag(object, "end_closed");
  return bounds;
}

Result<std::vector<client::Filter>> parse_filters(const json::array& array) {
  std::vector<client::Filter> filters;
  for (const auto& inner : array) {
    TRY(client::Filter filter, parse_filter(inner));
    filters.push_back(std::move(filter));
  }
  return filters;
}

Result<client::Filter> parse_condition(const json::object& object) {
  TRY_VOID(only_keys(object, {"if", "then", "else"}));
  TRY(client::Filter predicate, parse_filter(object.at("if")));
  std::optional<client::Filter> then, otherwise;
  if (const auto* value = object.if_contains("then")) {
    TRY(then, parse_filter(*value));
  }
  if (const auto* value = object.if_contains("else")) {
    TRY(otherwise, parse_filter(*value));
  }
  return client::Filter::condition(std::move(predicate), std::move(then), std::move(otherwise));
}

Result<client::Filter> parse_range_filter(std::string_view kind, const json::object& object) {
  using client::Filter;
  if (kind == "time_range") {
    TRY_VOID(only_keys(object, {"start", "end"}));
    TRY(const auto start_us, optional_number(object, "start"));
    TRY(const auto end_us, optional_number(object, "end"));
    return Filter::time_range(start_us, end_us);
  }
  if (kind == "value_range") {
    TRY_VOID(only_keys(object, {"start", "end", "start_open", "end_closed"}));
    TRY(Filter::Bounds values, parse_bounds(object));
    return Filter::value_range(std::move(values));
  }
  TRY_VOID(only_keys(object, {"family", "start", "end", "start_open", "end_closed"}));
  TRY(Filter::Bounds bounds, parse_bounds(object));
  return Filter::column_range(std::string(object.at("family").as_string()), std::move(bounds));
}

// The kinds whose operand is a string or a number.
Result<client::Filter> parse_simple_filter(std::string_view kind, const json::value& value) {
  using client::Filter;
  static constexpr std::pair<std::string_view, Filter::Kind> kWords[] = {
      {"row_regex", Filter::Kind::row_regex},
      {"family_regex", Filter::Kind::family_regex},
      {"qualifier_regex", Filter::Kind::qualifier_regex},
      {"value_regex", Filter::Kind::value_regex},
      {"value_bitmask", Filter::Kind::value_bitmask},
      {"label", Filter::Kind::label}};
  static constexpr std::pair<std::string_view, Filter::Kind> kCounts[] = {
      {"cells_per_row_offset", Filter::Kind::cells_per_row_offset},
      {"cells_per_row", Filter::Kind::cells_per_row},
      {"cells_per_column", Filter::Kind::cells_per_column}};
  static constexpr std::pair<std::string_view, Filter::Kind> kPlain[] = {
      {"pass", Filter::Kind::pass},
      {"block", Filter::Kind::block},
      {"sink", Filter::Kind::sink},
      {"strip_value", Filter::Kind::strip_value}};
  for (const auto& [name, k] : kWords) {
    if (name != kind) continue;
    TRY(std::string word, parse_bytes(value));
    Filter filter = Filter::of(k);
    filter.text = std::move(word);
    return filter;
  }
  for (const auto& [name, k] : kCounts) {
    if (name != kind) continue;
    TRY(const int64_t count, integer(value));
    return Filter::counted(k, count);
  }
  for (const auto& [name, k] : kPlain) {
    if (name != kind) continue;
    TRY_VOID(expect_true(kind, value));
    return Filter::of(k);
  }
  if (kind == "row_sample") return Filter::row_sample(value.to_number<double>());
  return fail(Errc::invalid_argument, "unknown filter '{}'", kind);
}

}  // namespace

Result<void> only_keys(const json::object& object, std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : object) {
    if (std::find(known.begin(), known.end(), std::string_view(key)) == known.end()) {
      return fail(Errc::invalid_argument, "unknown key '{}'", std::string_view(key));
    }
  }
  return {};
}

Result<void> expect_true(std::string_view key, const json::value& value) {
  if (value.is_bool() && value.as_bool()) return {};
  return fail(Errc::invalid_argument, "{} is not true", key);
}

Result<std::optional<int64_t>> optional_duration(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr || value->is_null()) return std::optional<int64_t>();
  TRY(const int64_t us, parse_duration_us(*value));
  return std::optional<int64_t>(us);
}

Result<std::optional<int64_t>> optional_number(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr) return std::optional<int64_t>();
  TRY(const int64_t number, parse_time_us(*value));
  return std::optional<int64_t>(number);
}

Result<std::optional<std::string>> optional_bytes(const json::object& object,
                                                  std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr) return std::optional<std::string>();
  TRY(std::string bytes, parse_bytes(*value));
  return std::optional<std::string>(std::move(bytes));
}

Result<int64_t> integer(const json::value& value) {
  if (value.is_int64() || value.is_uint64()) return value.to_number<int64_t>();
  return fail(Errc::invalid_argument, "not a whole number of 64 bits");
}

bool flag(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->as_bool();
}

Result<RetentionRule> parse_rule(const json::value& value) {
  const auto& object = value.as_object();
  TRY_VOID(only_keys(object, {"max_versions", "max_age", "union", "intersection"}));
  if (object.size() != 1) return fail(Errc::invalid_argument, "a rule has one key");
  const auto& [key, inner] = *object.begin();
  if (key == "max_versions") {
    TRY(const int64_t count, integer(inner));
    return RetentionRule::max_versions(count);
  }
  if (key == "max_age") {
    TRY(const int64_t us, parse_duration_us(inner));
    return RetentionRule::max_age_us(us);
  }
  TRY(auto parts, parse_rules(inner.as_array()));
  return key == "union" ? RetentionRule::any_of(std::move(parts))
                        : RetentionRule::all_of(std::move(parts));
}

Result<FamilySpec> parse_family(std::string name, const json::value& value) {
  const auto& object = value.as_object();
  TRY_VOID(only_keys(object, {"rule", "timestamps", "born_dead", "write_window", "undo_window"}));
  FamilySpec family;
  family.name = std::move(name);
  if (const auto* rule = object.if_contains("rule")) {
    family.rule_given = true;
    if (!rule->is_null()) {
      TRY(family.rule, parse_rule(*rule));
    }
  }
  if (const auto* meaning = object.if_contains("timestamps")) {
    TRY(family.timestamps,
        named<client::TimestampMeaning>("timestamps", *meaning,
                                        {{"time", client::TimestampMeaning::time},
                                         {"expiry", client::TimestampMeaning::expiry},
                                         {"sequence", client::TimestampMeaning::sequence}}));
  }
  if (const auto* born = object.if_contains("born_dead")) {
    TRY(family.born_dead, named<client::BornDead>("born_dead", *born,
                                                  {{"accept", client::BornDead::accept},
                                                   {"refuse", client::BornDead::refuse}}));
  }
  if (const auto* window = object.if_contains("write_window")) {
    family.window.emplace();
    TRY_VOID(parse_window(window->as_object(), *family.window));
  }
  TRY(family.undo_window_us, optional_duration(object, "undo_window"));
  return family;
}

Result<client::TableSpec> parse_table(const json::object& object) {
  TRY_VOID(only_keys(object, {"name", "granularity", "profile", "families", "splits"}));
  client::TableSpec spec;
  spec.name = object.at("name").as_string();
  if (const auto* granularity = object.if_contains("granularity")) {
    TRY(spec.granularity,
        named<Granularity>("granularity", *granularity,
                           {{"micros", Granularity::micros}, {"millis", Granularity::millis}}));
  }
  if (const auto* profile = object.if_contains("profile")) {
    TRY(spec.profile, named<client::Profile>("profile", *profile,
                                             {{"bigtable", client::Profile::bigtable},
                                              {"tablestore", client::Profile::tablestore}}));
  }
  for (const auto& [name, value] : object.at("families").as_object()) {
    TRY(FamilySpec family, parse_family(name, value));
    spec.families.push_back(std::move(family));
  }
  if (const auto* splits = object.if_contains("splits")) {
    for (const auto& split : splits->as_array()) {
      TRY(std::string key, parse_bytes(split));
      spec.splits.push_back(std::move(key));
    }
  }
  return spec;
}

Result<client::TableChange> parse_change(const json::object& object) {
  TRY_VOID(only_keys(object, {"name", "add", "alter", "drop"}));
  client::TableChange change;
  change.name = object.at("name").as_string();
  for (const auto* key : {"add", "alter"}) {
    const auto* families = object.if_contains(key);
    if (families == nullptr) continue;
    for (const auto& [name, value] : families->as_object()) {
      TRY(FamilySpec family, parse_family(name, value));
      (std::string_view(key) == "add" ? change.add : change.alter).push_back(std::move(family));
    }
  }
  if (const auto* drop = object.if_contains("drop")) {
    for (const auto& name : drop->as_array()) change.drop.emplace_back(name.as_string());
  }
  return change;
}

Result<Mutation> parse_mutation(Bytes row, const json::value& ops) {
  Mutation mutation(row);
  for (const auto& op : ops.as_array()) {
    const auto& object = op.as_object();
    TRY_VOID(only_keys(object, {"set", "delete_column", "delete_family", "delete_row"}));
    if (object.size() != 1) return fail(Errc::invalid_argument, "an operation has one key");
    const auto& [key, value] = *object.begin();
    if (key == "set") {
      TRY_VOID(add_set(mutation, value.as_object()));
    } else if (key == "delete_column") {
      TRY_VOID(add_delete_column(mutation, value.as_object()));
    } else if (key == "delete_family") {
      mutation.delete_family(std::string_view(value.as_string()));
    } else {
      TRY_VOID(expect_true(key, value));
      mutation.delete_row();
    }
  }
  return mutation;
}

Result<client::Filter> parse_filter(const json::value& value) {
  using client::Filter;
  const auto& object = value.as_object();
  if (object.size() != 1) return fail(Errc::invalid_argument, "a filter has one key");
  const auto& [key, inner] = *object.begin();
  const std::string_view kind = key;
  if (kind == "chain" || kind == "interleave") {
    TRY(auto parts, parse_filters(inner.as_array()));
    Filter filter = Filter::of(kind == "chain" ? Filter::Kind::chain : Filter::Kind::interleave);
    filter.children = std::move(parts);
    return filter;
  }
  if (kind == "condition") return parse_condition(inner.as_object());
  if (kind == "time_range" || kind == "value_range" || kind == "column_range")
    return parse_range_filter(kind, inner.as_object());
  return parse_simple_filter(kind, inner);
}

Result<client::RowRange> parse_range(const json::value& value) {
  const auto& object = value.as_object();
  TRY_VOID(only_keys(object, {"start", "end", "start_open", "end_closed"}));
  client::RowRange range;
  TRY(range.start, optional_bytes(object, "start"));
  TRY(range.end, optional_bytes(object, "end"));
  range.start_open = flag(object, "start_open");
  range.end_closed = flag(object, "end_closed");
  return range;
}

Result<void> parse_rows(const json::object& object, std::vector<std::string>& keys,
                        std::vector<client::RowRange>& ranges) {
  if (const auto* rows = object.if_contains("rows")) {
    for (const auto& row : rows->as_array()) {
      TRY(std::string key, parse_bytes(row));
      keys.push_back(std::move(key));
    }
  }
  if (const auto* listed = object.if_contains("ranges")) {
    for (const auto& value : listed->as_array()) {
      TRY(client::RowRange range, parse_range(value));
      ranges.push_back(std::move(range));
    }
  }
  return {};
}

Result<client::ReadRows> parse_read(const json::object& object) {
  TRY_VOID(only_keys(object, {"table", "rows", "ranges", "filter", "limit", "reversed"}));
  client::ReadRows read;
  TRY_VOID(parse_rows(object, read.keys, read.ranges));
  if (const auto* filter = object.if_contains("filter")) {
    TRY(read.filter, parse_filter(*filter));
  }
  if (const auto* limit = object.if_contains("limit"))
    read.row_limit = limit->to_number<uint64_t>();
  read.reversed = flag(object, "reversed");
  return read;
}

Result<client::ModifyRule> parse_modify(const json::value& value) {
  const auto& object = value.as_object();
  TRY_VOID(only_keys(object, {"append", "increment"}));
  if (object.size() != 1) return fail(Errc::invalid_argument, "a rule has one key");
  const auto& [key, inner] = *object.begin();
  const auto& part = inner.as_object();
  TRY_VOID(only_keys(part, {"column", key == "append" ? "value" : "by"}));
  TRY(auto column, parse_column(part.at("column")));
  client::ModifyRule rule;
  rule.family = std::move(column.first);
  rule.qualifier = std::move(column.second);
  if (key == "append") {
    TRY(rule.append, parse_bytes(part.at("value")));
  } else {
    TRY(rule.increment_by, integer(part.at("by")));
  }
  return rule;
}

}  // namespace cellar::cases
