#include "tests/engine/retention/history.h"

#include <fmt/format.h>

#include <algorithm>

#include "tests/support/durations.h"
#include "tests/support/filter_model.h"
#include "tests/support/random_rules.h"

namespace cellar::support {
namespace {

constexpr int64_t kUnitUs = 1000;  // unit of ages: the smallest age

class Maker {
 public:
  explicit Maker(uint64_t seed) : random_(seed), clock_random_(seed + 7) { history_.seed = seed; }

  History make_with_clocks(size_t steps) {
    history_.clocks = true;
    steps_wall_ = !clock_random_.one_in(6);
    reboots_ = clock_random_.one_in(2);
    lies_ = clock_random_.one_in(5);
    releases_ = clock_random_.one_in(6);
    return make(steps);
  }
  History make(size_t steps) {
    if (random_.one_in(4)) history_.granularity = Granularity::millis;
    with_expiries_ = random_.one_in(2);
    with_deletes_ = !random_.one_in(4);
    stormy_ = random_.one_in(8);
    changes_ = stormy_ ? 120 : random_.one_in(2) ? 0 : 35;
    with_reshapes_ = random_.one_in(3);
    if (history_.clocks) with_reshapes_ = !clock_random_.one_in(3);
    with_leaps_ = random_.one_in(4);
    on_the_dot_ = random_.one_in(2);
    for (const char* name : {"f", "g"}) history_.families.push_back(random_family(name));
    while (history_.steps.size() < steps) step();
    add(Kind::read);
    return std::move(history_);
  }

 private:
  using Kind = HistoryStep::Kind;

  HistoryStep& add(Kind kind) {
    history_.steps.emplace_back().kind = kind;
    history_.steps.back().a = random_.next();
    history_.steps.back().b = random_.next();
    return history_.steps.back();
  }

  // ---- families
  RetentionRule rule_for(TimestampMeaning meaning) {
    if (meaning == TimestampMeaning::time && random_.one_in(6)) return {};
    while (true) {
      RetentionRule rule = random_rule(random_, kUnitUs);
      const bool by_age = rule.has(RuleNode::Kind::max_age);
      if (meaning == TimestampMeaning::expiry && !by_age) continue;
      if (meaning == TimestampMeaning::sequence && by_age) continue;
      return rule;
    }
  }

  FamilySchema random_family(const char* name) {
    FamilySchema family;
    family.name = name;
    const uint64_t dice = random_.below(10);
    family.timestamps = dice < 7   ? TimestampMeaning::time
                        : dice < 8 ? TimestampMeaning::expiry
                                   : TimestampMeaning::sequence;
    family.rule = rule_for(family.timestamps);
    const bool expiry = family.timestamps == TimestampMeaning::expiry;
    family.born_dead = expiry || random_.one_in(3) ? BornDead::refuse : BornDead::accept;
    if (family.timestamps == TimestampMeaning::time && random_.one_in(4)) {
      const bool seconds = random_.one_in(4);
      const int64_t unit_us = seconds ? 400 * kUnitUs : kUnitUs;
      family.window.unit = seconds ? WriteWindow::Unit::seconds : WriteWindow::Unit::exact;
      if (!random_.one_in(3)) family.window.past_us = some(30) * unit_us;
      if (!random_.one_in(3)) family.window.future_us = (1 + some(10)) * unit_us;
    }
    const int64_t undo_windows[] = {0, 15 * kUnitUs, kDayUs};
    family.undo_window_us = undo_windows[stormy_ ? 2 : random_.below(3)];
    return family;
  }
  const FamilySchema& family(const std::string& name) const {
    return history_.families[name == "f" ? 0 : 1];
  }
  std::string some_family() { return random_.one_in(3) ? "g" : "f"; }

  // ---- writes
  int64_t some(uint64_t below) { return static_cast<int64_t>(random_.below(below)); }
  std::string row() { return kHistoryRows[random_.below(4)]; }
  std::string qualifier() { return random_.one_in(3) ? "q" : "p"; }

  int64_t timestamp(TimestampMeaning meaning) {
    int64_t us = 0;
    if (meaning == TimestampMeaning::sequence) {
      us = some(40) * kUnitUs;
    } else if (meaning == TimestampMeaning::expiry) {
      us = now_us_ + (some(25) - 3) * kUnitUs;
    } else if (random_.one_in(4)) {
      us = kHistoryStartUs + some(6) * kUnitUs;
    } else {
      us = now_us_ + kUnitUs - some(random_.one_in(3) ? 25 : 4) * kUnitUs;
    }
    return us - us % granule_us(history_.granularity);
  }

  OwnedMutation random_set() {
    OwnedMutation op;
    op.family = some_family();
    op.qualifier = qualifier();
    const TimestampMeaning meaning = family(op.family).timestamps;
    const bool stamped = random_.one_in(meaning == TimestampMeaning::time ? 10 : 80);
    if (!stamped) op.timestamp_us = timestamp(meaning);
    op.value = fmt::format("v{}", next_value_++);
    if (random_.one_in(10)) op.value.append(300, '.');
    if (random_.one_in(30)) op.value.assign(7, '\0').push_back('\1');  // a counter
    if (!with_expiries_ || !random_.one_in(3)) return op;
    if (random_.one_in(3)) {
      op.ttl_us = some(30) * kUnitUs;
    } else {
      op.expire_at_us = now_us_ + (some(40) - 4) * kUnitUs;
    }
    return op;
  }

  OwnedMutation random_op() {
    const uint64_t dice = random_.below(20);
    if (!with_deletes_ || dice > 3) return random_set();
    OwnedMutation op;
    op.kind = Mutation::Kind::delete_from_row;
    if (dice == 0) return op;
    op.family = some_family();
    op.kind = Mutation::Kind::delete_from_family;
    if (dice == 1) return op;
    op.kind = Mutation::Kind::delete_from_column;
    op.qualifier = qualifier();
    if (random_.one_in(2)) return op;
    op.start_us = std::max<int64_t>(0, timestamp(family(op.family).timestamps));
    op.end_us = op.start_us + kUnitUs * (1 + some(5));
    return op;
  }
  std::vector<OwnedMutation> random_ops(bool may_be_none) {
    std::vector<OwnedMutation> ops;
    if (may_be_none && random_.one_in(4)) return ops;
    for (int64_t n = 1 + some(random_.one_in(3) ? 5 : 1); n > 0; --n) ops.push_back(random_op());
    return ops;
  }

  void write() {
    HistoryStep& step = add(Kind::write);
    step.row = row();
    step.ops = random_ops(false);
  }
  void check() {
    HistoryStep& step = add(Kind::check);
    step.row = row();
    if (random_.one_in(2)) step.filter = random_filter_now();
    step.ops = random_ops(true);
    step.else_ops = random_ops(true);
    if (step.ops.empty() && step.else_ops.empty()) step.ops = random_ops(false);
  }
  void modify() {
    HistoryStep& step = add(Kind::modify);
    step.row = row();
    step.family = some_family();
    step.qualifier = qualifier();
    if (random_.one_in(2)) step.by = 1 + some(5);
  }
  void drop_rows() {
    if (!with_deletes_) return;
    HistoryStep& step = add(Kind::drop_rows);
    step.row = row();
    step.end = random_.one_in(3) ? "d" : step.row + "a";
  }

  // ---- reads
  // Its time ranges are around now.
  FilterSpec random_filter_now() {
    FilterSpec filter = random_filter(random_, 1 + random_.below(3));
    for (FilterNode& node : filter.nodes) {
      if (node.kind != FilterKind::time_range) continue;
      const int64_t base_us = (now_us_ / kUnitUs - 8) * kUnitUs;
      node.start = base_us + 2 * node.start * kUnitUs;
      node.end = base_us + 2 * node.end * kUnitUs;
    }
    return filter;
  }
  void read() {
    HistoryStep& step = add(Kind::read);
    if (random_.one_in(3)) {
      step.row = row();
      step.end = random_.one_in(2) ? step.row + '\0' : "c";
      if (step.end <= step.row) step.end.clear();
    }
    step.reversed = random_.one_in(3);
    if (random_.one_in(4)) {
      step.time_range.start_us = now_us_ - some(30) * kUnitUs;
      step.time_range.end_us = step.time_range.start_us + 1 + some(20) * kUnitUs;
    }
    if (random_.one_in(5)) {
      step.versions = 1 + static_cast<uint32_t>(random_.below(2));
    } else if (random_.one_in(5)) {
      step.filter = random_filter_now();
    }
  }

  // ---- other steps
  void change_rule() {
    HistoryStep& step = add(Kind::change_rule);
    step.family = some_family();
    step.close_oldest = random_.one_in(4);
    const TimestampMeaning meaning = family(step.family).timestamps;
    step.rule = stormy_ && !random_.one_in(4) ? tighter(meaning, step.family == "f" ? 0 : 1)
                                              : rule_for(meaning);
  }
  // Tightens until no undo window is left to open; then all of it may come back.
  RetentionRule tighter(TimestampMeaning meaning, size_t family) {
    const int64_t left = turns_left_[family] =
        turns_left_[family] == 0 ? 12 : turns_left_[family] - 1;
    if (meaning == TimestampMeaning::sequence) return RetentionRule::max_versions(1 + left);
    return RetentionRule::max_age_us((2 + 2 * left) * kUnitUs);
  }
  void pass_time() {
    int64_t us = some(random_.one_in(3) ? 9000 : 900);
    // The clock stops where something becomes due, or one microsecond before.
    if (on_the_dot_) us = random_.one_in(4) ? 1 + some(2) * (kUnitUs - 2) : some(4) * kUnitUs;
    if (with_leaps_ && random_.one_in(25))
      us = (1 + some(3)) * (random_.one_in(2) ? 1'000'000 : 150'000'000);
    HistoryStep& step = add(Kind::pass_time);
    step.us = us;
    step.frozen = step.a % 2 == 0 || us > 1'000'000;  // anchors are frequent
    now_us_ += us;
  }
  void reshape() {
    const uint64_t dice = random_.below(5);
    HistoryStep& step = add(dice < 2 ? Kind::split : dice < 4 ? Kind::merge : Kind::move);
    if (dice < 2) step.row = kHistoryPlaces[1 + random_.below(6)];
  }

  // ---- the machine's clocks, with random numbers of their own, so that the rest of a seed's
  // history does not depend on them
  bool clock_chance(uint64_t n) { return clock_random_.one_in(n); }
  // Around the length of a permission, around the ages, and far beyond both.
  int64_t some_gap_us() {
    const int64_t most_us[] = {5 * kUnitUs, 40 * kUnitUs, 400 * kUnitUs, 20'000'000, 100 * kHourUs};
    const uint64_t dice = clock_random_.below(16);
    const size_t which = dice < 5 ? 0 : dice < 10 ? 1 : dice < 13 ? 2 : dice < 15 ? 3 : 4;
    return static_cast<int64_t>(clock_random_.below(static_cast<uint64_t>(most_us[which])));
  }
  void step_wall() {
    if (!steps_wall_) return;
    // A kernel that still vouches for a wrong clock after a reboot is trusted.
    if (reboots_ && !lies_) set_synchronised(false);
    const int64_t us = some_gap_us();
    add(Kind::step_wall).us = clock_chance(3) ? us : -us;
  }
  void set_wall_right() {
    if (!steps_wall_) return;
    add(Kind::set_wall_right);
    if (reboots_ && clock_chance(2)) set_synchronised(true);
  }
  void set_synchronised(bool yes) { add(Kind::set_synchronised).a = yes ? 0 : 1; }
  void go_down(Kind kind) {
    HistoryStep& step = add(kind);
    if (!clock_chance(4)) step.us = some_gap_us();
    now_us_ += step.us;
  }
  HistoryStep& read_row(const std::string& row) {
    HistoryStep& step = add(Kind::read);
    step.row = row;
    step.end = row + '\0';
    return step;
  }
  // A single shard observes a late time before the wall clock goes back; then its tablet moves to
  // another shard, or the node restarts, perhaps after another anchor.
  void step_back_after_a_read() {
    if (!steps_wall_) return;
    const std::string row = this->row();
    pass_time();
    read_row(row);
    if (reboots_ && !lies_) set_synchronised(false);
    add(Kind::step_wall).us = -some_gap_us();
    if (clock_chance(3)) add(Kind::renew);
    if (with_reshapes_ && !clock_chance(3)) {
      add(Kind::move).row = row;
    } else {
      go_down(clock_chance(2) ? Kind::kill : Kind::crash);
    }
    read_row(row);
  }
  void clock_step() {
    if (clock_chance(12)) return step_back_after_a_read();
    const uint64_t dice = clock_random_.below(100);
    if (dice < 22) return step_wall();
    if (dice < 40) return set_wall_right();
    if (dice < 60) return (void)add(Kind::renew);
    if (dice < 75) return with_reshapes_ ? reshape() : read();
    if (dice < 80) return go_down(clock_chance(2) ? Kind::kill : Kind::crash);
    if (dice < 82) return go_down(Kind::close);
    if (dice < 90) return reboots_ ? go_down(Kind::reboot) : read();
    if (dice < 92 && releases_) return (void)add(Kind::release);
    read();
  }

  void step() {
    if (history_.clocks && clock_chance(6)) return clock_step();
    const uint64_t dice = random_.below(1000);
    if (dice < 570) return write();
    if (dice < 595) return check();
    if (dice < 620) return modify();
    if (dice < 780) return pass_time();
    if (dice < 790) return drop_rows();
    if (dice < 820) return (void)add(Kind::flush);
    if (dice < 828) return (void)add(Kind::compact);
    if (dice < 855) return (void)add(Kind::compact_some);
    if (dice < 858) return (void)add(Kind::crash);
    if (dice < 861) return (void)add(Kind::kill);
    if (dice < 863) return (void)add(Kind::close);
    if (dice < 863 + changes_ / 2) return change_rule();
    if (dice >= 925 && dice < 935 && with_reshapes_) return reshape();
    if (dice >= 935) read();
  }

  Random random_;
  Random clock_random_;
  History history_;
  int64_t now_us_ = kHistoryStartUs;
  uint64_t next_value_ = 0;
  bool with_expiries_ = false;
  bool with_deletes_ = false;
  bool with_reshapes_ = false;
  bool with_leaps_ = false;
  bool on_the_dot_ = false;
  bool stormy_ = false;
  bool steps_wall_ = false;
  bool reboots_ = false;
  bool lies_ = false;
  bool releases_ = false;
  int64_t turns_left_[2] = {0, 0};
  uint64_t changes_ = 0;  // this many steps in 2000 change a rule
};

}  // namespace

size_t History::operations() const {
  size_t count = 0;
  for (const HistoryStep& step : steps) count += step.operations();
  return count;
}

History random_history(uint64_t seed, size_t steps) { return Maker(seed).make(steps); }

History random_clock_history(uint64_t seed, size_t steps) {
  return Maker(seed).make_with_clocks(steps);
}

}  // namespace cellar::support
