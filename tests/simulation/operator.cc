#include "tests/simulation/operator.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tests/simulation/mixed_rules.h"

namespace cellar::simulation {
namespace {

using client::RetentionRule;

template <class T>
const Error* error_of(const Result<T>& answer) {
  return answer ? nullptr : &answer.error();
}

}  // namespace

std::optional<client::RetentionRule> rule_of(FamilyKind kind, int64_t value) {
  if (value == 0) return std::nullopt;
  if (kind == FamilyKind::mixed) return mixed_rule(value);
  return kind == FamilyKind::versions ? RetentionRule::max_versions(value)
                                      : RetentionRule::max_age_us(value);
}

int64_t draw_rule(const FamilyPlan& family, Random& random) {
  constexpr std::array<int64_t, 4> kVersions = {0, 1, 2, 3};
  constexpr std::array<int64_t, 4> kAges = {0, 40'000'000, 90'000'000, 300'000'000};
  if (family.kind == FamilyKind::mixed) {
    return static_cast<int64_t>(random.below(kMixedRules + 1));
  }
  return (family.kind == FamilyKind::versions ? kVersions : kAges).at(random.below(4));
}

Operator::Operator(Stage& stage) : stage_(stage) {
  client::ClientOptions options;
  options.client_id = "operator";
  options.admin_deadline_us = 15'000'000;
  options.keepalive_us = 2'000'000;
  options.connect_timeout_us = 1'000'000;
  options.backoff_max_us = 300'000;
  options.wait_for_connection = true;
  client_ = stage.client(std::move(options), stage.random_of("operator", 0).next());
}

client::FamilySpec Operator::spec_of(const FamilyPlan& family) const {
  client::FamilySpec spec;
  spec.name = family.name;
  spec.rule_given = true;
  spec.rule = rule_of(family.kind, family.rule);
  spec.undo_window_us = family.can_undo ? 86'400'000'000 : 0;
  return spec;
}

Async<void> Operator::create_tables() {
  for (const std::string& table : stage_.history.tables()) {
    Random random = stage_.random_of("create " + table, 0);
    client::TableSpec spec;
    spec.name = table;
    spec.granularity = stage_.plan.granularity;
    for (const FamilyPlan& family : stage_.plan.families) spec.families.push_back(spec_of(family));
    spec.options.block_bytes = random.one_in(2) ? 1024 : 4096;
    spec.options.reclaim_within_us = random.one_in(2) ? 60'000'000 : 3'600'000'000;
    spec.options.dead_slack = random.one_in(2) ? 0 : 0.1;
    spec.options.reclaim_share = 1;
    spec.options.compaction = static_cast<client::Compaction>(random.below(3));
    const auto& rows = stage_.history.rows();
    if (random.one_in(2)) spec.splits = {rows[rows.size() / 2]};
    const auto made = co_await client_->async_create_table(spec, kAwaited);
    if (!made) stage_.complain("no table: " + made.error().to_string());
  }
}

void Operator::note(std::string_view what, const Error* error) {
  ++stage_.answers[fmt::format("{} {}", what, errc_name(error ? error->code : Errc::ok))];
}

void Operator::finish(const std::string& table, RowOp op, const Error* error, Errc code,
                      Refused expected) {
  note(fmt::format("verb {}", static_cast<int>(op.verb)), error);
  if (error == nullptr) {
    stage_.answered(op);
  } else if (error->applied != Applied::not_applied) {
    stage_.unanswered(op);
  } else if (error->code == Errc::not_found || error->code == code) {
    op.refused = error->code == code ? expected : Refused::absent;
    stage_.answered(op);
  } else if (!is_transient(error->code)) {
    stage_.complain(
        fmt::format("{}: an answer that nothing explains: {}", op.text(), error->to_string()));
    return;
  } else {
    return;
  }
  stage_.history.add_to_all(table, op);
}

Async<void> Operator::beat(uint32_t number) {
  Random random = stage_.random_of("operator", number + 1);
  const uint64_t count = random.below(4);
  for (uint64_t i = 0; i < count && !stage_.problem; ++i) {
    co_await sleep_us(stage_.loop.timers(), static_cast<int64_t>(random.below(15'000)));
    co_await change(random);
  }
}

Async<void> Operator::change(Random& random) {
  const Plan& plan = stage_.plan;
  const auto& tables = stage_.history.tables();
  const std::string table = tables[random.below(tables.size())];
  switch (random.below(12)) {
    case 0:
    case 1:
    case 2:
      if (plan.has(Feature::reshapes)) co_return co_await reshape(table, random);
      break;
    case 3:
    case 4:
    case 5:
      if (plan.has(Feature::rules)) co_return co_await change_rule(table, random);
      break;
    case 6:
    case 7:
      if (plan.has(Feature::rules)) co_return co_await undo_rule(table, random);
      break;
    case 8:
      if (plan.has(Feature::drop_tables)) co_return co_await drop_or_restore(table, random);
      break;
    case 9:
      if (plan.has(Feature::drop_families)) co_return co_await change_family(table, random);
      break;
    default:
      if (plan.has(Feature::flushes)) co_return co_await tidy(table, random);
      break;
  }
}

// Changes no row. What it refuses is not checked here.
Async<void> Operator::reshape(std::string table, Random& random) {
  const auto described = co_await client_->async_describe_table(table, kAwaited);
  note("describe", error_of(described));
  if (!described || described->tablets.empty()) co_return;
  const auto& tablets = described->tablets;
  const size_t at = random.below(tablets.size());
  const uint64_t kind = random.below(3);
  if (kind == 0) {
    client::SplitTablet split;
    split.table = table;
    const auto& rows = stage_.history.rows();
    split.row = rows[random.below(rows.size())];
    if (random.one_in(2)) split.row += "x";
    const auto done = co_await client_->async_split_tablet(split, kAwaited);
    note("split", error_of(done));
  } else if (kind == 1 && at + 1 < tablets.size()) {
    const auto done = co_await client_->async_merge_tablets(table, tablets[at].tablet_id,
                                                            tablets[at + 1].tablet_id, kAwaited);
    note("merge", error_of(done));
  } else {
    const auto shard = static_cast<uint32_t>(random.below(3));
    const auto done =
        co_await client_->async_move_tablet(table, tablets[at].tablet_id, shard, kAwaited);
    note("move", error_of(done));
  }
}

Async<void> Operator::change_rule(std::string table, Random& random) {
  const auto& families = stage_.plan.families;
  const FamilyPlan& family = families[random.below(families.size())];
  RowOp op = stage_.begin(Verb::change_rule, "operator");
  op.family = family.name;
  op.rule = draw_rule(family, random);
  client::TableChange change;
  change.name = table;
  client::FamilySpec& spec = change.alter.emplace_back();
  spec.name = family.name;
  spec.rule_given = true;
  spec.rule = rule_of(family.kind, op.rule);
  const auto done = co_await client_->async_alter_table(change, kAwaited);
  finish(table, std::move(op), error_of(done));
}

Async<void> Operator::undo_rule(std::string table, Random& random) {
  RowOp op = stage_.begin(Verb::undo_rule, "operator");
  const auto& families = stage_.plan.families;
  op.family = families[random.below(families.size())].name;
  client::UndoRule undo;
  undo.table = table;
  undo.family = op.family;
  const auto done = co_await client_->async_undo_rule(undo, kAwaited);
  finish(table, std::move(op), error_of(done), Errc::failed_precondition, Refused::no_undo);
}

Async<void> Operator::drop_or_restore(std::string table, Random& random) {
  // Without an undo window of any family a dropped table does not come back.
  const auto& families = stage_.plan.families;
  const bool comes_back = std::any_of(families.begin(), families.end(),
                                      [](const FamilyPlan& one) { return one.can_undo; });
  if (!comes_back) co_return;
  if (random.one_in(2)) {
    RowOp op = stage_.begin(Verb::drop_table, "operator");
    const auto dropped = co_await client_->async_drop_table(table, kAwaited);
    finish(table, std::move(op), error_of(dropped));
    co_await sleep_us(stage_.loop.timers(), static_cast<int64_t>(random.below(10'000)));
  }
  RowOp op = stage_.begin(Verb::restore_table, "operator");
  const auto restored = co_await client_->async_restore_table(table, kAwaited);
  // None is dropped: the name is taken, or there is nothing of that name.
  const Errc there =
      restored || restored.error().code != Errc::not_found ? Errc::already_exists : Errc::not_found;
  finish(table, std::move(op), error_of(restored), there, Refused::table_exists);
}

Async<void> Operator::change_family(std::string table, Random& random) {
  const auto& families = stage_.plan.families;
  const FamilyPlan& family = families[random.below(families.size())];
  const bool add = !random.one_in(3);
  RowOp op = stage_.begin(add ? Verb::add_family : Verb::drop_family, "operator");
  op.family = family.name;
  client::TableChange change;
  change.name = table;
  if (add) change.add.push_back(spec_of(family));
  if (!add) change.drop.push_back(family.name);
  const auto done = co_await client_->async_alter_table(change, kAwaited);
  finish(table, std::move(op), error_of(done), Errc::already_exists, Refused::family_exists);
}

Async<void> Operator::tidy(std::string table, Random& random) {
  if (random.one_in(2)) {
    const auto done = co_await client_->async_flush_table(table, kAwaited);
    note("flush", error_of(done));
  } else {
    const auto done = co_await client_->async_compact_table(table, kAwaited);
    note("compact", error_of(done));
  }
}

}  // namespace cellar::simulation
