#include "net/cli/parse/table_json.h"

#include <boost/json.hpp>

#include "net/cli/parse/rule_text.h"
#include "net/cli/parse/schema_syntax.h"
#include "net/cli/session/json_rows.h"

namespace cellar::cli {

namespace json = boost::json;
using client::RetentionRule;

namespace {

constexpr int kMaxJsonRuleDepth = 16;  // nested groups, SEMANTICS 3
// A group is an object and an array, inside the array of families.
constexpr size_t kMaxTableJsonDepth = 64;

std::string rule_json(const RetentionRule& rule) {
  switch (rule.kind) {
    case RetentionRule::Kind::max_versions:
      return fmt::format("{{\"max_versions\":{}}}", rule.value);
    case RetentionRule::Kind::max_age:
      return fmt::format("{{\"max_age_us\":{}}}", rule.value);
    default:
      break;
  }
  const bool any = rule.kind == RetentionRule::Kind::any;
  return fmt::format("{{\"{}\":{}}}", any ? "union" : "intersection",
                     json_list(rule.parts, rule_json));
}

Result<RetentionRule> parse_rule_json(const json::value& value, int depth) {
  const json::object* object = value.if_object();
  if (!object || object->size() != 1 || depth > kMaxJsonRuleDepth + 1) {
    return fail(Errc::invalid_argument,
                "a rule is not an object of one member in {} groups at most", kMaxJsonRuleDepth);
  }
  const auto& member = *object->begin();
  if (member.key() == "max_versions" || member.key() == "max_age_us") {
    if (!member.value().is_int64()) {
      return fail(Errc::invalid_argument, "a rule's value is not a whole number");
    }
    const int64_t n = member.value().as_int64();
    return member.key() == "max_age_us" ? RetentionRule::max_age_us(n)
                                        : RetentionRule::max_versions(n);
  }
  const bool any = member.key() == "union";
  if ((!any && member.key() != "intersection") || !member.value().is_array()) {
    return fail(Errc::invalid_argument, "there is no rule '{}'", std::string(member.key()));
  }
  std::vector<RetentionRule> parts;
  for (const json::value& part : member.value().get_array()) {
    TRY(parts.emplace_back(), parse_rule_json(part, depth + 1));
  }
  return any ? RetentionRule::any_of(std::move(parts)) : RetentionRule::all_of(std::move(parts));
}

std::string_view text_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains({name.data(), name.size()});
  const json::string* text = value ? value->if_string() : nullptr;
  return text ? std::string_view(text->data(), text->size()) : std::string_view();
}

std::optional<int64_t> number_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains({name.data(), name.size()});
  if (!value || !value->is_int64()) return std::nullopt;
  return value->as_int64();
}

Result<client::FamilySpec> parse_family(const json::value& value) {
  const json::object* object = value.if_object();
  client::FamilySpec family;
  if (object) family.name = std::string(text_of(*object, "name"));
  if (family.name.empty()) return fail(Errc::invalid_argument, "a family has no name");
  if (const json::value* rule = object->if_contains("retention")) {
    family.rule_given = true;
    TRY(family.rule, parse_rule_json(*rule, 1));
  }
  const std::string_view meaning = text_of(*object, "timestamps");
  if (meaning == "expiry") family.timestamps = client::TimestampMeaning::expiry;
  if (meaning == "sequence") family.timestamps = client::TimestampMeaning::sequence;
  if (text_of(*object, "born_dead") == "accept") family.born_dead = client::BornDead::accept;
  const json::value* window = object->if_contains("window");
  if (window && window->is_object()) {
    family.window.emplace();
    family.window->past_us = number_of(window->get_object(), "past_us");
    family.window->future_us = number_of(window->get_object(), "future_us");
    const json::value* whole = window->get_object().if_contains("whole_seconds");
    family.window->whole_seconds = whole && whole->is_bool() && whole->get_bool();
  }
  family.undo_window_us = number_of(*object, "undo_window_us");
  return family;
}

}  // namespace

std::string family_json(const client::FamilySpec& family) {
  using client::TimestampMeaning;
  std::string out = "{" + json_field("name", family.name);
  if (family.rule) {
    out += fmt::format(",\"rule\":{}", json_string(rule_text(family.rule)));
    out += ",\"retention\":" + rule_json(*family.rule);
  }
  if (family.timestamps && *family.timestamps != TimestampMeaning::time) {
    out += fmt::format(",\"timestamps\":\"{}\"", name_of(*family.timestamps));
  }
  if (family.born_dead == client::BornDead::accept) out += ",\"born_dead\":\"accept\"";
  if (const auto& window = family.window; window && (window->past_us || window->future_us)) {
    out += ",\"window\":{";
    if (window->past_us) out += fmt::format("\"past_us\":{},", *window->past_us);
    if (window->future_us) out += fmt::format("\"future_us\":{},", *window->future_us);
    out += fmt::format("\"whole_seconds\":{}}}", window->whole_seconds);
  }
  if (family.born_dead_from_profile) out += ",\"born_dead_from_profile\":true";
  if (family.window_from_profile) out += ",\"window_from_profile\":true";
  if (family.undo_window_us) out += fmt::format(",\"undo_window_us\":{}", *family.undo_window_us);
  return out + "}";
}

std::string schema_members(const client::TableDescription& table) {
  return fmt::format("\"granularity\":\"{}\",\"families\":{}", name_of(table.granularity),
                     json_list(table.families, family_json));
}

Result<client::TableSpec> parse_schema(std::string_view text) {
  json::error_code error;
  json::parse_options options;
  options.max_depth = kMaxTableJsonDepth;
  const json::value value = json::parse({text.data(), text.size()}, error, {}, options);
  const json::object* object = error ? nullptr : value.if_object();
  if (!object) return fail(Errc::invalid_argument, "the description is not a JSON object");
  client::TableSpec spec;
  TRY(spec.granularity, parse_granularity(std::string(text_of(*object, "granularity"))));
  const json::value* families = object->if_contains("families");
  if (!families || !families->is_array()) {
    return fail(Errc::invalid_argument, "\"families\" is not an array");
  }
  for (const json::value& family : families->get_array()) {
    TRY(spec.families.emplace_back(), parse_family(family));
  }
  return spec;
}

}  // namespace cellar::cli
