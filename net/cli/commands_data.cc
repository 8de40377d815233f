#include <algorithm>

#include "net/cli/commands.h"
#include "net/cli/json_rows.h"
#include "net/cli/printer.h"
#include "net/cli/read_request.h"
#include "net/cli/schema_words.h"
#include "net/cli/text.h"
#include "net/cli/times.h"

namespace cellar::cli {

namespace {

Result<client::CallOptions> call_options(const Arguments& arguments) {
  client::CallOptions options;
  if (const std::string* level = arguments.find("durability")) {
    TRY(options.durability, parse_durability(*level));
  }
  return options;
}

int changed(const Session& session, const Result<client::MutateReply>& reply) {
  if (!reply) return session.fail(reply.error());
  if (session.json) session.console.print("{{\"ok\":true}}\n");
  return kDone;
}

// How a write of one row goes: options, then the mutation, each of which may be a usage error.
template <class Fill>
int write_row(Session& session, const Arguments& arguments, Fill fill) {
  const auto row = session.input(arguments[1]);
  if (!row) return session.usage(row.error());
  const auto options = call_options(arguments);
  if (!options) return session.usage(options.error());
  client::Mutation mutation(*row);
  const Result<void> filled = fill(mutation);
  if (!filled) return session.usage(filled.error());
  return changed(session, session.client().mutate_row(arguments[0], mutation, *options));
}

}  // namespace

int set(Session& session, const Arguments& arguments) {
  return write_row(session, arguments, [&](client::Mutation& mutation) -> Result<void> {
    const int64_t now_us = session.now_us();
    std::optional<int64_t> at;
    if (const std::string* text = arguments.find("at")) {
      TRY(at, parse_time(*text, now_us));
    }
    if (arguments.count() == 2) return fail(Errc::invalid_argument, "set needs at least one cell");
    for (size_t i = 2; i < arguments.count(); ++i) {
      TRY(const CellText cell, parse_cell(arguments[i], now_us, at.has_value()));
      TRY(const std::string qualifier, session.input(cell.column.qualifier));
      TRY(const std::string value, session.input(cell.value));
      const std::optional<int64_t> when = cell.timestamp_us ? cell.timestamp_us : at;
      if (when) {
        mutation.set(cell.column.family, qualifier, value, *when);
      } else {
        mutation.set(cell.column.family, qualifier, value);
      }
    }
    return {};
  });
}

int delete_row(Session& session, const Arguments& arguments) {
  return write_row(session, arguments, [](client::Mutation& mutation) -> Result<void> {
    mutation.delete_row();
    return {};
  });
}

int delete_column(Session& session, const Arguments& arguments) {
  return write_row(session, arguments, [&](client::Mutation& mutation) -> Result<void> {
    TRY(const Column column, parse_column(arguments[2]));
    TRY(const std::string qualifier, session.input(column.qualifier));
    std::optional<int64_t> start;
    std::optional<int64_t> end;
    if (const std::string* text = arguments.find("start")) {
      TRY(start, parse_time(*text, session.now_us()));
    }
    if (const std::string* text = arguments.find("end")) {
      TRY(end, parse_time(*text, session.now_us()));
    }
    mutation.delete_column(column.family, qualifier, start, end);
    return {};
  });
}

int delete_family(Session& session, const Arguments& arguments) {
  return write_row(session, arguments, [&](client::Mutation& mutation) -> Result<void> {
    mutation.delete_family(arguments[2]);
    return {};
  });
}

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
  const auto row = session.client().read_row(arguments[0], read);
  if (!row) return session.fail(row.error());
  RowPrinter printer(session, *std::move(columns), false);
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
  const auto limit = arguments.number("count", 0);
  const auto reversed = arguments.flag("reversed");
  const auto keys_only = arguments.flag("keys-only");
  auto columns = ColumnChoice::parse(arguments.get("columns"));
  if (!limit) return session.usage(limit.error());
  if (!reversed) return session.usage(reversed.error());
  if (!keys_only) return session.usage(keys_only.error());
  if (!columns) return session.usage(columns.error());
  request->reversed = *reversed;
  // Rows without a chosen column do not count, which only this side knows.
  if (columns->everything()) request->row_limit = *limit;

  RowPrinter printer(session, *std::move(columns), *keys_only);
  client::ReadStream stream = session.client().read_rows(arguments[0], *request);
  while (true) {
    const auto block = session.client().next(stream);
    if (!block) return session.fail(block.error());
    if (block->empty() || !printer.block(*block, *limit)) break;
  }
  if (!session.json && session.console.out_is_terminal) {
    const auto counted = [](uint64_t n, std::string_view what) {
      return fmt::format("{} {}{}", with_commas(n), what, n == 1 ? "" : "s");
    };
    std::string total = counted(printer.rows(), "row");
    if (!*keys_only) total += ", " + counted(printer.cells(), "cell");
    session.console.print("{}\n", session.console.styled(Style::dim, total));
  }
  return kDone;
}

int count(Session& session, const Arguments& arguments) {
  auto request = read_request(session, arguments);
  if (!request) return session.usage(request.error());
  // One version a column is all that counting needs.
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
  const auto dropped = session.client().drop_row_range(arguments[0], drop);
  if (!dropped) return session.fail(dropped.error());
  if (session.json) session.console.print("{{\"ok\":true,\"tablets\":{}}}\n", *dropped);
  return kDone;
}

}  // namespace cellar::cli
