// Indexes: create, show, alter, drop, check and read them.
#include <algorithm>

#include "net/cli/commands/commands.h"
#include "net/cli/commands/confirm.h"
#include "net/cli/parse/index_syntax.h"
#include "net/cli/parse/read_request.h"
#include "net/cli/print/index_format.h"
#include "net/cli/print/printer.h"
#include "net/cli/print/progress.h"
#include "net/cli/session/json_rows.h"
#include "net/cli/text/text.h"

namespace cellar::cli {

namespace {

using client::IndexDescription;

constexpr int64_t kFirstLookUs = 5'000;  // doubles with each look
constexpr int64_t kMaxLookUs = 200'000;

Result<IndexDescription> describe_index(Session& session, const std::string& table,
                                        const std::string& name) {
  TRY(auto indexes, session.client().describe_indexes(table));
  for (IndexDescription& index : indexes) {
    if (index.index.name == name) return std::move(index);
  }
  return fail(Errc::not_found, "table '{}' has no index '{}'", table, name);
}

// ---- create, alter: both wait until reads are answered

Progress progress_of(const IndexDescription& index, int64_t elapsed_us) {
  Progress progress;
  progress.unit = "entries";
  progress.units = index.entries;
  progress.bytes = index.done_bytes;
  progress.share = index_share_done(index);
  progress.elapsed_us = elapsed_us;
  return progress;
}

Result<IndexDescription> until_ready(Session& session, const std::string& table,
                                     const std::string& name, bool progress) {
  ProgressLine line(session.console, progress);
  const int64_t began_us = session.clock->boot_us();
  for (int64_t pause_us = kFirstLookUs;; pause_us = std::min(2 * pause_us, kMaxLookUs)) {
    TRY(IndexDescription index, describe_index(session, table, name));
    if (index.ready) return index;
    const int64_t elapsed_us = session.clock->boot_us() - began_us;
    if (line.due(elapsed_us)) line.show(progress_of(index, elapsed_us));
    session.client().sleep_us(pause_us);
  }
}

// Reports a change after which the index may have to be built.
CommandResult built(Session& session, const Arguments& arguments, std::string_view sentence) {
  const std::string& table = arguments[0];
  const std::string& name = arguments[1];
  TRY(const bool detached, usage(arguments.flag("no-wait")));
  TRY(const bool progress, usage(arguments.flag("progress")));
  TRY(const IndexDescription index, detached ? describe_index(session, table, name)
                                             : until_ready(session, table, name, progress));
  if (session.json) {
    session.console.print("{{\"ok\":true,\"table\":{},\"index\":{},\"ready\":{}}}\n",
                          json_string(table), json_string(name), index.ready);
  } else if (!index.ready) {
    session.console.print("{} index {} of {}; it is built in the background, see cellar index ls\n",
                          sentence, name, table);
  } else if (session.console.out_is_terminal) {
    session.console.print("{} index {} of {}\n", sentence, name, table);
  }
  return kDone;
}

CommandResult create_index(Session& session, const Arguments& arguments) {
  TRY(const auto index, usage(index_spec(session, arguments)));
  TRY_VOID(usage(arguments.flag("no-wait")));
  TRY_VOID(session.client().create_index(arguments[0], index));
  return built(session, arguments, "created");
}

CommandResult alter_index(Session& session, const Arguments& arguments) {
  TRY(const auto change, usage(index_change(arguments)));
  TRY_VOID(usage(arguments.flag("no-wait")));
  TRY_VOID(session.client().alter_index(change));
  return built(session, arguments, "changed");
}

CommandResult drop_index(Session& session, const Arguments& arguments) {
  const std::string& table = arguments[0];
  const std::string& name = arguments[1];
  TRY_VOID(usage(can_confirm(session, arguments)));
  const std::string question = fmt::format(
      "Remove index '{}' of table '{}'? To have it back, it is built again.", name, table);
  if (!confirmed(session, arguments, question)) return unchanged(session);
  TRY_VOID(session.client().drop_index(table, name));
  if (session.json) {
    session.console.print("{{\"ok\":true,\"table\":{},\"index\":{}}}\n", json_string(table),
                          json_string(name));
  } else {
    session.console.print("removed index {} of {}\n", name, table);
  }
  return kDone;
}

// ---- show

CommandResult list_indexes(Session& session, const Arguments& arguments) {
  std::vector<std::string> tables = arguments.positional();
  if (tables.empty()) {
    TRY(const auto all, session.client().list_tables());
    for (const client::TableSummary& table : all) tables.push_back(table.name);
  }
  Lines lines = {index_state_headings()};
  for (const std::string& table : tables) {
    const auto indexes = session.client().describe_indexes(table);
    // A table of the list may have been deleted meanwhile.
    if (!indexes && indexes.error().code == Errc::not_found && arguments.count() == 0) continue;
    if (!indexes) return std::unexpected(CommandError(indexes.error()));
    for (const IndexDescription& index : *indexes) {
      if (session.json) print_index(session, table, index);
      lines.push_back(index_state_line(session, table, index));
    }
  }
  if (session.json) return kDone;
  if (lines.size() > 1) {
    session.console.write(aligned(lines, 0));
  } else if (session.console.out_is_terminal) {
    session.console.print("no indexes\n");
  }
  return kDone;
}

CommandResult show_index(Session& session, const Arguments& arguments) {
  TRY(const IndexDescription index, describe_index(session, arguments[0], arguments[1]));
  print_index(session, arguments[0], index);
  return kDone;
}

// ---- check

CommandResult check_index(Session& session, const Arguments& arguments) {
  TRY(const bool wanted, usage(arguments.flag("progress")));
  ProgressLine line(session.console, wanted);
  const int64_t began_us = session.clock->boot_us();
  const client::CheckIndex asked{arguments[0], arguments[1]};
  const auto tell = [&](const client::IndexCheck& so_far) {
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
  };
  client::CallOptions options;
  options.deadline_us = client::kNoDeadline;
  TRY(const auto told, session.client().check_index(asked, tell, options));
  line.clear();
  print_index_check(session, asked, told);
  return told.equal() ? kDone : kDamaged;
}

// ---- read

CommandResult read_index(Session& session, const Arguments& arguments) {
  TRY(const auto request, usage(index_read(session, arguments)));
  TRY_VOID(usage(choose_timestamps(session, arguments)));
  CellExplainer explainer(session, arguments[0]);
  RowPrinter printer(session, ColumnChoice(), false, &explainer);
  client::ReadStream stream = session.client().read_index(arguments[0], request);
  while (true) {
    TRY(const auto block, session.client().next(stream));
    if (block.empty()) break;
    printer.block(block, 0);
  }
  if (session.json || !session.console.out_is_terminal) return kDone;
  const std::string total = counted(printer.rows(), request.whole_rows ? "row"
                                                    : request.explain  ? "candidate"
                                                                       : "hit");
  session.console.print("{}\n", session.console.styled(Style::dim, total));
  return kDone;
}

// ---- arguments

std::vector<KeySpec> building_keys(std::vector<KeySpec> first) {
  return joined(first,
                {{"no-wait", "", "do not wait until it is ready"},
                 {"progress", "", "tell how far it is, also where standard error is no terminal"}});
}

constexpr const char* kAgeHelp =
    "max-age hides older cells from the index alone; the table keeps them. It may be as long as\n"
    "the family's rule lets cells live, and no longer. tighter-base says what happens when that\n"
    "rule is later made shorter: it is accepted (follow), or refused until max-age was lowered\n"
    "(refuse; the default in a table of profile=tablestore).";

std::vector<CommandSpec> index_changes() {
  return {
      CommandSpec(
          "index create", "Indexes", "TABLE NAME", 2, 2, false,
          "Make an index, by which cells are found by value, time or qualifier.",
          std::string("Writes are in it at once; what is in the table already is entered in the\n"
                      "background, and reads through it are refused until it is ready. The command "
                      "waits\nfor that.\n") +
              kAgeHelp,
          building_keys(joined(index_definition_keys(), index_change_keys())),
          {"cellar index create packages by_version --on install:amd64",
           "cellar index create events by_user on=f:user order=value,time max-age=1d",
           "cellar index create scores best on=f:points type=int64 covered=f:name"},
          &create_index),
      CommandSpec("index alter", "Indexes", "TABLE INDEX", 2, 2, false,
                  "Change the age of an index, or its answer to a tighter rule.",
                  std::string("Where a longer age needs entries that have left the disk, the index "
                              "is built again,\nand the command waits.\n") +
                      kAgeHelp,
                  building_keys(index_change_keys()),
                  {"cellar index alter events by_user max-age=12h",
                   "cellar index alter events by_user max-age=none tighter-base=follow"},
                  &alter_index),
      CommandSpec("index drop", "Indexes", "TABLE INDEX", 2, 2, false,
                  "Remove an index; the table's cells stay.",
                  "It asks, because a large index takes long to be built again.", confirm_keys(),
                  {"cellar index drop events by_user"}, &drop_index),
  };
}

std::vector<CommandSpec> index_reads() {
  return {
      CommandSpec(
          "index check", "Indexes", "TABLE INDEX", 2, 2, false,
          "Compare an index with its table, while both serve.",
          "Exit code 0: a read through it finds what a scan finds. 8: it does not, and rows are "
          "named.",
          {{"progress", "", "tell how far it is, also where standard error is no terminal"}},
          {"cellar index check events by_user"}, &check_index),
      CommandSpec(
          "index read", "Indexes", "TABLE INDEX", 2, 2, false, "Show what an index finds.",
          "Each hit is shown under its row, with the covered columns: by value or qualifier, then\n"
          "newest first, then by row. Conditions hold together; without any, all is shown.",
          index_read_keys(),
          {"cellar index read packages by_version --value 2.36-9",
           "cellar index read events by_user --value u7 --time -1h.. --limit 10",
           "cellar index read scores best values=int64:100..int64:200 --value-format int64",
           "cellar index read events by_user --value u7 --row --json",
           "cellar index read events by_user --explain"},
          &read_index),
  };
}

}  // namespace

std::vector<CommandSpec> index_commands() {
  std::vector<CommandSpec> all = {
      CommandSpec("index ls", "Indexes", "[TABLE]", 0, 1, false,
                  "List the indexes, how far they are built, and what they take.", "", {},
                  {"cellar index ls", "cellar index ls events --json"}, &list_indexes),
      CommandSpec("index describe", "Indexes", "TABLE INDEX", 2, 2, false, "Describe an index.", "",
                  {}, {"cellar index describe events by_user"}, &show_index),
  };
  for (auto& more : {index_changes(), index_reads()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace cellar::cli
