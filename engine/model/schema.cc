#include "engine/model/schema.h"

#include <algorithm>

#include "engine/model/key.h"
#include "io/base/coding.h"

namespace cellar {
namespace {

constexpr uint8_t kSchemaFormat = 1;

bool is_alphanumeric_or_underscore(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
bool is_name_character(char c) { return is_alphanumeric_or_underscore(c) || c == '-' || c == '.'; }

}  // namespace

Result<void> validate_options(const TableOptions& options) {
  if (options.durability > Durability::memory)
    return fail(Errc::invalid_argument, "durability {} is none of sync, periodic and memory",
                static_cast<int>(options.durability));
  if (options.compression > Compression::lz4)
    return fail(Errc::invalid_argument, "compression {} is none of none and lz4",
                static_cast<int>(options.compression));
  if (options.block_bytes < kMinBlockBytes || options.block_bytes > kMaxBlockBytes)
    return fail(Errc::invalid_argument, "block size {} lies outside {} to {} bytes",
                options.block_bytes, kMinBlockBytes, kMaxBlockBytes);
  return {};
}

const FamilySchema* TableSchema::find_family(Bytes family_name) const {
  const auto it = std::lower_bound(
      families.begin(), families.end(), family_name,
      [](const FamilySchema& family, Bytes wanted) { return Bytes(family.name) < wanted; });
  return it != families.end() && it->name == family_name ? &*it : nullptr;
}

Result<void> validate_table_name(Bytes name) {
  const bool good = !name.empty() && name.size() <= kMaxTableNameBytes &&
                    is_alphanumeric_or_underscore(name.front()) &&
                    std::all_of(name.begin(), name.end(), is_name_character);
  if (good) return {};
  return fail(Errc::invalid_argument,
              "table name '{}' of {} bytes is not of the form [_a-zA-Z0-9][-_.a-zA-Z0-9]{{0,49}}",
              escape_bytes(name), name.size());
}

Result<void> validate_family_name(Bytes name) {
  const bool good = !name.empty() && name.size() <= kMaxFamilyNameBytes &&
                    std::all_of(name.begin(), name.end(), is_name_character);
  if (good) return {};
  return fail(Errc::invalid_argument,
              "family name '{}' of {} bytes is not of the form [-_.a-zA-Z0-9]{{1,64}}",
              escape_bytes(name), name.size());
}

Result<void> validate_schema(const TableSchema& schema) {
  TRY_VOID(validate_table_name(schema.name));
  if (schema.granularity > Granularity::micros)
    return fail(Errc::invalid_argument, "granularity {} is none of millis and micros",
                static_cast<int>(schema.granularity));
  TRY_VOID(validate_options(schema.options));
  if (schema.families.size() > kMaxFamilies)
    return fail(Errc::invalid_argument, "table '{}' has {} families; at most {} are allowed",
                schema.name, schema.families.size(), kMaxFamilies);
  for (size_t i = 0; i < schema.families.size(); ++i) {
    TRY_VOID(validate_family_name(schema.families[i].name));
    if (i == 0 || schema.families[i - 1].name < schema.families[i].name) continue;
    if (schema.families[i - 1].name == schema.families[i].name)
      return fail(Errc::invalid_argument, "family '{}' is named twice", schema.families[i].name);
    return fail(Errc::invalid_argument, "family '{}' is out of order: families are sorted by name",
                schema.families[i].name);
  }
  return {};
}

std::string encode_schema(const TableSchema& schema) {
  std::string out;
  put_u8(out, kSchemaFormat);
  put_u64(out, schema.id.value());
  put_u64(out, schema.version);
  put_bytes(out, schema.name);
  put_u8(out, static_cast<uint8_t>(schema.granularity));
  put_u8(out, static_cast<uint8_t>(schema.options.durability));
  put_u8(out, static_cast<uint8_t>(schema.options.compression));
  put_u32(out, schema.options.block_bytes);
  put_varint(out, schema.families.size());
  for (const FamilySchema& family : schema.families) {
    put_bytes(out, family.name);
    put_u64(out, family.created.value());
  }
  return out;
}

Result<TableSchema> decode_schema(Bytes encoded) {
  Reader in(encoded);
  const uint8_t format = in.u8();
  if (in.ok() && format != kSchemaFormat)
    return fail(Errc::data_loss, "table schema has format {}; this build reads {}", format,
                kSchemaFormat);
  TableSchema schema;
  schema.id = TableId{in.u64()};
  schema.version = in.u64();
  schema.name = in.bytes();
  schema.granularity = static_cast<Granularity>(in.u8());
  schema.options.durability = static_cast<Durability>(in.u8());
  schema.options.compression = static_cast<Compression>(in.u8());
  schema.options.block_bytes = in.u32();
  const uint64_t families = in.varint();
  for (uint64_t i = 0; i < families && in.ok(); ++i) {
    FamilySchema family;
    family.name = in.bytes();
    family.created = CommitStamp{in.u64()};
    if (in.ok()) schema.families.push_back(std::move(family));
  }
  if (!in.ok() || !in.at_end())
    return fail(Errc::data_loss, "table schema of {} bytes is malformed", encoded.size());
  if (auto valid = validate_schema(schema); !valid)
    return fail(Errc::data_loss, "table schema is not valid: {}", valid.error().message);
  return schema;
}

}  // namespace cellar
