// Plays a history on a node (tests/support/test_node.h).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "engine/filter/compiled_filter.h"
#include "engine/shard/shard_engine.h"
#include "tests/engine/retention/explained.h"
#include "tests/engine/retention/history.h"
#include "tests/engine/retention/judged_time.h"
#include "tests/support/filter_model.h"
#include "tests/support/retention_model.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

TestNodeOptions options_of(uint64_t seed, bool clocks) {
  Random random(seed);
  TestNodeOptions options;
  options.seed = seed;
  options.shards = 1 + static_cast<uint32_t>(random.below(2));
  options.start_wall_us = kHistoryStartUs;
  const int64_t margins[] = {0, 0, 5000, 300'000'000};
  options.engine.removal_margin_us = margins[random.below(4)];
  // 2 KiB: a few writes fill it, so that tablets flush and compact without a request.
  const size_t memtables[] = {2u << 10, 64u << 10, 1u << 20};
  options.engine.memtable_bytes = memtables[random.below(3)];
  options.engine.table_bytes = random.one_in(2) ? 1u << 20 : 1500;
  // A quarter of it belongs to the caches; the smallest does not hold a single block.
  if (random.one_in(3)) options.engine.memory_bytes = 2u << 20;
  // Tables with an index in parts of one block, of a few, or none.
  const size_t parts[] = {1, 400, 0};
  const size_t part_bytes = parts[random.below(3)];
  if (part_bytes != 0) {
    options.engine.index_parts = engine::IndexParts::always;
    options.engine.index_part_bytes = part_bytes;
  }
  if (!clocks) return options;
  // Trusted time differs from the wall clock: it stands where no anchor permits more, and each
  // shard has its own.
  options.shards = 2 + static_cast<uint32_t>(random.below(2));
  const int64_t permits_us[] = {20'000, 200'000, 2'000'000, 10'000'000};
  options.engine.clock_permit_us = permits_us[random.below(4)];
  if (!random.one_in(4)) options.engine.clock_renew_us = options.engine.clock_permit_us * 2 / 5;
  return options;
}

TableOptions table_options(uint64_t seed) {
  Random random(seed + 1);
  TableOptions options;
  options.block_bytes = random.one_in(2) ? kMinBlockBytes : 4096;
  options.compression = random.one_in(2) ? Compression::none : Compression::lz4;
  options.reclaim_within_us = random.one_in(2) ? kMinReclaimWithinUs : 3'600'000'000;
  options.dead_slack = random.one_in(2) ? 0 : 0.1;
  options.reclaim_share = random.one_in(2) ? 1 : 0.25;
  options.compaction = static_cast<Compaction>(random.below(3));
  return options;
}

// Flushes so small that few runs are allowed, and so many that they are merged by time windows.
bool flushes_often(uint64_t seed) {
  return table_options(seed).compaction == Compaction::time_window &&
         options_of(seed, false).engine.memtable_bytes == 1u << 20;
}

// The rows in reverse order, the cells of a row in order.
std::vector<OwnedCell> backwards(const std::vector<OwnedCell>& cells) {
  std::vector<OwnedCell> out;
  for (size_t end = cells.size(); end > 0;) {
    size_t begin = end;
    while (begin > 0 && cells[begin - 1].row == cells[end - 1].row) --begin;
    out.insert(out.end(), cells.begin() + static_cast<ptrdiff_t>(begin),
               cells.begin() + static_cast<ptrdiff_t>(end));
    end = begin;
  }
  return out;
}

class Player {
 public:
  Player(const History& history, uint64_t options_seed)
      : history_(history),
        flushes_often_(flushes_often(options_seed)),
        node_(options_of(options_seed, history.clocks)),
        model_(history.granularity),
        time_(node_, kHistoryStartUs) {
    engine::TableSpec spec;
    spec.name = "t";
    spec.granularity = history.granularity;
    spec.options = table_options(options_seed);
    if (options_seed % 3 != 0) spec.splits = {"b"};
    for (const FamilySchema& family : history.families) {
      engine::FamilySpec& made = spec.families.emplace_back();
      made.name = family.name;
      made.rule = family.rule;
      made.timestamps = family.timestamps;
      made.born_dead = family.born_dead;
      made.window = family.window;
      made.undo_window_us = family.undo_window_us;
      model_.create_family(family.name, family.rule, family.undo_window_us);
      model_.guard_family(family.name, family.timestamps, family.born_dead, family.window);
    }
    expect(node_.create_table(std::move(spec)), "create");
  }

  const Played& played() const { return played_; }

  std::optional<std::string> run() {
    for (size_t i = 0; i < history_.steps.size() && !problem_; ++i) {
      step(history_.steps[i]);
      if (!problem_) problem_ = time_.problem();
      if (problem_) problem_ = fmt::format("step {}: {}", i, *problem_);
    }
    return problem_;
  }

 private:
  using Kind = HistoryStep::Kind;

  template <class R>
  bool expect(const R& result, const char* what) {
    if (result) return true;
    problem_ = fmt::format("{}: {}", what, result.error().to_string());
    return false;
  }
  // The instants at which requests to rows are judged, in the order of kHistoryRows.
  using Instants = std::array<int64_t, std::size(kHistoryRows)>;
  Instants instants() {
    Instants all;
    for (size_t i = 0; i < all.size(); ++i) all[i] = time_.at_us(kHistoryRows[i]);
    return all;
  }
  // The instant of all rows, if it is the same.
  std::optional<int64_t> one_instant() {
    const Instants all = instants();
    if (std::count(all.begin(), all.end(), all[0]) != std::ssize(all)) return std::nullopt;
    return all[0];
  }
  std::vector<engine::TabletDescriptor> tablets() { return node_.table("t")->tablets; }

  void step(const HistoryStep& step) {
    switch (step.kind) {
      case Kind::write:
        write(step);
        if (flushes_often_ && !problem_ && step.a % 3 == 0) expect(node_.flush("t"), "flush");
        return;
      case Kind::check:
        return check(step);
      case Kind::modify:
        return modify(step);
      case Kind::drop_rows:
        return drop_rows(step);
      case Kind::change_rule:
        return change_rule(step);
      case Kind::pass_time:
        if (!history_.clocks || step.frozen) {
          node_.world().clock().advance_us(step.us);
        } else {
          node_.world().run_for_us(step.us);
        }
        return;
      case Kind::flush:
        return (void)expect(node_.flush("t"), "flush");
      case Kind::compact:
        return (void)expect(node_.compact("t"), "compact");
      case Kind::compact_some:
        return compact_some(step);
      case Kind::split:
      case Kind::merge:
      case Kind::move:
        return reshape(step);
      case Kind::crash:
      case Kind::kill:
      case Kind::close:
      case Kind::reboot:
        return restart(step);
      case Kind::read:
        return read(step);
      case Kind::step_wall:
        return time_.step_wall(step.us);
      case Kind::set_wall_right:
        return time_.set_wall_right();
      case Kind::set_synchronised:
        return time_.set_synchronised(step.a % 2 == 0);
      case Kind::renew:
        if (expect(node_.renew_clock(), "renew the anchor")) time_.renewed();
        return;
      case Kind::release:
        time_.released();
        return (void)expect(node_.release_held_time(), "release held time");
    }
  }

  // ---- writes
  // An answer, immediate or pending, is the one that the model gives.
  void compare_refusal(const char* what, std::optional<Errc> expected, const Error* got) {
    if (!expected && got == nullptr) return;
    if (expected && got != nullptr && got->code == *expected) return;
    problem_ = fmt::format("{} is {} by the node and {} by the model", what,
                           got == nullptr ? "taken" : got->to_string(),
                           expected ? errc_name(*expected) : "taken");
  }

  void write(const HistoryStep& step) {
    if (step.ops.empty()) return;
    const auto refusal = model_.refusal(step.ops, time_.at_us(step.row));
    auto pending = node_.begin_write("t", step.row, step.ops);
    const Error* error =
        pending->finished && pending->write.error ? &*pending->write.error : nullptr;
    compare_refusal("a write", refusal, error);
    if (problem_ || error != nullptr) return;
    time_.committed(step.row, pending->write.stamp);
    model_.mutate(pending->write.stamp, step.row, step.ops);
    in_flight_.push_back(std::move(pending));
  }
  void settle() {
    for (const auto& pending : in_flight_) {
      node_.wait(*pending);
      if (pending->write.error)
        problem_ = "a write that was taken: " + pending->write.error->to_string();
    }
    in_flight_.clear();
  }

  void check(const HistoryStep& step) {
    if (step.ops.empty() && step.else_ops.empty()) return;
    PendingConditional pending;
    pending.then_ops = step.ops;
    pending.else_ops = step.else_ops;
    std::optional<engine::FilterPlan> plan;
    if (!step.filter.empty()) {
      auto planned = engine::plan_filter(step.filter);
      if (!expect(planned, "plan a filter")) return;
      plan = *std::move(planned);
      pending.write.filter = &*plan;
    }
    const int64_t at_us = play(pending, step.row);
    const std::vector<OwnedCell> row = model_.read_row(step.row, at_us);
    const bool matches = !(step.filter.empty() ? row : filter_row(step.filter, row)).empty();
    const auto& taken = matches ? step.ops : step.else_ops;
    std::optional<Errc> refusal = model_.refusal(taken, at_us);
    // The validity of the other list counts too.
    if (model_.refusal(matches ? step.else_ops : step.ops, at_us) == Errc::invalid_argument)
      refusal = Errc::invalid_argument;
    compare_refusal("a conditional write", refusal,
                    pending.write.error ? &*pending.write.error : nullptr);
    if (problem_ || pending.write.error) return;
    if (pending.write.matched != matches)
      problem_ = fmt::format("the condition is {}", matches ? "met" : "not met");
    if (!taken.empty()) model_.mutate(pending.write.commit.stamp, step.row, taken);
  }
  // Waits for the answer; returns the instant at which it was decided.
  int64_t play(PendingConditional& pending, const std::string& row) {
    const int64_t before_us = time_.at_us(row);
    node_.begin(pending, "t", row);
    node_.wait(pending);
    const CommitStamp stamp = pending.write.commit.stamp;
    if (!pending.write.error && stamp != CommitStamp{}) {
      time_.committed(row, stamp);
      return static_cast<int64_t>(stamp.value() / 1000);
    }
    if (time_.at_us(row) != before_us) problem_ = "time has passed over a conditional write";
    return before_us;
  }

  void modify(const HistoryStep& step) {
    PendingConditional pending;
    const std::string appended = "+";
    ModifyRule& rule = pending.rules.emplace_back();
    rule.kind = step.by == 0 ? ModifyRule::Kind::append : ModifyRule::Kind::increment;
    rule.family = step.family;
    rule.qualifier = step.qualifier;
    rule.value = appended;
    rule.by = step.by;
    const int64_t at_us = play(pending, step.row);

    OwnedMutation made;
    made.family = step.family;
    made.qualifier = step.qualifier;
    made.timestamp_us = model_.server_stamp(at_us);
    bool found = false;
    for (const OwnedCell& cell : model_.read_row(step.row, at_us)) {
      if (cell.family != step.family || cell.qualifier != step.qualifier) continue;
      made.value = cell.value;
      made.timestamp_us = std::max(made.timestamp_us, cell.timestamp_us);
      found = true;
      break;
    }
    std::optional<Errc> refusal;
    OwnedMutation stamped = made;
    stamped.timestamp_us = kServerStamped;
    if (model_.refusal({stamped}, at_us) == Errc::invalid_argument) {
      refusal = Errc::invalid_argument;
    } else if (step.by != 0 && found && made.value.size() != 8) {
      refusal = Errc::failed_precondition;
    }
    compare_refusal("a modification", refusal,
                    pending.write.error ? &*pending.write.error : nullptr);
    if (problem_ || pending.write.error) return;
    if (step.by == 0) {
      made.value += appended;
    } else {
      uint64_t number = 0;
      for (const char c : made.value) number = number << 8 | static_cast<uint8_t>(c);
      number += static_cast<uint64_t>(step.by);
      made.value.assign(8, '\0');
      for (size_t i = 8; i-- > 0; number >>= 8) made.value[i] = static_cast<char>(number);
    }
    if (pending.write.new_cells.size() != 1 || pending.write.new_cells[0].value != made.value ||
        pending.write.new_cells[0].timestamp_us != made.timestamp_us)
      problem_ = fmt::format("the new cell should be @{} = {}", made.timestamp_us,
                             escape_bytes(made.value));
    model_.mutate(pending.write.commit.stamp, step.row, {made});
  }

  void drop_rows(const HistoryStep& step) {
    for (const engine::TabletDescriptor& tablet : tablets()) {
      const auto pending = node_.begin_drop_rows(tablet, step.row, step.end);
      node_.wait(*pending);
      if (pending->write.error) problem_ = "drop: " + pending->write.error->to_string();
      if (pending->write.stamp == CommitStamp{}) continue;  // the tablet holds none of the range
      time_.committed(tablet.start, pending->write.stamp);
      const KeyRange rows{std::max(step.row, tablet.start),
                          tablet.end.empty() ? step.end : std::min(step.end, tablet.end)};
      model_.drop_rows(pending->write.stamp, rows.start, rows.end);
    }
  }

  // ---- changes of the table
  void change_rule(const HistoryStep& step) {
    engine::TableChange change;
    change.name = "t";
    change.close_oldest_undo_window = step.close_oldest;
    engine::FamilySpec& family = change.alter.emplace_back();
    family.name = step.family;
    family.rule = step.rule;
    const int64_t before_us = time_.latest_us();
    const auto past = node_.table("t")->schema.find_family(step.family)->history;
    const bool refused = !step.close_oldest && model_.refuses(step.family, step.rule, before_us);
    std::optional<Previews> previews;
    if (step.a % 2 == 0) previews = preview(step);
    // A merge that began under the replaced rule must not be installed under the new one.
    const engine::TabletDescriptor tablet = tablets()[step.b % tablets().size()];
    auto& shard = static_cast<engine::ShardEngine&>(node_.node().engine(tablet.shard));
    std::optional<Result<void>> merged;
    if (step.a % 3 == 0) {
      spawn(node_.loop(tablet.shard.value()).executor(),
            detail::run_into(shard.compact_window(tablet.id, step.a / 8, step.b / 8), merged));
    }
    const auto entry = node_.alter_table(std::move(change));
    if (step.a % 3 == 0) node_.world().run_until([&merged] { return merged.has_value(); });
    if (!entry && refused && entry.error().code == Errc::failed_precondition) {
      if (previews && (previews->exact || previews->exact.error().code != entry.error().code))
        problem_ = "what an alteration refuses, its preview does not";
      return;
    }
    if (!expect(entry, "change a rule")) return;
    if (refused) problem_ = "a ninth undo window was opened";
    const auto& history = entry->schema.find_family(step.family)->history;
    const CommitStamp stamp = history.empty() ? CommitStamp{} : history.back().until;
    // Otherwise the change took an undo window back, or changed nothing.
    const bool stamped = !history.empty() && history.size() >= past.size() &&
                         (past.empty() || stamp != past.back().until);
    if (stamped) time_.committed_everywhere(stamp);
    const int64_t at_us = std::max(before_us, static_cast<int64_t>(stamp.value() / 1000));
    model_.change_rule(stamp, at_us, step.family, step.rule, step.close_oldest);
    if (previews && !problem_) compare(*previews);
  }
  // Previews of a change of a rule, made before the change.
  struct Previews {
    Result<engine::PreviewReport> exact;
    Result<engine::PreviewReport> approximate;
    std::vector<OwnedCell> before;
    std::optional<int64_t> at_us;  // if it was the same for all rows
  };
  Previews preview(const HistoryStep& step) {
    settle();
    const std::optional<int64_t> at_us = one_instant();
    auto exact = node_.preview(preview_of(step, false));
    auto approximate = node_.preview(preview_of(step, true));
    return {std::move(exact), std::move(approximate), model_.read(at_us.value_or(0)), at_us};
  }
  void compare(const Previews& previews) {
    ++played_.previews.asked;
    if (!previews.at_us || one_instant() != previews.at_us) return;
    if (!expect(previews.exact, "preview") || !expect(previews.approximate, "approximate preview"))
      return;
    ++played_.previews.done;
    problem_ = check_preview(*previews.exact, *previews.approximate, previews.before,
                             model_.read(*previews.at_us));
  }
  static engine::PreviewRequest preview_of(const HistoryStep& step, bool approximate) {
    engine::PreviewRequest request;
    request.table = "t";
    request.family = step.family;
    request.rule = step.rule;
    request.samples = 2;
    request.close_oldest_undo_window = step.close_oldest;
    request.approximate = approximate;
    return request;
  }

  void compact_some(const HistoryStep& step) {
    const std::vector<engine::TabletDescriptor> all = tablets();
    const engine::TabletDescriptor& tablet = all[step.a % all.size()];
    auto& shard = static_cast<engine::ShardEngine&>(node_.node().engine(tablet.shard));
    expect(node_.world().block_on(node_.loop(tablet.shard.value()),
                                  shard.compact_window(tablet.id, step.a / 8, step.b)),
           "compact some");
  }

  template <class R>
  void expect_reshaped(Played::Share& share, const R& result) {
    ++share.asked;
    share.done += result ? 1 : 0;
    // There is nothing to split at that place.
    if (!result && (result.error().code == Errc::out_of_range ||
                    result.error().code == Errc::failed_precondition))
      return;
    expect(result, "reshape");
  }
  void reshape(const HistoryStep& step) {
    const std::vector<engine::TabletDescriptor> all = tablets();
    const size_t at = step.a % all.size();
    if (step.kind == Kind::split) {
      for (const engine::TabletDescriptor& tablet : all) {
        if (step.row < tablet.start || (!tablet.end.empty() && step.row >= tablet.end)) continue;
        expect_reshaped(played_.splits, node_.split(tablet.id, step.row));
      }
    } else if (step.kind == Kind::merge) {
      if (at + 1 < all.size())
        expect_reshaped(played_.merges, node_.merge(all[at].id, all[at + 1].id));
    } else if (step.row.empty()) {
      const auto to = static_cast<uint32_t>(step.b % node_.shards());
      expect_reshaped(played_.moves, node_.move(all[at].id, to));
    } else {
      const engine::TabletDescriptor tablet = node_.table("t")->locate(step.row);
      const uint64_t away = 1 + step.b % (node_.shards() - 1);
      const auto to = static_cast<uint32_t>((tablet.shard.value() + away) % node_.shards());
      expect_reshaped(played_.moves, node_.move(tablet.id, to));
    }
  }

  void restart(const HistoryStep& step) {
    settle();
    if (problem_) return;
    if (step.kind == Kind::crash || (step.kind == Kind::reboot && step.a % 3 == 0)) {
      node_.crash(static_cast<CrashPolicy>(step.a % 4));
    } else if (step.kind == Kind::kill || (step.kind == Kind::reboot && step.a % 3 == 1)) {
      node_.kill();
    } else if (!expect(node_.close(), "close")) {
      return;
    }
    if (step.kind == Kind::reboot) {
      time_.boot_anew(step.us);
      if (step.b % 3 == 0) time_.set_wall_right();
      if (step.b % 6 == 0) time_.set_synchronised(true);
    } else {
      time_.down_for(step.us);
    }
    if (expect(node_.reopen(), "reopen")) time_.started(history_.clocks && step.b % 4 == 0);
  }

  // ---- reads; the limits are applied to the model's answer here
  void read(const HistoryStep& step) {
    settle();
    if (problem_) return;
    ReadSpec spec;
    if (step.row.empty()) {
      spec.rows = RowSet::everything();
    } else {
      spec.rows.add({step.row, step.end});
      spec.rows.normalize();
    }
    spec.reversed = step.reversed;
    spec.time_range = step.time_range;
    spec.versions = step.versions;
    if (!step.filter.empty()) {
      const auto plan = engine::plan_filter(step.filter);
      if (!expect(plan, "plan a filter")) return;
      plan->narrow(spec);
    }
    ++played_.reads.asked;
    const int64_t began_us = time_.real_us();
    const Instants before = instants();
    const auto got = node_.read("t", spec);
    if (!expect(got, "read")) return;
    if (time_.real_us() != began_us) return;  // the instant of the read is unknown
    ++played_.reads.done;
    const Instants after = instants();
    // A new anchor may advance trusted time while real time stands: before some of the rows are
    // read.
    std::vector<OwnedCell> expected;
    for (size_t first = 0; first <= before.size(); ++first) {
      Instants at = after;
      for (size_t i = 0; i < at.size(); ++i) {
        const bool early = spec.reversed ? i >= first : i < at.size() - first;
        if (early) at[i] = before[i];
      }
      expected = expected_of(step, at);
      if (*got == expected) return step.a % 4 == 0 ? read_explained() : void();
      if (before == after) break;
    }
    problem_ = fmt::format("at {} the node answers\n{}and the model\n{}", fmt::join(before, ", "),
                           to_text(*got), to_text(expected));
  }
  void read_explained() {
    ++played_.explained.asked;
    ReadSpec spec;
    spec.rows = RowSet::everything();
    spec.explain = spec.include_dead = spec.with_expiry = true;
    const std::optional<int64_t> at_us = one_instant();
    const auto got = node_.read_noted("t", spec);
    if (!expect(got, "explained read") || !at_us || one_instant() != at_us) return;
    ++played_.explained.done;
    problem_ = check_explained(*got, model_, node_.table("t")->schema, *at_us);
  }
  std::vector<OwnedCell> model_read(const Instants& at) const {
    std::vector<OwnedCell> cells;
    for (size_t i = 0; i < at.size(); ++i) {
      for (OwnedCell& cell : model_.read_row(kHistoryRows[i], at[i]))
        cells.push_back(std::move(cell));
    }
    return cells;
  }
  std::vector<OwnedCell> expected_of(const HistoryStep& step, const Instants& at) const {
    std::vector<OwnedCell> cells;
    uint32_t taken = 0;
    std::string column;
    for (OwnedCell& cell : model_read(at)) {
      if (!step.row.empty() && !KeyRange{step.row, step.end}.contains(cell.row)) continue;
      if (!step.time_range.contains(cell.timestamp_us)) continue;
      std::string in = cell.row + ' ' + cell.family + ':' + cell.qualifier;
      if (std::exchange(column, in) != in) taken = 0;
      if (step.versions != 0 && taken++ >= step.versions) continue;
      cells.push_back(std::move(cell));
    }
    if (!step.filter.empty()) cells = filter_rows(step.filter, cells, 0);
    return step.reversed ? backwards(cells) : cells;
  }

  const History& history_;
  const bool flushes_often_;
  std::vector<std::unique_ptr<PendingWrite>> in_flight_;  // outlives the node
  TestNode node_;
  RetentionModel model_;
  JudgedTime time_;
  Played played_;
  std::optional<std::string> problem_;
};

}  // namespace

std::optional<std::string> play(const History& history, uint64_t options_seed, Played* played) {
  Player player(history, options_seed);
  auto problem = player.run();
  if (played != nullptr) *played = player.played();
  return problem;
}

void Played::add(const Played& other) {
  for (Share Played::* share : {&Played::reads, &Played::explained, &Played::previews,
                                &Played::splits, &Played::merges, &Played::moves}) {
    (this->*share).asked += (other.*share).asked;
    (this->*share).done += (other.*share).done;
  }
}

std::string Played::to_text() const {
  return fmt::format(
      "{} of {} reads compared, {} of {} explained reads, {} of {} previews, {} of {} splits done, "
      "{} of {} merges, {} of {} moves",
      reads.done, reads.asked, explained.done, explained.asked, previews.done, previews.asked,
      splits.done, splits.asked, merges.done, merges.asked, moves.done, moves.asked);
}

std::string options_text(const History& history, uint64_t options_seed) {
  const TestNodeOptions node = options_of(options_seed, history.clocks);
  const TableOptions table = table_options(options_seed);
  return fmt::format(
      "{} shards, memory {}, memtables {}, tables {}, blocks {}, removal margin {} us, reclaim "
      "within {} us, slack {}, share {}, compaction {}, anchors permit {} us, one every {} us",
      node.shards, node.engine.memory_bytes, node.engine.memtable_bytes, node.engine.table_bytes,
      table.block_bytes, node.engine.removal_margin_us, table.reclaim_within_us, table.dead_slack,
      table.reclaim_share, static_cast<int>(table.compaction), node.engine.clock_permit_us,
      node.engine.clock_renew_us);
}

}  // namespace cellar::support
