#include "net/cli/parse/filter_json.h"

#include <algorithm>

#include <boost/json.hpp>

#include "io/base/hex.h"
#include "net/cli/text/times.h"

namespace cellar::cli {
namespace {

namespace json = boost::json;
using client::Filter;
using FilterKind = Filter::Kind;

// Deeper than a filter may be, so that the node reports the bound, but safe for the parser's stack.
constexpr size_t kMaxFilterJsonDepth = 128;

struct Word {
  std::string_view name;
  FilterKind kind;
};
constexpr Word kPlain[] = {{"pass", FilterKind::pass},
                           {"block", FilterKind::block},
                           {"sink", FilterKind::sink},
                           {"strip_value", FilterKind::strip_value}};
constexpr Word kTexts[] = {{"row_regex", FilterKind::row_regex},
                           {"family_regex", FilterKind::family_regex},
                           {"qualifier_regex", FilterKind::qualifier_regex},
                           {"value_regex", FilterKind::value_regex},
                           {"value_bitmask", FilterKind::value_bitmask},
                           {"label", FilterKind::label}};
constexpr Word kCounts[] = {{"cells_per_row_offset", FilterKind::cells_per_row_offset},
                            {"cells_per_row", FilterKind::cells_per_row},
                            {"cells_per_column", FilterKind::cells_per_column}};

template <size_t N>
const Word* find_word(const Word (&words)[N], std::string_view name) {
  const auto* const found =
      std::find_if(words, words + N, [&](const Word& word) { return word.name == name; });
  return found == words + N ? nullptr : found;
}

std::unexpected<Error> wrong(std::string_view name, std::string_view wanted) {
  return fail(Errc::invalid_argument, "filter: {} takes {}", name, wanted);
}

Result<std::string> bytes_of(std::string_view name, const json::value& value) {
  if (value.is_string()) return std::string(std::string_view(value.as_string()));
  const json::value* hex = value.is_object() ? value.as_object().if_contains("hex") : nullptr;
  if (hex == nullptr || !hex->is_string()) return wrong(name, "a string, or {\"hex\": \"00ff\"}");
  const std::string_view digits = hex->as_string();
  std::string bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    const int high = hex_digit(digits[i]);
    const int low = hex_digit(digits[i + 1]);
    if (high < 0 || low < 0) return wrong(name, "an even number of hexadecimal digits");
    bytes.push_back(static_cast<char>(high * 16 + low));
  }
  if (digits.size() % 2 != 0) return wrong(name, "an even number of hexadecimal digits");
  return bytes;
}

Result<std::optional<std::string>> bound_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr) return std::optional<std::string>();
  TRY(std::string bytes, bytes_of(key, *value));
  return std::optional<std::string>(std::move(bytes));
}

Result<bool> flag(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr) return false;
  if (!value->is_bool()) return wrong(key, "true or false");
  return value->as_bool();
}

Result<std::optional<int64_t>> time(const json::object& object, std::string_view key,
                                    int64_t now_us) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr) return std::optional<int64_t>();
  if (value->is_string()) {
    TRY(const int64_t us, parse_time(std::string_view(value->as_string()), now_us));
    return std::optional<int64_t>(us);
  }
  if (!value->is_int64()) return wrong(key, "microseconds, or a time as a string");
  return std::optional<int64_t>(value->as_int64());
}

Result<void> only_keys(std::string_view name, const json::object& object,
                       std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : object) {
    if (std::find(known.begin(), known.end(), std::string_view(key)) == known.end())
      return fail(Errc::invalid_argument, "filter: {} has no '{}'", name, std::string_view(key));
  }
  return {};
}

Result<Filter> parse(const json::value& value, int64_t now_us);

Result<Filter> parse_filter_range(std::string_view name, const json::object& object,
                                  int64_t now_us) {
  if (name == "time_range") {
    TRY_VOID(only_keys(name, object, {"start", "end"}));
    TRY(const auto start_us, time(object, "start", now_us));
    TRY(const auto end_us, time(object, "end", now_us));
    return Filter::time_range(start_us, end_us);
  }
  TRY_VOID(only_keys(name, object, {"family", "start", "end", "start_open", "end_closed"}));
  Filter::Bounds bounds;
  TRY(bounds.start, bound_of(object, "start"));
  TRY(bounds.end, bound_of(object, "end"));
  TRY(bounds.start_open, flag(object, "start_open"));
  TRY(bounds.end_closed, flag(object, "end_closed"));
  TRY(auto family, bound_of(object, "family"));
  if ((name == "column_range") != family.has_value())
    return fail(Errc::invalid_argument, "filter: a column_range, and no value_range, has a family");
  if (name == "value_range") return Filter::value_range(std::move(bounds));
  return Filter::column_range(*std::move(family), std::move(bounds));
}

Result<Filter> parse_condition(const json::object& object, int64_t now_us) {
  TRY_VOID(only_keys("condition", object, {"if", "then", "else"}));
  const json::value* predicate = object.if_contains("if");
  if (predicate == nullptr) return wrong("condition", "an \"if\"");
  TRY(Filter question, parse(*predicate, now_us));
  std::optional<Filter> branches[2];
  for (const size_t i : {0u, 1u}) {
    const json::value* branch = object.if_contains(i == 0 ? "then" : "else");
    if (branch == nullptr) continue;
    TRY(branches[i], parse(*branch, now_us));
  }
  return Filter::condition(std::move(question), std::move(branches[0]), std::move(branches[1]));
}

Result<Filter> parse_list(std::string_view name, const json::value& value, int64_t now_us) {
  if (!value.is_array()) return wrong(name, "a list of filters");
  std::vector<Filter> parts;
  for (const json::value& part : value.as_array()) {
    TRY(Filter filter, parse(part, now_us));
    parts.push_back(std::move(filter));
  }
  return name == "chain" ? Filter::chain(std::move(parts)) : Filter::interleave(std::move(parts));
}

Result<Filter> parse(const json::value& value, int64_t now_us) {
  if (!value.is_object() || value.as_object().size() != 1)
    return fail(Errc::invalid_argument, "filter: a filter is an object of one key");
  const std::string_view name = value.as_object().begin()->key();
  const json::value& inner = value.as_object().begin()->value();
  if (name == "chain" || name == "interleave") return parse_list(name, inner, now_us);
  if (name == "condition" || name == "time_range" || name == "value_range" ||
      name == "column_range") {
    if (!inner.is_object()) return wrong(name, "an object");
    return name == "condition" ? parse_condition(inner.as_object(), now_us)
                               : parse_filter_range(name, inner.as_object(), now_us);
  }
  if (const Word* plain = find_word(kPlain, name)) {
    if (!inner.is_bool() || !inner.as_bool()) return wrong(name, "true");
    return Filter::of(plain->kind);
  }
  if (const Word* text = find_word(kTexts, name)) {
    TRY(std::string bytes, bytes_of(name, inner));
    return Filter::regex(text->kind, std::move(bytes));
  }
  if (const Word* count = find_word(kCounts, name)) {
    if (!inner.is_int64()) return wrong(name, "a whole number");
    return Filter::counted(count->kind, inner.as_int64());
  }
  if (name == "row_sample") {
    if (!inner.is_number()) return wrong(name, "a number");
    return Filter::row_sample(inner.to_number<double>());
  }
  return fail(Errc::invalid_argument, "filter: there is no '{}'", name);
}

}  // namespace

Result<Filter> parse_filter_json(std::string_view text, int64_t now_us) {
  json::parse_options options;
  options.max_depth = kMaxFilterJsonDepth;
  boost::system::error_code error;
  const json::value value = json::parse(text, error, {}, options);
  if (error)
    return fail(Errc::invalid_argument, "filter: '{}' is no JSON: {}", text, error.message());
  return parse(value, now_us);
}

}  // namespace cellar::cli
