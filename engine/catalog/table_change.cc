#include "engine/catalog/table_change.h"

#include <set>
#include <string_view>

#include "engine/catalog/index_change.h"

namespace cellar::engine {
namespace {

constexpr int64_t kTablestoreWindowUs = 86'400'000'000;

FamilySchema profile_defaults(Profile profile) {
  FamilySchema family;
  if (profile == Profile::bigtable) {
    family.born_dead = BornDead::accept;
    family.from_profile.born_dead = true;
  }
  if (profile == Profile::tablestore) {
    family.rule = RetentionRule::max_versions(1);
    family.window = {kTablestoreWindowUs, kTablestoreWindowUs, WriteWindow::Unit::seconds};
    family.from_profile.window = true;
  }
  return family;
}

// The profiles' window applies only to timestamps that are times, and an expiry family refuses dead
// cells.
void drop_forbidden_defaults(FamilySchema& family) {
  if (family.from_profile.born_dead && family.timestamps == TimestampMeaning::expiry) {
    family.born_dead = BornDead::refuse;
    family.from_profile.born_dead = false;
  }
  if (family.from_profile.window && family.timestamps != TimestampMeaning::time) {
    family.window = {};
    family.from_profile.window = false;
  }
}

}  // namespace

void FamilySpec::apply_to(FamilySchema& family) const {
  if (rule) family.rule = *rule;
  if (timestamps) family.timestamps = *timestamps;
  if (born_dead) {
    family.born_dead = *born_dead;
    family.from_profile.born_dead = false;
  }
  if (window) {
    family.window = *window;
    family.from_profile.window = false;
  }
  if (undo_window_us) family.undo_window_us = *undo_window_us;
  drop_forbidden_defaults(family);
}

FamilySchema FamilySpec::under(Profile profile) const {
  FamilySchema family = profile_defaults(profile);
  family.name = name;
  apply_to(family);
  return family;
}

void OptionsChange::apply_to(TableOptions& options) const {
  if (durability) options.durability = *durability;
  if (compression) options.compression = *compression;
  if (block_bytes) options.block_bytes = *block_bytes;
  if (reclaim_within_us) options.reclaim_within_us = *reclaim_within_us;
  if (dead_slack) options.dead_slack = *dead_slack;
  if (reclaim_share) options.reclaim_share = *reclaim_share;
  if (compaction) options.compaction = *compaction;
  if (bottom_compression) options.bottom_compression = *bottom_compression;
}

Result<void> validate_spec(const FamilySpec& family) {
  FamilySchema probe;  // valid in all parts that the spec does not name
  probe.name = family.name;
  family.apply_to(probe);
  if (!family.rule || !family.timestamps) {
    // Validated together when the other half is known.
    TRY_VOID(validate_rule(probe.rule));
    const bool expiry = probe.timestamps == TimestampMeaning::expiry;
    probe.rule = expiry ? RetentionRule::max_age_us(kMinRuleAgeUs) : RetentionRule{};
  }
  return validate_family(probe);
}

Result<void> validate_change(const TableChange& change) {
  std::set<std::string_view> named;
  std::vector<std::string_view> names;
  for (const auto* list : {&change.add, &change.alter}) {
    for (const FamilySpec& family : *list) names.push_back(family.name);
  }
  names.insert(names.end(), change.drop.begin(), change.drop.end());
  for (const std::string_view name : names) {
    TRY_VOID(validate_family_name(name));
    if (named.insert(name).second) continue;
    return fail(Errc::invalid_argument, "family '{}' is named twice in one change", name);
  }
  for (const auto* list : {&change.add, &change.alter}) {
    for (const FamilySpec& family : *list) TRY_VOID(validate_spec(family));
  }
  TRY_VOID(validate_indexes(change));
  TableOptions options;  // the bounds are independent, so the other options may have their defaults
  change.options.apply_to(options);
  return validate_options(options);
}

namespace {

Result<void> check_family_exists(const TableEntry& table, const std::string& name) {
  if (table.schema.find_family(name) != nullptr) return {};
  return fail(Errc::not_found, "table '{}' has no family '{}'", table.schema.name, name);
}

}  // namespace

Result<void> check_exists(const TableChange& change, const TableMap& tables) {
  const TableEntry* table = tables.find(Bytes(change.name));
  if (table == nullptr) {
    return fail(Errc::not_found, "table '{}' does not exist", escape_bytes(change.name));
  }
  for (const FamilySpec& family : change.alter) TRY_VOID(check_family_exists(*table, family.name));
  for (const std::string& name : change.drop) TRY_VOID(check_family_exists(*table, name));
  for (const FamilySpec& family : change.add) {
    if (table->schema.find_family(family.name) == nullptr) continue;
    return fail(Errc::already_exists, "table '{}' has a family '{}' already", change.name,
                family.name);
  }
  return check_indexes_exist(change, table->schema);
}

}  // namespace cellar::engine
