// Retention: show, preview, set and undo rules, and explain when cells expire.
#include "net/cli/commands/commands.h"
#include "net/cli/commands/confirm.h"
#include "net/cli/parse/read_request.h"
#include "net/cli/parse/rule_text.h"
#include "net/cli/parse/schema_syntax.h"
#include "net/cli/parse/table_json.h"
#include "net/cli/print/cell_explainer.h"
#include "net/cli/print/printer.h"
#include "net/cli/print/progress.h"
#include "net/cli/session/json_rows.h"
#include "net/cli/text/text.h"
#include "net/cli/text/times.h"

namespace cellar::cli {

namespace {

using client::PreviewCounts;
using client::PreviewReply;
using client::RuleEra;
using client::RuleHistory;

// ---- show

std::string since_text(int64_t us, int64_t now_us) {
  return us == 0 ? "(as far as is remembered)"
                 : fmt::format("{} ({})", format_time(us), format_distance(us, now_us));
}

void print_history(const Session& session, const RuleHistory& history) {
  Lines lines = {{"SINCE", "RULE", "CAN BE UNDONE UNTIL"}};
  for (const RuleEra& era : history.eras) {
    lines.push_back({since_text(era.since_us, history.now_us), rule_text(era.rule)});
    if (era.undo_until_us != 0) {
      lines.back().push_back(since_text(era.undo_until_us, history.now_us));
    }
  }
  session.console.print("\n{}", aligned(lines, 0));
}

std::string history_json(const RuleHistory& history) {
  return "\"history\":" + json_list(history.eras, [](const RuleEra& era) {
           return fmt::format(
               "{{\"rule\":{},\"since_us\":{},\"until_us\":{},\"undo_until_us\":{}}}",
               json_string(rule_text(era.rule)), era.since_us, era.until_us, era.undo_until_us);
         });
}

void print_window(const Session& session, const std::string& table,
                  const client::UndoWindow& window) {
  session.console.print("until {}: cellar gc undo {} {} goes back to {}\n",
                        format_time(window.until_us), table, window.family,
                        rule_text(window.replaced));
}

// The newest open undo window of a family; null: none.
const client::UndoWindow* open_window(const client::TableDescription& table,
                                      const std::string& family) {
  for (const client::UndoWindow& window : table.undo_windows) {
    if (window.family == family) return &window;
  }
  return nullptr;
}

CommandResult show(Session& session, const Arguments& arguments) {
  TRY(const auto table, session.client().describe_table(arguments[0]));
  std::vector<client::FamilySpec> families;
  for (const client::FamilySpec& family : table.families) {
    if (arguments.count() == 1 || family.name == arguments[1]) families.push_back(family);
  }
  if (families.empty() && arguments.count() == 2) {
    return fail(Errc::not_found, "table '{}' has no family '{}'", arguments[0], arguments[1]);
  }
  if (!session.json) session.console.write(aligned(family_lines(families), 0));
  for (const client::FamilySpec& family : families) {
    if (!session.json && arguments.count() == 1) {
      const client::UndoWindow* open = open_window(table, family.name);
      if (open) print_window(session, table.name, *open);
      continue;
    }
    TRY(const auto history, session.client().rule_history(arguments[0], family.name));
    if (session.json) {
      session.console.print("{{\"table\":{},\"family\":{},{}}}\n", json_string(arguments[0]),
                            family_json(family), history_json(history));
    } else {
      print_history(session, history);
    }
  }
  return kDone;
}

// ---- preview

// Parses the words from `first` on: a rule needs no quotes.
Result<Rule> rule_of(const Arguments& arguments, size_t first) {
  std::string text;
  for (size_t i = first; i < arguments.count(); ++i) text += (i > first ? " " : "") + arguments[i];
  return parse_rule(text);
}

std::string counts_text(const PreviewCounts& counts) {
  return fmt::format("{} ({}) in {}", counted(counts.cells, "cell"), human_bytes(counts.bytes),
                     counted(counts.rows, "row"));
}

std::string counts_json(const PreviewCounts& counts) {
  return fmt::format("\"cells\":{},\"bytes\":{},\"rows\":{}", counts.cells, counts.bytes,
                     counts.rows);
}

void print_preview(const Session& session, const client::PreviewRule& asked,
                   const PreviewReply& preview) {
  if (session.json) {
    std::string out = fmt::format(
        "{{\"table\":{},\"family\":{},\"rule\":{},{},\"cells_seen\":{},\"rows_seen\":{},"
        "\"undo_window_us\":{},\"approximate\":{}",
        json_string(asked.table), json_string(asked.family), json_string(rule_text(asked.rule)),
        counts_json(preview), preview.cells_seen, preview.rows_seen, preview.undo_window_us,
        preview.approximate);
    if (preview.approximate) {
      out += fmt::format(",\"least\":{{{}}},\"most\":{{{}}}", counts_json(preview.least),
                         counts_json(preview.most));
    }
    const auto sample = [&](const std::string& row) {
      return "{" + json_field("row", row, session.key_form) + "}";
    };
    session.console.print("{},\"samples\":{}}}\n", out, json_list(preview.samples, sample));
    return;
  }
  const Console& console = session.console;
  if (preview.cells == 0 && (!preview.approximate || preview.most.cells == 0)) {
    console.print("{}: nothing would die\n", rule_text(asked.rule));
    return;
  }
  Lines lines = {{"would die", counts_text(preview)}};
  if (preview.approximate) {
    lines[0][1] = "about " + lines[0][1];
    lines.push_back({"at least", counts_text(preview.least)});
    lines.push_back({"at most", counts_text(preview.most)});
  } else {
    lines.push_back({"of", fmt::format("{} in {}", counted(preview.cells_seen, "cell"),
                                       counted(preview.rows_seen, "row"))});
  }
  std::string rows;
  for (const std::string& row : preview.samples) {
    rows += (rows.empty() ? "" : ", ") + session.show_key(row);
  }
  if (!rows.empty()) lines.push_back({"such as", rows});
  lines.push_back({"undo", preview.undo_window_us == 0
                               ? "cannot be undone"
                               : fmt::format("for {} nothing is lost, see gc undo",
                                             exact_duration(preview.undo_window_us))});
  console.print("{}\n{}", rule_text(asked.rule), aligned(lines, 2));
}

// Previews a rule, with a progress line on a terminal.
Result<PreviewReply> look(Session& session, const client::PreviewRule& asked) {
  ProgressLine line(session.console, false);
  const int64_t began_us = session.clock->boot_us();
  return session.client().preview_rule(asked, [&](const client::PreviewProgress& so_far) {
    const int64_t elapsed_us = session.clock->boot_us() - began_us;
    if (!line.due(elapsed_us)) return;
    Progress progress;
    progress.unit = "rows";
    progress.units = so_far.rows_seen;
    progress.elapsed_us = elapsed_us;
    if (so_far.rows_about > 0) {
      progress.share = std::min(
          1.0, static_cast<double>(so_far.rows_seen) / static_cast<double>(so_far.rows_about));
    }
    line.show(progress);
  });
}

Result<client::PreviewRule> preview_of(const Arguments& arguments) {
  client::PreviewRule asked;
  asked.table = arguments[0];
  asked.family = arguments[1];
  TRY(asked.rule, rule_of(arguments, 2));
  TRY(asked.approximate, arguments.flag("approximate"));
  TRY(asked.close_oldest_undo_window, arguments.flag("close-oldest"));
  TRY(const uint64_t samples, arguments.number("samples", asked.samples));
  if (samples > 1000) {
    return fail(Errc::invalid_argument, "samples={} is more than 1000", samples);
  }
  asked.samples = static_cast<uint32_t>(samples);
  return asked;
}

CommandResult preview(Session& session, const Arguments& arguments) {
  TRY(const auto asked, usage(preview_of(arguments)));
  TRY(const auto seen, look(session, asked));
  print_preview(session, asked, seen);
  return kDone;
}

// ---- set, undo

// Reports the change of a family and how to undo it.
int rule_changed(const Session& session, const client::TableDescription& table,
                 const std::string& name) {
  const client::UndoWindow* open = open_window(table, name);
  Rule rule;
  for (const client::FamilySpec& family : table.families) {
    if (family.name == name) rule = family.rule;
  }
  if (session.json) {
    session.console.print(
        "{{\"ok\":true,\"table\":{},\"family\":{},\"rule\":{},\"undo_until_us\":{}}}\n",
        json_string(table.name), json_string(name), json_string(rule_text(rule)),
        open ? open->until_us : 0);
    return kDone;
  }
  session.console.print("the rule of {} is {}\n", name, rule_text(rule));
  if (open) print_window(session, table.name, *open);
  return kDone;
}

CommandResult set_rule(Session& session, const Arguments& arguments) {
  TRY(const auto asked, usage(preview_of(arguments)));
  TRY_VOID(usage(can_confirm(session, arguments)));
  TRY(const auto seen, look(session, asked));
  print_preview(session, asked, seen);
  if (!confirmed(session, arguments, "Set it?")) return unchanged(session);
  client::TableChange change;
  change.name = asked.table;
  change.close_oldest_undo_window = asked.close_oldest_undo_window;
  client::FamilySpec& family = change.alter.emplace_back();
  family.name = asked.family;
  family.rule_given = true;
  family.rule = asked.rule;
  TRY(const auto table, session.client().alter_table(change));
  return rule_changed(session, table, asked.family);
}

CommandResult undo(Session& session, const Arguments& arguments) {
  TRY(const auto history, session.client().rule_history(arguments[0], arguments[1]));
  client::UndoRule back;
  back.table = arguments[0];
  back.family = arguments[1];
  back.expected_version = history.version;
  TRY(const auto table, session.client().undo_rule(back));
  return rule_changed(session, table, arguments[1]);
}

// ---- explain

CommandResult explain(Session& session, const Arguments& arguments) {
  client::ReadRow read;
  TRY(read.row, usage(session.input(arguments[1])));
  TRY_VOID(usage(choose_timestamps(session, arguments)));
  read.notes.explain = read.notes.include_dead = true;
  TRY(auto columns, usage(ColumnChoice::parse(arguments.get("columns"), session.escaped_input)));
  TRY(const auto row, session.client().read_row(arguments[0], read));
  CellExplainer explainer(session, arguments[0]);
  RowPrinter printer(session, std::move(columns), false, &explainer);
  if (row) printer.row(*row);
  if (printer.rows() > 0) return kDone;
  return fail(Errc::not_found, "row '{}' of table '{}' has no cells, dead ones included",
              session.show_key(read.row), arguments[0]);
}

// ---- arguments

constexpr const char* kRuleHelp =
    "A RULE is maxage=DURATION, maxversions=N, or some of these joined by or (dead when either\n"
    "says so) and and (when both do), with parentheses; never: keep everything. and binds "
    "tighter.\n"
    "|| and && may stand for the words, in quotes.";

std::vector<KeySpec> close_keys() {
  return {{"close-oldest", "",
           "a ninth change that can be undone: close the oldest, what it hid is dead"}};
}

CommandSpec setting(std::string name, std::string summary, std::string example) {
  return {std::move(name),
          "Retention",
          "TABLE FAMILY RULE...",
          3,
          3,
          true,
          std::move(summary),
          std::string("Shows first what would die, and asks. What a tighter rule hides can be\n"
                      "brought back for the family's undo window, see gc undo.\n") +
              kRuleHelp,
          joined(joined(confirm_keys(), {{"samples", "N", "of rows that would lose cells (10)"}}),
                 close_keys()),
          {std::move(example)},
          &set_rule};
}

}  // namespace

std::vector<CommandSpec> gc_commands() {
  return {
      CommandSpec("gc show", "Retention", "TABLE [FAMILY]", 1, 2, false,
                  "Show rules and what can be undone; with FAMILY also how its rule has changed.",
                  "", {}, {"cellar gc show events", "cellar gc show events clicks"}, &show),
      CommandSpec(
          "gc preview", "Retention", "TABLE FAMILY RULE...", 3, 3, true,
          "Show what a rule would kill, and change nothing.", kRuleHelp,
          joined({{"approximate", "", "at once, from what is known of files without reading them"},
                  {"samples", "N", "of rows that would lose cells, up to 1000 (default: 10)"}},
                 close_keys()),
          {"cellar gc preview events clicks maxage=1d", "cellar gc preview events clicks never"},
          &preview),
      setting("gc set", "Change a family's rule.",
              "cellar gc set events clicks maxage=2d or maxversions=3"),
      setting("setgcpolicy", "The same as gc set.",
              "cellar setgcpolicy events clicks '(maxage=30d && maxversions=2) || maxversions=9'"),
      CommandSpec("gc undo", "Retention", "TABLE FAMILY", 2, 2, false,
                  "Take the newest change of a family's rule back.",
                  "What it hid comes back, as if it had never been. For as long as its undo window "
                  "is open,\n"
                  "see gc show.",
                  {}, {"cellar gc undo events clicks"}, &undo),
      CommandSpec("gc explain", "Retention", "TABLE ROW", 2, 2, false,
                  "Show when each cell of a row dies, or died, and of what.",
                  "Cells that are dead are shown for as long as they are on disk.",
                  {{"columns", "LIST", "family or family:qualifier, separated by commas"},
                   {"numbers", "", "show timestamps as numbers, as sequence numbers are meant"}},
                  {"cellar gc explain events user7"}, &explain),
  };
}

}  // namespace cellar::cli
