#include "engine/retention/guards.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "io/base/check.h"
#include "io/base/time_text.h"

namespace cellar::engine {
namespace {

constexpr int64_t kSecondUs = 1'000'000;

// A cell and the bounds that it is checked against.
struct Judged {
  const RowMutation& mutation;
  size_t index;
  const FamilySchema& family;
  int64_t now_us;

  const Mutation& op() const { return mutation.mutations[index]; }
  std::string where() const {
    return mutation.mutations.size() == 1 ? std::string() : fmt::format("operation {}: ", index);
  }
};

// Formats a timestamp of the family for an error; a sequence number is not shown as a time.
std::string told(const Judged& cell, int64_t timestamp_us) {
  return cell.family.timestamps == TimestampMeaning::sequence ? std::to_string(timestamp_us)
                                                              : told_time(timestamp_us);
}

// Returns a value with the sign of `timestamp - bound` in the window's unit.
bool is_before(int64_t timestamp_us, int64_t bound_us, WriteWindow::Unit unit) {
  if (unit == WriteWindow::Unit::exact) return timestamp_us < bound_us;
  const auto seconds = [](int64_t us) { return us / kSecondUs - (us % kSecondUs < 0 ? 1 : 0); };
  return seconds(timestamp_us) < seconds(bound_us);
}

std::string_view unit_name(WriteWindow::Unit unit) {
  return unit == WriteWindow::Unit::seconds ? ", in whole seconds" : "";
}

// Both now and ages are not negative, so that differences do not overflow; where a sum would, there
// is no bound.
Result<void> check_window(const Judged& cell, std::optional<int64_t> fatal_age) {
  const WriteWindow& window = cell.family.window;
  const int64_t v = cell.op().timestamp_us;
  if (window.past_us) {
    int64_t reach = *window.past_us;
    if (fatal_age) reach = std::min(reach, *fatal_age);
    if (is_before(v, cell.now_us - reach, window.unit))
      return fail(Errc::out_of_range,
                  "{}timestamp {} lies before the write window of family '{}', which begins at {}, "
                  "{} before the clock, {}{}",
                  cell.where(), told(cell, v), cell.family.name, told_time(cell.now_us - reach),
                  duration_text(reach), told_time(cell.now_us), unit_name(window.unit));
  }
  if (!window.future_us || *window.future_us > INT64_MAX - cell.now_us) return {};
  const int64_t end = cell.now_us + *window.future_us;
  if (is_before(v, end, window.unit)) return {};
  return fail(
      Errc::out_of_range,
      "{}timestamp {} lies behind the write window of family '{}', which ends before {}, {} after "
      "the clock, {}{}",
      cell.where(), told(cell, v), cell.family.name, told_time(end),
      duration_text(*window.future_us), told_time(cell.now_us), unit_name(window.unit));
}

Result<void> check_alive(const Judged& cell, std::optional<int64_t> fatal_age) {
  const Mutation& op = cell.op();
  if (cell.family.born_dead == BornDead::accept) return {};
  if (op.expire_at_us != kNoExpiry) {
    if (cell.now_us <= op.expire_at_us) return {};
    return fail(Errc::out_of_range,
                "{}the cell at timestamp {} in family '{}' would be born dead: its expiry {} lies "
                "before the clock, {}",
                cell.where(), told(cell, op.timestamp_us), cell.family.name,
                told_time(op.expire_at_us), told_time(cell.now_us));
  }
  if (!fatal_age || cell.now_us - op.timestamp_us <= *fatal_age) return {};
  return fail(
      Errc::out_of_range,
      "{}the cell at timestamp {} in family '{}' would be born dead under the rule '{}': the "
      "clock is {}",
      cell.where(), told(cell, op.timestamp_us), cell.family.name, describe_rule(cell.family.rule),
      told_time(cell.now_us));
}

}  // namespace

WriteGuards::WriteGuards(const TableSchema& schema) {
  families_.reserve(schema.families.size());
  for (const FamilySchema& family : schema.families) {
    Family& added = families_.emplace_back();
    added.schema = &family;
    added.fatal_age_us = cellar::fatal_age_us(family.rule);
    const bool windowed = family.window.past_us || family.window.future_us;
    added.open = !windowed && (!added.fatal_age_us || family.born_dead == BornDead::accept);
  }
}

const WriteGuards::Family* WriteGuards::find(Bytes name) const {
  const auto it = std::lower_bound(
      families_.begin(), families_.end(), name,
      [](const Family& family, Bytes wanted) { return Bytes(family.schema->name) < wanted; });
  CHECK(it != families_.end() && it->schema->name == name, "family '{}' was not validated",
        escape_bytes(name));
  return &*it;
}

Result<void> WriteGuards::check(const RowMutation& mutation, int64_t now_us) const {
  const Family* family = nullptr;  // most mutations have one family
  for (size_t i = 0; i < mutation.mutations.size(); ++i) {
    const Mutation& op = mutation.mutations[i];
    if (op.kind != Mutation::Kind::set_cell) continue;
    if (family == nullptr || family->schema->name != op.family) family = find(op.family);
    const bool lives_by_itself = op.expire_at_us != kNoExpiry || op.ttl_us != kNoTtl;
    if (family->open && !lives_by_itself) continue;
    const Judged cell{mutation, i, *family->schema, now_us};
    // The rule's age does not apply to a cell with its own expiry or time to live.
    const std::optional<int64_t> age = lives_by_itself ? std::nullopt : family->fatal_age_us;
    if (op.timestamp_us != kServerStamped) TRY_VOID(check_window(cell, age));
    if (op.timestamp_us != kServerStamped || op.expire_at_us != kNoExpiry)
      TRY_VOID(check_alive(cell, age));
  }
  return {};
}

}  // namespace cellar::engine
