#include "tests/cases/step_form.h"

#include <algorithm>

#include "tests/cases/translate.h"

namespace cellar::cases {
namespace {

// Steps that are played for their answer. Without an expectation they could not fail.
constexpr std::string_view kAnswering[] = {
    "read", "read_index", "check_and_mutate", "read_modify_write", "preview", "sample_keys"};

bool answers(const Step& step) {
  return std::ranges::find(kAnswering, step.verb) != std::end(kAnswering);
}

Result<void> check_expectation(const Step& step) {
  const bool samples = step.verb == "sample_keys";
  if (step.object.contains("expect_splits") && !samples)
    return fail(Errc::invalid_argument, "expect_splits beside '{}'", step.verb);
  if (step.object.contains("expect") && (samples || (!answers(step) && step.verb != "mutate_rows")))
    return fail(Errc::invalid_argument, "expect beside '{}', which answers nothing", step.verb);
  const bool expects = step.object.contains(samples ? "expect_splits" : "expect");
  if (expects && step.object.contains("error"))
    return fail(Errc::invalid_argument, "an error and an answer expected of one '{}'", step.verb);
  if (!expects && !step.object.contains("error") && answers(step))
    return fail(Errc::invalid_argument, "nothing expected of '{}'", step.verb);
  if (step.verb != "preview" || !expects) return {};
  const auto& counts = step.object.at("expect").as_object();
  if (counts.empty()) return fail(Errc::invalid_argument, "nothing expected of 'preview'");
  return only_keys(counts, {"cells", "rows"});
}

Result<void> check_row_ops(const json::object& object) {
  TRY(const std::string row, parse_bytes(object.at("row")));
  TRY_VOID(parse_mutation(row, object.at("ops")));
  return {};
}

Result<void> check_mutate(const json::object& object) {
  TRY_VOID(only_keys(object, {"table", "row", "ops", "token"}));
  return check_row_ops(object);
}

Result<void> check_mutate_rows(const json::object& object) {
  TRY_VOID(only_keys(object, {"table", "entries"}));
  for (const auto& value : object.at("entries").as_array()) {
    TRY_VOID(only_keys(value.as_object(), {"row", "ops"}));
    TRY_VOID(check_row_ops(value.as_object()));
  }
  return {};
}

Result<void> check_drop_rows(const json::object& object) {
  TRY_VOID(only_keys(object, {"table", "prefix", "start", "end", "token"}));
  for (const std::string_view key : {"prefix", "start", "end"}) {
    if (const auto* value = object.if_contains(key)) {
      TRY_VOID(parse_bytes(*value));
    }
  }
  return {};
}

Result<void> check_condition(const json::object& object) {
  TRY_VOID(only_keys(object, {"table", "row", "filter", "then", "else", "token"}));
  TRY(const std::string row, parse_bytes(object.at("row")));
  if (const auto* filter = object.if_contains("filter")) {
    TRY_VOID(parse_filter(*filter));
  }
  for (const std::string_view key : {"then", "else"}) {
    if (const auto* ops = object.if_contains(key)) {
      TRY_VOID(parse_mutation(row, *ops));
    }
  }
  return {};
}

Result<void> check_modify(const json::object& object) {
  TRY_VOID(only_keys(object, {"table", "row", "rules", "token"}));
  TRY_VOID(parse_bytes(object.at("row")));
  for (const auto& rule : object.at("rules").as_array()) {
    TRY_VOID(parse_modify(rule));
  }
  return {};
}

Result<void> check_preview(const json::object& object) {
  TRY_VOID(only_keys(object, {"table", "family", "rule"}));
  (void)object.at("family").as_string();
  if (!object.at("rule").is_null()) {
    TRY_VOID(parse_rule(object.at("rule")));
  }
  return {};
}

Result<void> check_read(const json::object& object) {
  TRY_VOID(parse_read(object));
  return {};
}

Result<void> check_create_index(const json::object& object) {
  TRY_VOID(parse_index(object));
  return {};
}

Result<void> check_alter_index(const json::object& object) {
  TRY_VOID(parse_index_change(object));
  return {};
}

Result<void> check_drop_index(const json::object& object) {
  TRY_VOID(only_keys(object, {"table", "name"}));
  (void)object.at("name").as_string();
  return {};
}

Result<void> check_read_index(const json::object& object) {
  TRY_VOID(parse_read_index(object));
  return {};
}

// The verbs whose value is an object with the key `table`.
constexpr std::pair<std::string_view, Result<void> (*)(const json::object&)> kRequests[] = {
    {"mutate", check_mutate},
    {"mutate_rows", check_mutate_rows},
    {"drop_rows", check_drop_rows},
    {"check_and_mutate", check_condition},
    {"read_modify_write", check_modify},
    {"preview", check_preview},
    {"read", check_read},
    {"create_index", check_create_index},
    {"alter_index", check_alter_index},
    {"drop_index", check_drop_index},
    {"read_index", check_read_index}};

Result<void> check_value(std::string_view verb, const json::value& value) {
  for (const auto& [name, check] : kRequests) {
    if (name != verb) continue;
    const auto& object = value.as_object();
    (void)object.at("table").as_string();
    if (const auto* token = object.if_contains("token")) (void)token->as_string();
    return check(object);
  }
  if (verb == "create_table") {
    TRY_VOID(parse_table(value.as_object()));
  } else if (verb == "alter_table") {
    TRY_VOID(parse_change(value.as_object()));
  } else if (verb == "clock" || verb == "wall_clock") {
    TRY_VOID(parse_clock_us(value, 0));
  } else if (verb == "restart") {
    return expect_true(verb, value);
  } else {  // the name of a table
    (void)value.as_string();
  }
  return {};
}

}  // namespace

Result<void> check_form(const Step& step) {
  try {
    TRY_VOID(check_expectation(step));
    return check_value(step.verb, step.value);
  } catch (const std::exception& error) {  // a value that is absent or of another type
    return fail(Errc::invalid_argument, "{}: {}", step.verb, error.what());
  }
}

}  // namespace cellar::cases
