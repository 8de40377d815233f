// Tablets: show, split, merge, move.
#include <charconv>

#include "net/cli/commands/commands.h"
#include "net/cli/parse/schema_syntax.h"
#include "net/cli/print/printer.h"
#include "net/cli/session/json_rows.h"
#include "net/cli/text/text.h"

namespace cellar::cli {

namespace {

// ---- tablets

void print_tablet_json(const Session& session, const client::TabletInfo& one) {
  session.console.print(
      "{{\"table\":{},\"id\":{},\"epoch\":{},\"shard\":{},{},{},\"bytes\":{},"
      "\"unflushed_bytes\":{},\"files\":{},\"runs\":{},\"reads\":{},\"writes\":{},"
      "\"last_commit_us\":{},\"held\":{},\"compaction\":\"{}\"}}\n",
      json_string(one.table), one.tablet_id, one.epoch, one.shard, json_field("start", one.start),
      json_field("end", one.end), one.bytes, one.unflushed_bytes, one.tables, one.runs, one.reads,
      one.writes, one.last_commit_us, one.held, name_of(one.compaction));
}

CommandResult list_tablets(Session& session, const Arguments& arguments) {
  client::ListTablets list;
  if (arguments.count() == 1) list.table = arguments[0];
  Lines lines = {{"TABLE", "FROM", "TO", "SHARD", "TABLET", "EPOCH", "SIZE", "IN MEMORY", "FILES",
                  "READS", "WRITES"}};
  do {
    TRY(const auto page, session.client().list_tablets(list));
    for (const client::TabletInfo& one : page.tablets) {
      if (session.json) {
        print_tablet_json(session, one);
        continue;
      }
      lines.push_back(
          {one.table, first_row_text(session, one.start), last_row_text(session, one.end),
           fmt::format("{}{}", one.shard, one.held ? " (held)" : ""),
           fmt::format("{}", one.tablet_id), fmt::format("{}", one.epoch), human_bytes(one.bytes),
           human_bytes(one.unflushed_bytes), fmt::format("{}", one.tables), with_commas(one.reads),
           with_commas(one.writes)});
    }
    list.from_table = page.next_table;
    list.from_row = page.next_row;
  } while (list.from_table != 0);
  if (!session.json) session.console.write(aligned(lines, 0));
  return kDone;
}

void print_parts(const Session& session, const std::vector<client::TabletDescription>& parts) {
  if (!session.json) return session.console.write(aligned(tablet_lines(session, parts), 0));
  for (const client::TabletDescription& one : parts) {
    session.console.print("{}\n", tablet_json(one));
  }
}

Result<uint64_t> whole_number(const std::string& word, const char* what) {
  uint64_t number = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number);
  if (error == std::errc() && stop == end) return number;
  return fail(Errc::invalid_argument, "'{}' is no {}", word, what);
}

CommandResult split_tablet(Session& session, const Arguments& arguments) {
  client::SplitTablet split;
  split.table = arguments[0];
  TRY(split.tablet_id, usage(arguments.number("tablet", 0)));
  if (const std::string* word = arguments.find("row")) {
    TRY(split.row, usage(session.input(*word)));
  }
  if (split.tablet_id == 0 && split.row.empty()) {
    return usage_error("splittablet needs tablet= or row=");
  }
  TRY(const auto parts, session.client().split_tablet(split));
  print_parts(session, parts);
  return kDone;
}

CommandResult merge_tablets(Session& session, const Arguments& arguments) {
  TRY(const auto left, usage(whole_number(arguments[1], "id of a tablet")));
  TRY(const auto right, usage(whole_number(arguments[2], "id of a tablet")));
  TRY(const auto merged, session.client().merge_tablets(arguments[0], left, right));
  print_parts(session, merged);
  return kDone;
}

CommandResult move_tablet(Session& session, const Arguments& arguments) {
  TRY(const auto id, usage(whole_number(arguments[1], "id of a tablet")));
  TRY(const auto shard, usage(whole_number(arguments[2], "number of a shard")));
  if (shard > UINT32_MAX) return usage_error("there is no such shard");
  TRY(const auto moved,
      session.client().move_tablet(arguments[0], id, static_cast<uint32_t>(shard)));
  print_parts(session, moved);
  return kDone;
}

}  // namespace

std::vector<CommandSpec> tablet_commands() {
  return {
      CommandSpec("tablets", "Tablets", "[TABLE]", 0, 1, false,
                  "Show how tables are cut into tablets, and what is in each.",
                  "READS and WRITES count since the tablet was opened on its shard.", {},
                  {"cellar tablets", "cellar tablets packages --json"}, &list_tablets),
      CommandSpec(
          "splittablet", "Tablets", "TABLE row=KEY | tablet=ID [row=KEY]", 1, 1, false,
          "Cut a tablet in two.",
          "With row= the right part begins with that row; without, the node cuts it in half.\n"
          "No data is copied. Tablets also split, merge and move by themselves, see [balance] in "
          "the\n"
          "configuration of cellard.",
          {{"row", "KEY", "first row of the right part"},
           {"tablet", "ID", "of `cellar tablets` (default: the one that holds the row)"}},
          {"cellar splittablet packages row=lib"}, &split_tablet),
      CommandSpec(
          "mergetablets", "Tablets", "TABLE LEFT RIGHT", 3, 3, false,
          "Make one tablet of two neighbours.",
          "LEFT and RIGHT are ids of `cellar tablets`. It is served where the left one was.", {},
          {"cellar mergetablets packages 7 8"}, &merge_tablets),
      CommandSpec(
          "movetablet", "Tablets", "TABLE TABLET SHARD", 3, 3, false,
          "Have a tablet served by another shard.",
          "Requests go on meanwhile; writes to it wait for the fraction of a second that it takes.",
          {}, {"cellar movetablet packages 7 1"}, &move_tablet),
  };
}

}  // namespace cellar::cli
