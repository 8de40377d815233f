// Translates the case format into types of the public client. Every unknown key is an error.
#pragma once

#include <string>
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

Result<client::RetentionRule> parse_rule(const json::value& value);
Result<client::FamilySpec> parse_family(std::string name, const json::value& value);
Result<client::TableSpec> parse_table(const json::object& object);
Result<client::TableChange> parse_change(const json::object& object);
Result<client::Mutation> parse_mutation(Bytes row, const json::value& ops);
Result<client::Filter> parse_filter(const json::value& value);
Result<client::ReadRows> parse_read(const json::object& object);
Result<client::ModifyRule> parse_modify(const json::value& value);

}  // namespace cellar::cases
