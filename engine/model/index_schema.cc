#include "engine/model/index_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/model/fatal_age.h"
#include "engine/model/key.h"
#include "engine/model/schema.h"
#include "io/base/time_text.h"

namespace cellar {
namespace {

// Bits of an index's flags byte.
constexpr uint8_t kHasQualifier = 1;
constexpr uint8_t kHasMaxAge = 2;

bool is_index_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

std::string parts_text(const std::vector<IndexPart>& parts) {
  static constexpr std::string_view kNames[] = {"", "value", "time", "qualifier"};
  std::string text;
  for (const IndexPart part : parts) {
    if (!text.empty()) text += ", ";
    const auto i = static_cast<size_t>(part);
    text += i != 0 && i < std::size(kNames) ? std::string(kNames[i]) : fmt::format("part {}", i);
  }
  return text.empty() ? "none" : text;
}

std::string column_text(Bytes family, Bytes qualifier) {
  return fmt::format("{}:{}", escape_bytes(family), escape_bytes(qualifier));
}

Result<void> validate_parts(const IndexSchema& index) {
  using enum IndexPart;
  using Parts = std::vector<IndexPart>;
  const Parts& parts = index.parts;
  const bool good = parts == Parts{time} ||
                    (index.qualifier ? parts == Parts{value} || parts == Parts{value, time}
                                     : parts == Parts{qualifier, time});
  if (!good)
    return fail(Errc::invalid_argument,
                "index '{}': the key parts of an index on a {} are {}, not: {}", index.name,
                index.qualifier ? "column" : "family",
                index.qualifier ? "value; value, time; or time" : "time; or qualifier, time",
                parts_text(parts));
  if (index.type > IndexType::int64)
    return fail(Errc::invalid_argument, "index '{}': type {} is neither bytes nor int64",
                index.name, static_cast<int>(index.type));
  if (index.type != IndexType::bytes && !index.has(value))
    return fail(Errc::invalid_argument,
                "index '{}': a type belongs to a value part, and its parts are: {}", index.name,
                parts_text(parts));
  if (index.match > IndexMatch::any)
    return fail(Errc::invalid_argument, "index '{}': match {} is neither newest nor any",
                index.name, static_cast<int>(index.match));
  if (index.tighter_base > TighterBase::refuse)
    return fail(Errc::invalid_argument, "index '{}': tighter_base {} is neither follow nor refuse",
                index.name, static_cast<int>(index.tighter_base));
  return {};
}

Result<void> validate_qualifier(const IndexSchema& index, Bytes family, Bytes qualifier) {
  if (qualifier.size() <= kMaxQualifierBytes) return {};
  return fail(Errc::invalid_argument,
              "index '{}': the qualifier of column '{}' has {} bytes; at most {} are allowed",
              index.name, column_text(family, qualifier), qualifier.size(), kMaxQualifierBytes);
}

Result<void> validate_columns(const IndexSchema& index) {
  if (index.qualifier) TRY_VOID(validate_qualifier(index, index.family, *index.qualifier));
  if (index.covered.size() > kMaxCoveredColumns)
    return fail(Errc::invalid_argument, "index '{}' covers {} columns; at most {} are allowed",
                index.name, index.covered.size(), kMaxCoveredColumns);
  for (size_t i = 0; i < index.covered.size(); ++i) {
    const IndexColumn& column = index.covered[i];
    TRY_VOID(validate_qualifier(index, column.family, column.qualifier));
    const std::string text = column_text(column.family, column.qualifier);
    if (index.qualifier && column == IndexColumn{index.family, *index.qualifier})
      return fail(Errc::invalid_argument, "index '{}' covers '{}', its own column", index.name,
                  text);
    if (i == 0 || index.covered[i - 1] < column) continue;
    if (index.covered[i - 1] == column)
      return fail(Errc::invalid_argument, "index '{}' covers '{}' twice", index.name, text);
    return fail(Errc::invalid_argument,
                "index '{}': covered column '{}' is out of order: they are sorted", index.name,
                text);
  }
  return {};
}

Result<void> validate_age(const IndexSchema& index, const FamilySchema& family, bool creates) {
  if (!index.max_age_us) return {};
  if (*index.max_age_us < kMinIndexAgeUs)
    return fail(Errc::invalid_argument, "index '{}': its own age of {} is below {}", index.name,
                duration_text(*index.max_age_us), duration_text(kMinIndexAgeUs));
  if (family.timestamps == TimestampMeaning::sequence)
    return fail(Errc::invalid_argument,
                "index '{}': timestamps = sequence of family '{}' forbids an own age, here {}",
                index.name, family.name, duration_text(*index.max_age_us));
  const std::optional<int64_t> fatal_us = fatal_age_us(family.rule);
  if (!creates || !fatal_us || *index.max_age_us <= *fatal_us) return {};
  return fail(Errc::invalid_argument,
              "index '{}': its own age of {} is above {}, the age at which the rule '{}' of family "
              "'{}' kills",
              index.name, duration_text(*index.max_age_us), duration_text(*fatal_us),
              describe_rule(family.rule), family.name);
}

}  // namespace

bool IndexSchema::has(IndexPart part) const {
  return std::find(parts.begin(), parts.end(), part) != parts.end();
}

Result<void> validate_index_name(Bytes name) {
  const bool good = !name.empty() && name.size() <= kMaxIndexNameBytes &&
                    std::all_of(name.begin(), name.end(), is_index_name_character);
  if (good) return {};
  return fail(Errc::invalid_argument,
              "index name '{}' of {} bytes is not of the form [-_.a-zA-Z0-9]{{1,64}}",
              escape_bytes(name), name.size());
}

Result<void> validate_index(const IndexSchema& index, const TableSchema& table, bool creates) {
  TRY_VOID(validate_index_name(index.name));
  TRY_VOID(validate_parts(index));
  TRY_VOID(validate_columns(index));
  const FamilySchema* family = table.find_family(index.family);
  if (family == nullptr)
    return fail(Errc::not_found, "index '{}': table '{}' has no family '{}'", index.name,
                table.name, escape_bytes(index.family));
  for (const IndexColumn& column : index.covered) {
    if (!creates || table.find_family(column.family) != nullptr) continue;
    return fail(Errc::not_found, "index '{}' covers '{}', but table '{}' has no family '{}'",
                index.name, column_text(column.family, column.qualifier), table.name,
                escape_bytes(column.family));
  }
  return validate_age(index, *family, creates);
}

void put_index(std::string& out, const IndexSchema& index) {
  put_varint(out, index.id);
  put_bytes(out, index.name);
  put_bytes(out, index.family);
  put_u8(out, static_cast<uint8_t>((index.qualifier ? kHasQualifier : 0) |
                                   (index.max_age_us ? kHasMaxAge : 0)));
  if (index.qualifier) put_bytes(out, *index.qualifier);
  put_varint(out, index.parts.size());
  for (const IndexPart part : index.parts) put_u8(out, static_cast<uint8_t>(part));
  put_u8(out, static_cast<uint8_t>(index.type));
  put_u8(out, static_cast<uint8_t>(index.match));
  put_varint(out, index.covered.size());
  for (const IndexColumn& column : index.covered) {
    put_bytes(out, column.family);
    put_bytes(out, column.qualifier);
  }
  if (index.max_age_us) put_varint(out, static_cast<uint64_t>(*index.max_age_us));
  put_u8(out, static_cast<uint8_t>(index.tighter_base));
}

IndexSchema read_index(Reader& in) {
  IndexSchema index;
  index.id = in.varint();
  index.name = in.bytes();
  index.family = in.bytes();
  const uint8_t flags = in.u8();
  if ((flags & kHasQualifier) != 0) index.qualifier = std::string(in.bytes());
  for (uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    index.parts.push_back(static_cast<IndexPart>(in.u8()));
  }
  index.type = static_cast<IndexType>(in.u8());
  index.match = static_cast<IndexMatch>(in.u8());
  for (uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    IndexColumn& column = index.covered.emplace_back();
    column.family = in.bytes();
    column.qualifier = in.bytes();
  }
  if ((flags & kHasMaxAge) != 0) index.max_age_us = static_cast<int64_t>(in.varint());
  index.tighter_base = static_cast<TighterBase>(in.u8());
  return index;
}

}  // namespace cellar
