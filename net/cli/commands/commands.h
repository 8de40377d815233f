// The commands: each does its work with a session and answers an exit code.
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
// Whether the files of a security log are whole, from the first to the last. `expected_end`:
// "N:HASH" of its last line, kept elsewhere; empty: nobody knows.
int verify_audit(Session& session, std::vector<std::string> files, const std::string& expected_end);

// commands_clock.cc
std::vector<CommandSpec> clock_commands();

// ---- for the commands

// What one that changes something says when it worked, and when it was told not to.
int done(const Session& session, std::string_view sentence, const std::string& name);
int unchanged(const Session& session);

std::vector<KeySpec> joined(std::vector<KeySpec> first, const std::vector<KeySpec>& second);

}  // namespace cellar::cli
