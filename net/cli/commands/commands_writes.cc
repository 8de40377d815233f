// Writes of rows: set and delete cells, append, increment, conditional changes.
#include <charconv>

#include "net/cli/commands/commands.h"
#include "net/cli/parse/read_request.h"
#include "net/cli/parse/schema_syntax.h"
#include "net/cli/print/printer.h"
#include "net/cli/print/write_report.h"
#include "net/cli/session/json_rows.h"
#include "net/cli/text/columns.h"
#include "net/cli/text/times.h"

namespace cellar::cli {

namespace {

// Doubtful writes are retried with a token: token= or a drawn one.
Result<client::CallOptions> call_options(const Arguments& arguments) {
  client::CallOptions options;
  options.draw_tokens = true;
  if (const std::string* level = arguments.find("durability")) {
    TRY(options.durability, parse_durability(*level));
  }
  return options;
}

std::optional<client::Token> token_of(const Arguments& arguments) {
  const std::string* token = arguments.find("token");
  return token == nullptr ? std::nullopt : std::optional(client::Token{*token});
}

// Common part of all single-row writes: options, then the mutation; each may fail with a usage
// error.
template <class Fill>
CommandResult write_row(Session& session, const Arguments& arguments, Fill fill) {
  TRY(const auto row, usage(session.input(arguments[1])));
  TRY(const auto options, usage(call_options(arguments)));
  client::Mutation mutation(row);
  if (auto token = token_of(arguments)) mutation.with_token(*std::move(token));
  TRY_VOID(usage(fill(mutation)));
  TRY(const auto reply, session.client().mutate_row(arguments[0], mutation, options));
  const Committed committed{reply.commit_stamp_ns, reply.timestamp_us, reply.repeated};
  if (session.json) {
    session.console.print("{{\"ok\":true{}}}\n", write_json(session, row, mutation, committed));
  } else {
    print_write(session, row, mutation, committed);
  }
  return kDone;
}

// The values of at=, ttl= and expire-at=, for every cell that is set.
struct CellTimes {
  std::optional<int64_t> at_us, ttl_us, expire_at_us;
};

Result<CellTimes> cell_times(const Session& session, const Arguments& arguments) {
  CellTimes times;
  if (const std::string* text = arguments.find("at")) {
    TRY(times.at_us, parse_time(*text, session.now_us()));
  }
  if (const std::string* text = arguments.find("ttl")) {
    TRY(times.ttl_us, parse_duration(*text));
  }
  if (const std::string* text = arguments.find("expire-at")) {
    TRY(times.expire_at_us, parse_time(*text, session.now_us()));
  }
  if (times.ttl_us && times.expire_at_us) {
    return fail(Errc::invalid_argument, "give either ttl= or expire-at=");
  }
  return times;
}

Result<void> set_cell(const Session& session, const std::string& word, const CellTimes& times,
                      client::Mutation& mutation) {
  TRY(const CellText cell, parse_cell(word, session.now_us(), times.at_us.has_value()));
  TRY(const std::string qualifier, session.input(cell.column.qualifier));
  TRY(const std::string value, session.input(cell.value));
  const std::optional<int64_t> when = cell.timestamp_us ? cell.timestamp_us : times.at_us;
  if (when) {
    mutation.set(cell.column.family, qualifier, value, *when);
  } else {
    mutation.set(cell.column.family, qualifier, value);
  }
  if (times.ttl_us) mutation.with_ttl(*times.ttl_us);
  if (times.expire_at_us) mutation.with_expire_at(*times.expire_at_us);
  return {};
}

CommandResult set(Session& session, const Arguments& arguments) {
  return write_row(session, arguments, [&](client::Mutation& mutation) -> Result<void> {
    TRY(const CellTimes times, cell_times(session, arguments));
    if (arguments.count() == 2) return fail(Errc::invalid_argument, "set needs at least one cell");
    for (size_t i = 2; i < arguments.count(); ++i) {
      TRY_VOID(set_cell(session, arguments[i], times, mutation));
    }
    return {};
  });
}

CommandResult delete_row(Session& session, const Arguments& arguments) {
  return write_row(session, arguments, [](client::Mutation& mutation) -> Result<void> {
    mutation.delete_row();
    return {};
  });
}

CommandResult delete_column(Session& session, const Arguments& arguments) {
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

CommandResult delete_family(Session& session, const Arguments& arguments) {
  return write_row(session, arguments, [&](client::Mutation& mutation) -> Result<void> {
    mutation.delete_family(arguments[2]);
    return {};
  });
}

// ---- read-modify-write

// Common part of append and increment: `rule` converts a column and its argument.
template <class Rule>
CommandResult modify_row(Session& session, const Arguments& arguments, Rule rule) {
  client::ReadModifyWrite modify;
  TRY(modify.row, usage(session.input(arguments[1])));
  for (size_t i = 2; i < arguments.count(); ++i) {
    TRY(auto made, usage(rule(arguments[i])));
    modify.rules.push_back(std::move(made));
  }
  TRY(const auto options, usage(call_options(arguments)));
  modify.token = token_of(arguments);
  TRY(const auto written, session.client().read_modify_write(arguments[0], modify, options));
  const Committed committed{.stamp_ns = written.commit_stamp_ns(), .repeated = written.repeated()};
  if (session.json) {
    std::string object = json_row(written.key(), written.cells(), session.json_forms());
    object.pop_back();
    session.console.print("{},\"commit_stamp\":\"{}\"}}\n", object, committed.stamp_ns);
    return kDone;
  }
  RowPrinter printer(session, ColumnChoice(), false);
  printer.row(written.key(), written.cells());
  session.console.write(commit_line(committed));
  return kDone;
}

Result<client::ModifyRule> modify_rule(const Session& session, const Column& column) {
  client::ModifyRule rule;
  rule.family = column.family;
  TRY(rule.qualifier, session.input(column.qualifier));
  return rule;
}

CommandResult append(Session& session, const Arguments& arguments) {
  const auto rule = [&](const std::string& word) -> Result<client::ModifyRule> {
    TRY(const CellText cell, parse_cell(word, 0, true));
    TRY(client::ModifyRule made, modify_rule(session, cell.column));
    TRY(made.append, session.input(cell.value));
    return made;
  };
  return modify_row(session, arguments, rule);
}

CommandResult increment(Session& session, const Arguments& arguments) {
  // A counter is shown as a number unless another form is requested.
  if (session.globals.value_format.empty() && session.globals.bytes.empty()) {
    session.value_form = BytesForm::int64;
  }
  const auto rule = [&](const std::string& word) -> Result<client::ModifyRule> {
    const size_t colon = word.find(':');
    const size_t equals = colon == word.npos ? colon : word.find('=', colon);
    TRY(const Column column, parse_column(word.substr(0, equals)));
    TRY(client::ModifyRule made, modify_rule(session, column));
    made.increment_by = 1;
    if (equals == word.npos) return made;
    const char* const last = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data() + equals + 1, last, made.increment_by);
    if (error != std::errc() || stop != last) {
      return fail(Errc::invalid_argument, "'{}' is no 64-bit number to add",
                  word.substr(equals + 1));
    }
    return made;
  };
  return modify_row(session, arguments, rule);
}

// ---- conditional writes

// The condition's columns: families and columns of columns=.
Result<std::optional<client::Filter>> columns_filter(const Session& session,
                                                     const std::string& list) {
  using client::Filter;
  std::vector<Filter> parts;
  for (const std::string& word : split_list(list)) {
    const size_t colon = word.find(':');
    Filter::Bounds bounds;
    if (colon != std::string::npos) {
      TRY(std::string qualifier, session.input(word.substr(colon + 1)));
      bounds.start = qualifier;
      bounds.end = std::move(qualifier);
      bounds.end_closed = true;
    }
    parts.push_back(Filter::column_range(word.substr(0, colon), std::move(bounds)));
  }
  if (parts.empty()) return std::optional<Filter>();
  if (parts.size() == 1) return std::optional<Filter>(std::move(parts[0]));
  return std::optional<Filter>(Filter::interleave(std::move(parts)));
}

Result<std::optional<client::Filter>> condition(const Session& session,
                                                const Arguments& arguments) {
  TRY(auto columns, columns_filter(session, arguments.get("columns")));
  TRY(auto cells, cell_filter(session, arguments));
  if (!columns) return cells;
  if (!cells) return columns;
  std::vector<client::Filter> both;
  both.push_back(*std::move(columns));
  both.push_back(*std::move(cells));
  return std::optional<client::Filter>(client::Filter::chain(std::move(both)));
}

// "then set f:q=v deletecolumn f:old else deleterow": two lists of words as the commands of these
// names take them after TABLE ROW. `set` may be omitted.
Result<void> read_branches(const Session& session, const Arguments& arguments,
                           client::CheckAndMutate& check) {
  TRY(const CellTimes times, cell_times(session, arguments));
  client::Mutation* branch = nullptr;
  std::string verb = "set";
  for (size_t i = 2; i < arguments.count(); ++i) {
    const std::string& word = arguments[i];
    if (word == "then" || word == "else") {
      branch = word == "then" ? &check.then_mutation : &check.else_mutation;
      verb = "set";
    } else if (branch == nullptr) {
      return fail(Errc::invalid_argument, "'{}' stands where then or else should", word);
    } else if (word == "deleterow") {
      branch->delete_row();
    } else if (word == "set" || word == "deletecolumn" || word == "deletefamily") {
      verb = word;
    } else if (verb == "deletefamily") {
      branch->delete_family(word);
    } else if (verb == "deletecolumn") {
      TRY(const Column column, parse_column(word));
      TRY(const std::string qualifier, session.input(column.qualifier));
      branch->delete_column(column.family, qualifier);
    } else {
      TRY_VOID(set_cell(session, word, times, *branch));
    }
  }
  if (check.then_mutation.operations().empty() && check.else_mutation.operations().empty()) {
    return fail(Errc::invalid_argument, "checkandmutate needs something to do behind then or else");
  }
  return {};
}

CommandResult check_and_mutate(Session& session, const Arguments& arguments) {
  client::CheckAndMutate check;
  TRY(check.row, usage(session.input(arguments[1])));
  TRY(check.filter, usage(condition(session, arguments)));
  TRY_VOID(usage(read_branches(session, arguments, check)));
  TRY(const auto options, usage(call_options(arguments)));
  check.token = token_of(arguments);
  TRY(const auto reply, session.client().check_and_mutate(arguments[0], check, options));
  const client::Mutation& made = reply.matched ? check.then_mutation : check.else_mutation;
  const Committed committed{reply.commit_stamp_ns, reply.timestamp_us, reply.repeated};
  const bool nothing = made.operations().empty();
  if (session.json) {
    session.console.print("{{\"ok\":true,\"matched\":{}{}}}\n", reply.matched,
                          nothing ? "" : write_json(session, check.row, made, committed));
    return kDone;
  }
  session.console.print("{}\n", reply.matched ? "it holds: then" : "it does not hold: else");
  if (!nothing) print_write(session, check.row, made, committed);
  return kDone;
}

// ---- arguments

std::vector<KeySpec> write_keys() {
  return {{"durability", "LEVEL", "sync, periodic or memory (default: the table's)"},
          {"token", "TEXT", "the same write under the same token is made once in 15 minutes"}};
}

std::vector<KeySpec> life_keys() {
  return {{"at", "TIME", "timestamp of every cell; values are then taken whole"},
          {"ttl", "DURATION", "every cell dies so long after now, whatever the rule's ages say"},
          {"expire-at", "TIME", "or then"}};
}

std::vector<CommandSpec> cell_commands() {
  return {
      CommandSpec(
          "set", "Rows", "TABLE ROW FAMILY:QUALIFIER=VALUE[@TIME]...", 2, 3, true,
          "Write cells of one row, all or none, and show what was written and when it was "
          "committed.",
          "Without a time the node stamps the cell. What follows the last @ is a time if it can be "
          "one,\nand refused if it resembles one; with at= it belongs to the value. ttl= and\n"
          "expire-at= take the place of the ages in the family's rule.",
          joined(life_keys(), write_keys()),
          {"cellar set notes today text:title='hello'",
           "cellar set packages libc6 install:amd64=2.36-9@2026-11-21T08:00:00Z",
           "cellar set events user7 click:page=/home ttl=1h"},
          &set),
      CommandSpec("append", "Rows", "TABLE ROW FAMILY:QUALIFIER=VALUE...", 3, 3, true,
                  "Append to the newest values of columns, and show what they became.", "",
                  write_keys(), {"cellar append notes today text:title=' world'"}, &append),
      CommandSpec(
          "increment", "Rows", "TABLE ROW FAMILY:QUALIFIER[=N]...", 3, 3, true,
          "Add to counters (1 where no number is given), and show what they became.",
          "A counter is eight bytes, most significant first; one that is not there counts as 0.",
          write_keys(),
          {"cellar increment counters visits day:2026-11-21",
           "cellar increment counters stock f:n=-5"},
          &increment),
      CommandSpec("addtocell", "Rows", "TABLE ROW FAMILY:QUALIFIER[=N]...", 3, 3, true,
                  "The same as increment.", "", write_keys(),
                  {"cellar addtocell counters visits day:2026-11-21=1"}, &increment),
      CommandSpec(
          "checkandmutate", "Rows", "TABLE ROW then OPERATION... [else OPERATION...]", 2, 3, true,
          "Change a row in one way or another, by what is in it, all or none.",
          "The condition holds when the row has cells that pass all of columns=, values=, "
          "versions=,\n"
          "since=, until= and filter=; without any of these, when it has a cell at all. An "
          "OPERATION\n"
          "is FAMILY:QUALIFIER=VALUE[@TIME], deletecolumn FAMILY:QUALIFIER, deletefamily FAMILY "
          "or\n"
          "deleterow, applied in their order.",
          joined(joined({{"columns", "LIST", "family or family:qualifier, separated by commas"},
                         {"values", "REGEX", "cells whose whole value matches (RE2)"},
                         {"versions", "N", "the newest N versions of each column"},
                         {"since", "TIME", "cells with this timestamp or a later one"},
                         {"until", "TIME", "cells with an earlier timestamp"},
                         {"filter", "JSON", "any filter, as of read"}},
                        life_keys()),
                 write_keys()),
          {"cellar checkandmutate notes today then deleterow else text:title=new",
           "cellar checkandmutate notes today columns=text:state values=draft versions=1 \\\n"
           "      then text:state=final deletecolumn text:note else text:late=yes"},
          &check_and_mutate),
  };
}

std::vector<CommandSpec> delete_commands() {
  return {
      CommandSpec("deleterow", "Rows", "TABLE ROW", 2, 2, false, "Delete a row.", "", write_keys(),
                  {"cellar deleterow packages libc6"}, &delete_row),
      CommandSpec("deletecolumn", "Rows", "TABLE ROW FAMILY:QUALIFIER", 3, 3, false,
                  "Delete the versions of a column of one row.", "",
                  joined({{"start", "TIME", "versions with this timestamp or a later one"},
                          {"end", "TIME", "versions with an earlier timestamp"}},
                         write_keys()),
                  {"cellar deletecolumn packages libc6 install:amd64 end=-30d"}, &delete_column),
      CommandSpec("deletefamily", "Rows", "TABLE ROW FAMILY", 3, 3, false,
                  "Delete the cells of a family in one row.",
                  "To remove a family from a table, see dropfamily.", write_keys(),
                  {"cellar deletefamily packages libc6 remove"}, &delete_family),
  };
}

}  // namespace

std::vector<CommandSpec> write_commands() {
  std::vector<CommandSpec> all = cell_commands();
  for (CommandSpec& spec : delete_commands()) all.push_back(std::move(spec));
  return all;
}

}  // namespace cellar::cli
