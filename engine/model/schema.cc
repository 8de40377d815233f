#include "engine/model/schema.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "engine/model/key.h"
#include "io/base/coding.h"
#include "io/base/time_text.h"

namespace cellar {
namespace {

// Of a table that has never had an index, and of any other.
constexpr uint8_t kSchemaFormat = 6;
constexpr uint8_t kIndexedSchemaFormat = 7;

// Bits of a family's flags byte.
constexpr uint8_t kHasPast = 1;
constexpr uint8_t kHasFuture = 2;
constexpr uint8_t kWholeSeconds = 4;
constexpr uint8_t kBornDeadOfProfile = 8;
constexpr uint8_t kWindowOfProfile = 16;

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
  if (options.reclaim_within_us < kMinReclaimWithinUs)
    return fail(Errc::invalid_argument, "reclaim_within of {} is below {}",
                duration_text(options.reclaim_within_us), duration_text(kMinReclaimWithinUs));
  // The comparison also rejects NaN.
  if (!(options.dead_slack >= 0 && options.dead_slack <= 1))
    return fail(Errc::invalid_argument, "dead_slack {} lies outside 0 to 1", options.dead_slack);
  if (!(options.reclaim_share > 0 && options.reclaim_share <= 1))
    return fail(Errc::invalid_argument, "reclaim_share {} does not lie above 0 and up to 1",
                options.reclaim_share);
  if (options.compaction > Compaction::time_window)
    return fail(Errc::invalid_argument,
                "compaction {} is none of automatic, tiered and time-window",
                static_cast<int>(options.compaction));
  if (options.bottom_compression > BottomCompression::zstd)
    return fail(Errc::invalid_argument, "bottom compression {} is none of automatic, same and zstd",
                static_cast<int>(options.bottom_compression));
  return {};
}

const FamilySchema* TableSchema::find_family(Bytes family_name) const {
  const auto it = std::lower_bound(
      families.begin(), families.end(), family_name,
      [](const FamilySchema& family, Bytes wanted) { return Bytes(family.name) < wanted; });
  return it != families.end() && it->name == family_name ? &*it : nullptr;
}

FamilySchema* TableSchema::find_family(Bytes family_name) {
  return const_cast<FamilySchema*>(std::as_const(*this).find_family(family_name));
}

const IndexSchema* TableSchema::find_index(Bytes index_name) const {
  const auto it = std::lower_bound(
      indexes.begin(), indexes.end(), index_name,
      [](const IndexSchema& index, Bytes wanted) { return Bytes(index.name) < wanted; });
  return it != indexes.end() && it->name == index_name ? &*it : nullptr;
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

namespace {

Result<void> validate_history(const FamilySchema& family) {
  if (family.history.size() > kMaxPastRules)
    return fail(Errc::invalid_argument, "family '{}' remembers {} rules; at most {} are kept",
                family.name, family.history.size(), kMaxPastRules);
  CommitStamp last;
  for (const PastRule& past : family.history) {
    TRY_VOID(validate_rule(past.rule));
    if (past.until <= last || past.undo_until_us < 0)
      return fail(Errc::invalid_argument, "family '{}': its past rules are out of order",
                  family.name);
    last = past.until;
  }
  return {};
}

}  // namespace

Result<void> validate_family(const FamilySchema& family) {
  TRY_VOID(validate_family_name(family.name));
  if (auto valid = validate_rule(family.rule); !valid)
    return fail(Errc::invalid_argument, "family '{}': {}", family.name, valid.error().message);
  if (family.timestamps > TimestampMeaning::sequence)
    return fail(Errc::invalid_argument,
                "family '{}': timestamps {} is none of time, expiry, sequence", family.name,
                static_cast<int>(family.timestamps));
  if (family.born_dead > BornDead::accept)
    return fail(Errc::invalid_argument, "family '{}': born_dead {} is neither refuse nor accept",
                family.name, static_cast<int>(family.born_dead));
  if (family.window.unit > WriteWindow::Unit::seconds)
    return fail(Errc::invalid_argument, "family '{}': window unit {} is neither exact nor seconds",
                family.name, static_cast<int>(family.window.unit));
  const bool by_age = family.rule.has(RuleNode::Kind::max_age);
  if (family.timestamps == TimestampMeaning::expiry && !by_age)
    return fail(Errc::invalid_argument,
                "family '{}': timestamps = expiry needs a rule with max_age, not '{}'", family.name,
                describe_rule(family.rule));
  if (family.timestamps == TimestampMeaning::sequence && by_age)
    return fail(Errc::invalid_argument,
                "family '{}': timestamps = sequence forbids max_age, which the rule '{}' has",
                family.name, describe_rule(family.rule));
  if (family.timestamps == TimestampMeaning::expiry && family.born_dead == BornDead::accept)
    return fail(Errc::invalid_argument,
                "family '{}': born_dead = accept is not for timestamps = expiry", family.name);
  if (family.timestamps == TimestampMeaning::sequence &&
      (family.window.past_us || family.window.future_us))
    return fail(Errc::invalid_argument,
                "family '{}': timestamps = sequence forbids a write window, which compares with "
                "the clock",
                family.name);
  for (const int64_t us : {family.window.past_us.value_or(0), family.window.future_us.value_or(0),
                           family.undo_window_us}) {
    if (us < 0)
      return fail(Errc::invalid_argument, "family '{}': a duration of {} is negative", family.name,
                  duration_text(us));
  }
  return validate_history(family);
}

namespace {

// As stored: an own age may be above the age at which its family's rule kills, if the rule was
// tightened later; a covered family may have been dropped.
Result<void> validate_indexes(const TableSchema& schema) {
  if (schema.indexes.size() > kMaxIndexes)
    return fail(Errc::invalid_argument, "table '{}' has {} indexes; at most {} are allowed",
                schema.name, schema.indexes.size(), kMaxIndexes);
  if (schema.next_index == 0)
    return fail(Errc::invalid_argument, "table '{}' has 0 for the id of its next index",
                schema.name);
  for (size_t i = 0; i < schema.indexes.size(); ++i) {
    const IndexSchema& index = schema.indexes[i];
    TRY_VOID(validate_index(index, schema, false));
    if (i > 0 && schema.indexes[i - 1].name >= index.name)
      return fail(Errc::invalid_argument,
                  "index '{}' is out of order: indexes are sorted by name, and none is named twice",
                  index.name);
    const auto same_id = [&index](const IndexSchema& other) { return other.id == index.id; };
    if (index.id == 0 || index.id >= schema.next_index ||
        std::count_if(schema.indexes.begin(), schema.indexes.end(), same_id) != 1)
      return fail(Errc::invalid_argument,
                  "index '{}' has id {}; ids are distinct, from 1, and below the next one, {}",
                  index.name, index.id, schema.next_index);
  }
  return {};
}

}  // namespace

Result<void> validate_schema(const TableSchema& schema) {
  TRY_VOID(validate_table_name(schema.name));
  if (schema.granularity > Granularity::micros)
    return fail(Errc::invalid_argument, "granularity {} is none of millis and micros",
                static_cast<int>(schema.granularity));
  if (schema.profile > Profile::tablestore)
    return fail(Errc::invalid_argument, "profile {} is none of none, bigtable and tablestore",
                static_cast<int>(schema.profile));
  TRY_VOID(validate_options(schema.options));
  if (schema.families.size() > kMaxFamilies)
    return fail(Errc::invalid_argument, "table '{}' has {} families; at most {} are allowed",
                schema.name, schema.families.size(), kMaxFamilies);
  for (size_t i = 0; i < schema.families.size(); ++i) {
    TRY_VOID(validate_family(schema.families[i]));
    if (i == 0 || schema.families[i - 1].name < schema.families[i].name) continue;
    if (schema.families[i - 1].name == schema.families[i].name)
      return fail(Errc::invalid_argument, "family '{}' is named twice", schema.families[i].name);
    return fail(Errc::invalid_argument, "family '{}' is out of order: families are sorted by name",
                schema.families[i].name);
  }
  return validate_indexes(schema);
}

namespace {

uint8_t flags_of(const FamilySchema& family) {
  const WriteWindow& window = family.window;
  return static_cast<uint8_t>((window.past_us ? kHasPast : 0) |
                              (window.future_us ? kHasFuture : 0) |
                              (window.unit == WriteWindow::Unit::seconds ? kWholeSeconds : 0) |
                              (family.from_profile.born_dead ? kBornDeadOfProfile : 0) |
                              (family.from_profile.window ? kWindowOfProfile : 0));
}

void put_family(std::string& out, const FamilySchema& family) {
  put_bytes(out, family.name);
  put_u64(out, family.created.value());
  put_rule(out, family.rule);
  put_u8(out, static_cast<uint8_t>(family.timestamps));
  put_u8(out, static_cast<uint8_t>(family.born_dead));
  put_u8(out, flags_of(family));
  const WriteWindow& window = family.window;
  if (window.past_us) put_varint(out, static_cast<uint64_t>(*window.past_us));
  if (window.future_us) put_varint(out, static_cast<uint64_t>(*window.future_us));
  put_varint(out, static_cast<uint64_t>(family.undo_window_us));
  put_varint(out, family.history.size());
  for (const PastRule& past : family.history) {
    put_rule(out, past.rule);
    put_u64(out, past.until.value());
    put_varint(out, static_cast<uint64_t>(past.undo_until_us));
  }
}

void read_window(Reader& in, FamilySchema& family) {
  const uint8_t flags = in.u8();
  if ((flags & kHasPast) != 0) family.window.past_us = static_cast<int64_t>(in.varint());
  if ((flags & kHasFuture) != 0) family.window.future_us = static_cast<int64_t>(in.varint());
  if ((flags & kWholeSeconds) != 0) family.window.unit = WriteWindow::Unit::seconds;
  family.from_profile.born_dead = (flags & kBornDeadOfProfile) != 0;
  family.from_profile.window = (flags & kWindowOfProfile) != 0;
}

FamilySchema read_family(Reader& in) {
  FamilySchema family;
  family.name = in.bytes();
  family.created = CommitStamp{in.u64()};
  family.rule = read_rule(in);
  family.timestamps = static_cast<TimestampMeaning>(in.u8());
  family.born_dead = static_cast<BornDead>(in.u8());
  read_window(in, family);
  family.undo_window_us = static_cast<int64_t>(in.varint());
  const uint64_t past_rules = in.varint();
  for (uint64_t i = 0; i < past_rules && in.ok(); ++i) {
    PastRule past;
    past.rule = read_rule(in);
    past.until = CommitStamp{in.u64()};
    past.undo_until_us = static_cast<int64_t>(in.varint());
    if (in.ok()) family.history.push_back(std::move(past));
  }
  return family;
}

}  // namespace

std::string encode_schema(const TableSchema& schema) {
  const bool indexed = schema.next_index != 1 || !schema.indexes.empty();
  std::string out;
  put_u8(out, indexed ? kIndexedSchemaFormat : kSchemaFormat);
  put_u64(out, schema.id.value());
  put_u64(out, schema.version);
  put_bytes(out, schema.name);
  put_u8(out, static_cast<uint8_t>(schema.granularity));
  put_u8(out, static_cast<uint8_t>(schema.options.durability));
  put_u8(out, static_cast<uint8_t>(schema.options.compression));
  put_u32(out, schema.options.block_bytes);
  put_u8(out, static_cast<uint8_t>(schema.profile));
  put_varint(out, static_cast<uint64_t>(schema.options.reclaim_within_us));
  put_u64(out, std::bit_cast<uint64_t>(schema.options.dead_slack));
  put_u64(out, std::bit_cast<uint64_t>(schema.options.reclaim_share));
  put_u8(out, static_cast<uint8_t>(schema.options.compaction));
  put_u8(out, static_cast<uint8_t>(schema.options.bottom_compression));
  put_varint(out, schema.families.size());
  for (const FamilySchema& family : schema.families) put_family(out, family);
  if (!indexed) return out;
  put_varint(out, schema.next_index);
  put_varint(out, schema.indexes.size());
  for (const IndexSchema& index : schema.indexes) put_index(out, index);
  return out;
}

namespace {

void read_indexes(Reader& in, TableSchema& schema) {
  schema.next_index = in.varint();
  const uint64_t indexes = in.varint();
  for (uint64_t i = 0; i < indexes && in.ok(); ++i) {
    IndexSchema index = read_index(in);
    if (in.ok()) schema.indexes.push_back(std::move(index));
  }
}

}  // namespace

Result<TableSchema> decode_schema(Bytes encoded) {
  Reader in(encoded);
  const uint8_t format = in.u8();
  if (in.ok() && format != kSchemaFormat && format != kIndexedSchemaFormat)
    return fail(Errc::failed_precondition,
                "table schema has format {}; this program reads formats {} and {} only", format,
                kSchemaFormat, kIndexedSchemaFormat);
  TableSchema schema;
  schema.id = TableId{in.u64()};
  schema.version = in.u64();
  schema.name = in.bytes();
  schema.granularity = static_cast<Granularity>(in.u8());
  schema.options.durability = static_cast<Durability>(in.u8());
  schema.options.compression = static_cast<Compression>(in.u8());
  schema.options.block_bytes = in.u32();
  schema.profile = static_cast<Profile>(in.u8());
  schema.options.reclaim_within_us = static_cast<int64_t>(in.varint());
  schema.options.dead_slack = std::bit_cast<double>(in.u64());
  schema.options.reclaim_share = std::bit_cast<double>(in.u64());
  schema.options.compaction = static_cast<Compaction>(in.u8());
  schema.options.bottom_compression = static_cast<BottomCompression>(in.u8());
  const uint64_t families = in.varint();
  for (uint64_t i = 0; i < families && in.ok(); ++i) {
    FamilySchema family = read_family(in);
    if (in.ok()) schema.families.push_back(std::move(family));
  }
  if (format == kIndexedSchemaFormat) read_indexes(in, schema);
  if (!in.ok() || !in.at_end())
    return fail(Errc::data_loss, "table schema of {} bytes is malformed", encoded.size());
  if (auto valid = validate_schema(schema); !valid)
    return fail(Errc::data_loss, "table schema is not valid: {}", valid.error().message);
  return schema;
}

}  // namespace cellar
