// Helpers of the JSON API handlers: replies, errors, bodies, bytes as text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "engine/catalog/audit_trail.h"
#include "engine/model/retention_rule.h"
#include "io/base/bytes.h"
#include "io/base/result.h"
#include "net/http/http_message.h"

namespace cellar::http {

namespace json = boost::json;

HttpResponse json_response(const json::value& body, int status = 200);
// The HTTP status follows from the code.
HttpResponse json_error(const Error& error);

// Who makes the change, for the audit trail.
engine::Author author_of(const HttpRequest& request);

// Parses the body of a request as an object. INVALID_ARGUMENT.
Result<json::object> object_of(const HttpRequest& request);
// Returns a member; INVALID_ARGUMENT if it is absent or has another type.
Result<std::string> text_member(const json::object& object, std::string_view name);
bool flag_member(const json::object& object, std::string_view name, bool fallback);

// Bytes as ASCII and back: \n \t \\ \" by name, other unprintable bytes as \xHH.
std::string shown(Bytes bytes);
Result<std::string> bytes_of(std::string_view text);

// A number from the query, at most `most`; `fallback` if absent. INVALID_ARGUMENT.
Result<uint64_t> number_parameter(const HttpRequest& request, std::string_view name,
                                  uint64_t fallback, uint64_t most);

// Microseconds, or null for INT64_MAX.
json::value time_value(int64_t us);

// A rule: null (keep everything), {"max_age_us": n}, {"max_versions": n}, {"any_of": [rules]},
// {"all_of": [rules]}.
json::value rule_value(const RetentionRule& rule);
Result<RetentionRule> rule_of(const json::value& value);

// Names of operations and codes: "read_row", "not_found".
// By wire number; "none" for an unknown one.
std::string op_name(size_t op);
std::string code_name(Errc code);

}  // namespace cellar::http
