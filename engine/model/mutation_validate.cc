#include <cstddef>

#include "engine/model/mutation.h"
#include "io/base/time_text.h"

namespace cellar {
namespace {

// Names one operation in an error, such as "operation 3: ".
std::string place(const RowMutation& mutation, size_t index) {
  return mutation.mutations.size() == 1 ? std::string() : fmt::format("operation {}: ", index);
}

Result<void> check_aligned(const std::string& where, const char* what, int64_t value_us,
                           Granularity granularity) {
  if (value_us < 0)
    return fail(Errc::invalid_argument, "{}{} {} is negative", where, what, value_us);
  if (value_us % granule_us(granularity) != 0)
    return fail(Errc::invalid_argument,
                "{}{} {} is not a multiple of {}, the granularity of the table", where, what,
                value_us, duration_text(granule_us(granularity)));
  return {};
}

Result<void> check_server_stamp(const RowMutation& mutation, size_t index,
                                const TableSchema& schema) {
  const FamilySchema* family = schema.find_family(mutation.mutations[index].family);
  if (family == nullptr || family->timestamps == TimestampMeaning::time) return {};
  return fail(Errc::invalid_argument,
              "{}a cell of family '{}' needs a timestamp: the family's timestamps mean {}",
              place(mutation, index), family->name,
              family->timestamps == TimestampMeaning::expiry ? "expiry" : "sequence");
}

Result<void> check_set(const RowMutation& mutation, size_t index, const TableSchema& schema,
                       const MutationLimits& limits) {
  const Mutation& op = mutation.mutations[index];
  if (op.value.size() > limits.cell_bytes)
    return fail(Errc::invalid_argument, "{}value of {} bytes is over the limit of {} bytes",
                place(mutation, index), op.value.size(), limits.cell_bytes);
  if (op.ttl_us != kNoTtl && op.ttl_us < 0)
    return fail(Errc::invalid_argument, "{}ttl {} is negative", place(mutation, index), op.ttl_us);
  if (op.expire_at_us < 0)
    return fail(Errc::invalid_argument, "{}expire_at {} is negative", place(mutation, index),
                op.expire_at_us);
  if (op.timestamp_us == kServerStamped) return check_server_stamp(mutation, index, schema);
  if (op.timestamp_us >= 0 && op.timestamp_us % granule_us(schema.granularity) == 0) return {};
  return check_aligned(place(mutation, index), "timestamp", op.timestamp_us, schema.granularity);
}

Result<void> check_delete_range(const RowMutation& mutation, size_t index,
                                const TableSchema& schema) {
  const Mutation& op = mutation.mutations[index];
  const std::string where = place(mutation, index);
  TRY_VOID(check_aligned(where, "start of the delete range", op.start_us, schema.granularity));
  if (op.end_us == kMaxTimestampUs) return {};
  TRY_VOID(check_aligned(where, "end of the delete range", op.end_us, schema.granularity));
  if (op.start_us >= op.end_us)
    return fail(Errc::invalid_argument, "{}delete range [{}, {}) is empty", where, op.start_us,
                op.end_us);
  return {};
}

Result<void> check_form(const RowMutation& mutation, size_t index, const TableSchema& schema,
                        const MutationLimits& limits) {
  const Mutation& op = mutation.mutations[index];
  if (op.qualifier.size() > kMaxQualifierBytes)
    return fail(Errc::invalid_argument, "{}qualifier of {} bytes is over the limit of {} bytes",
                place(mutation, index), op.qualifier.size(), kMaxQualifierBytes);
  switch (op.kind) {
    case Mutation::Kind::set_cell:
      return check_set(mutation, index, schema, limits);
    case Mutation::Kind::delete_from_column:
      return check_delete_range(mutation, index, schema);
    case Mutation::Kind::delete_from_family:
    case Mutation::Kind::delete_from_row:
      return {};
  }
  return fail(Errc::invalid_argument, "{}kind {} is no known operation", place(mutation, index),
              static_cast<int>(op.kind));
}

Result<void> check_existence(const RowMutation& mutation, const TableSchema& schema) {
  const FamilySchema* last = nullptr;  // most mutations use one family
  for (size_t i = 0; i < mutation.mutations.size(); ++i) {
    const Mutation& op = mutation.mutations[i];
    if (op.kind == Mutation::Kind::delete_from_row) continue;
    if (last != nullptr && last->name == op.family) continue;
    last = schema.find_family(op.family);
    if (last == nullptr)
      return fail(Errc::not_found, "{}family '{}' does not exist in table '{}'", place(mutation, i),
                  escape_bytes(op.family), schema.name);
  }
  return {};
}

}  // namespace

Result<void> validate_mutation(const RowMutation& mutation, const TableSchema& schema,
                               const MutationLimits& limits) {
  if (mutation.row.empty()) return fail(Errc::invalid_argument, "the row key is empty");
  if (mutation.row.size() > kMaxRowKeyBytes)
    return fail(Errc::invalid_argument, "row key of {} bytes is over the limit of {} bytes",
                mutation.row.size(), kMaxRowKeyBytes);
  if (mutation.mutations.empty())
    return fail(Errc::invalid_argument, "no operations for row '{}'", escape_bytes(mutation.row));
  if (mutation.mutations.size() > kMaxMutationsPerRow)
    return fail(Errc::invalid_argument, "{} operations for row '{}' are over the limit of {}",
                mutation.mutations.size(), escape_bytes(mutation.row), kMaxMutationsPerRow);

  size_t bytes = mutation.row.size();
  for (size_t i = 0; i < mutation.mutations.size(); ++i) {
    TRY_VOID(check_form(mutation, i, schema, limits));
    const Mutation& op = mutation.mutations[i];
    bytes += op.family.size() + op.qualifier.size() + op.value.size();
    if (bytes > limits.row_bytes)
      return fail(Errc::invalid_argument,
                  "{}the mutation of row '{}' grows over the limit of {} bytes", place(mutation, i),
                  escape_bytes(mutation.row), limits.row_bytes);
  }
  return check_existence(mutation, schema);
}

}  // namespace cellar
