#include "engine/catalog/index_change.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "engine/model/fatal_age.h"
#include "io/base/time_text.h"

namespace cellar::engine {
namespace {

IndexSchema index_of(const IndexSpec& spec, Profile profile, uint64_t id) {
  const TighterBase by_profile =
      profile == Profile::tablestore ? TighterBase::refuse : TighterBase::follow;
  IndexSchema index{.id = id,
                    .name = spec.name,
                    .family = spec.family,
                    .qualifier = spec.qualifier,
                    .parts = spec.parts,
                    .type = spec.type.value_or(IndexType::bytes),
                    .match = spec.match,
                    .covered = spec.covered,
                    .max_age_us = spec.max_age_us,
                    .tighter_base = spec.tighter_base.value_or(by_profile)};
  std::sort(index.covered.begin(), index.covered.end());
  return index;
}

// In a table with the families that it names, each without a rule.
Result<void> validate_index_spec(const IndexSpec& spec) {
  const IndexSchema index = index_of(spec, Profile::none, 1);
  std::set<std::string_view> names = {index.family};
  for (const IndexColumn& column : index.covered) names.insert(column.family);
  TableSchema probe;
  for (const std::string_view name : names) probe.families.emplace_back().name = name;
  TRY_VOID(validate_index(index, probe, true));
  if (!spec.type || index.has(IndexPart::value)) return {};
  return fail(Errc::invalid_argument, "index '{}': a type belongs to a value part, and it has none",
              index.name);
}

Result<void> validate_parts(const IndexChange& change) {
  if (change.tighter_base && *change.tighter_base > TighterBase::refuse)
    return fail(Errc::invalid_argument, "index '{}': tighter_base {} is neither follow nor refuse",
                change.name, static_cast<int>(*change.tighter_base));
  if (!change.max_age_us || !*change.max_age_us || **change.max_age_us >= kMinIndexAgeUs) return {};
  return fail(Errc::invalid_argument, "index '{}': its own age of {} is below {}", change.name,
              duration_text(**change.max_age_us), duration_text(kMinIndexAgeUs));
}

IndexSchema* find_index(TableSchema& schema, Bytes name) {
  return const_cast<IndexSchema*>(std::as_const(schema).find_index(name));
}

Result<void> alter_index(const IndexChange& change, TableSchema& schema) {
  IndexSchema* index = find_index(schema, change.name);
  if (index == nullptr)
    return fail(Errc::not_found, "index '{}' goes with its family, which the same change drops",
                change.name);
  if (change.max_age_us) index->max_age_us = *change.max_age_us;
  if (change.tighter_base) index->tighter_base = *change.tighter_base;
  // An own age above that of the rule is left over from an earlier rule: only an index that follows
  // may keep it, and it may not be given again.
  const bool named = change.max_age_us || change.tighter_base == TighterBase::refuse;
  if (!named) return {};
  IndexSchema own = *index;
  own.covered.clear();  // their families may be gone
  return validate_index(own, schema, true);
}

}  // namespace

Result<void> validate_indexes(const TableChange& change) {
  std::set<std::string_view> named;
  std::vector<std::string_view> names(change.drop_indexes.begin(), change.drop_indexes.end());
  for (const IndexSpec& index : change.add_indexes) names.push_back(index.name);
  for (const IndexChange& index : change.alter_indexes) names.push_back(index.name);
  for (const std::string_view name : names) {
    TRY_VOID(validate_index_name(name));
    if (named.insert(name).second) continue;
    return fail(Errc::invalid_argument, "index '{}' is named twice in one change", name);
  }
  for (const IndexSpec& index : change.add_indexes) TRY_VOID(validate_index_spec(index));
  for (const IndexChange& index : change.alter_indexes) TRY_VOID(validate_parts(index));
  return {};
}

Result<void> check_indexes_exist(const TableChange& change, const TableSchema& schema) {
  std::vector<std::string_view> names(change.drop_indexes.begin(), change.drop_indexes.end());
  for (const IndexChange& index : change.alter_indexes) names.push_back(index.name);
  for (const std::string_view name : names) {
    if (schema.find_index(name) != nullptr) continue;
    return fail(Errc::not_found, "table '{}' has no index '{}'", schema.name, name);
  }
  for (const IndexSpec& index : change.add_indexes) {
    if (schema.find_index(index.name) == nullptr) continue;
    return fail(Errc::already_exists, "table '{}' has an index '{}' already", schema.name,
                index.name);
  }
  return {};
}

Result<void> change_indexes(const TableChange& change, TableSchema& schema) {
  std::erase_if(schema.indexes, [&](const IndexSchema& index) {
    const auto& drop = change.drop_indexes;
    return schema.find_family(index.family) == nullptr ||
           std::find(drop.begin(), drop.end(), index.name) != drop.end();
  });
  for (const IndexChange& index : change.alter_indexes) TRY_VOID(alter_index(index, schema));
  for (const IndexSpec& spec : change.add_indexes) {
    IndexSchema index = index_of(spec, schema.profile, schema.next_index);
    TRY_VOID(validate_index(index, schema, true));
    if (schema.indexes.size() == kMaxIndexes)
      return fail(Errc::failed_precondition,
                  "table '{}' has {} indexes, the most there may be: drop one before '{}' is "
                  "created",
                  schema.name, kMaxIndexes, index.name);
    ++schema.next_index;
    const auto place =
        std::find_if(schema.indexes.begin(), schema.indexes.end(),
                     [&](const IndexSchema& other) { return other.name > index.name; });
    schema.indexes.insert(place, std::move(index));
  }
  return {};
}

Result<void> check_families_fit_indexes(const TableSchema& before, const TableSchema& after) {
  for (const IndexSchema& index : after.indexes) {
    const IndexSchema* was = before.find_index(index.name);
    if (was == nullptr || was->id != index.id || !index.max_age_us) continue;
    const FamilySchema& family = *after.find_family(index.family);
    if (family.timestamps == TimestampMeaning::sequence)
      return fail(Errc::failed_precondition,
                  "the timestamps of family '{}' cannot become a sequence: index '{}' has an own "
                  "age of {}; take it away first",
                  family.name, index.name, duration_text(*index.max_age_us));
    if (family.rule == before.find_family(index.family)->rule) continue;
    const std::optional<int64_t> fatal_us = fatal_age_us(family.rule);
    if (index.tighter_base != TighterBase::refuse || !fatal_us || *fatal_us >= *index.max_age_us)
      continue;
    return fail(Errc::failed_precondition,
                "the rule '{}' of family '{}' kills at the age of {}, below the {} of index '{}', "
                "which has tighter_base = refuse: lower its own age first",
                describe_rule(family.rule), family.name, duration_text(*fatal_us),
                duration_text(*index.max_age_us), index.name);
  }
  return {};
}

}  // namespace cellar::engine
