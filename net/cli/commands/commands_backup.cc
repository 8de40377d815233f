// Backups of a node: take, list, verify, prune, restore. The node does the work; the command polls
// it and may exit meanwhile.
#include <algorithm>

#include "net/cli/commands/commands.h"
#include "net/cli/print/printer.h"
#include "net/cli/print/progress.h"
#include "net/cli/session/json_rows.h"
#include "net/cli/text/text.h"
#include "net/cli/text/times.h"

namespace cellar::cli {

namespace {

using client::BackupAction;
using client::BackupCommand;
using client::BackupInfo;
using client::BackupStatus;

constexpr int64_t kLookAtBackupUs = 200'000;

std::string joined_names(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

std::string info_json(const BackupInfo& one) {
  return fmt::format(
      "{{\"name\":{},\"program\":{},\"wall_us\":{},\"trusted_us\":{},\"tables\":{},\"blobs\":{},"
      "\"bytes\":{},\"copied_bytes\":{}}}",
      json_string(one.name), json_string(one.program), one.wall_us, one.trusted_us,
      json_list(one.tables, json_string), one.blobs, one.bytes, one.copied_bytes);
}

void print_status_json(const Session& session, const BackupStatus& status) {
  const std::string error = status.error ? json_string(status.error->message) : "null";
  session.console.print(
      "{{\"job\":{},\"directory\":{},\"name\":{},\"running\":{},\"phase\":{},\"bytes_total\":{},"
      "\"bytes_done\":{},\"files_total\":{},\"files_done\":{},\"copied_bytes\":{},\"error\":{},"
      "\"backups\":{}}}\n",
      status.job, json_string(status.directory), json_string(status.name), status.running,
      json_string(status.phase), status.bytes_total, status.bytes_done, status.blobs_total,
      status.blobs_done, status.copied_bytes, error, json_list(status.backups, info_json));
}

// Polls until the job has ended.
Result<BackupStatus> follow(Session& session, BackupStatus status, bool progress) {
  ProgressLine line(session.console, progress);
  const int64_t began_us = session.now_us();
  const uint64_t job = status.job;
  while (status.running) {
    const int64_t elapsed_us = session.now_us() - began_us;
    if (line.due(elapsed_us)) {
      Progress at;
      at.unit = "files";
      at.units = status.blobs_done;
      at.bytes = status.bytes_done;
      at.elapsed_us = elapsed_us;
      if (status.bytes_total > 0) {
        at.share = std::min(
            1.0, static_cast<double>(status.bytes_done) / static_cast<double>(status.bytes_total));
      }
      line.show(at);
    }
    session.client().sleep_us(kLookAtBackupUs);
    TRY(status, session.client().backup({}));
    if (status.job != job) {
      return fail(
          Errc::unavailable,
          "another job runs, or the node was started again; how this one ended is not known");
    }
  }
  if (status.error) return std::unexpected(*status.error);
  return status;
}

// Starts a job and follows it until it ends, unless --detach is given.
template <class Say>
CommandResult run_job(Session& session, const Arguments& arguments, const BackupCommand& command,
                      Say say) {
  TRY(const bool detached, usage(arguments.flag("detach")));
  TRY(const bool progress, usage(arguments.flag("progress")));
  TRY(auto begun, session.client().backup(command));
  if (detached) {
    if (session.json) print_status_json(session, begun);
    if (!session.json) session.console.print("job {} began; see cellar backup status\n", begun.job);
    return kDone;
  }
  TRY(const auto ended, follow(session, std::move(begun), progress));
  if (session.json) {
    print_status_json(session, ended);
  } else {
    session.console.print("{}\n", say(ended));
  }
  return kDone;
}

CommandResult take(Session& session, const Arguments& arguments) {
  BackupCommand command{.action = BackupAction::take, .directory = arguments[0]};
  command.name = arguments.get("name");
  command.tables.assign(arguments.positional().begin() + 1, arguments.positional().end());
  return run_job(session, arguments, command, [](const BackupStatus& s) {
    return fmt::format(
        "backup {} taken: {} in {} files, of which {} were new; read again and compared", s.name,
        human_bytes(s.bytes_done), with_commas(s.blobs_done), human_bytes(s.copied_bytes));
  });
}

CommandResult verify(Session& session, const Arguments& arguments) {
  BackupCommand command{.action = BackupAction::verify, .directory = arguments[0]};
  if (arguments.count() > 1) command.name = arguments[1];
  return run_job(session, arguments, command, [](const BackupStatus& s) {
    return fmt::format("backup {} is whole: {} in {} files", s.name, human_bytes(s.bytes_done),
                       with_commas(s.blobs_done));
  });
}

CommandResult prune(Session& session, const Arguments& arguments) {
  TRY(const auto keep, usage(arguments.number("keep", 0)));
  if (keep == 0 || keep > 1'000'000) {
    return usage_error("keep=N says how many stay, 1 at least");
  }
  BackupCommand command{.action = BackupAction::prune, .directory = arguments[0]};
  command.keep = static_cast<uint32_t>(keep);
  return run_job(session, arguments, command, [](const BackupStatus& s) {
    std::vector<std::string> names;
    for (const BackupInfo& one : s.backups) names.push_back(one.name);
    return names.empty() ? std::string("nothing to remove") : "removed " + joined_names(names);
  });
}

CommandResult restore(Session& session, const Arguments& arguments) {
  BackupCommand command{.action = BackupAction::restore, .directory = arguments[0]};
  command.name = arguments.get("backup");
  command.table = arguments[1];
  command.new_table = arguments.get("as", arguments[1]);
  return run_job(session, arguments, command, [&](const BackupStatus& s) {
    return fmt::format("table {} of backup {} restored as {}", command.table, s.name,
                       command.new_table);
  });
}

CommandResult list_backups(Session& session, const Arguments& arguments) {
  TRY(const auto listed,
      session.client().backup({.action = BackupAction::list, .directory = arguments[0]}));
  Lines lines = {{"BACKUP", "TAKEN", "SIZE", "NEW", "FILES", "TABLES"}};
  for (const BackupInfo& one : listed.backups) {
    if (session.json) session.console.print("{}\n", info_json(one));
    lines.push_back({one.name, format_time(one.wall_us), human_bytes(one.bytes),
                     human_bytes(one.copied_bytes), with_commas(one.blobs),
                     joined_names(one.tables)});
  }
  if (!session.json) session.console.write(aligned(lines, 0));
  return kDone;
}

// "job 8: copying 20261121T231058Z, 3.1 MiB of 12 MiB in 2 of 9 files"
std::string status_text(const BackupStatus& status) {
  std::string text = fmt::format("job {}: {}", status.job, status.phase);
  if (!status.name.empty()) text += " " + status.name;
  if (status.blobs_total > 0) {
    text += fmt::format(", {} of {} in {} of {} files", human_bytes(status.bytes_done),
                        human_bytes(status.bytes_total), status.blobs_done, status.blobs_total);
  }
  if (status.error) text += ": " + status.error->message;
  return text;
}

CommandResult show_status(Session& session, BackupAction action) {
  TRY(const auto status, session.client().backup({.action = action}));
  if (session.json) {
    print_status_json(session, status);
  } else if (status.job == 0) {
    session.console.print("no job since the node started\n");
  } else {
    session.console.print("{}\n", status_text(status));
  }
  return kDone;
}

CommandResult status(Session& session, const Arguments&) {
  return show_status(session, BackupAction::status);
}
CommandResult cancel(Session& session, const Arguments&) {
  return show_status(session, BackupAction::cancel);
}

std::vector<KeySpec> job_keys(std::vector<KeySpec> first) {
  return joined(first, {{"detach", "", "begin, and do not wait for the end"},
                        {"progress", "", "say how far it is also where there is no terminal"}});
}

constexpr const char* kDirectoryHelp =
    "DIRECTORY is on the node, in one of its backup.directories, or rados:POOL/NAME in its Ceph\n"
    "cluster. One directory holds the backups of one node, which share what has not changed.";

}  // namespace

std::vector<CommandSpec> backup_commands() {
  constexpr size_t kManyTables = 10'000;
  return {
      CommandSpec(
          "backup take", "Backups", "DIRECTORY [TABLE...]", 1, kManyTables, false,
          "Take a backup of all tables, or of some, while the node serves.",
          std::string(kDirectoryHelp) +
              "\nWhat was acknowledged before it began is in it. Only what the directory does not "
              "have yet\nis copied; it is read again and compared.",
          job_keys({{"name", "NAME", "its name (default: the moment, as 20261121T231058Z)"}}),
          {"cellar backup take /backup/node1",
           "cellar backup take /backup/node1 events name=before",
           "cellar backup take rados:backup/node1"},
          &take),
      CommandSpec("backup ls", "Backups", "DIRECTORY", 1, 1, false,
                  "List the backups in a directory.", "", {}, {"cellar backup ls /backup/node1"},
                  &list_backups),
      CommandSpec(
          "backup verify", "Backups", "DIRECTORY [BACKUP]", 1, 2, false,
          "Read all of a backup: sizes, checksums, every entry of its tables.",
          "The newest where none is named. What is missing or damaged is named, exit code 8.",
          job_keys({}), {"cellar backup verify /backup/node1"}, &verify),
      CommandSpec(
          "backup restore", "Backups", "DIRECTORY TABLE", 2, 2, false,
          "Make a table of a backup a new table of this node.",
          "With its timestamps, deletes, rules and their history: what has died meanwhile is not "
          "shown.\nA whole node is restored with cellard --restore-from.",
          job_keys({{"backup", "NAME", "which one (default: the newest)"},
                    {"as", "TABLE", "its name here (default: the one it had)"}}),
          {"cellar backup restore /backup/node1 events as=events_restored"}, &restore),
      CommandSpec("backup prune", "Backups", "DIRECTORY", 1, 1, false,
                  "Remove old backups, and the files that no other shares.", "",
                  job_keys({{"keep", "N", "so many of the newest stay"}}),
                  {"cellar backup prune /backup/node1 keep=7"}, &prune),
      CommandSpec("backup status", "Backups", "", 0, 0, false,
                  "Show how the node's job goes, or ended.", "", {},
                  {"cellar backup status --json"}, &status),
      CommandSpec("backup cancel", "Backups", "", 0, 0, false, "Call the node's job off.", "", {},
                  {"cellar backup cancel"}, &cancel),
  };
}

}  // namespace cellar::cli
