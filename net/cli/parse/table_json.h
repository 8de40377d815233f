// A table's schema as JSON and back: `ls --json` prints it, an export file carries it.
#pragma once

#include <string>
#include <string_view>

#include "io/base/result.h"
#include "net/client/api/admin.h"

namespace cellar::cli {

std::string family_json(const client::FamilySpec& family);  // an object

// `"granularity":"millis",...,"families":[...]`: members of an object. Deterministic.
std::string schema_members(const client::TableDescription& table);

// What create_table needs to make such a table, from an object with those members.
// INVALID_ARGUMENT says what is wrong.
Result<client::TableSpec> parse_schema(std::string_view json);

}  // namespace cellar::cli
