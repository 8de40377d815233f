// The commands. Each one runs in a session and returns an exit code.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "net/cli/session/arguments.h"
#include "net/cli/session/session.h"
#include "net/client/api/operate.h"

namespace cellar::cli {

// commands_tables.cc
std::vector<CommandSpec> table_commands();

// commands_indexes.cc
std::vector<CommandSpec> index_commands();

// commands_admin.cc
CommandResult flush(Session& session, const Arguments& arguments);
CommandResult compact(Session& session, const Arguments& arguments);
CommandResult info(Session& session, const Arguments& arguments);
CommandResult ping(Session& session, const Arguments& arguments);

// commands_data.cc
CommandResult lookup(Session& session, const Arguments& arguments);
CommandResult read(Session& session, const Arguments& arguments);
CommandResult count(Session& session, const Arguments& arguments);
CommandResult drop_rows(Session& session, const Arguments& arguments);

// commands_writes.cc
std::vector<CommandSpec> write_commands();

// commands_export.cc
CommandResult export_table(Session& session, const Arguments& arguments);

// commands_import.cc
CommandResult import(Session& session, const Arguments& arguments);

// commands_stats.cc
std::vector<CommandSpec> stats_commands();

// commands_tablets.cc
std::vector<CommandSpec> tablet_commands();

// commands_gc.cc
std::vector<CommandSpec> gc_commands();

// commands_history.cc
std::vector<CommandSpec> history_commands();

// commands_security.cc
std::vector<CommandSpec> security_commands();
// Verifies that the files of a security log are complete. `expected_end`: "N:HASH" of the last
// line, stored elsewhere; empty: unknown.
CommandResult verify_audit(Session& session, std::vector<std::string> files,
                           const std::string& expected_end);

// commands_clock.cc
std::vector<CommandSpec> clock_commands();

// ---- shared by the commands

// Report that a change was made, or that the user declined it.
int done(const Session& session, std::string_view sentence, const std::string& name);
int unchanged(const Session& session);

std::vector<KeySpec> joined(std::vector<KeySpec> first, const std::vector<KeySpec>& second);

// ---- more commands

// commands_backup.cc
std::vector<CommandSpec> backup_commands();

// commands_control.cc
std::vector<CommandSpec> control_commands();

// commands_doctor.cc
struct Finding {
  enum class Level : uint8_t { good, warning, problem };
  Level level = Level::good;
  std::string check;   // "clock"
  std::string what;    // the finding
  std::string advice;  // the remedy; empty if nothing is wrong
};

// Checks a data directory without its node: it exists, is ours and of a known format, whether a
// node uses it, and the free space. Opens nothing for writing.
std::vector<Finding> look_at_directory(const std::string& directory);

std::vector<CommandSpec> doctor_commands();

// commands_reclaim.cc
// Exit code of `gc why` if a reclaim deadline is missed.
inline constexpr int kMissed = 9;

std::vector<CommandSpec> reclaim_commands();
// `"live_bytes":1,"dead_bytes":2,...`.
std::string reclaim_figures_json(const client::ReclaimFigures& of);
// Figures of all tables, without files.
Result<client::ReclaimReport> ask_reclaim_figures(Session& session);

}  // namespace cellar::cli
