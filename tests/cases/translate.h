// Translates the case format into types of the public client. Every unknown key is an error.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/client/api/admin.h"
#include "net/client/api/filter.h"
#include "net/client/api/mutation.h"
#include "net/client/codec/requests.h"
#include "tests/cases/values.h"

namespace cellar::cases {

// INVALID_ARGUMENT naming the first key of `object` that is not listed.
Result<void> only_keys(const json::object& object, std::initializer_list<std::string_view> known);

// INVALID_ARGUMENT unless the value of `key` is true.
Result<void> expect_true(std::string_view key, const json::value& value);

// Of a member that may be absent, or null where it is a duration.
Result<std::optional<int64_t>> optional_duration(const json::object& object, std::string_view key);
Result<std::optional<int64_t>> optional_number(const json::object& object, std::string_view key);
Result<std::optional<std::string>> optional_bytes(const json::object& object, std::string_view key);
// An integer without loss of precision.
Result<int64_t> integer(const json::value& value);
bool flag(const json::object& object, std::string_view key);  // absent: false

// The value that the string `word` names.
template <class T>
Result<T> named(std::string_view key, const json::value& word,
                std::initializer_list<std::pair<std::string_view, T>> names) {
  const std::string_view given = word.as_string();
  for (const auto& [name, value] : names) {
    if (name == given) return value;
  }
  return fail(Errc::invalid_argument, "unknown {} '{}'", key, given);
}

Result<client::RetentionRule> parse_rule(const json::value& value);
Result<client::FamilySpec> parse_family(std::string name, const json::value& value);
Result<client::TableSpec> parse_table(const json::object& object);
Result<client::TableChange> parse_change(const json::object& object);
Result<client::Mutation> parse_mutation(Bytes row, const json::value& ops);
Result<client::Filter> parse_filter(const json::value& value);
Result<client::RowRange> parse_range(const json::value& value);
// `rows` and `ranges` of a read.
Result<void> parse_rows(const json::object& object, std::vector<std::string>& keys,
                        std::vector<client::RowRange>& ranges);
Result<client::ReadRows> parse_read(const json::object& object);
// translate_indexes.cc
Result<client::IndexSpec> parse_index(const json::object& object);
Result<client::AlterIndex> parse_index_change(const json::object& object);
Result<client::ReadIndex> parse_read_index(const json::object& object);
Result<client::ModifyRule> parse_modify(const json::value& value);

}  // namespace cellar::cases
