#include "net/cli/commands/commands.h"
#include "net/cli/session/json_rows.h"
#include "net/cli/text/times.h"

namespace cellar::cli {

namespace {

using client::ControlAction;
using client::ControlStatus;
using client::SettingChange;

constexpr int64_t kLookAtDrainUs = 200'000;
constexpr int64_t kWaitUs = 300'000'000;  // default

std::string changes_json(const std::vector<SettingChange>& changes) {
  return json_list(changes, [](const SettingChange& one) {
    return fmt::format("{{\"name\":{},\"before\":{},\"after\":{}}}", json_string(one.name),
                       json_string(one.before), json_string(one.after));
  });
}

void print_status(const Session& session, const ControlStatus& status) {
  if (session.json) {
    session.console.print("{{\"state\":{},\"reason\":{},\"connections\":{}}}\n",
                          json_string(status.state), json_string(status.reason),
                          status.connections);
  } else {
    session.console.print("{}: {}; {} connections, this one included\n", status.state,
                          status.reason, status.connections);
  }
}

CommandResult reload(Session& session, const Arguments&) {
  TRY(const auto done, session.client().control(ControlAction::reload));
  if (session.json) {
    session.console.print("{{\"changed\":{},\"need_restart\":{}}}\n", changes_json(done.changed),
                          changes_json(done.need_restart));
    return kDone;
  }
  for (const SettingChange& one : done.changed) {
    session.console.print("{}: {} -> {}\n", one.name, one.before, one.after);
  }
  for (const SettingChange& one : done.need_restart) {
    session.console.print("{}: {} -> {} with the next start\n", one.name, one.before, one.after);
  }
  if (done.changed.empty() && done.need_restart.empty()) {
    session.console.print("read again; no setting is another than before\n");
  }
  return kDone;
}

// Polls until this client has the only connection, or the time is over.
Result<ControlStatus> wait_until_alone(Session& session, client::SyncClient& client,
                                       ControlStatus status, int64_t within_us) {
  const int64_t until_us = session.clock->boot_us() + within_us;
  while (status.connections > 1) {
    if (status.state != "draining") {
      return fail(Errc::aborted, "the node is {} again: somebody took the drain back",
                  status.state);
    }
    if (session.clock->boot_us() >= until_us) {
      return fail(Errc::deadline_exceeded, "after {} {} others are still connected",
                  format_duration(within_us), status.connections - 1);
    }
    client.sleep_us(kLookAtDrainUs);
    TRY(status, client.control(ControlAction::status));
  }
  return status;
}

CommandResult drain(Session& session, const Arguments& arguments) {
  TRY(const auto wait, usage(arguments.flag("wait")));
  TRY(const auto undo, usage(arguments.flag("undo")));
  if (wait && undo) {
    return usage_error("--undo has nothing to wait for");
  }
  int64_t within_us = kWaitUs;
  if (const std::string given = arguments.get("within"); !given.empty()) {
    TRY(within_us, usage(parse_duration(given)));
  }
  // The node counts connections, so this client has only one.
  client::ClientOptions options = session.options;
  options.connections = 1;
  options.route_by_shard = false;
  client::SyncClient client(std::move(options));
  auto status = client.control(undo ? ControlAction::take_work : ControlAction::drain);
  if (status && wait) status = wait_until_alone(session, client, *std::move(status), within_us);
  TRY_VOID(status);
  print_status(session, *status);
  return kDone;
}

}  // namespace

std::vector<CommandSpec> control_commands() {
  return {
      CommandSpec(
          "reload", "Node", "", 0, 0, false, "Have the node read its configuration again.",
          "As SIGHUP. Says what is another than before, and what waits for the next start. With an "
          "error\nin the configuration nothing is changed.",
          {}, {"cellar reload"}, &reload),
      CommandSpec(
          "drain", "Node", "", 0, 0, false,
          "Have proxies send a node nothing new, before it is stopped.",
          "The node tells health and agent checks that it drains, and serves on. It is stopped by "
          "a "
          "signal.",
          {{"wait", "", "until nobody else is connected; exit code 5 if that takes too long"},
           {"within", "DURATION", "how long --wait waits (default: 5m)"},
           {"undo", "", "take the drain back"}},
          {"cellar drain --wait within=1m", "cellar drain --undo"}, &drain),
  };
}

}  // namespace cellar::cli
