#include <algorithm>

#include "net/cli/commands.h"

namespace cellar::cli {

namespace {

const std::vector<KeySpec> kRowBounds = {
    {"prefix", "KEY", "rows that begin with KEY"},
    {"start", "KEY", "from this row on"},
    {"end", "KEY", "up to this row, which is left out"},
};
const std::vector<KeySpec> kCellChoice = {
    {"versions", "N", "the newest N versions of each column (default: all)"},
    {"since", "TIME", "cells with this timestamp or a later one"},
    {"until", "TIME", "cells with an earlier timestamp"},
    {"columns", "LIST", "show these only: family or family:qualifier, separated by commas"},
};
const std::vector<KeySpec> kDurability = {
    {"durability", "LEVEL", "sync, periodic or memory (default: the table's)"},
};

std::vector<KeySpec> joined(std::vector<KeySpec> first, const std::vector<KeySpec>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::vector<CommandSpec> table_commands() {
  return {
      {"createtable",
       "Tables",
       "TABLE",
       1,
       1,
       false,
       "Make a table.",
       "",
       {{"families", "LIST", "column families, separated by commas"},
        {"family", "NAME", "one column family; may be repeated"},
        {"splits", "LIST", "rows at which the table is cut into tablets"},
        {"granularity", "UNIT", "of timestamps: millis (default) or micros"},
        {"durability", "LEVEL", "when a write is answered: sync (default), periodic or memory"}},
       {"cellar createtable packages families=install,remove splits=g,n,t"},
       &create_table},
      {"deletetable",
       "Tables",
       "TABLE",
       1,
       1,
       false,
       "Delete a table and all that is in it.",
       "",
       {},
       {"cellar deletetable packages"},
       &delete_table},
      {"createfamily",
       "Tables",
       "TABLE FAMILY",
       2,
       2,
       false,
       "Add a column family to a table.",
       "",
       {},
       {"cellar createfamily packages purge"},
       &create_family},
      {"dropfamily",
       "Tables",
       "TABLE FAMILY",
       2,
       2,
       false,
       "Remove a column family from a table, with all its cells.",
       "Its cells in all rows are gone at once; a family of that name that is made later is "
       "empty.\n"
       "To delete the cells of a family in one row, see deletefamily.",
       {},
       {"cellar dropfamily packages purge"},
       &drop_family},
      {"altertable",
       "Tables",
       "TABLE",
       1,
       1,
       false,
       "Change the options of a table.",
       "Data on disk keeps its form until it is merged. For families, see createfamily and "
       "dropfamily.",
       {{"durability", "LEVEL", "when a write is answered: sync, periodic or memory"},
        {"compression", "NAME", "of files written from now on: none or lz4"},
        {"block-bytes", "N", "size of their blocks: 1024 to 1048576"}},
       {"cellar altertable packages durability=periodic"},
       &alter_table},
      {"ls",
       "Tables",
       "[TABLE]",
       0,
       1,
       false,
       "List the tables, or describe one.",
       "",
       {},
       {"cellar ls", "cellar ls packages"},
       &list},
      {"samplekeys",
       "Tables",
       "TABLE",
       1,
       1,
       false,
       "Show where a table is cut into tablets, and the bytes before each cut.",
       "",
       {},
       {"cellar samplekeys packages"},
       &sample_keys},
  };
}

std::vector<CommandSpec> row_commands() {
  return {
      {"set",
       "Rows",
       "TABLE ROW FAMILY:QUALIFIER=VALUE[@TIME]...",
       2,
       3,
       true,
       "Write cells of one row, all or none.",
       "Without a time the node stamps the cell. What follows the last @ is a time if it can be "
       "one;\nwith --at it never is.",
       {{"at", "TIME", "timestamp of every cell; values are then taken whole"}, kDurability[0]},
       {"cellar set notes today text:title='hello'",
        "cellar set packages libc6 install:amd64=2.36-9@2026-11-21T08:00:00Z"},
       &set},
      {"lookup",
       "Rows",
       "TABLE ROW",
       2,
       2,
       false,
       "Show one row.",
       "",
       kCellChoice,
       {"cellar lookup packages libc6", "cellar lookup packages libc6 versions=1 since=-7d"},
       &lookup},
      {"read",
       "Rows",
       "TABLE",
       1,
       1,
       false,
       "Show rows, in the order of their keys.",
       "",
       joined(joined(kRowBounds, {{"count", "N", "at most N rows"},
                                  {"reversed", "BOOL", "last row first"},
                                  {"keys-only", "BOOL", "show the row keys only"}}),
              kCellChoice),
       {"cellar read packages prefix=lib count=5 versions=1",
        "cellar read packages since=-1h --json"},
       &read},
      {"count",
       "Rows",
       "TABLE",
       1,
       1,
       false,
       "Count rows.",
       "",
       joined(kRowBounds, {kCellChoice[1], kCellChoice[2]}),
       {"cellar count packages prefix=lib"},
       &count},
  };
}

std::vector<CommandSpec> delete_commands() {
  return {
      {"deleterow",
       "Rows",
       "TABLE ROW",
       2,
       2,
       false,
       "Delete a row.",
       "",
       kDurability,
       {"cellar deleterow packages libc6"},
       &delete_row},
      {"deletecolumn",
       "Rows",
       "TABLE ROW FAMILY:QUALIFIER",
       3,
       3,
       false,
       "Delete the versions of a column of one row.",
       "",
       {{"start", "TIME", "versions with this timestamp or a later one"},
        {"end", "TIME", "versions with an earlier timestamp"},
        kDurability[0]},
       {"cellar deletecolumn packages libc6 install:amd64 end=-30d"},
       &delete_column},
      {"deletefamily",
       "Rows",
       "TABLE ROW FAMILY",
       3,
       3,
       false,
       "Delete the cells of a family in one row.",
       "To remove a family from a table, see dropfamily.",
       kDurability,
       {"cellar deletefamily packages libc6 remove"},
       &delete_family},
      {"droprows",
       "Rows",
       "TABLE prefix=KEY | start=KEY end=KEY",
       1,
       1,
       false,
       "Delete a range of rows, without reading them.",
       "",
       kRowBounds,
       {"cellar droprows packages prefix=linux-image-5."},
       &drop_rows},
  };
}

std::vector<CommandSpec> load_commands() {
  return {
      {"import",
       "Rows",
       "TABLE FILE|-",
       2,
       2,
       false,
       "Load a file, or standard input.",
       "csv           a header; the first column is the row key, the others are named\n"
       "              family:qualifier or family:qualifier@time; an empty field is no cell\n"
       "jsonl         one row a line, as `cellar read --json` prints it\n"
       "dpkg-log      /var/log/dpkg.log: row = package, family = action, qualifier =\n"
       "              architecture (of a status: the state), value = version or 'old -> new',\n"
       "              timestamp = the event's; the n-th event of one cell within a second is put\n"
       "              n milliseconds later, so that none is lost\n"
       "package-list  lines of package, architecture, version, separated by tabs, as\n"
       "              dpkg-query -W -f '${Package}\\t${Architecture}\\t${Version}\\n' prints "
       "them;\n"
       "              family = install, timestamp = now\n\n"
       "Lines that cannot be loaded are named and skipped; the exit code is then 7.",
       {{"format", "NAME", "csv, jsonl, dpkg-log or package-list (default: by the file's name)"},
        {"create", "", "make the table first if there is none, with the families of the file"},
        {"families", "LIST", "with --create: more families"},
        {"granularity", "UNIT", "with --create: millis or micros (default: what the file needs)"},
        {"at", "TIME", "timestamp of cells that have none (default: the node stamps them)"},
        {"tz", "ZONE", "of dpkg-log's times: local (default) or utc"},
        {"max-errors", "N", "name at most N rejected lines (default: 20)"}},
       {"cellar import packages /var/log/dpkg.log --create",
        "cellar read packages --json | cellar --addr other:7420 import packages - --format=jsonl"},
       &import},
  };
}

std::vector<CommandSpec> node_commands() {
  return {
      {"info",
       "Node",
       "",
       0,
       0,
       false,
       "Show the node: version, shards, memory, disk, recovery.",
       "",
       {},
       {"cellar info"},
       &info},
      {"ping",
       "Node",
       "",
       0,
       0,
       false,
       "Measure the way there and back.",
       "",
       {{"count", "N", "so many times (default: 1)"}},
       {"cellar ping count=5"},
       &ping},
      {"flush",
       "Node",
       "TABLE",
       1,
       1,
       false,
       "Write a table's memory to disk.",
       "",
       {},
       {"cellar flush packages"},
       &flush},
      {"compact",
       "Node",
       "TABLE",
       1,
       1,
       false,
       "Merge a table's files into one run.",
       "",
       {},
       {"cellar compact packages"},
       &compact},
  };
}

// Two columns; `width` is that of the first.
std::string entry(std::string_view left, std::string_view right, size_t width) {
  return fmt::format("  {:<{}}  {}\n", left, width, right);
}

const char* kGlobalHelp =
    "  --addr HOST:PORT      of the node (default: $CELLAR_ADDR, else 127.0.0.1:7420)\n"
    "  --json                one JSON object a line; bytes that are no UTF-8 as NAME_base64\n"
    "  --bytes FORM          show bytes as utf8 (escaped as C does), hex or base64\n"
    "  --escaped             keys and values on the command line are escaped as they are shown\n"
    "  --timeout DURATION    for one request (default: 30s)\n"
    "  -h, --help            this, or a command's help\n"
    "  --version\n";

}  // namespace

const std::vector<CommandSpec>& commands() {
  static const std::vector<CommandSpec> kCommands = [] {
    std::vector<CommandSpec> all = table_commands();
    for (auto& more : {row_commands(), delete_commands(), load_commands(), node_commands()}) {
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  }();
  return kCommands;
}

std::string overview_help() {
  std::string text =
      "cellar: the command line of Cellar, a storage node for cells that age\n\n"
      "Usage: cellar [OPTIONS] COMMAND [ARGUMENTS]\n";
  std::string group;
  for (const CommandSpec& spec : commands()) {
    if (spec.group != group) text += fmt::format("\n{}:\n", spec.group);
    group = spec.group;
    text += entry(spec.name, spec.summary, 12);
  }
  text += "\nOptions:\n";
  text += kGlobalHelp;
  text +=
      "\nArguments like count=5 may also be written --count 5. A TIME is microseconds since 1970,\n"
      "2026-11-21T08:00:00Z, -1h or now. Exit codes: 0 done, 1 failed, 2 usage, 3 not found,\n"
      "5 cannot connect or too late, 7 an import with rejected lines.\n\n"
      "Example: cellar read packages prefix=lib count=5 versions=1\n"
      "More: cellar COMMAND --help\n";
  return text;
}

std::string command_help(const CommandSpec& spec) {
  std::string text = spec.summary + "\n\nUsage: cellar " + spec.name;
  if (!spec.positional.empty()) text += " " + spec.positional;
  if (!spec.keys.empty()) text += " [KEY=VALUE...]";
  text += "\n";
  if (!spec.details.empty()) text += "\n" + spec.details + "\n";
  if (!spec.keys.empty()) {
    text += "\nArguments (key=value or --key value):\n";
    size_t width = 0;
    const auto label = [](const KeySpec& key) {
      return key.is_flag() ? "--" + key.name : key.name + "=" + key.value;
    };
    for (const KeySpec& key : spec.keys) width = std::max(width, label(key).size());
    for (const KeySpec& key : spec.keys) text += entry(label(key), key.help, width);
  }
  text += "\nOptions of every command:\n";
  text += kGlobalHelp;
  text += spec.examples.size() == 1 ? "\nExample:\n" : "\nExamples:\n";
  for (const std::string& example : spec.examples) text += "  " + example + "\n";
  return text;
}

}  // namespace cellar::cli
