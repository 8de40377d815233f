#include "tests/engine/retention/history.h"

#include <fmt/format.h>

#include <algorithm>

#include "tests/support/random_rules.h"

namespace cellar::support {
namespace {

constexpr int64_t kUnitUs = 1000;            // of ages: the least there is
constexpr int64_t kStartUs = 1'000'000'000;  // of every history
constexpr int64_t kDayUs = 86'400'000'000;

std::string op_text(const OwnedMutation& op) {
  switch (op.kind) {
    case Mutation::Kind::set_cell:
      return fmt::format(
          "set {}:{} @{}{}", op.family, op.qualifier, op.timestamp_us,
          op.expire_at_us == kNoExpiry ? "" : fmt::format(" expires {}", op.expire_at_us));
    case Mutation::Kind::delete_from_column:
      return fmt::format("delete {}:{} [{}, {})", op.family, op.qualifier, op.start_us, op.end_us);
    case Mutation::Kind::delete_from_family:
      return "delete " + op.family;
    case Mutation::Kind::delete_from_row:
      return "delete row";
  }
  return "";
}

class Maker {
 public:
  explicit Maker(uint64_t seed) : random_(seed) { history_.seed = seed; }

  History make(size_t steps) {
    for (const char* name : {"f", "g"}) {
      const int64_t windows[] = {0, 15 * kUnitUs, kDayUs};
      history_.families.push_back(
          {name, random_.one_in(6) ? RetentionRule{} : random_rule(random_, kUnitUs),
           windows[random_.below(3)]});
    }
    with_expiries_ = random_.one_in(2);
    with_deletes_ = !random_.one_in(4);
    with_changes_ = random_.one_in(2);
    while (history_.steps.size() < steps) step();
    add(HistoryStep::Kind::read);
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

  void step() {
    const uint64_t dice = random_.below(100);
    if (dice < 45) return write();
    if (dice < 62) {
      const auto us = static_cast<int64_t>(random_.below(random_.one_in(3) ? 9000 : 900));
      add(Kind::pass_time).us = us;
      now_us_ += us;
      return;
    }
    if (dice < 64) return drop_rows();
    if (dice < 68) return change_rule();
    if (dice < 75) return (void)add(Kind::flush);
    if (dice < 77) return (void)add(Kind::compact);
    if (dice < 83) return (void)add(Kind::compact_some);
    if (dice == 83) return (void)add(Kind::crash);
    if (dice == 84) return (void)add(Kind::kill);
    if (dice == 85) return (void)add(Kind::close);
    add(Kind::read);
  }

  std::string row() { return std::string(1, static_cast<char>('a' + random_.below(3))); }
  std::string family() { return random_.one_in(3) ? "g" : "f"; }

  int64_t timestamp() {
    if (random_.one_in(4)) return kStartUs + static_cast<int64_t>(random_.below(6)) * kUnitUs;
    return now_us_ + kUnitUs -
           static_cast<int64_t>(random_.below(random_.one_in(3) ? 25 : 4)) * kUnitUs;
  }

  OwnedMutation random_op() {
    OwnedMutation op;
    op.family = family();
    op.qualifier = random_.one_in(3) ? "q" : "p";
    const uint64_t dice = random_.below(20);
    if (!with_deletes_ || dice > 3) {
      op.timestamp_us = timestamp();
      op.value = fmt::format("v{}", next_value_++);
      if (with_expiries_ && random_.one_in(3))
        op.expire_at_us = now_us_ + static_cast<int64_t>(random_.below(40) - 4) * kUnitUs;
    } else if (dice == 0) {
      op = OwnedMutation();
      op.kind = Mutation::Kind::delete_from_row;
    } else if (dice == 1) {
      op.qualifier.clear();
      op.kind = Mutation::Kind::delete_from_family;
    } else {
      op.kind = Mutation::Kind::delete_from_column;
      if (random_.one_in(2)) {
        op.start_us = timestamp();
        op.end_us = op.start_us + kUnitUs * (1 + static_cast<int64_t>(random_.below(5)));
      }
    }
    return op;
  }

  void write() {
    HistoryStep& step = add(Kind::write);
    step.row = row();
    for (uint64_t n = 1 + random_.below(random_.one_in(3) ? 5 : 1); n > 0; --n)
      step.ops.push_back(random_op());
  }
  void drop_rows() {
    if (!with_deletes_) return;
    HistoryStep& step = add(Kind::drop_rows);
    step.row = row();
    step.end = step.row + "x";
  }
  void change_rule() {
    if (!with_changes_) return;
    HistoryStep& step = add(Kind::change_rule);
    step.family = family();
    step.close_oldest = random_.one_in(4);
    if (!random_.one_in(6)) step.rule = random_rule(random_, kUnitUs);
  }

  Random random_;
  History history_;
  int64_t now_us_ = kStartUs;
  uint64_t next_value_ = 0;
  bool with_expiries_ = false;
  bool with_deletes_ = false;
  bool with_changes_ = false;
};

}  // namespace

std::string to_text(const HistoryStep& step) {
  using Kind = HistoryStep::Kind;
  switch (step.kind) {
    case Kind::write: {
      std::string text = "write " + step.row + ":";
      for (const OwnedMutation& op : step.ops) text += " " + op_text(op) + ";";
      return text;
    }
    case Kind::drop_rows:
      return fmt::format("drop rows [{}, {})", step.row, step.end);
    case Kind::change_rule:
      return fmt::format("rule of {}: {}{}", step.family, describe_rule(step.rule),
                         step.close_oldest ? ", close the oldest window" : "");
    case Kind::pass_time:
      return fmt::format("pass {} us", step.us);
    case Kind::flush:
      return "flush";
    case Kind::compact:
      return "compact";
    case Kind::compact_some:
      return fmt::format("compact some ({}, {})", step.a, step.b);
    case Kind::crash:
      return "crash";
    case Kind::kill:
      return "kill";
    case Kind::close:
      return "close";
    case Kind::read:
      return "read";
  }
  return "";
}

History random_history(uint64_t seed, size_t steps) { return Maker(seed).make(steps); }

History shorten(History failing, uint64_t options_seed) {
  for (size_t chunk = failing.steps.size() / 2; chunk > 0;) {
    bool shorter = false;
    for (size_t at = 0; at < failing.steps.size();) {
      History tried = failing;
      const auto begin = tried.steps.begin() + static_cast<ptrdiff_t>(at);
      const auto count = std::min(chunk, tried.steps.size() - at);
      tried.steps.erase(begin, begin + static_cast<ptrdiff_t>(count));
      if (play(tried, options_seed)) {
        failing = std::move(tried);
        shorter = true;
      } else {
        at += chunk;
      }
    }
    if (!shorter || chunk > 1) chunk = shorter && chunk == 1 ? 1 : chunk / 2;
  }
  return failing;
}

}  // namespace cellar::support
