#include "net/sandbox/time_command.h"

#include "net/cli/session/session.h"
#include "net/cli/text/times.h"

namespace cellar::sandbox {
namespace {

using cli::Arguments;
using cli::CommandResult;
using cli::Session;

MovableClock* moved = nullptr;  // a command is a plain function

CommandResult show(Session& session) {
  session.console.print("{}{}\n", cli::format_time(moved->wall_us()),
                        moved->stands() ? ", standing" : "");
  return cli::kDone;
}

// "+2d": the duration. A time: how far it is ahead.
Result<int64_t> distance(const std::string& text) {
  if (text.starts_with('+')) return cli::parse_duration(text.substr(1));
  const int64_t now_us = moved->wall_us();
  TRY(const int64_t to_us, cli::parse_time(text, now_us));
  if (to_us >= now_us) return to_us - now_us;
  return fail(Errc::invalid_argument,
              "{} has passed: it is {}. Time does not pass backwards; wall={} sets the wall clock "
              "alone, as a wrong clock would",
              text, cli::format_time(now_us), text);
}

CommandResult run(Session& session, const Arguments& arguments) {
  const std::string* wall = arguments.find("wall");
  if (wall != nullptr && arguments.count() > 0) {
    return cli::usage_error("time takes a time or wall=, not both");
  }
  if (wall != nullptr) {
    TRY(const int64_t us, cli::usage(cli::parse_time(*wall, moved->wall_us())));
    moved->set_wall(us);
  } else if (arguments.count() > 0) {
    TRY(const int64_t us, cli::usage(distance(arguments[0])));
    moved->advance(us);
  }
  // A connection reckons the node's time from its beginning.
  session.reconnect = wall != nullptr || arguments.count() > 0;
  return show(session);
}

}  // namespace

cli::CommandSpec time_command(MovableClock& clock) {
  moved = &clock;
  return {
      "time",
      "Sandbox",
      "[+DURATION|TIME]",
      0,
      1,
      false,
      "Show the sandbox's time, or move it.",
      "+DURATION lets so much time pass, TIME lets it pass until then. wall= moves the wall clock\n"
      "alone, as a wrong clock would jump: nothing dies by that, and nothing becomes young again.",
      {{"wall", "TIME", "what the wall clock reads now"}},
      {"time", "time +2d", "time 2025-05-02T09:00:00.000001Z", "time wall=2035-01-01"},
      &run};
}

}  // namespace cellar::sandbox
