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

int flush(Session& session, const Arguments& arguments) {
  const auto flushed = session.client().flush_table(arguments[0]);
  if (!flushed) return session.fail(flushed.error());
  return done(session, "flushed", arguments[0]);
}

int compact(Session& session, const Arguments& arguments) {
  const auto compacted = session.client().compact_table(arguments[0]);
  if (!compacted) return session.fail(compacted.error());
  return done(session, "compacted", arguments[0]);
}

int info(Session& session, const Arguments&) {
  const auto node = session.client().server_info();
  if (!node) return session.fail(node.error());
  print_info(session, *node);
  return kDone;
}

int ping(Session& session, const Arguments& arguments) {
  const auto times = arguments.number("count", 1);
  if (!times) return session.usage(times.error());
  // Connects first, so that the measured reply does not include the connection.
  const auto connected = session.client().ping();
  if (!connected) return session.fail(connected.error());
  for (uint64_t i = 0; i < *times; ++i) {
    const int64_t began_us = session.clock->boot_us();
    const auto pong = session.client().ping();
    if (!pong) return session.fail(pong.error());
    const int64_t took_us = session.clock->boot_us() - began_us;
    if (session.json) {
      session.console.print("{{\"addr\":{},\"round_trip_us\":{},\"now_us\":{}}}\n",
                            json_string(session.options.address), took_us, pong->now_us);
    } else {
      session.console.print("{} answered in {}; its time is {}\n", session.options.address,
                            format_duration(took_us), format_time(pong->now_us));
    }
  }
  return kDone;
}

}  // namespace cellar::cli
