// A table's schema as JSON and back, for `ls --json` and export files.
#pragma once

#include <string>
#include <string_view>

#include "io/base/result.h"
#include "net/client/api/admin.h"

namespace cellar::cli {

std::string family_json(const client::FamilySpec& family);  // an object

// `"granularity":"millis",...,"families":[...]`: members of an object. Deterministic.
std::string schema_members(const client::TableDescription& table);

// Converts an object with those members to the arguments of create_table. INVALID_ARGUMENT
// describes the fault.
Result<client::TableSpec> parse_schema(std::string_view json);

}  // namespace cellar::cli
