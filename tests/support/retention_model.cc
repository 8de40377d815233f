#include "tests/support/retention_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace cellar::support {
namespace {

using Kind = RuleNode::Kind;

struct Aged {
  int64_t age_us;
  uint64_t newer;  // newer live versions
  bool own_expiry;
};

// The rule tree by SEMANTICS 3. An own expiry replaces every max_age; the caller checks whether it
// has passed.
bool is_due(const RetentionRule& rule, size_t& next, const Aged& cell) {
  const RuleNode node = rule.nodes[next++];
  if (node.kind == Kind::max_versions) return cell.newer >= static_cast<uint64_t>(node.value);
  if (node.kind == Kind::max_age) return !cell.own_expiry && cell.age_us > node.value;
  bool any = false;
  bool every = true;
  for (uint32_t i = 0; i < node.children; ++i) {
    const bool due = is_due(rule, next, cell);
    any = any || due;
    every = every && due;
  }
  return node.kind == Kind::union_of ? any : every;
}
bool is_due(const RetentionRule& rule, const Aged& cell) {
  size_t next = 0;
  return !rule.nodes.empty() && is_due(rule, next, cell);
}

// Whether `keeper` keeps every cell that `other` keeps; tested at every point where either changes.
bool keeps_all(const RetentionRule& keeper, const RetentionRule& other) {
  std::set<int64_t> ages = {0};
  std::set<uint64_t> counts = {0};
  for (const RetentionRule* rule : {&keeper, &other}) {
    for (const RuleNode& node : rule->nodes) {
      if (node.kind == Kind::max_age) ages.insert(node.value + 1);
      if (node.kind == Kind::max_versions) counts.insert(static_cast<uint64_t>(node.value));
    }
  }
  for (const int64_t age : ages) {
    for (const uint64_t newer : counts) {
      for (const bool own : {false, true}) {
        const Aged cell{age, newer, own};
        if (is_due(keeper, cell) && !is_due(other, cell)) return false;
      }
    }
  }
  return true;
}

bool is_open(int64_t undo_until_us, int64_t now_us) {
  return undo_until_us != 0 && now_us <= undo_until_us;
}

}  // namespace

void RetentionModel::create_family(const std::string& family, RetentionRule rule,
                                   int64_t undo_window_us) {
  families_[family] = {{{0, std::move(rule), 0}}, undo_window_us};
}

void RetentionModel::guard_family(const std::string& family, TimestampMeaning timestamps,
                                  BornDead born_dead, WriteWindow window) {
  Family& guarded = families_.at(family);
  guarded.timestamps = timestamps;
  guarded.born_dead = born_dead;
  guarded.window = window;
}

// By age or by its own expiry; versions do not count.
bool RetentionModel::born_dead(const Family& family, const OwnedMutation& op,
                               int64_t now_us) const {
  if (op.ttl_us != kNoTtl) return op.ttl_us < 0;
  if (op.expire_at_us != kNoExpiry) return now_us > op.expire_at_us;
  return is_due(family.rules.back().rule, {now_us - op.timestamp_us, 0, false});
}

std::optional<Errc> RetentionModel::refusal(const std::vector<OwnedMutation>& ops,
                                            int64_t now_us) const {
  for (const OwnedMutation& op : ops) {
    const bool stamped = op.kind == Mutation::Kind::set_cell && op.timestamp_us == kServerStamped;
    if (stamped && families_.at(op.family).timestamps != TimestampMeaning::time)
      return Errc::invalid_argument;
  }
  for (const OwnedMutation& stated : ops) {
    if (stated.kind != Mutation::Kind::set_cell) continue;
    OwnedMutation op = stated;
    const Family& family = families_.at(op.family);
    const bool stamped = op.timestamp_us == kServerStamped;
    if (stamped) op.timestamp_us = server_stamp(now_us);
    if (family.born_dead == BornDead::refuse && born_dead(family, op, now_us) &&
        (!stamped || op.expire_at_us != kNoExpiry))
      return Errc::out_of_range;
    if (stamped) continue;
    // now - past <= v < now + future, in whole seconds where the unit says so.
    const auto in_unit = [&family](int64_t us) {
      if (family.window.unit == WriteWindow::Unit::exact) return us;
      return static_cast<int64_t>(std::floor(static_cast<double>(us) / 1e6));
    };
    const WriteWindow& window = family.window;
    const int64_t v = in_unit(op.timestamp_us);
    if (window.past_us && v < in_unit(now_us - *window.past_us)) return Errc::out_of_range;
    if (window.future_us && v >= in_unit(now_us + *window.future_us)) return Errc::out_of_range;
    // The later of now - past and now - D, the least age that alone kills.
    const bool own = op.expire_at_us != kNoExpiry || op.ttl_us != kNoTtl;
    if (!window.past_us || own) continue;
    for (const RuleNode& node : family.rules.back().rule.nodes) {
      if (node.kind != Kind::max_age || v >= in_unit(now_us - node.value)) continue;
      if (is_due(family.rules.back().rule, {node.value + 1, 0, false})) return Errc::out_of_range;
    }
  }
  return std::nullopt;
}

void RetentionModel::mutate(CommitStamp stamp, std::string row, std::vector<OwnedMutation> ops) {
  const auto now_us = static_cast<int64_t>(stamp.value() / 1000);
  Row& entry = rows_[row];
  for (OwnedMutation& op : ops) {
    if (op.kind != Mutation::Kind::set_cell) continue;
    if (op.timestamp_us == kServerStamped) op.timestamp_us = server_stamp(now_us);
    if (op.ttl_us != kNoTtl) op.expire_at_us = now_us + op.ttl_us;
    entry.columns.insert({op.family, op.qualifier});
  }
  commits_.push_back({stamp, std::move(row), std::move(ops), false, {}});
  entry.commits.push_back(&commits_.back());
}

void RetentionModel::drop_rows(CommitStamp stamp, std::string start, std::string end) {
  commits_.push_back({stamp, {}, {}, true, {std::move(start), std::move(end)}});
  for (auto& [name, row] : rows_) {
    if (commits_.back().dropped.contains(name)) row.commits.push_back(&commits_.back());
  }
}

// The family's rules after the change. A tightened rule that can still be undone and that the new
// one loosens counts as never in force: the rule before it takes its place.
std::vector<RetentionModel::InForce> RetentionModel::changed(const Family& family,
                                                             const RetentionRule& rule,
                                                             uint64_t stamp_ns, int64_t now_us,
                                                             bool close_oldest, bool* refused) {
  std::vector<InForce> rules = family.rules;
  *refused = false;
  const RetentionRule& last = rules.back().rule;
  if (keeps_all(rule, last) && keeps_all(last, rule)) return rules;
  std::vector<bool> never(rules.size());
  for (size_t i = 1; i < rules.size(); ++i) {
    never[i] = is_open(rules[i].undo_until_us, now_us) && keeps_all(rule, rules[i].rule) &&
               !keeps_all(rules[i].rule, rule);
  }
  for (size_t i = 1; i < rules.size(); ++i) {
    if (!never[i]) continue;
    rules[i].rule = rules[i - 1].rule;
    rules[i].undo_until_us = 0;
  }
  // Removes changes without effect, also those that have none because another was removed.
  for (size_t i = rules.size(); i-- > 1;) {
    if (keeps_all(rules[i].rule, rules[i - 1].rule) && keeps_all(rules[i - 1].rule, rules[i].rule))
      rules.erase(rules.begin() + static_cast<ptrdiff_t>(i));
  }
  const RetentionRule before = rules.back().rule;
  if (keeps_all(rule, before) && keeps_all(before, rule)) return rules;
  int64_t undo_until_us = 0;
  if (!keeps_all(rule, before) && family.undo_window_us > 0) {
    const auto open = std::count_if(rules.begin(), rules.end(), [&](const InForce& r) {
      return is_open(r.undo_until_us, now_us);
    });
    *refused = open >= 8 && !close_oldest;
    if (open >= 8 && close_oldest) {
      std::find_if(rules.begin(), rules.end(), [&](const InForce& r) {
        return is_open(r.undo_until_us, now_us);
      })->undo_until_us = 0;
    }
    undo_until_us = now_us + family.undo_window_us;
  }
  rules.push_back({stamp_ns, rule, undo_until_us});
  return rules;
}

bool RetentionModel::refuses(const std::string& family, const RetentionRule& rule,
                             int64_t now_us) const {
  bool refused = false;
  (void)changed(families_.at(family), rule, 0, now_us, false, &refused);
  return refused;
}

void RetentionModel::change_rule(CommitStamp stamp, int64_t now_us, const std::string& family,
                                 RetentionRule rule, bool close_oldest) {
  bool refused = false;
  Family& entry = families_.at(family);
  entry.rules = changed(entry, rule, stamp.value(), now_us, close_oldest, &refused);
  for (auto& [name, row] : rows_) row.places.clear();
}

// One column's history up to an instant, in nanoseconds.
RetentionModel::Column RetentionModel::replay(const Row& row, const ColumnName& column,
                                              uint64_t until_ns) const {
  const auto& [family, qualifier] = column;
  const std::vector<InForce>& rules = families_.at(family).rules;
  Place& place = row.places[column];
  Column& alive = place.alive;
  const auto rule_at = [&rules](uint64_t ns) -> const RetentionRule& {
    size_t i = 0;
    while (i + 1 < rules.size() && rules[i + 1].since_ns <= ns) ++i;
    return rules[i].rule;
  };
  // The end of an instant: removes due cells, newest first, counting the newer ones still live.
  const auto collect = [&](uint64_t ns) {
    const auto now_us = static_cast<int64_t>(ns / 1000);
    uint64_t newer = 0;
    for (auto it = alive.begin(); it != alive.end();) {
      const bool own = it->second.expire_at_us != kNoExpiry;
      const bool dead = (own && now_us > it->second.expire_at_us) ||
                        is_due(rule_at(ns), {now_us - it->first, newer, own});
      newer += dead ? 0 : 1;
      it = dead ? alive.erase(it) : std::next(it);
    }
  };
  // Everything that time alone does in (from, to).
  const auto pass = [&](uint64_t from, uint64_t to) {
    std::set<uint64_t> instants;
    const auto add = [&](int64_t us) {
      if (us < 0 || us > 9'000'000'000'000'000) return;
      const uint64_t ns = static_cast<uint64_t>(us) * 1000;
      if (ns > from && ns < to) instants.insert(ns);
    };
    for (const auto& [timestamp_us, version] : alive) {
      if (version.expire_at_us != kNoExpiry) add(version.expire_at_us + 1);
      for (const InForce& in_force : rules) {
        for (const RuleNode& node : in_force.rule.nodes) {
          if (node.kind == Kind::max_age) add(timestamp_us + node.value + 1);
        }
      }
    }
    for (const InForce& in_force : rules) {
      if (in_force.since_ns > from && in_force.since_ns < to) instants.insert(in_force.since_ns);
    }
    for (const uint64_t ns : instants) collect(ns);
  };

  for (; place.commits < row.commits.size(); ++place.commits) {
    const Commit& commit = *row.commits[place.commits];
    const uint64_t stamp = commit.stamp.value();
    if (stamp > until_ns) break;
    pass(place.at, stamp);
    place.at = stamp;
    if (commit.is_drop) alive.clear();
    for (const OwnedMutation& op : commit.ops) {
      using Op = Mutation::Kind;
      if (op.kind == Op::delete_from_row) alive.clear();
      if (op.kind == Op::delete_from_family && op.family == family) alive.clear();
      if (op.family != family || op.qualifier != qualifier) continue;
      if (op.kind == Op::set_cell) alive[op.timestamp_us] = {op.value, op.expire_at_us};
      if (op.kind == Op::delete_from_column) {
        std::erase_if(alive, [&op](const auto& entry) {
          return entry.first >= op.start_us &&
                 (entry.first < op.end_us || op.end_us == kMaxTimestampUs);
        });
      }
    }
    collect(stamp);
  }
  // Later effects of time are discarded: the next commit may fall before them.
  const Column at_last_commit = alive;
  pass(place.at, until_ns);
  collect(until_ns);
  Column now = std::move(alive);
  alive = at_last_commit;
  return now;
}

void RetentionModel::read_into(std::vector<OwnedCell>& cells, const std::string& name,
                               const Row& row, int64_t now_us) const {
  const uint64_t until_ns = static_cast<uint64_t>(now_us) * 1000 + 999;
  for (const ColumnName& column : row.columns) {
    for (const auto& [timestamp_us, version] : replay(row, column, until_ns)) {
      cells.push_back({name, column.first, column.second, timestamp_us, version.value});
    }
  }
}

std::vector<OwnedCell> RetentionModel::read(int64_t now_us) const {
  std::vector<OwnedCell> cells;
  for (const auto& [name, row] : rows_) read_into(cells, name, row, now_us);
  return cells;
}

std::vector<OwnedCell> RetentionModel::read_row(const std::string& row, int64_t now_us) const {
  std::vector<OwnedCell> cells;
  if (const auto it = rows_.find(row); it != rows_.end()) {
    read_into(cells, row, it->second, now_us);
  }
  return cells;
}

}  // namespace cellar::support
