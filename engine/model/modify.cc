#include "engine/model/modify.h"

namespace cellar {
namespace {

Result<void> check_form(const ModifyRule& rule, size_t index, const TableSchema& schema,
                        const MutationLimits& limits) {
  if (rule.kind != ModifyRule::Kind::append && rule.kind != ModifyRule::Kind::increment)
    return fail(Errc::invalid_argument, "rule {}: kind {} is no known operation", index,
                static_cast<int>(rule.kind));
  if (rule.qualifier.size() > kMaxQualifierBytes)
    return fail(Errc::invalid_argument, "rule {}: qualifier of {} bytes is over the limit of {}",
                index, rule.qualifier.size(), kMaxQualifierBytes);
  if (rule.value.size() > limits.cell_bytes)
    return fail(Errc::invalid_argument, "rule {}: value of {} bytes is over the limit of {} bytes",
                index, rule.value.size(), limits.cell_bytes);
  const FamilySchema* family = schema.find_family(rule.family);
  if (family == nullptr || family->timestamps == TimestampMeaning::time) return {};
  return fail(Errc::invalid_argument,
              "rule {}: family '{}' takes no cell that the server stamps: its timestamps mean {}",
              index, family->name,
              family->timestamps == TimestampMeaning::expiry ? "expiry" : "sequence");
}

Result<void> validate_list(Bytes row, std::span<const Mutation> list, const TableSchema& schema,
                           const MutationLimits& limits) {
  if (list.empty()) return {};
  return validate_mutation({row, list}, schema, limits);
}

}  // namespace

Result<void> validate_check(Bytes row, std::span<const Mutation> then_mutations,
                            std::span<const Mutation> else_mutations, const TableSchema& schema,
                            const MutationLimits& limits) {
  TRY_VOID(validate_row_key(row));
  if (then_mutations.empty() && else_mutations.empty())
    return fail(Errc::invalid_argument, "both lists of operations for row '{}' are empty",
                escape_bytes(row));
  auto then_valid = validate_list(row, then_mutations, schema, limits);
  if (!then_valid && then_valid.error().code == Errc::invalid_argument) return then_valid;
  auto else_valid = validate_list(row, else_mutations, schema, limits);
  if (!else_valid && else_valid.error().code == Errc::invalid_argument) return else_valid;
  return then_valid ? else_valid : then_valid;
}

Result<void> validate_row_key(Bytes row) {
  if (row.empty()) return fail(Errc::invalid_argument, "the row key is empty");
  if (row.size() > kMaxRowKeyBytes)
    return fail(Errc::invalid_argument, "row key of {} bytes is over the limit of {} bytes",
                row.size(), kMaxRowKeyBytes);
  return {};
}

Result<void> validate_modify(Bytes row, std::span<const ModifyRule> rules,
                             const TableSchema& schema, const MutationLimits& limits) {
  TRY_VOID(validate_row_key(row));
  if (rules.empty()) return fail(Errc::invalid_argument, "there are no rules");
  if (rules.size() > kMaxMutationsPerRow)
    return fail(Errc::invalid_argument, "{} rules are over the limit of {}", rules.size(),
                kMaxMutationsPerRow);
  for (size_t i = 0; i < rules.size(); ++i) TRY_VOID(check_form(rules[i], i, schema, limits));
  for (size_t i = 0; i < rules.size(); ++i) {
    if (schema.find_family(rules[i].family) != nullptr) continue;
    return fail(Errc::not_found, "rule {}: family '{}' does not exist in table '{}'", i,
                escape_bytes(rules[i].family), schema.name);
  }
  return {};
}

}  // namespace cellar
