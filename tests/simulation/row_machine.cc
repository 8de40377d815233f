#include "tests/simulation/row_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "io/base/bytes.h"
#include "io/base/check.h"
#include "io/base/coding.h"
#include "tests/simulation/mixed_rules.h"

namespace cellar::simulation {
namespace {

constexpr std::array kVerbs = {"read",        "mutate",        "check",       "modify",
                               "change_rule", "undo_rule",     "drop_family", "add_family",
                               "drop_table",  "restore_table", "crash",       "back_up",
                               "seal_backup", "restore_backup"};
constexpr std::array kRefusals = {"", " -> absent", " -> table exists", " -> family exists",
                                  " -> nothing to undo"};

bool is_set(const OwnedMutation& op) { return op.kind == Mutation::Kind::set_cell; }
bool is_stamped(const OwnedMutation& op) { return is_set(op) && op.timestamp_us == kServerStamped; }

int64_t commit_us_of(const RowOp& op) { return static_cast<int64_t>(op.stamp_ns / 1'000); }

std::string text_of(const std::vector<OwnedMutation>& ops) {
  std::string out;
  for (const OwnedMutation& op : ops) {
    if (is_set(op)) {
      out += fmt::format(" {}:{}@{}={}", op.family, op.qualifier,
                         is_stamped(op) ? "server" : std::to_string(op.timestamp_us),
                         escape_bytes(op.value));
      if (op.ttl_us != kNoTtl) out += fmt::format(" ttl {}", op.ttl_us);
      if (op.expire_at_us != kNoExpiry) out += fmt::format(" until {}", op.expire_at_us);
    } else if (op.kind == Mutation::Kind::delete_from_row) {
      out += " delete row";
    } else if (op.kind == Mutation::Kind::delete_from_family) {
      out += fmt::format(" delete {}", op.family);
    } else {
      out += fmt::format(" delete {}:{}", op.family, op.qualifier);
      if (op.start_us != 0 || op.end_us != kMaxTimestampUs) {
        out += fmt::format(" [{}, {})", op.start_us, op.end_us);
      }
    }
  }
  return out;
}

std::string modified(const std::string* before, const Modification& rule) {
  if (rule.append) return before == nullptr ? *rule.append : *before + *rule.append;
  int64_t number = 0;
  if (before != nullptr) {
    CHECK(before->size() == 8, "a counter of {} bytes", before->size());
    number = static_cast<int64_t>(load_be64(before->data()));
  }
  const auto sum = static_cast<uint64_t>(number + rule.increment_by);
  std::string out;
  for (int shift = 56; shift >= 0; shift -= 8) out.push_back(static_cast<char>(sum >> shift));
  return out;
}

}  // namespace

std::string RowOp::text() const {
  const auto verb_at = static_cast<size_t>(verb);
  std::string out =
      fmt::format("[{}, {}] {} {}{}", call, answered() ? std::to_string(ret) : "?", who,
                  kVerbs.at(verb_at), kRefusals.at(static_cast<size_t>(refused)));
  if (!durable) out += " (not sync)";
  if (stamp_ns != 0) out += fmt::format(" stamp {}", stamp_ns);
  if (inferred) out += " (not answered)";
  if (expect) out += fmt::format(" if a:{} is {}", expect->first, expect->second);
  if (!family.empty()) out += fmt::format(" {} {}", family, rule);
  if (backup != 0) out += fmt::format(" backup {}", backup);
  if (branch != 0) out += fmt::format(" in restored table {}", branch);
  out += text_of(ops);
  if (!otherwise.empty()) out += " else" + text_of(otherwise);
  for (const Modification& one : rules) {
    out += fmt::format(" {}:{} {}", one.family, one.qualifier,
                       one.append ? "append " + *one.append : std::to_string(one.increment_by));
  }
  if (verb == Verb::check && answered()) out += matched ? " -> matched" : " -> not matched";
  if (verb == Verb::read || !seen.empty()) out += newest_only ? " -> newest" : " ->";
  for (const SeenCell& cell : seen) {
    out += fmt::format(" {}:{}@{}={}", cell.family, cell.qualifier, cell.timestamp_us,
                       escape_bytes(cell.value));
    if (cell.expire_at_us != kNoExpiry) out += fmt::format(" until {}", cell.expire_at_us);
  }
  return out + fmt::format("  ({}..{})", from_us, to_us);
}

RowMachine::RowMachine(std::vector<FamilyPlan> families, Granularity granularity,
                       const std::vector<RowOp>& ops)
    : plans_(std::move(families)), granule_us_(granule_us(granularity)) {
  for (const RowOp& op : ops) {
    for (const SeenCell& cell : op.seen) {
      Observed& column = observed_[{cell.family, cell.qualifier}];
      column.stamps.insert(cell.timestamp_us);
      column.by_value[cell.value].insert(cell.timestamp_us);
      column.expiries[{cell.timestamp_us, cell.value}] = cell.expire_at_us;
    }
    if (op.verb != Verb::restore_backup) continue;
    const RowOp* first = nullptr;
    for (const RowOp& other : ops) {
      if (other.branch != op.branch || other.verb == Verb::restore_backup) continue;
      if (other.refused == Refused::absent) continue;
      if (first == nullptr || other.call < first->call) first = &other;
    }
    if (first != nullptr && first->verb == Verb::read) first_reads_.emplace(op.backup, *first);
  }
}

RowState RowMachine::initial() const {
  RowState state;
  for (const FamilyPlan& family : plans_) state.families[family.name].rule = family.rule;
  return state;
}

const FamilyPlan& RowMachine::plan(const std::string& family) const {
  const auto it = std::find_if(plans_.begin(), plans_.end(),
                               [&](const FamilyPlan& one) { return one.name == family; });
  CHECK(it != plans_.end(), "no family '{}'", family);
  return *it;
}

std::string RowMachine::key(const RowState& state) const {
  std::string out =
      fmt::format("{}{}/{}/{}", state.table, state.commit_us, state.read_us, state.stamp_ns);
  const auto add = [&out](const RowState::Columns& columns) {
    for (const auto& [name, column] : columns) {
      if (column.empty()) continue;
      out += name;
      for (const auto& [at, version] : column) {
        out += fmt::format("@{}={}!{}", at, version.value, version.expire_at_us);
      }
    }
  };
  for (const auto& [name, family] : state.families) {
    out += fmt::format("|{}{}{}/{}", name, family.there, family.rule, family.judged_us);
    add(family.columns);
    for (const RowState::Before& before : family.undo) {
      out += fmt::format("<{}", before.rule);
      add(before.columns);
    }
  }
  for (const auto& before : state.undurable) out += "~" + key(*before);
  for (const auto& [number, copied] : state.backups) {
    out += fmt::format("#{}{}", number, copied.open) + key(*copied.row);
  }
  for (const auto& [number, row] : state.branches) out += fmt::format("&{}", number) + key(*row);
  return out;
}

bool RowMachine::dead(const RowState::Family& family, const FamilyPlan& plan, int64_t timestamp_us,
                      const RowState::Version& version, int64_t now_us) const {
  if (version.expire_at_us != kNoExpiry) return now_us > version.expire_at_us;
  return plan.kind == FamilyKind::age && family.rule != 0 && now_us - timestamp_us > family.rule;
}

std::vector<SeenCell> RowMachine::alive(const RowState& state, int64_t now_us,
                                        bool newest_only) const {
  std::vector<SeenCell> out;
  const auto add = [&](const std::string& name, const RowState::Family& family) {
    for (const auto& [qualifier, column] : family.columns) {
      for (const auto& [at, version] : column) {
        if (dead(family, plan(name), at, version, now_us)) continue;
        out.push_back({name, qualifier, at, version.value, version.expire_at_us});
        if (newest_only) break;
      }
    }
  };
  for (const auto& [name, family] : state.families) {
    if (!family.there) continue;
    if (plan(name).kind != FamilyKind::mixed) {
      add(name, family);
      continue;
    }
    RowState::Family now{.there = true, .rule = family.rule, .columns = family.columns, .undo = {}};
    pass_mixed(now.columns, now.rule, family.judged_us, now_us);
    add(name, now);
  }
  return out;
}

std::vector<int64_t> RowMachine::instants(const RowState& state, int64_t from_us,
                                          int64_t to_us) const {
  std::set<int64_t> at = {from_us};
  const auto add_deaths = [&](const RowState::Columns& columns, int64_t age_us) {
    for (const auto& [qualifier, column] : columns) {
      for (const auto& [timestamp_us, version] : column) {
        const bool own = version.expire_at_us != kNoExpiry;
        if (!own && age_us == 0) continue;
        const int64_t death_us = (own ? version.expire_at_us : timestamp_us + age_us) + 1;
        if (death_us > from_us && death_us <= to_us) at.insert(death_us);
      }
    }
  };
  for (const auto& [name, family] : state.families) {
    if (plan(name).kind == FamilyKind::mixed) {
      add_mixed_deaths(family.columns, family.rule, from_us, to_us, at);
      for (const auto& undo : family.undo) {
        add_mixed_deaths(undo.columns, undo.rule, from_us, to_us, at);
      }
      continue;
    }
    const bool versions = plan(name).kind == FamilyKind::versions;
    add_deaths(family.columns, versions ? 0 : family.rule);
    // What a loosening brings back is judged by the rule before the tightening.
    for (const auto& undo : family.undo) add_deaths(undo.columns, versions ? 0 : undo.rule);
  }
  return {at.begin(), at.end()};
}

void RowMachine::pass(RowState::Family& family, int64_t now_us) {
  pass_mixed(family.columns, family.rule, family.judged_us, now_us);
  for (RowState::Before& before : family.undo) {
    pass_mixed(before.columns, before.rule, family.judged_us, now_us);
  }
  family.judged_us = std::max(family.judged_us, now_us);
}

void RowMachine::collect(RowState::Family& family, int64_t now_us) {
  collect_mixed(family.columns, family.rule, now_us);
  for (RowState::Before& before : family.undo) {
    collect_mixed(before.columns, before.rule, now_us);
  }
}

void RowMachine::prune(RowState::Columns& columns, int64_t most) {
  if (most == 0) return;
  for (auto& [qualifier, column] : columns) {
    while (column.size() > static_cast<size_t>(most)) column.erase(std::prev(column.end()));
  }
}

bool RowMachine::families_there(const RowState& state, const RowOp& op) const {
  const auto there = [&state](const std::string& family) {
    return family.empty() || state.families.at(family).there;
  };
  const auto all = [&there](const std::vector<OwnedMutation>& ops) {
    return std::all_of(ops.begin(), ops.end(), [&](const auto& one) { return there(one.family); });
  };
  return all(op.ops) && all(op.otherwise) &&
         std::all_of(op.rules.begin(), op.rules.end(),
                     [&](const Modification& one) { return there(one.family); });
}

bool RowMachine::refused_rightly(const RowState& state, const RowOp& op) const {
  switch (op.refused) {
    case Refused::no:
      return false;
    case Refused::table_exists:
      return state.table;
    case Refused::absent:
      return !state.table || !families_there(state, op) ||
             (!op.family.empty() && !state.families.at(op.family).there);
    case Refused::family_exists:
      return state.table && state.families.at(op.family).there;
    case Refused::no_undo:
      return state.table && state.families.at(op.family).undo.empty();
  }
  return false;
}

std::vector<RowState> RowMachine::step(const RowState& state, const RowOp& op) const {
  if (op.branch != 0 && op.verb != Verb::restore_backup) return step_branch(state, op);
  if (op.refused != Refused::no) {
    if (refused_rightly(state, op)) return {state};
    return {};
  }
  if (op.verb == Verb::crash) return crash(state);
  if (op.verb == Verb::seal_backup || op.verb == Verb::restore_backup) return copy(state, op);
  if (!state.table && op.verb != Verb::restore_table) return {};
  switch (op.verb) {
    case Verb::read:
      return read(state, op);
    case Verb::mutate:
      return families_there(state, op) ? commit(state, op, op.ops) : std::vector<RowState>();
    case Verb::check:
      return families_there(state, op) ? check(state, op) : std::vector<RowState>();
    case Verb::modify:
      return families_there(state, op) ? modify(state, op) : std::vector<RowState>();
    case Verb::back_up:
      return copy(state, op);
    default:
      break;
  }
  std::vector<RowState> out;
  for (RowState& next : change_schema(state, op)) {
    for (auto& before : next.undurable) {
      std::vector<RowState> changed = change_schema(*before, op);
      if (!changed.empty()) before = std::make_shared<RowState>(std::move(changed.front()));
    }
    for (RowState& one : change_copies(std::move(next), op)) out.push_back(std::move(one));
  }
  return out;
}

std::vector<RowState> RowMachine::change_schema(const RowState& state, const RowOp& op) const {
  if (op.verb == Verb::change_rule) return change_rule(state, op);
  if (op.verb == Verb::undo_rule) return undo_rule(state, op);
  return structure(state, op);
}

std::vector<RowState> RowMachine::read(const RowState& state, const RowOp& op) const {
  const int64_t from_us = std::max({state.read_us, state.commit_us, op.from_us});
  const auto same = [](const SeenCell& a, const SeenCell& b) {
    return a.family == b.family && a.qualifier == b.qualifier && a.timestamp_us == b.timestamp_us &&
           a.value == b.value;
  };
  for (const int64_t now_us : instants(state, from_us, op.to_us)) {
    const std::vector<SeenCell> cells = alive(state, now_us, op.newest_only);
    if (!std::equal(cells.begin(), cells.end(), op.seen.begin(), op.seen.end(), same)) continue;
    RowState next = state;
    next.read_us = now_us;
    return {std::move(next)};
  }
  return {};
}

// ---- commits

void RowMachine::weaken(RowState& next, const RowState& before, const RowOp& op) {
  if (op.durable) {
    next.undurable.clear();
    return;
  }
  auto kept = std::make_shared<RowState>(before);
  kept->undurable.clear();
  kept->backups.clear();
  kept->branches.clear();
  next.undurable.push_back(std::move(kept));
}

bool RowMachine::advance(RowState& state, const RowOp& op, int64_t stamp_us) const {
  const int64_t least_us = std::max(state.commit_us, op.from_us);
  if (op.stamp_ns != 0) {
    if (op.stamp_ns <= state.stamp_ns) return false;
    state.stamp_ns = op.stamp_ns;
    state.commit_us = commit_us_of(op);
    return state.commit_us >= least_us && state.commit_us <= op.to_us;
  }
  state.commit_us = std::max(least_us, stamp_us);
  return stamp_us + granule_us_ > least_us && state.commit_us <= op.to_us;
}

bool RowMachine::was_read(const std::string& family, const std::string& qualifier,
                          const std::string& value) const {
  const auto observed = observed_.find({family, qualifier});
  return observed != observed_.end() && observed->second.by_value.contains(value);
}

std::vector<int64_t> RowMachine::stamps_of(const RowState& state, const RowOp& op,
                                           const std::string& family, const std::string& qualifier,
                                           const std::string& value, Written written) const {
  const auto observed = observed_.find({family, qualifier});
  const bool known = observed != observed_.end();
  std::set<int64_t> at;
  if (known) {
    const auto found = observed->second.by_value.find(value);
    if (found != observed->second.by_value.end()) at = found->second;
    if (!at.empty() && written == Written::once) return {at.begin(), at.end()};
  }
  // No read returned it: at a new timestamp, or at one where it was replaced.
  int64_t newest_us = 0;
  const auto column = state.families.at(family).columns.find(qualifier);
  if (column != state.families.at(family).columns.end() && !column->second.empty()) {
    newest_us = column->second.begin()->first;
  }
  const int64_t least_us = std::max(state.commit_us, op.from_us);
  at.insert(std::max(least_us - least_us % granule_us_, newest_us + 1));
  // The latest instant too: a condition may have seen it alive before its age ended it.
  const int64_t most_us = op.to_us - op.to_us % granule_us_;
  if (op.to_us < INT64_MAX && most_us > newest_us) at.insert(most_us);
  if (newest_us + granule_us_ > least_us) at.insert(newest_us);
  if (known) {
    for (auto it = observed->second.stamps.upper_bound(newest_us);
         it != observed->second.stamps.end() && *it <= op.to_us; ++it) {
      at.insert(*it);
    }
  }
  return {at.begin(), at.end()};
}

std::vector<int64_t> RowMachine::stamps(const RowState& state, const RowOp& op,
                                        const std::vector<OwnedMutation>& ops) const {
  if (op.stamp_ns != 0) return {commit_us_of(op) - commit_us_of(op) % granule_us_};
  // Cells of one commit have one timestamp; one that was read decides.
  std::set<int64_t> possible;
  for (const OwnedMutation& one : ops) {
    if (!is_stamped(one)) continue;
    std::vector<int64_t> mine =
        stamps_of(state, op, one.family, one.qualifier, one.value, Written::once);
    if (was_read(one.family, one.qualifier, one.value)) return mine;
    possible.insert(mine.begin(), mine.end());
  }
  if (possible.empty()) return {0};
  return {possible.begin(), possible.end()};
}

std::vector<RowState> RowMachine::commit(const RowState& state, const RowOp& op,
                                         const std::vector<OwnedMutation>& ops) const {
  if (ops.empty()) return {state};
  std::vector<RowState> out;
  for (const int64_t stamp_us : stamps(state, op, ops)) {
    RowState next = state;
    const bool is_timed = op.stamp_ns != 0 || std::any_of(ops.begin(), ops.end(), is_stamped);
    if (is_timed) {
      if (!advance(next, op, stamp_us)) continue;
    } else {
      next.commit_us = std::max(state.commit_us, op.from_us);
      if (next.commit_us > op.to_us) continue;
    }
    // A time to live counts from the commit: from the earliest instant, and from the latest, if the
    // instant is not known.
    if (!is_timed && op.to_us > next.commit_us && expires_unseen(ops)) {
      place(out, next, op, ops, stamp_us, op.to_us);
    }
    place(out, next, op, ops, stamp_us, next.commit_us);
  }
  for (RowState& next : out) weaken(next, state, op);
  return out;
}

// `before`: with the least instant of the commit; `ttl_us`: from which times to live count.
void RowMachine::place(std::vector<RowState>& out, const RowState& before, const RowOp& op,
                       const std::vector<OwnedMutation>& ops, int64_t stamp_us,
                       int64_t ttl_us) const {
  const auto is_mixed = [this](const std::string& family) {
    return plan(family).kind == FamilyKind::mixed;
  };
  const bool touched = std::any_of(ops.begin(), ops.end(), [&](const OwnedMutation& one) {
    return one.kind == Mutation::Kind::delete_from_row || is_mixed(one.family);
  });
  std::set<int64_t> at = {before.commit_us};
  if (touched && op.stamp_ns == 0) {
    const bool told = std::any_of(ops.begin(), ops.end(), [this](const OwnedMutation& one) {
      return is_stamped(one) && was_read(one.family, one.qualifier, one.value);
    });
    const int64_t to_us = told ? std::min(op.to_us, stamp_us + granule_us_ - 1) : op.to_us;
    for (const auto& [name, family] : before.families) {
      if (!is_mixed(name)) continue;
      add_mixed_deaths(family.columns, family.rule, before.commit_us, to_us, at);
      for (const auto& undo : family.undo) {
        add_mixed_deaths(undo.columns, undo.rule, before.commit_us, to_us, at);
      }
    }
  }
  const auto same = [&](const RowState& a, const RowState& b) {
    return std::all_of(a.families.begin(), a.families.end(), [&](const auto& one) {
      return !is_mixed(one.first) || one.second.holds_as(b.families.at(one.first));
    });
  };
  std::optional<size_t> last;
  for (const int64_t now_us : at) {
    RowState next = before;
    next.commit_us = now_us;
    apply(next, ops, {stamp_us, ttl_us, now_us});
    // What leaves the same cells leaves the same future.
    if (last && same(out[*last], next)) continue;
    last = out.size();
    out.push_back(std::move(next));
  }
}

// A cell with a time to live that no read has returned.
bool RowMachine::expires_unseen(const std::vector<OwnedMutation>& ops) const {
  return std::any_of(ops.begin(), ops.end(), [this](const OwnedMutation& one) {
    return one.ttl_us != kNoTtl && !was_read(one.family, one.qualifier, one.value);
  });
}

void RowMachine::apply_to(RowState::Columns& columns, const OwnedMutation& op, int64_t stamp_us,
                          int64_t commit_us) const {
  switch (op.kind) {
    case Mutation::Kind::set_cell: {
      const int64_t at = is_stamped(op) ? stamp_us : op.timestamp_us;
      RowState::Version version{op.value, op.expire_at_us};
      if (op.ttl_us != kNoTtl) {
        version.expire_at_us =
            commit_us > kNoExpiry - op.ttl_us ? kNoExpiry : commit_us + op.ttl_us;
        const auto observed = observed_.find({op.family, op.qualifier});
        if (observed != observed_.end()) {
          const auto found = observed->second.expiries.find({at, op.value});
          if (found != observed->second.expiries.end()) version.expire_at_us = found->second;
        }
      }
      columns[op.qualifier][at] = std::move(version);
      return;
    }
    case Mutation::Kind::delete_from_column:
      std::erase_if(columns[op.qualifier], [&op](const auto& one) {
        return one.first >= op.start_us && (one.first < op.end_us || op.end_us == kMaxTimestampUs);
      });
      return;
    case Mutation::Kind::delete_from_family:
    case Mutation::Kind::delete_from_row:
      columns.clear();
      return;
  }
}

void RowMachine::apply(RowState& state, const std::vector<OwnedMutation>& ops,
                       const Instants& at) const {
  for (auto& [name, family] : state.families) {
    bool touched = false;
    const FamilyKind kind = plan(name).kind;
    for (const OwnedMutation& op : ops) {
      if (op.kind != Mutation::Kind::delete_from_row && op.family != name) continue;
      if (kind == FamilyKind::mixed && !touched) pass(family, at.commit_us);
      touched = true;
      apply_to(family.columns, op, at.stamp_us, at.ttl_us);
      for (RowState::Before& before : family.undo) {
        apply_to(before.columns, op, at.stamp_us, at.ttl_us);
      }
    }
    if (touched && kind == FamilyKind::mixed) collect(family, at.commit_us);
    if (!touched || kind != FamilyKind::versions) continue;
    prune(family.columns, family.rule);
    for (RowState::Before& before : family.undo) prune(before.columns, before.rule);
  }
}

std::vector<RowState> RowMachine::check(const RowState& state, const RowOp& op) const {
  std::vector<RowState> out;
  std::optional<bool> tried;
  const int64_t from_us = std::max(state.commit_us, op.from_us);
  const int64_t to_us = op.stamp_ns != 0 ? commit_us_of(op) : op.to_us;
  for (const int64_t now_us : instants(state, from_us, to_us)) {
    const std::vector<SeenCell> cells = alive(state, now_us, true);
    const bool holds = op.expect ? std::any_of(cells.begin(), cells.end(),
                                               [&](const SeenCell& cell) {
                                                 return cell.family == "a" &&
                                                        cell.qualifier == op.expect->first &&
                                                        cell.value == op.expect->second;
                                               })
                                 : !cells.empty();
    if ((op.answered() && holds != op.matched) || tried == holds) continue;
    tried = holds;
    RowState judged = state;
    judged.commit_us = now_us;
    for (RowState& next : commit(judged, op, holds ? op.ops : op.otherwise)) {
      out.push_back(std::move(next));
    }
  }
  return out;
}

// One rule a request.
std::vector<RowState> RowMachine::modify(const RowState& state, const RowOp& op) const {
  const Modification& rule = op.rules.front();
  const RowState::Family& family = state.families.at(rule.family);
  const auto column = family.columns.find(rule.qualifier);
  const bool empty = column == family.columns.end() || column->second.empty();
  const int64_t newest_us = empty ? 0 : column->second.begin()->first;
  const std::string value = modified(empty ? nullptr : &column->second.begin()->second.value, rule);
  std::vector<int64_t> at;
  if (op.answered() && !op.seen.empty()) {
    if (op.seen.size() != 1 || op.seen.front().value != value) return {};
    at = {op.seen.front().timestamp_us};
  } else {
    at = stamps_of(state, op, rule.family, rule.qualifier, value,
                   rule.append ? Written::once : Written::repeatedly);
  }
  std::vector<RowState> out;
  for (const int64_t stamp_us : at) {
    if (stamp_us < newest_us) continue;
    RowState next = state;
    if (!advance(next, op, stamp_us)) continue;
    OwnedMutation set;
    set.family = rule.family;
    set.qualifier = rule.qualifier;
    set.value = value;
    set.timestamp_us = stamp_us;
    apply(next, {set}, {stamp_us, next.commit_us, next.commit_us});
    weaken(next, state, op);
    out.push_back(std::move(next));
  }
  return out;
}

// ---- the schema

// A rule is one number, and a smaller one keeps less; 0 keeps everything. A change of a rule is a
// durable commit, so it makes the earlier ones durable.
std::vector<RowState> RowMachine::change_rule(const RowState& state, const RowOp& op) const {
  const auto looser = [](int64_t a, int64_t b) { return b != 0 && (a == 0 || a > b); };
  if (!state.families.at(op.family).there) return {};
  // The same rule again changes nothing and is no commit.
  if (state.families.at(op.family).rule == op.rule) return {state};
  const FamilyPlan& kind = plan(op.family);
  std::vector<RowState> out;
  const int64_t from_us = std::max(state.commit_us, op.from_us);
  for (const int64_t now_us : instants(state, from_us, op.to_us)) {
    RowState next = state;
    next.commit_us = now_us;
    next.undurable.clear();
    RowState::Family& family = next.families.at(op.family);
    if (kind.kind == FamilyKind::mixed) pass(family, now_us);
    // Tightenings that the new rule loosens count as never in force.
    while (!family.undo.empty() && looser(op.rule, family.rule)) {
      family.rule = family.undo.back().rule;
      family.columns = std::move(family.undo.back().columns);
      family.undo.pop_back();
    }
    if (looser(family.rule, op.rule) && kind.can_undo) {
      family.undo.push_back({family.rule, family.columns});
    }
    // What the old rule has killed stays dead.
    for (auto& [qualifier, column] : family.columns) {
      std::erase_if(column, [&](const auto& one) {
        return dead(family, kind, one.first, one.second, now_us);
      });
    }
    family.rule = op.rule;
    if (kind.kind == FamilyKind::versions) prune(family.columns, family.rule);
    if (kind.kind == FamilyKind::mixed) collect(family, now_us);
    out.push_back(std::move(next));
  }
  return out;
}

std::vector<RowState> RowMachine::undo_rule(const RowState& state, const RowOp& op) const {
  RowState next = state;
  next.commit_us = std::max(state.commit_us, op.from_us);
  next.undurable.clear();
  RowState::Family& family = next.families.at(op.family);
  if (!family.there || family.undo.empty()) return {};
  family.rule = family.undo.back().rule;
  family.columns = std::move(family.undo.back().columns);
  family.undo.pop_back();
  return {std::move(next)};
}

std::vector<RowState> RowMachine::structure(const RowState& state, const RowOp& op) const {
  RowState next = state;
  switch (op.verb) {
    case Verb::drop_table:
      next.table = false;
      return {std::move(next)};
    case Verb::restore_table:
      if (state.table) return {};
      next.table = true;
      return {std::move(next)};
    case Verb::drop_family:
    case Verb::add_family: {
      RowState::Family& family = next.families.at(op.family);
      const bool add = op.verb == Verb::add_family;
      if (family.there == add) return {};
      family = {};
      family.there = add;
      family.rule = plan(op.family).rule;
      return {std::move(next)};
    }
    default:
      UNREACHABLE("verb {}", static_cast<int>(op.verb));
  }
}

std::vector<RowState> RowMachine::crash(const RowState& state) {
  std::vector<RowState> out;
  RowState kept = state;
  kept.undurable.clear();
  out.push_back(kept);
  for (auto it = state.undurable.rbegin(); it != state.undurable.rend(); ++it) {
    RowState older = **it;
    older.read_us = state.read_us;
    older.backups = state.backups;
    older.branches = state.branches;
    // A stamp is the later of trusted time, which goes back at no crash, and the tablet's last
    // stamp plus one: while time stands, stamps that the crash took back may be given again.
    const uint64_t standing_ns = state.stamp_ns - state.stamp_ns % 1'000;
    older.stamp_ns = std::max(older.stamp_ns, standing_ns == 0 ? 0 : standing_ns - 1);
    out.push_back(std::move(older));
  }
  return out;
}

}  // namespace cellar::simulation
