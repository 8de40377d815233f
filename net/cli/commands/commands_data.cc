// Reading, counting and deleting rows.
#include "net/cli/commands/commands.h"
#include "net/cli/parse/read_request.h"
#include "net/cli/print/printer.h"
#include "net/cli/session/json_rows.h"
#include "net/cli/text/text.h"

namespace cellar::cli {

int lookup(Session& session, const Arguments& arguments) {
  client::ReadRow read;
  auto row_key = session.input(arguments[1]);
  if (!row_key) return session.usage(row_key.error());
  read.row = *row_key;
  auto filter = cell_filter(session, arguments);
  if (!filter) return session.usage(filter.error());
  read.filter = *std::move(filter);
  auto columns = ColumnChoice::parse(arguments.get("columns"));
  if (!columns) return session.usage(columns.error());
  const auto notes = read_notes(arguments);
  if (!notes) return session.usage(notes.error());
  if (const auto ok = choose_timestamps(session, arguments); !ok) return session.usage(ok.error());
  read.notes = *notes;
  const auto row = session.client().read_row(arguments[0], read);
  if (!row) return session.fail(row.error());
  CellExplainer explainer(session, arguments[0]);
  RowPrinter printer(session, *std::move(columns), false, &explainer);
  if (*row) printer.row((*row)->key(), (*row)->cells());
  if (printer.rows() > 0) return kDone;
  const bool chosen = read.filter.has_value() || arguments.has("columns");
  return session.fail(Error(Errc::not_found, fmt::format("row '{}' of table '{}' has no {}cells",
                                                         session.show_key(read.row), arguments[0],
                                                         chosen ? "such " : "")));
}

int read(Session& session, const Arguments& arguments) {
  auto request = read_request(session, arguments);
  if (!request) return session.usage(request.error());
  if (const auto ok = choose_timestamps(session, arguments); !ok) return session.usage(ok.error());
  const auto limit = arguments.number("count", 0);
  const auto reversed = arguments.flag("reversed");
  const auto keys_only = arguments.flag("keys-only");
  auto columns = ColumnChoice::parse(arguments.get("columns"));
  if (!limit) return session.usage(limit.error());
  if (!reversed) return session.usage(reversed.error());
  if (!keys_only) return session.usage(keys_only.error());
  if (!columns) return session.usage(columns.error());
  request->reversed = *reversed;
  // Rows without a chosen column do not count, and only the client knows.
  if (columns->everything()) request->row_limit = *limit;

  CellExplainer explainer(session, arguments[0]);
  RowPrinter printer(session, *std::move(columns), *keys_only, &explainer);
  client::ReadStream stream = session.client().read_rows(arguments[0], *request);
  while (true) {
    const auto block = session.client().next(stream);
    if (!block) return session.fail(block.error());
    if (block->empty() || !printer.block(*block, *limit)) break;
  }
  if (!session.json && session.console.out_is_terminal) {
    std::string total = counted(printer.rows(), "row");
    if (!*keys_only) total += ", " + counted(printer.cells(), "cell");
    session.console.print("{}\n", session.console.styled(Style::dim, total));
  }
  return kDone;
}

int count(Session& session, const Arguments& arguments) {
  auto request = read_request(session, arguments);
  if (!request) return session.usage(request.error());
  // One version per column is enough for counting.
  client::Filter newest = client::Filter::cells_per_column(1);
  if (request->filter) {
    request->filter = client::Filter::chain({*std::move(request->filter), std::move(newest)});
  } else {
    request->filter = std::move(newest);
  }
  uint64_t rows = 0;
  client::ReadStream stream = session.client().read_rows(arguments[0], *request);
  while (true) {
    const auto block = session.client().next(stream);
    if (!block) return session.fail(block.error());
    if (block->empty()) break;
    for (const client::RowPart& part : block->rows()) rows += part.complete ? 1 : 0;
  }
  if (session.json) {
    session.console.print("{{\"table\":{},\"rows\":{}}}\n", json_string(arguments[0]), rows);
  } else {
    session.console.print("{}\n", rows);
  }
  return kDone;
}

int drop_rows(Session& session, const Arguments& arguments) {
  client::DropRows drop;
  auto prefix = key_argument(session, arguments, "prefix");
  auto start = key_argument(session, arguments, "start");
  auto end = key_argument(session, arguments, "end");
  for (const auto* key : {&prefix, &start, &end}) {
    if (!*key) return session.usage(key->error());
  }
  drop.prefix = *prefix;
  drop.start = *start;
  drop.end = *end;
  if (drop.prefix.has_value() == (drop.start || drop.end)) {
    return session.usage(
        Error(Errc::invalid_argument, "droprows needs either prefix= or start= and end="));
  }
  if (const std::string* token = arguments.find("token")) drop.token = client::Token{*token};
  client::CallOptions options;
  options.draw_tokens = true;
  const auto dropped = session.client().drop_row_range(arguments[0], drop, options);
  if (!dropped) return session.fail(dropped.error());
  if (session.json) session.console.print("{{\"ok\":true,\"tablets\":{}}}\n", *dropped);
  return kDone;
}

}  // namespace cellar::cli
