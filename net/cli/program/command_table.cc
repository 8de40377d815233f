#include <algorithm>
#include <utility>

#include "net/cli/commands/commands.h"
#include "net/cli/commands/confirm.h"
#include "net/cli/program/complete.h"
#include "net/cli/program/shell.h"

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
    {"values", "REGEX", "cells whose whole value matches (RE2)"},
    {"filter", "JSON",
     "what passes this filter: {\"cells_per_row\": 3}; see the README of net/cli"},
};
const std::vector<KeySpec> kFateKeys = {
    {"numbers", "", "show timestamps as numbers, as sequence numbers are meant"},
    {"explain", "", "show when each cell dies, and of what"},
    {"include-dead", "", "show also what is dead and still on disk, and of what it died"},
};
const std::vector<KeySpec> kRowFateKeys = {
    kFateKeys[0],
    {"explain", "", "show when each cell dies, and of what, and how many runs the read opens"},
    kFateKeys[2],
};
const std::vector<KeySpec> kRowRegex = {
    {"regex", "REGEX", "rows whose whole key matches (RE2)"},
};
std::vector<CommandSpec> row_commands() {
  return {
      CommandSpec(
          "lookup", "Rows", "TABLE ROW", 2, 2, false, "Show one row.", "",
          joined(kCellChoice, kRowFateKeys),
          {"cellar lookup packages libc6", "cellar lookup packages libc6 versions=1 since=-7d"},
          &lookup),
      CommandSpec("read", "Rows", "TABLE", 1, 1, false, "Show rows, in the order of their keys.",
                  "",
                  joined(joined(kRowBounds, {{"count", "N", "at most N rows"},
                                             {"reversed", "BOOL", "last row first"},
                                             {"keys-only", "BOOL", "show the row keys only"}}),
                         joined(joined(kRowRegex, kCellChoice), kFateKeys)),
                  {"cellar read packages prefix=lib count=5 versions=1",
                   "cellar read packages prefix=lib --explain --include-dead",
                   "cellar read packages since=-1h --json",
                   "cellar read packages filter='{\"chain\": [{\"family_regex\": \"install\"}, "
                   "{\"cells_per_row\": 3}]}'"},
                  &read),
      CommandSpec("count", "Rows", "TABLE", 1, 1, false, "Count rows.", "",
                  joined(joined(kRowBounds, kRowRegex),
                         {kCellChoice[1], kCellChoice[2], kCellChoice[4], kCellChoice[5]}),
                  {"cellar count packages prefix=lib", "cellar count packages regex='lib.*-dev'"},
                  &count),
  };
}

std::vector<CommandSpec> drop_commands() {
  return {
      CommandSpec(
          "droprows", "Rows", "TABLE prefix=KEY | [start=KEY] [end=KEY]", 1, 1, false,
          "Delete a range of rows, without reading them.",
          "This cannot be undone, so it asks. count tells how many rows there are.\n"
          "Without end= the range goes on to the last row, without start= it begins with the "
          "first.",
          joined(joined(kRowBounds, {{"token", "TEXT",
                                      "the same range under the same token is deleted once in 15 "
                                      "minutes"}}),
                 confirm_keys()),
          {"cellar droprows packages prefix=linux-image-5."}, &drop_rows),
  };
}

std::vector<CommandSpec> load_commands() {
  return {
      CommandSpec(
          "import", "Files", "TABLE FILE|-", 2, 2, false, "Load a file, or standard input.",
          "csv           a header; the first column is the row key, the others are named\n"
          "              family:qualifier or family:qualifier@time; an empty field is no cell.\n"
          "              With the header row,family,qualifier,timestamp,value,expire_at (the last "
          "one\n"
          "              may be absent): a line a cell, as export writes it\n"
          "jsonl         one row a line, as export and `read --json` print it\n"
          "cellar        the binary form of export, which loses nothing\n"
          "dpkg-log      /var/log/dpkg.log: row = package, family = action, qualifier =\n"
          "              architecture (of a status: the state), value = version or 'old -> new',\n"
          "              timestamp = the event's; the n-th event of one cell within a second is "
          "put\n"
          "              n milliseconds later, so that none is lost\n"
          "package-list  lines of package, architecture, version, separated by tabs, as\n"
          "              dpkg-query -W -f '${Package}\\t${Architecture}\\t${Version}\\n' prints "
          "them;\n"
          "              family = install, timestamp = now\n\n"
          "Lines, or cells of a row, that cannot be loaded are named and skipped; the exit code "
          "is\n"
          "then 7.\n"
          "While it runs, FILE.TABLE.checkpoint tells up to where the node has acknowledged\n"
          "everything. After a kill or an error, the same command with --resume continues there.\n"
          "Writes are not repeated when they may have been applied, since that could undo what "
          "others\n"
          "wrote meanwhile: the import then stops, names the lines in doubt, and prints the "
          "command\n"
          "that resumes, which writes them again. With --sole-writer it repeats them by itself.",
          {{"format", "NAME",
            "csv, jsonl, cellar, dpkg-log or package-list (default: by the file's name)"},
           {"create", "", "make the table first if there is none, with the families of the file"},
           {"family", "NAME", "csv: the family of columns whose name says none"},
           {"families", "LIST", "with --create: more families"},
           {"granularity", "UNIT",
            "with --create: millis or micros (default: what the file needs)"},
           {"at", "TIME",
            "timestamp of cells that have none (default: when the import began); node: stamped "
            "there"},
           {"tz", "ZONE", "of dpkg-log's times: local (default) or utc"},
           {"resume", "", "continue where an earlier import of this file stopped"},
           {"sole-writer", "", "nothing else writes to these rows meanwhile"},
           {"checkpoint", "PATH", "where to keep that (default: FILE.TABLE.checkpoint)"},
           {"name-errors", "N", "name at most N rejected lines or cells (default: 20)"},
           {"max-errors", "N", "stop after more than N of them (default: 1000; 0: never)"},
           {"progress", "", "tell how far it is, also where standard error is no terminal"}},
          {"cellar import packages /var/log/dpkg.log --create",
           "cellar import cities cities.csv family=city --create",
           "cellar import packages packages.cellar --resume",
           "cellar read packages --json | cellar --addr other:7420 import packages - "
           "--format=jsonl"},
          &import),
      CommandSpec(
          "export", "Files", "TABLE [FILE|-]", 1, 2, false,
          "Write rows into a file, or to standard output.",
          "cellar  binary, with checksums; keeps every byte, timestamp, expiry and the table's "
          "schema\n"
          "jsonl   a row a line\n"
          "csv     a line a cell: row,family,qualifier,timestamp,value,expire_at\n\n"
          "Text escapes what is no UTF-8, or has it in the forms of --key-format and "
          "--value-format;\n"
          "import takes all of it back. The file grows as FILE.part and gets its name when it is\n"
          "complete and on disk. After a kill or an error, the same command with --resume goes on\n"
          "after the last whole row of FILE.part; the file becomes what it would have been.",
          joined(
              joined({{"format", "NAME",
                       "cellar, jsonl or csv (default: by the file's name; jsonl without one)"}},
                     joined(kRowBounds, kCellChoice)),
              {{"resume", "", "go on where an earlier export into this file stopped"},
               {"overwrite", "", "replace FILE; write into it if it is a device or a FIFO"},
               {"progress", "", "tell how far it is, also where standard error is no terminal"}}),
          {"cellar export packages packages.cellar",
           "cellar export packages packages.cellar --resume",
           "cellar export packages prefix=lib versions=1 format=csv > lib.csv"},
          &export_table),
  };
}

std::vector<CommandSpec> node_commands() {
  return {
      CommandSpec("info", "Node", "", 0, 0, false,
                  "Show the node: version, shards, memory, disk, recovery.", "", {},
                  {"cellar info"}, &info),
      CommandSpec("ping", "Node", "", 0, 0, false, "Measure the way there and back.", "",
                  {{"count", "N", "so many times (default: 1)"}}, {"cellar ping count=5"}, &ping),
      CommandSpec("flush", "Node", "TABLE", 1, 1, false, "Write a table's memory to disk.", "", {},
                  {"cellar flush packages"}, &flush),
      CommandSpec("compact", "Node", "TABLE", 1, 1, false, "Merge a table's files into one run.",
                  "", {}, {"cellar compact packages"}, &compact),
  };
}

std::vector<CommandSpec> shell_commands() {
  return {
      CommandSpec(
          "shell", "Shell", "", 0, 0, false,
          "Run commands one after the other, over one connection.",
          "At a terminal with editing, history (in $XDG_STATE_HOME/cellar/history) and completion\n"
          "with Tab; Ctrl-C ends the command that runs, Ctrl-D the shell. Else the lines of "
          "standard\n"
          "input are a script, in which # begins a comment; it goes on after a command that "
          "failed,\n"
          "and the exit code is then 7.",
          {{"stop-on-error", "", "end a script with its first failed command, and with its code"}},
          {"cellar shell", "printf 'ls\\ncount packages\\n' | cellar shell --stop-on-error"},
          &shell),
      CommandSpec("completion", "Shell", "bash|fish|zsh", 1, 1, false,
                  "Print the completion script for a shell.",
                  "It completes commands, options, and the names of tables and families by asking "
                  "the node.",
                  {},
                  {"source <(cellar completion bash)", "cellar completion fish | source",
                   "cellar completion zsh > ~/.zfunc/_cellar"},
                  &completion),
  };
}

std::vector<CommandSpec>& command_table() {
  static std::vector<CommandSpec> table = [] {
    std::vector<CommandSpec> all = table_commands();
    for (auto& more :
         {history_commands(), gc_commands(), reclaim_commands(), tablet_commands(),
          index_commands(), row_commands(), write_commands(), drop_commands(), load_commands(),
          node_commands(), doctor_commands(), stats_commands(), control_commands(),
          clock_commands(), backup_commands(), security_commands(), shell_commands()}) {
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  }();
  return table;
}

}  // namespace

const std::vector<CommandSpec>& commands() { return command_table(); }

void add_command(CommandSpec spec) { command_table().push_back(std::move(spec)); }

}  // namespace cellar::cli
