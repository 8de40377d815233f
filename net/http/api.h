// What the handlers of the JSON API share: answers, errors, bodies, bytes as text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "engine/model/retention_rule.h"
#include "io/base/bytes.h"
#include "io/base/result.h"
#include "net/http/http_message.h"

namespace cellar::http {

namespace json = boost::json;

HttpResponse json_response(const json::value& body, int status = 200);
// With the status that fits the code.
HttpResponse json_error(const Error& error);

// The body of a request as an object. INVALID_ARGUMENT.
Result<json::object> object_of(const HttpRequest& request);
// A member of it; INVALID_ARGUMENT when it is not there or of another kind.
Result<std::string> text_member(const json::object& object, std::string_view name);
bool flag_member(const json::object& object, std::string_view name, bool fallback);

// Bytes as ASCII: \n \t \\ \" by name, what is not printable as \xHH; and back.
std::string shown(Bytes bytes);
Result<std::string> bytes_of(std::string_view text);

// A number of the query between bounds; INVALID_ARGUMENT. Absent: `fallback`.
Result<uint64_t> number_parameter(const HttpRequest& request, std::string_view name,
                                  uint64_t fallback, uint64_t most);

// Microseconds, or null where there are none (INT64_MAX).
json::value time_value(int64_t us);

// A rule: null keeps everything; {"max_age_us": n}, {"max_versions": n}, {"any_of": [rules]},
// {"all_of": [rules]}.
json::value rule_value(const RetentionRule& rule);
Result<RetentionRule> rule_of(const json::value& value);

}  // namespace cellar::http
