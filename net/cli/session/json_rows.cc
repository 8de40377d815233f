#include "net/cli/session/json_rows.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "io/base/hex.h"
#include "net/cli/text/suggest.h"
#include "net/cli/text/text.h"

namespace cellar::cli {

namespace json = boost::json;

namespace {

// The bytes under `name` or one of its variants.
Result<std::optional<std::string>> find_bytes(const json::object& object, std::string_view name) {
  if (const json::value* plain = object.if_contains({name.data(), name.size()})) {
    if (const json::string* text = plain->if_string()) {
      return std::optional<std::string>(std::string(text->data(), text->size()));
    }
    return fail(Errc::invalid_argument, "\"{}\" is not a string", name);
  }
  for (const BytesForm form : {BytesForm::base64, BytesForm::hex}) {
    const std::string twin = fmt::format("{}_{}", name, form_name(form));
    const json::value* encoded = object.if_contains(twin);
    if (!encoded) continue;
    const json::string* text = encoded->if_string();
    if (!text) return fail(Errc::invalid_argument, "\"{}\" is not a string", twin);
    TRY(std::string bytes, from_form({text->data(), text->size()}, form));
    return std::optional<std::string>(std::move(bytes));
  }
  const std::string number = fmt::format("{}_int64", name);
  if (const json::value* value = object.if_contains(number)) {
    if (!value->is_int64()) {
      return fail(Errc::invalid_argument, "\"{}\" is not a 64-bit number", number);
    }
    return std::optional<std::string>(be64(value->as_int64()));
  }
  return std::optional<std::string>();
}

Result<std::string> need_bytes(const json::object& object, std::string_view name) {
  TRY(std::optional<std::string> bytes, find_bytes(object, name));
  if (!bytes) return fail(Errc::invalid_argument, "\"{}\" is missing", name);
  return *std::move(bytes);
}

// A member of bytes may have a suffix that names its form.
struct Members {
  std::string_view of;
  std::vector<std::string> bytes;
  std::vector<std::string> others;

  bool has(std::string_view name) const {
    const auto is_in = [](const std::vector<std::string>& names, std::string_view one) {
      return std::ranges::find(names, one) != names.end();
    };
    if (is_in(others, name) || is_in(bytes, name)) return true;
    const size_t suffix_at = name.rfind('_');
    if (suffix_at == name.npos) return false;
    const std::string_view suffix = name.substr(suffix_at + 1);
    return (suffix == "base64" || suffix == "hex" || suffix == "int64") &&
           is_in(bytes, name.substr(0, suffix_at));
  }
  std::string similar_to(std::string_view name) const {
    std::vector<std::string> all = bytes;
    all.insert(all.end(), others.begin(), others.end());
    return nearest(name, all);
  }
};

// An unknown member is refused: a misspelt "expire_at" would make a cell that lives for ever.
Result<void> check_members(const json::object& object, const Members& known) {
  for (const auto& member : object) {
    const std::string_view name(member.key().data(), member.key().size());
    if (known.has(name)) continue;
    const std::string similar = known.similar_to(name);
    return fail(Errc::invalid_argument, "\"{}\" is no member of {}{}", name, known.of,
                similar.empty() ? "" : fmt::format("; did you mean \"{}\"?", similar));
  }
  return {};
}

Result<void> add_cell(const json::value& value, std::optional<int64_t> at_us,
                      client::Mutation& mutation) {
  const json::object* cell = value.if_object();
  if (!cell) return fail(Errc::invalid_argument, "a cell is not an object");
  static const Members kMembers{
      "a cell", {"family", "qualifier", "value", "labels"}, {"timestamp", "expire_at"}};
  TRY_VOID(check_members(*cell, kMembers));
  TRY(const std::string family, need_bytes(*cell, "family"));
  TRY(const std::optional<std::string> qualifier, find_bytes(*cell, "qualifier"));
  TRY(const std::string bytes, need_bytes(*cell, "value"));
  std::optional<int64_t> timestamp = at_us;
  if (const json::value* given = cell->if_contains("timestamp"); given && !given->is_null()) {
    if (!given->is_int64()) {
      return fail(Errc::invalid_argument, "\"timestamp\" is not a whole number of microseconds");
    }
    timestamp = given->as_int64();
  }
  if (timestamp) {
    mutation.set(family, qualifier.value_or(""), bytes, *timestamp);
  } else {
    mutation.set(family, qualifier.value_or(""), bytes);
  }
  const json::value* expiry = cell->if_contains("expire_at");
  if (expiry == nullptr || expiry->is_null()) return {};
  if (!expiry->is_int64()) {
    return fail(Errc::invalid_argument, "\"expire_at\" is not a whole number of microseconds");
  }
  mutation.with_expire_at(expiry->as_int64());
  return {};
}

}  // namespace

std::string json_string(std::string_view text) {
  return json::serialize(json::string_view(text.data(), text.size()));
}

std::string json_field(std::string_view name, Bytes bytes, BytesForm form) {
  if (form == BytesForm::int64 && bytes.size() == sizeof(int64_t)) {
    return fmt::format("\"{}_int64\":{}", name, shown(bytes, form));
  }
  if (form == BytesForm::hex) return fmt::format("\"{}_hex\":\"{}\"", name, to_hex(bytes));
  if (form == BytesForm::utf8 && is_utf8(bytes)) {
    return fmt::format("\"{}\":{}", name, json_string(bytes));
  }
  return fmt::format("\"{}_base64\":\"{}\"", name, to_base64(bytes));
}

void begin_json_row(std::string& out, Bytes key, const JsonForms& forms) {
  out += "{" + json_field("row", key, forms.key) + ",\"cells\":[";
}

void add_json_cell(std::string& out, const client::Cell& cell, bool first, const JsonForms& forms,
                   std::string_view more) {
  if (!first) out += ',';
  out += fmt::format("{{{},{},\"timestamp\":{},{}", json_field("family", cell.family),
                     json_field("qualifier", cell.qualifier, forms.other), cell.timestamp_us,
                     json_field("value", cell.value, forms.value));
  if (cell.expire_at_us != kNoExpiry) out += fmt::format(",\"expire_at\":{}", cell.expire_at_us);
  if (!cell.labels.empty()) out += "," + json_field("labels", cell.labels);
  out += more;
  out += '}';
}

std::string json_row(Bytes key, std::span<const client::Cell> cells, const JsonForms& forms) {
  std::string out;
  begin_json_row(out, key, forms);
  bool first = true;
  for (const client::Cell& cell : cells) {
    add_json_cell(out, cell, std::exchange(first, false), forms);
  }
  return out + "]}";
}

Result<client::Mutation> parse_json_row(std::string_view line, std::optional<int64_t> at_us) {
  json::error_code error;
  // Memory for one line, freed as a whole.
  json::monotonic_resource memory(std::max<size_t>(4 * line.size(), 1024));
  const json::value value = json::parse({line.data(), line.size()}, error, &memory);
  if (error) return fail(Errc::invalid_argument, "not JSON: {}", error.message());
  const json::object* object = value.if_object();
  if (!object) return fail(Errc::invalid_argument, "not a JSON object");
  static const Members kMembers{"a row", {"row"}, {"cells"}};
  TRY_VOID(check_members(*object, kMembers));
  TRY(const std::string row, need_bytes(*object, "row"));
  const json::value* cells = object->if_contains("cells");
  if (!cells || !cells->is_array()) {
    return fail(Errc::invalid_argument, "\"cells\" is not an array");
  }
  if (cells->get_array().empty()) return fail(Errc::invalid_argument, "\"cells\" is empty");
  client::Mutation mutation(row);
  for (const json::value& cell : cells->get_array()) TRY_VOID(add_cell(cell, at_us, mutation));
  return mutation;
}

}  // namespace cellar::cli
