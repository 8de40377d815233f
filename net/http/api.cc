#include "net/http/api.h"

#include <charconv>

#include "io/base/hex.h"
#include "net/wire/op.h"

namespace cellar::http {
namespace {

int status_of(Errc code) {
  switch (code) {
    case Errc::invalid_argument:
    case Errc::out_of_range:
      return 400;
    case Errc::unauthenticated:
      return 401;
    case Errc::permission_denied:
      return 403;
    case Errc::not_found:
      return 404;
    case Errc::already_exists:
    case Errc::aborted:
    case Errc::failed_precondition:
      return 409;
    case Errc::resource_exhausted:
      return 429;
    case Errc::unimplemented:
      return 501;
    case Errc::unavailable:
    case Errc::cancelled:
      return 503;
    case Errc::deadline_exceeded:
      return 504;
    default:
      return 500;
  }
}

// Converts the subtree at `at` and advances `at` past it.
json::value subtree(const RetentionRule& rule, size_t& at) {
  const RuleNode& node = rule.nodes[at++];
  if (node.kind == RuleNode::Kind::max_age) return {{"max_age_us", node.value}};
  if (node.kind == RuleNode::Kind::max_versions) return {{"max_versions", node.value}};
  json::array parts;
  for (uint32_t i = 0; i < node.children; ++i) parts.push_back(subtree(rule, at));
  json::object object;
  object[node.kind == RuleNode::Kind::union_of ? "any_of" : "all_of"] = std::move(parts);
  return object;
}

Result<void> add_subtree(const json::value& value, RetentionRule& rule, size_t depth) {
  if (!value.is_object() || value.get_object().size() != 1 || depth > kMaxRuleDepth + 1 ||
      rule.nodes.size() >= kMaxRuleNodes) {
    return fail(Errc::invalid_argument,
                "a rule is null or an object with one of max_age_us, max_versions, any_of, all_of");
  }
  const auto& member = *value.get_object().begin();
  const std::string_view name(member.key().data(), member.key().size());
  RuleNode node;
  if (name == "max_age_us" || name == "max_versions") {
    if (!member.value().is_int64()) return fail(Errc::invalid_argument, "{} is no number", name);
    node.kind = name == "max_age_us" ? RuleNode::Kind::max_age : RuleNode::Kind::max_versions;
    node.value = member.value().get_int64();
    rule.nodes.push_back(node);
    return {};
  }
  if ((name != "any_of" && name != "all_of") || !member.value().is_array()) {
    return fail(Errc::invalid_argument, "a rule has no part '{}'", escape_bytes(name));
  }
  const json::array& parts = member.value().get_array();
  node.kind = name == "any_of" ? RuleNode::Kind::union_of : RuleNode::Kind::intersection_of;
  node.children = static_cast<uint32_t>(parts.size());
  rule.nodes.push_back(node);
  for (const json::value& part : parts) TRY_VOID(add_subtree(part, rule, depth + 1));
  return {};
}

}  // namespace

HttpResponse json_response(const json::value& body, int status) {
  HttpResponse response;
  response.status = status;
  response.content_type = "application/json";
  response.body = json::serialize(body);
  response.body.push_back('\n');
  return response;
}

HttpResponse json_error(const Error& error) {
  HttpResponse response =
      error_response(status_of(error.code), errc_name(error.code), error.message);
  if (error.retryable()) {
    response.headers.emplace_back("Retry-After",
                                  std::to_string((error.retry_after_ms + 999) / 1000));
  }
  return response;
}

engine::Author author_of(const HttpRequest& request) {
  return {request.principal ? request.principal->name : "http", request.peer};
}

Result<json::object> object_of(const HttpRequest& request) {
  boost::system::error_code error;
  json::parse_options options;
  options.max_depth = 40;
  json::value value = json::parse(request.body, error, {}, options);
  if (error) return fail(Errc::invalid_argument, "the body is no JSON: {}", error.message());
  if (!value.is_object()) return fail(Errc::invalid_argument, "the body is no JSON object");
  return std::move(value.get_object());
}

Result<std::string> text_member(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_string()) {
    return fail(Errc::invalid_argument, "the body has no text '{}'", name);
  }
  return std::string(value->get_string().data(), value->get_string().size());
}

bool flag_member(const json::object& object, std::string_view name, bool fallback) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_bool() ? value->get_bool() : fallback;
}

std::string shown(Bytes bytes) { return escape_bytes(bytes, SIZE_MAX); }

Result<std::string> bytes_of(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out.push_back(text[i]);
      continue;
    }
    const char c = ++i < text.size() ? text[i] : '\0';
    const bool hex = c == 'x' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
                     hex_digit(text[i + 2]) >= 0;
    if (hex) {
      out.push_back(static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])));
      i += 2;
    } else if (c == 'n' || c == 't' || c == 'r') {
      out.push_back(c == 'n' ? '\n' : c == 't' ? '\t' : '\r');
    } else if (c == '\\' || c == '"' || c == '\'') {
      out.push_back(c);
    } else {
      return fail(Errc::invalid_argument, "'{}' has an escape other than \\n \\t \\r \\\\ \\xHH",
                  escape_bytes(text));
    }
  }
  return out;
}

Result<uint64_t> number_parameter(const HttpRequest& request, std::string_view name,
                                  uint64_t fallback, uint64_t most) {
  const std::string text = request.parameter(name);
  if (text.empty()) return fallback;
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number > most) {
    return fail(Errc::invalid_argument, "{} is a number up to {}", name, most);
  }
  return number;
}

json::value time_value(int64_t us) { return us == INT64_MAX ? json::value() : json::value(us); }

json::value rule_value(const RetentionRule& rule) {
  if (rule.keeps_everything()) return nullptr;
  size_t at = 0;
  return subtree(rule, at);
}

Result<RetentionRule> rule_of(const json::value& value) {
  RetentionRule rule;
  if (value.is_null()) return rule;
  TRY_VOID(add_subtree(value, rule, 0));
  TRY_VOID(validate_rule(rule));
  return rule;
}

std::string op_name(size_t op) {
  const std::string_view camel = wire::op_name(static_cast<uint16_t>(op));
  if (camel.empty()) return "none";
  std::string name;
  for (const char c : camel) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper && !name.empty()) name.push_back('_');
    name.push_back(upper ? static_cast<char>(c - 'A' + 'a') : c);
  }
  return name;
}

std::string code_name(Errc code) {
  std::string name(errc_name(code));
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return name;
}

}  // namespace cellar::http
