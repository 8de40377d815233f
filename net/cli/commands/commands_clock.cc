// The node's clock: status, and release of held time (SEMANTICS 3, clock safety).
#include <algorithm>

#include "net/cli/commands/commands.h"
#include "net/cli/commands/confirm.h"
#include "net/cli/parse/rule_text.h"
#include "net/cli/print/printer.h"
#include "net/cli/session/json_rows.h"
#include "net/cli/text/times.h"

namespace cellar::cli {

namespace {

using client::ClockReport;
using client::RetentionRule;

void print_report(const Session& session, const ClockReport& report) {
  if (session.json) {
    session.console.print(
        "{{\"trusted_us\":{},\"wall_us\":{},\"held_us\":{},\"synchronised\":{},\"steady_us\":{},"
        "\"release_after_us\":{},\"lag_us\":{},\"stands\":{}}}\n",
        report.trusted_us, report.wall_us, report.held_us, report.synchronised, report.steady_us,
        report.release_after_us, report.lag_us, report.stands);
    return;
  }
  const std::string kernel = report.synchronised
                                 ? fmt::format("says its clock is synchronised; steady for {}",
                                               format_duration(report.steady_us))
                                 : std::string("does not say that its clock is synchronised");
  Lines lines = {{"trusted time", format_time(report.trusted_us)},
                 {"wall clock", format_time(report.wall_us)}};
  if (report.stands) {
    lines.push_back(
        {"so", "the node was started read-only: what it answers is as of trusted time"});
  } else if (report.lag_us > 0) {
    lines.push_back({"lags", fmt::format("{}: no anchor of the clock could be written",
                                         format_duration(report.lag_us))});
  }
  if (report.held_us == 0) {
    lines.push_back({"held time", "none"});
    lines.push_back({"kernel", kernel});
  } else {
    lines.push_back({"held time", format_duration(report.held_us)});
    lines.push_back({"why",
                     "the wall clock went ahead of the machine's uptime, or the machine was "
                     "off for longer than is believed"});
    lines.push_back({"so", "nothing dies by the held time; the only cost is disk"});
    lines.push_back({"kernel", kernel});
    lines.push_back({"until", fmt::format("cellar clock confirm, or {} of a steady clock",
                                          exact_duration(report.release_after_us))});
  }
  session.console.write(aligned(lines, 0));
}

// The least and greatest age in a rule; false if it has none.
bool ages_of(const RetentionRule& rule, int64_t& least_us, int64_t& most_us) {
  bool any = rule.kind == RetentionRule::Kind::max_age;
  if (any) {
    least_us = std::min(least_us, rule.value);
    most_us = std::max(most_us, rule.value);
  }
  for (const RetentionRule& part : rule.parts) any |= ages_of(part, least_us, most_us);
  return any;
}

// A family with an age rule and the cells that a release may delete: those stamped after `after_us`
// up to `until_us`. Older cells are already due, younger ones not yet.
struct AtRisk {
  std::string table;
  client::FamilySpec family;
  int64_t after_us = 0;
  int64_t until_us = 0;
};

Result<std::vector<AtRisk>> at_risk(Session& session, const ClockReport& report) {
  std::vector<AtRisk> found;
  TRY(const std::vector<client::TableSummary> tables, session.client().list_tables());
  for (const client::TableSummary& summary : tables) {
    const auto table = session.client().describe_table(summary.name);
    if (!table && table.error().code == Errc::not_found) continue;  // dropped meanwhile
    if (!table) return std::unexpected(table.error());
    for (const client::FamilySpec& family : table->families) {
      int64_t least_us = INT64_MAX;
      int64_t most_us = 0;
      if (!family.rule || !ages_of(*family.rule, least_us, most_us)) continue;
      if (report.wall_us < least_us) continue;
      found.push_back({summary.name, family, std::max<int64_t>(0, report.trusted_us - most_us),
                       report.wall_us - least_us});
    }
  }
  return found;
}

void print_risk(const Session& session, const ClockReport& report,
                const std::vector<AtRisk>& families) {
  if (session.json) {
    for (const AtRisk& one : families) {
      session.console.print(
          "{{\"table\":{},\"family\":{},\"rule\":{},\"stamped_after_us\":{},"
          "\"stamped_until_us\":{}}}\n",
          json_string(one.table), json_string(one.family.name),
          json_string(rule_text(one.family.rule)), one.after_us, one.until_us);
    }
    return;
  }
  session.console.print("{} would pass at once: from {} to {}.\n", format_duration(report.held_us),
                        format_time(report.trusted_us), format_time(report.wall_us));
  if (families.empty()) {
    session.console.print("No family has a rule with an age.\n");
  } else {
    session.console.print("Then are dead, at most:\n");
    Lines lines = {{"TABLE", "FAMILY", "RULE", "CELLS STAMPED AFTER", "UP TO"}};
    for (const AtRisk& one : families) {
      lines.push_back({one.table, one.family.name, rule_text(one.family.rule),
                       format_time(one.after_us), format_time(one.until_us)});
    }
    session.console.write(aligned(lines, 2));
  }
  session.console.print(
      "And cells whose own expiry lies between the two; undo windows that end there close.\n");
}

CommandResult confirm_time(Session& session, const Arguments& arguments) {
  TRY(const auto report, session.client().clock());
  if (report.held_us == 0) {
    if (session.json) {
      print_report(session, report);
    } else {
      session.console.print("no time is held\n");
    }
    return kDone;
  }
  TRY_VOID(usage(can_confirm(session, arguments)));
  TRY(const auto families, at_risk(session, report));
  print_risk(session, report, families);
  if (!confirmed(session, arguments, "Is the wall clock right?")) return unchanged(session);
  TRY(const auto released, session.client().confirm_time(report.held_us));
  if (session.json) {
    print_report(session, released);
  } else {
    session.console.print("trusted time is {}\n", format_time(released.trusted_us));
  }
  return kDone;
}

CommandResult clock(Session& session, const Arguments& arguments) {
  if (arguments.count() == 1) {
    if (arguments[0] == "confirm") return confirm_time(session, arguments);
    return usage_error("clock takes confirm, or nothing, and not '{}'", arguments[0]);
  }
  TRY(const auto report, session.client().clock());
  print_report(session, report);
  return kDone;
}

}  // namespace

std::vector<CommandSpec> clock_commands() {
  return {
      CommandSpec(
          "clock", "Node", "[confirm]", 0, 1, false,
          "Show the clock by which data dies; confirm: release time that is held.",
          "Trusted time never runs faster than the machine's uptime, so a wall clock that jumps "
          "ahead\n"
          "kills nothing: what it is ahead is held, until its source has been sound for a day or\n"
          "someone says that it is right. confirm shows first what would die.",
          confirm_keys(), {"cellar clock", "cellar clock confirm"}, &clock),
  };
}

}  // namespace cellar::cli
