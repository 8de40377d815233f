#include "net/server/process/program.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <new>
#include <system_error>

#include "io/base/log_setup.h"
#include "net/server/control/readiness.h"
#include "net/server/process/offline_tasks.h"
#include "net/server/process/say.h"
#include "net/server/process/service_manager.h"
#include "net/server/server.h"

// From mimalloc, if it is linked: its operator new calls only this handler and then abort().
extern "C" [[gnu::weak]] void mi_register_error(void (*handler)(int error, void* context),
                                                void* context);

namespace cellar::server {
namespace {

// Interval of checks for changed certificates and principals.
constexpr long kLookNs = 250'000'000;

sigset_t node_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
  return set;
}

// Applies the whole new configuration or, after any error, nothing.
Result<ReloadPlan> reload(Server& server, const Config& config) {
  const Result<Config> again = config.reread();
  if (!again) {
    log_error("server", "reload refused, nothing is changed error=\"{}\"", again.error().message);
    return fail(Errc::failed_precondition, "nothing is changed: {}", again.error().message);
  }
  ReloadPlan plan = server.reload(again->options);
  for (const ChangedSetting& one : plan.changed) {
    log_info("server", "setting changed name={} before=\"{}\" after=\"{}\"", one.name, one.before,
             one.after);
  }
  for (const ChangedSetting& one : plan.need_restart) {
    log_warn("server", "setting needs a restart name={} running=\"{}\" wanted=\"{}\"", one.name,
             one.before, one.after);
  }
  log_info("server", "reloaded changed={} need_restart={}", plan.changed.size(),
           plan.need_restart.size());
  return plan;
}

// Triggered by a signal or a request in the reload queue.
void reload_all(Server& server, ServiceManager& manager, const Config& config) {
  const std::optional<uint64_t> wish = server.reloads().wanted();
  manager.reloading();
  Result<ReloadPlan> done = reload(server, config);
  if (wish) server.on_home([&] { server.reloads().complete(*wish, std::move(done)); });
  manager.ready(fmt::format("serves on {}", server.address()));
}

// Notifies the watchdog at its interval, only while every shard's loop turns. Returns the time of
// the last notification.
int64_t tell_watchdog(ServiceManager& manager, const Readiness& readiness, int64_t told_us) {
  const std::optional<int64_t> every_us = manager.ping_us();
  const int64_t now_us = readiness.now_us();
  if (!every_us || now_us - told_us < *every_us) return told_us;
  if (const auto stuck = readiness.stuck_shard()) {
    log_error("server", "watchdog not told, a loop does not turn shard={}", *stuck);
  } else {
    manager.alive();
  }
  return now_us;
}

// Serves until a stop signal and returns it.
int serve_until_signal(Server& server, const Readiness& readiness, ServiceManager& manager,
                       const Config& config) {
  const sigset_t set = node_signals();
  const timespec look{0, kLookNs};
  int64_t told_us = 0;
  while (true) {
    const int signal = sigtimedwait(&set, nullptr, &look);
    if (signal == SIGTERM || signal == SIGINT) return signal;
    const bool again = signal == SIGHUP || server.reloads().wanted();
    if (again) reload_all(server, manager, config);
    server.refresh_security(again);
    told_us = tell_watchdog(manager, readiness, told_us);
  }
}

}  // namespace

void hold_stop_signals() {
  const sigset_t set = node_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

namespace {

// Serves and reports draining until no connection is left or the time is over.
void drain(Server& server, Readiness& readiness) {
  constexpr timespec kLook{0, 20'000'000};
  readiness.stop();
  const int64_t until_us = readiness.now_us() + server.options().net.drain_within_us;
  while (readiness.now_us() < until_us && server.connections() > 0) nanosleep(&kLook, nullptr);
}

int serve_until_told(Server& server, Readiness& readiness, Sidecar* sidecar, const Config& config) {
  if (sidecar != nullptr) sidecar->serve(server);
  // Before the node is called ready: a request of reload waits for the first poll, and is not
  // refused by a node that is ready.
  server.on_home([&server] { server.reloads().open(); });
  say(stdout, "cellard: ready on {}\n", server.address());

  ServiceManager manager = ServiceManager::of_environment();
  manager.ready(fmt::format("serves on {}", server.address()));
  const int signal = serve_until_signal(server, readiness, manager, config);
  server.on_home([&server] { server.reloads().close(); });
  manager.stopping("drains");
  log_info("server", "draining signal={} within_us={}", signal,
           server.options().net.drain_within_us);
  // From here on a second signal to stop has its default action and ends the process; one to reload
  // does nothing.
  sigset_t set = node_signals();
  sigdelset(&set, SIGHUP);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  drain(server, readiness);
  log_info("server", "stopping signal={}", signal);
  server.end_sessions();  // health checks still see a draining node
  manager.status("flushes and stops");
  if (sidecar != nullptr) sidecar->stop();
  return server.stop() ? 0 : kExitCannotStart;
}

// Ends the process with a message when the machine provides no memory or thread: acknowledged data
// needs nothing more. The allocator may call this instead of throwing.
[[noreturn]] void end_without_memory() {
  std::fputs("cellard: ends, the machine gives it no more memory (memory.total, ulimit -v)\n",
             stderr);
  std::_Exit(kExitCannotStart);
}

// Any other exception is a bug and leaves a core.
[[noreturn]] void end_for_want() {
  try {
    if (const std::exception_ptr why = std::current_exception()) std::rethrow_exception(why);
  } catch (const std::bad_alloc&) {
    end_without_memory();
  } catch (const std::system_error& why) {
    std::fprintf(stderr, "cellard: ends, the machine refuses it a thread or memory: %s\n",
                 why.what());
    std::_Exit(kExitCannotStart);
  } catch (...) {
    std::fputs("cellard: ends, an exception of another kind was not caught\n", stderr);
  }
  std::abort();
}

int cannot_start(const Error& error) {
  say(stderr, "cellard: {}\n", error.message);
  return kExitCannotStart;
}

}  // namespace

int run_node(const Config& config, const Clock& clock, Sidecar* sidecar,
             const RequestHandler& handler) {
  std::set_terminate(&end_for_want);
  std::set_new_handler(&end_without_memory);
  if (&mi_register_error != nullptr) {
    mi_register_error(
        [](int error, void*) {
          if (error == ENOMEM) end_without_memory();
        },
        nullptr);
  }
  set_log_level(config.options.log.level);
  set_log_format(config.options.log.format);
  if (config.task.wanted()) return run_task(config, clock);
  const SystemClock own_clock;
  Readiness readiness(own_clock);
  if (sidecar != nullptr) {
    if (auto started = sidecar->start(config, readiness); !started) {
      return cannot_start(started.error());
    }
  }
  auto server = Server::start(config.options, clock, &readiness, handler);
  if (!server) {
    if (sidecar != nullptr) sidecar->stop();
    return cannot_start(server.error());
  }
  return serve_until_told(**server, readiness, sidecar, config);
}

}  // namespace cellar::server
