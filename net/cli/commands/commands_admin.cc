// Commands on the node, and on a table's data as a whole.
#include "net/cli/commands/commands.h"
#include "net/cli/print/printer.h"
#include "net/cli/session/json_rows.h"
#include "net/cli/text/times.h"

namespace cellar::cli {

// Reports that a change was made.
int done(const Session& session, std::string_view sentence, const std::string& name) {
  if (session.json) {
    session.console.print("{{\"ok\":true,\"table\":{}}}\n", json_string(name));
  } else if (session.console.out_is_terminal) {
    session.console.print("{} {}\n", sentence, name);
  }
  return kDone;
}

int unchanged(const Session& session) {
  if (session.json) {
    session.console.print("{{\"ok\":false}}\n");
  } else {
    session.console.print("nothing was changed\n");
  }
  return kFailed;
}

std::vector<KeySpec> joined(std::vector<KeySpec> first, const std::vector<KeySpec>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

CommandResult flush(Session& session, const Arguments& arguments) {
  TRY_VOID(session.client().flush_table(arguments[0]));
  return done(session, "flushed", arguments[0]);
}

CommandResult compact(Session& session, const Arguments& arguments) {
  TRY_VOID(session.client().compact_table(arguments[0]));
  return done(session, "compacted", arguments[0]);
}

CommandResult info(Session& session, const Arguments&) {
  TRY(const auto node, session.client().server_info());
  print_info(session, node);
  return kDone;
}

CommandResult ping(Session& session, const Arguments& arguments) {
  TRY(const auto times, usage(arguments.number("count", 1)));
  // Connects first, so that the measured reply does not include the connection.
  TRY_VOID(session.client().ping());
  for (uint64_t i = 0; i < times; ++i) {
    const int64_t began_us = session.clock->boot_us();
    TRY(const auto pong, session.client().ping());
    const int64_t took_us = session.clock->boot_us() - began_us;
    if (session.json) {
      session.console.print("{{\"addr\":{},\"round_trip_us\":{},\"now_us\":{}}}\n",
                            json_string(session.options.address), took_us, pong.now_us);
    } else {
      session.console.print("{} answered in {}; its time is {}\n", session.options.address,
                            format_duration(took_us), format_time(pong.now_us));
    }
  }
  return kDone;
}

}  // namespace cellar::cli
