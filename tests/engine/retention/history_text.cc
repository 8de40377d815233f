// Shortening and printing of a failing history.
#include <fmt/format.h>

#include <algorithm>

#include "tests/engine/retention/history.h"
#include "tests/support/filter_model.h"

namespace cellar::support {
namespace {

std::string op_text(const OwnedMutation& op) {
  switch (op.kind) {
    case Mutation::Kind::set_cell: {
      std::string text = fmt::format("set {}:{}", op.family, op.qualifier);
      if (op.timestamp_us != kServerStamped) text += fmt::format(" @{}", op.timestamp_us);
      if (op.expire_at_us != kNoExpiry) text += fmt::format(" expires {}", op.expire_at_us);
      if (op.ttl_us != kNoTtl) text += fmt::format(" lives {} us", op.ttl_us);
      return text;
    }
    case Mutation::Kind::delete_from_column:
      return fmt::format("delete {}:{} [{}, {})", op.family, op.qualifier, op.start_us, op.end_us);
    case Mutation::Kind::delete_from_family:
      return "delete " + op.family;
    case Mutation::Kind::delete_from_row:
      return "delete row";
  }
  return "";
}

std::string ops_text(const std::vector<OwnedMutation>& ops) {
  std::string text;
  for (const OwnedMutation& op : ops) text += " " + op_text(op) + ";";
  return text;
}

std::string read_text(const HistoryStep& step) {
  std::string text = "read";
  if (!step.row.empty()) text += fmt::format(" ['{}', '{}')", step.row, escape_bytes(step.end));
  if (step.reversed) text += " backwards";
  if (step.time_range.start_us != 0)
    text += fmt::format(" times [{}, {})", step.time_range.start_us, step.time_range.end_us);
  if (step.versions != 0) text += fmt::format(" newest {}", step.versions);
  if (!step.filter.empty()) text += " filter " + to_text(step.filter);
  return text;
}

std::string family_text(const FamilySchema& family) {
  const char* const meanings[] = {"time", "expiry", "sequence"};
  std::string text = fmt::format(
      "family {}: {}, timestamps {}, undo window {} us", family.name, describe_rule(family.rule),
      meanings[static_cast<size_t>(family.timestamps)], family.undo_window_us);
  if (family.born_dead == BornDead::accept) text += ", born dead accepted";
  if (family.window.past_us) text += fmt::format(", window past {} us", *family.window.past_us);
  if (family.window.future_us)
    text += fmt::format(", window future {} us", *family.window.future_us);
  if (family.window.unit == WriteWindow::Unit::seconds) text += " in seconds";
  return text;
}

// Removes parts of `list`, which is a member of `failing`: halves first, single elements last.
template <class T>
void shorten_list(History& failing, std::vector<T>& list, uint64_t options_seed) {
  for (size_t chunk = std::max<size_t>(1, list.size() / 2);;) {
    bool shorter = false;
    for (size_t at = 0; at < list.size();) {
      const std::vector<T> before = list;
      const auto begin = list.begin() + static_cast<ptrdiff_t>(at);
      list.erase(begin, begin + static_cast<ptrdiff_t>(std::min(chunk, list.size() - at)));
      if (play(failing, options_seed)) {
        shorter = true;
      } else {
        list = before;
        at += chunk;
      }
    }
    if (chunk == 1 && !shorter) return;
    chunk = std::max<size_t>(1, chunk / 2);
  }
}

}  // namespace

std::string to_text(const HistoryStep& step) {
  using Kind = HistoryStep::Kind;
  switch (step.kind) {
    case Kind::write:
      return "write " + step.row + ":" + ops_text(step.ops);
    case Kind::check:
      return fmt::format("check {}: if {} then{} else{}", step.row,
                         step.filter.empty() ? "any cell" : to_text(step.filter),
                         ops_text(step.ops), ops_text(step.else_ops));
    case Kind::modify:
      return step.by == 0
                 ? fmt::format("append {}: {}:{}", step.row, step.family, step.qualifier)
                 : fmt::format("add {}: {}:{} {}", step.row, step.family, step.qualifier, step.by);
    case Kind::drop_rows:
      return fmt::format("drop rows [{}, {})", step.row, step.end);
    case Kind::change_rule:
      return fmt::format("rule of {}: {}{}", step.family, describe_rule(step.rule),
                         step.close_oldest ? ", close the oldest window" : "");
    case Kind::pass_time:
      return fmt::format("pass {} us{}", step.us, step.frozen ? " frozen" : "");
    case Kind::flush:
      return "flush";
    case Kind::compact:
      return "compact";
    case Kind::compact_some:
      return fmt::format("compact some ({}, {})", step.a, step.b);
    case Kind::split:
      return "split at " + step.row;
    case Kind::merge:
      return fmt::format("merge tablets ({})", step.a);
    case Kind::move:
      if (!step.row.empty()) return fmt::format("move the tablet of {} ({})", step.row, step.b);
      return fmt::format("move a tablet ({}, {})", step.a, step.b);
    case Kind::crash:
      return fmt::format("crash ({}), down for {} us", step.a % 4, step.us);
    case Kind::kill:
      return fmt::format("kill, down for {} us", step.us);
    case Kind::close:
      return fmt::format("close, down for {} us", step.us);
    case Kind::read:
      return read_text(step);
    case Kind::step_wall:
      return fmt::format("step the wall clock by {} us", step.us);
    case Kind::set_wall_right:
      return "set the wall clock right";
    case Kind::set_synchronised:
      return step.a % 2 == 0 ? "the kernel's clock is synchronised"
                             : "the kernel's clock is not synchronised";
    case Kind::reboot:
      return fmt::format("reboot ({}, {}), down for {} us", step.a, step.b, step.us);
    case Kind::renew:
      return "renew the anchor";
    case Kind::release:
      return "release held time";
  }
  return "";
}

std::string to_text(const History& history) {
  std::string text = fmt::format("table in {}, clock at {}\n",
                                 history.granularity == Granularity::micros ? "micros" : "millis",
                                 kHistoryStartUs);
  for (const FamilySchema& family : history.families) text += family_text(family) + "\n";
  for (size_t i = 0; i < history.steps.size(); ++i)
    text += fmt::format("{:3}  {}\n", i, to_text(history.steps[i]));
  return text;
}

History shorten(History failing, uint64_t options_seed) {
  shorten_list(failing, failing.steps, options_seed);
  for (size_t i = 0; i < failing.steps.size(); ++i) {
    shorten_list(failing, failing.steps[i].ops, options_seed);
    shorten_list(failing, failing.steps[i].else_ops, options_seed);
  }
  return failing;
}

}  // namespace cellar::support
