// Tables and their families: create, change, show.
#include <algorithm>

#include "net/cli/commands/commands.h"
#include "net/cli/commands/confirm.h"
#include "net/cli/parse/schema_syntax.h"
#include "net/cli/print/printer.h"
#include "net/cli/session/json_rows.h"
#include "net/cli/text/columns.h"
#include "net/cli/text/text.h"
#include "net/cli/text/times.h"

namespace cellar::cli {

namespace {

Result<client::TableSpec> table_spec(const Session& session, const Arguments& arguments) {
  client::TableSpec spec;
  spec.name = arguments[0];
  TRY(spec.families, read_families(arguments));
  for (const std::string& split : split_list(arguments.get("splits"))) {
    TRY(std::string key, session.input(split));
    spec.splits.push_back(std::move(key));
  }
  if (const std::string* name = arguments.find("granularity")) {
    TRY(spec.granularity, parse_granularity(*name));
  }
  if (const std::string* name = arguments.find("profile")) {
    TRY(spec.profile, parse_profile(*name));
  }
  TRY(spec.options, table_options(arguments));
  return spec;
}

CommandResult create_table(Session& session, const Arguments& arguments) {
  TRY(const auto spec, usage(table_spec(session, arguments)));
  TRY_VOID(session.client().create_table(spec));
  return done(session, "created", arguments[0]);
}

CommandResult change_table(Session& session, const client::TableChange& change) {
  TRY_VOID(session.client().alter_table(change));
  return done(session, "changed", change.name);
}

CommandResult create_family(Session& session, const Arguments& arguments) {
  client::TableChange change;
  change.name = arguments[0];
  client::FamilySpec& family = change.add.emplace_back();
  family.name = arguments[1];
  TRY_VOID(usage(read_family(arguments, {}, family)));
  return change_table(session, change);
}

CommandResult alter_family(Session& session, const Arguments& arguments) {
  if (!has_any(arguments, family_keys())) {
    return usage_error("alterfamily needs {}; rules are changed by gc set",
                       names_of(family_keys()));
  }
  client::TableChange change;
  change.name = arguments[0];
  client::FamilySpec& family = change.alter.emplace_back();
  family.name = arguments[1];
  // Reports usage errors before contacting the node.
  TRY_VOID(usage(read_family(arguments, {}, family)));
  if (family.window) {
    TRY(const auto table, session.client().describe_table(change.name));
    for (const client::FamilySpec& present : table.families) {
      if (present.name == family.name) (void)read_family(arguments, present.window, family);
    }
  }
  return change_table(session, change);
}

CommandResult drop_family(Session& session, const Arguments& arguments) {
  TRY_VOID(usage(can_confirm(session, arguments)));
  const std::string question =
      fmt::format("Remove family '{}' of table '{}' with all its cells? This cannot be undone.",
                  arguments[1], arguments[0]);
  if (!confirmed(session, arguments, question)) return unchanged(session);
  client::TableChange change;
  change.name = arguments[0];
  change.drop.push_back(arguments[1]);
  TRY_VOID(session.client().alter_table(change));
  if (session.json) {
    session.console.print("{{\"ok\":true,\"table\":{},\"family\":{}}}\n", json_string(change.name),
                          json_string(arguments[1]));
  } else {
    session.console.print("removed family {} of {} with all its cells; this cannot be undone\n",
                          arguments[1], change.name);
  }
  return kDone;
}

// The cost of dead-slack=0, which keeps no dead byte for longer than reclaim-within (SEMANTICS 3):
// every file with a dead cell is rewritten when due, at most the whole table each time.
Result<void> show_cost(Session& session, const client::TableChange& change) {
  TRY(const client::TableDescription table, session.client().describe_table(change.name));
  client::ListTablets list;
  list.table = change.name;
  uint64_t bytes = 0;
  do {
    TRY(const client::TabletPage page, session.client().list_tablets(list));
    for (const client::TabletInfo& tablet : page.tablets) bytes += tablet.bytes;
    list.from_table = page.next_table;
    list.from_row = page.next_row;
  } while (list.from_table != 0);
  const int64_t within_us = change.options.reclaim_within_us.value_or(
      table.options.reclaim_within_us.value_or(3'600'000'000));
  const double share =
      change.options.reclaim_share.value_or(table.options.reclaim_share.value_or(0.25));
  const auto per_second = static_cast<uint64_t>(
      static_cast<double>(bytes) * 1e6 / static_cast<double>(std::max<int64_t>(within_us, 1)));
  if (session.json) {
    session.console.print("{{\"table_bytes\":{},\"within_us\":{},\"most_bytes_per_s\":{}}}\n",
                          bytes, within_us, per_second);
  } else {
    session.console.print(
        "dead-slack=0: every file with a dead cell is written again within {}, so at most the\n"
        "{} of the table in that time: {}/s, and never more than {} of the disk's writes\n",
        exact_duration(within_us), human_bytes(bytes), human_bytes(per_second), share_text(share));
  }
  return {};
}

CommandResult alter_table(Session& session, const Arguments& arguments) {
  if (!has_any(arguments, option_keys())) {
    return usage_error("altertable needs {}", names_of(option_keys()));
  }
  client::TableChange change;
  change.name = arguments[0];
  TRY(change.options, usage(table_options(arguments)));
  if (change.options.dead_slack == 0) {
    TRY_VOID(usage(can_confirm(session, arguments)));
    TRY_VOID(show_cost(session, change));
    if (!confirmed(session, arguments, "Set it?")) return unchanged(session);
  }
  return change_table(session, change);
}

// The longest undo window of the families, for which a deleted table can be restored.
std::string restorable_text(const client::TableDescription& table) {
  int64_t longest_us = 0;
  for (const client::FamilySpec& family : table.families)
    longest_us = std::max(longest_us, family.undo_window_us.value_or(0));
  if (longest_us == 0) return "This cannot be undone: its families have no undo window.";
  return fmt::format("restoretable can bring it back for {}.", exact_duration(longest_us));
}

// Until when the table that was just deleted can be restored. 0: not at all, or not known.
int64_t restorable_until_us(Session& session, const std::string& name) {
  const auto tables = session.client().list_tables({.prefix = name, .include_dropped = true});
  int64_t until_us = 0;
  if (!tables) return until_us;
  for (const client::TableSummary& table : *tables)
    if (table.dropped && table.name == name)
      until_us = std::max(until_us, table.restorable_until_us);
  return until_us;
}

CommandResult delete_table(Session& session, const Arguments& arguments) {
  const std::string& name = arguments[0];
  TRY_VOID(usage(can_confirm(session, arguments)));
  TRY(const client::TableDescription table, session.client().describe_table(name));
  const std::string question =
      fmt::format("Delete table '{}' and all that is in it? {}", name, restorable_text(table));
  if (!confirmed(session, arguments, question)) return unchanged(session);
  TRY_VOID(session.client().drop_table(name));
  const int64_t until_us = restorable_until_us(session, name);
  if (session.json) {
    session.console.print("{{\"ok\":true,\"table\":{},\"restorable_until_us\":{}}}\n",
                          json_string(name), until_us);
  } else if (until_us > 0) {
    session.console.print("deleted {}; restoretable can bring it back until {}\n", name,
                          format_time(until_us));
  } else {
    session.console.print("deleted {}; it cannot be restored\n", name);
  }
  return kDone;
}

CommandResult list(Session& session, const Arguments& arguments) {
  if (arguments.count() == 1) {
    TRY(const auto table, session.client().describe_table(arguments[0]));
    print_table(session, table);
    return kDone;
  }
  TRY(const auto dropped, usage(arguments.flag("dropped")));
  TRY(auto tables, session.client().list_tables({.prefix = "", .include_dropped = dropped}));
  if (!dropped) {
    print_tables(session, tables);
    return kDone;
  }
  std::erase_if(tables, [](const client::TableSummary& table) { return !table.dropped; });
  print_dropped_tables(session, tables);
  return kDone;
}

CommandResult sample_keys(Session& session, const Arguments& arguments) {
  TRY(const auto samples, session.client().sample_row_keys(arguments[0]));
  print_samples(session, samples);
  return kDone;
}

// ---- arguments

std::vector<CommandSpec> making_commands() {
  return {
      CommandSpec(
          "createtable", "Tables", "TABLE", 1, 1, false, "Make a table.",
          "What is said of families goes for all of families=; a rule of its own stands behind a\n"
          "family's name, as in families='clicks:maxage=2d or maxversions=3,users'.\n"
          "profile=tablestore: one version, no age, timestamps within a day of now. bigtable: no\n"
          "rule, and writes that are dead at once are accepted. Each part can be overridden.",
          joined(
              joined(
                  {{"families", "LIST", "column families, separated by commas: NAME or NAME:RULE"},
                   {"family", "NAME", "one column family; may be repeated"},
                   {"splits", "LIST", "rows at which the table is cut into tablets"},
                   {"granularity", "UNIT", "of timestamps: millis (default) or micros"},
                   {"profile", "NAME", "whose defaults it has: bigtable, tablestore or none"}},
                  joined(rule_keys(), family_keys())),
              option_keys()),
          {"cellar createtable packages families=install,remove splits=g,n,t",
           "cellar createtable events families='clicks:maxage=2d or maxversions=3,users'",
           "cellar createtable orders families=f timestamps=sequence rule=maxversions=3"},
          &create_table),
      CommandSpec(
          "deletetable", "Tables", "TABLE", 1, 1, false, "Delete a table and all that is in it.",
          "restoretable brings it back for the longest undo window of its families (24 hours "
          "unless\n"
          "they say otherwise); until then its files stay on disk. With undo-window=0 everywhere "
          "they\ngo at once. It says so, and asks.",
          confirm_keys(), {"cellar deletetable packages", "cellar deletetable packages --yes"},
          &delete_table),
      CommandSpec("createfamily", "Tables", "TABLE FAMILY", 2, 2, false,
                  "Add a column family to a table.", "", joined(rule_keys(), family_keys()),
                  {"cellar createfamily packages purge",
                   "cellar createfamily events sessions rule='maxage=30d and maxversions=1' "
                   "undo-window=7d"},
                  &create_family),
  };
}

std::vector<CommandSpec> changing_commands() {
  return {
      CommandSpec("alterfamily", "Tables", "TABLE FAMILY", 2, 2, false,
                  "Change what a family's timestamps mean, its guards or its undo window.",
                  "What is not named stays. The rule is changed by gc set, which shows first what "
                  "would die.",
                  family_keys(),
                  {"cellar alterfamily events clicks window-past=2d window-future=1h",
                   "cellar alterfamily events clicks window-past=none window-future=none"},
                  &alter_family),
      CommandSpec(
          "dropfamily", "Tables", "TABLE FAMILY", 2, 2, false,
          "Remove a column family from a table, with all its cells.",
          "Its cells in all rows are gone at once; a family of that name that is made later is "
          "empty.\n"
          "This cannot be undone, so it asks. To delete the cells of a family in one row, see\n"
          "deletefamily.",
          confirm_keys(), {"cellar dropfamily packages purge"}, &drop_family),
      CommandSpec(
          "altertable", "Tables", "TABLE", 1, 1, false, "Change the options of a table.",
          "Data on disk keeps its form until it is merged. For families, see createfamily,\n"
          "alterfamily and dropfamily. dead-slack=0 shows what it costs, and asks.",
          joined(option_keys(), confirm_keys()),
          {"cellar altertable packages durability=periodic",
           "cellar altertable packages reclaim-within=10m dead-slack=5%"},
          &alter_table),
      CommandSpec(
          "ls", "Tables", "[TABLE]", 0, 1, false, "List the tables, or describe one.", "",
          {{"dropped", "", "deleted tables that can be restored instead, and what they hold"}},
          {"cellar ls", "cellar ls packages", "cellar ls --dropped"}, &list),
      CommandSpec("describe", "Tables", "TABLE", 1, 1, false,
                  "Describe a table: options, families with their rules, indexes, tablets.", "", {},
                  {"cellar describe packages"}, &list),
      CommandSpec("samplekeys", "Tables", "TABLE", 1, 1, false,
                  "Show where a table is cut into tablets, and the bytes before each cut.", "", {},
                  {"cellar samplekeys packages"}, &sample_keys),
  };
}

}  // namespace

std::vector<CommandSpec> table_commands() {
  std::vector<CommandSpec> all = making_commands();
  for (CommandSpec& spec : changing_commands()) all.push_back(std::move(spec));
  return all;
}

}  // namespace cellar::cli
