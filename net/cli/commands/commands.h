// The commands. Each one runs in a session and returns an exit code.
#pragma once

#include "net/cli/session/arguments.h"
#include "net/cli/session/session.h"

namespace cellar::cli {

// commands_tables.cc
std::vector<CommandSpec> table_commands();

// commands_admin.cc
int flush(Session& session, const Arguments& arguments);
int compact(Session& session, const Arguments& arguments);
int info(Session& session, const Arguments& arguments);
int ping(Session& session, const Arguments& arguments);

// commands_data.cc
int lookup(Session& session, const Arguments& arguments);
int read(Session& session, const Arguments& arguments);
int count(Session& session, const Arguments& arguments);
int drop_rows(Session& session, const Arguments& arguments);

// commands_writes.cc
std::vector<CommandSpec> write_commands();

// commands_export.cc
int export_table(Session& session, const Arguments& arguments);

// commands_import.cc
int import(Session& session, const Arguments& arguments);

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
int verify_audit(Session& session, std::vector<std::string> files, const std::string& expected_end);

// commands_clock.cc
std::vector<CommandSpec> clock_commands();

// ---- shared by the commands

// Report that a change was made, or that the user declined it.
int done(const Session& session, std::string_view sentence, const std::string& name);
int unchanged(const Session& session);

std::vector<KeySpec> joined(std::vector<KeySpec> first, const std::vector<KeySpec>& second);

}  // namespace cellar::cli
