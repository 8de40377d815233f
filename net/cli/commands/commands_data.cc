// Reading, counting and deleting rows.
#include "net/cli/commands/commands.h"
#include "net/cli/commands/confirm.h"
#include "net/cli/parse/read_request.h"
#include "net/cli/print/printer.h"
#include "net/cli/print/write_report.h"
#include "net/cli/session/json_rows.h"
#include "net/cli/text/text.h"

namespace cellar::cli {

CommandResult lookup(Session& session, const Arguments& arguments) {
  client::ReadRow read;
  TRY(read.row, usage(session.input(arguments[1])));
  TRY(read.filter, usage(selected_cells(session, arguments)));
  TRY(auto columns, usage(ColumnChoice::parse(arguments.get("columns"), session.escaped_input)));
  TRY(read.notes, usage(read_notes(session, arguments)));
  TRY_VOID(usage(choose_timestamps(session, arguments)));
  TRY(const auto row, session.client().read_row(arguments[0], read));
  CellExplainer explainer(session, arguments[0]);
  RowPrinter printer(session, std::move(columns), false, &explainer);
  if (row) printer.row(*row);
  if (printer.rows() > 0) return kDone;
  const bool chosen = read.filter.has_value() || arguments.has("columns");
  return fail(Errc::not_found, "row '{}' of table '{}' has no {}cells", session.show_key(read.row),
              arguments[0], chosen ? "such " : "");
}

CommandResult read(Session& session, const Arguments& arguments) {
  TRY(auto request, usage(read_request(session, arguments)));
  TRY_VOID(usage(choose_timestamps(session, arguments)));
  TRY(const uint64_t limit, usage(arguments.number("count", 0)));
  if (arguments.has("count") && limit == 0) {
    return usage_error("count=0 is not at least 1; without count= every row is shown");
  }
  TRY(request.reversed, usage(arguments.flag("reversed")));
  TRY(const bool keys_only, usage(arguments.flag("keys-only")));
  TRY(auto columns, usage(ColumnChoice::parse(arguments.get("columns"), session.escaped_input)));
  request.row_limit = limit;
  if (keys_only) keep_one_cell(request.filter);

  CellExplainer explainer(session, arguments[0]);
  RowPrinter printer(session, std::move(columns), keys_only, &explainer);
  client::ReadStream stream = session.client().read_rows(arguments[0], request);
  while (true) {
    TRY(const auto block, session.client().next(stream));
    if (block.empty() || !printer.block(block, limit)) break;
  }
  if (!session.json && session.console.out_is_terminal) {
    std::string total = counted(printer.rows(), "row");
    if (!keys_only) total += ", " + counted(printer.cells(), "cell");
    session.console.print("{}\n", session.console.styled(Style::dim, total));
  }
  return kDone;
}

CommandResult count(Session& session, const Arguments& arguments) {
  TRY(auto request, usage(read_request(session, arguments)));
  keep_one_cell(request.filter);
  uint64_t rows = 0;
  client::ReadStream stream = session.client().read_rows(arguments[0], request);
  while (true) {
    TRY(const auto block, session.client().next(stream));
    if (block.empty()) break;
    for (const client::RowPart& part : block.rows()) rows += part.complete ? 1 : 0;
  }
  if (session.json) {
    session.console.print("{{\"table\":{},\"rows\":{}}}\n", json_string(arguments[0]), rows);
  } else {
    session.console.print("{}\n", rows);
  }
  return kDone;
}

namespace {

// "the rows of packages from 'a' to before 'b'"
std::string rows_text(const Session& session, const std::string& table,
                      const client::DropRows& drop) {
  std::string text = fmt::format("the rows of {}", table);
  if (drop.prefix)
    return text + fmt::format(" that begin with '{}'", session.show_key(*drop.prefix));
  if (drop.start) text += fmt::format(" from '{}' on", session.show_key(*drop.start));
  if (drop.end) text += fmt::format(", up to before '{}'", session.show_key(*drop.end));
  return text;
}

}  // namespace

CommandResult drop_rows(Session& session, const Arguments& arguments) {
  client::DropRows drop;
  TRY(drop.prefix, usage(key_argument(session, arguments, "prefix")));
  TRY(drop.start, usage(key_argument(session, arguments, "start")));
  TRY(drop.end, usage(key_argument(session, arguments, "end")));
  if (drop.prefix.has_value() == (drop.start || drop.end)) {
    return usage_error("droprows needs either prefix= or start= and end=");
  }
  if (const std::string* token = arguments.find("token")) drop.token = client::Token{*token};
  TRY_VOID(usage(can_confirm(session, arguments)));
  const std::string rows = rows_text(session, arguments[0], drop);
  if (!confirmed(session, arguments, fmt::format("Delete {}? This cannot be undone.", rows)))
    return unchanged(session);
  client::CallOptions options;
  options.draw_tokens = true;
  TRY(const auto dropped, session.client().drop_row_range(arguments[0], drop, options));
  if (session.json) {
    session.console.print("{{\"ok\":true,\"tablets\":{},\"commit_stamp\":\"{}\"}}\n",
                          dropped.tablets, dropped.commit_stamp_ns);
    return kDone;
  }
  session.console.print("deleted {}, in {} tablet{}; this cannot be undone\n{}", rows,
                        dropped.tablets, dropped.tablets == 1 ? "" : "s",
                        commit_line({.stamp_ns = dropped.commit_stamp_ns}));
  return kDone;
}

}  // namespace cellar::cli
