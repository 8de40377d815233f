#include "net/server/process/service_manager.h"

#include <unistd.h>

#include <charconv>
#include <cstdlib>

#include "io/base/log.h"

namespace cellar::server {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int64_t number(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : 0;
}

}  // namespace

ServiceManager ServiceManager::of_environment() {
  const std::string pid = variable("WATCHDOG_PID");
  const bool mine = pid.empty() || number(pid) == getpid();
  return {variable("NOTIFY_SOCKET"), mine ? number(variable("WATCHDOG_USEC")) : 0};
}

std::optional<int64_t> ServiceManager::ping_us() const {
  if (!socket_.wanted() || watchdog_us_ <= 0) return std::nullopt;
  return watchdog_us_ / 2;
}

void ServiceManager::send(std::string_view message) {
  const Result<void> sent = socket_.send(message);
  if (sent || complained_) return;
  complained_ = true;
  log_warn("server", "the service manager is not told error=\"{}\"", sent.error().message);
}

void ServiceManager::ready(std::string_view status) {
  send(fmt::format("READY=1\nSTATUS={}", status));
}
void ServiceManager::reloading() { send("RELOADING=1\nSTATUS=reads its configuration again"); }
void ServiceManager::stopping(std::string_view status) {
  send(fmt::format("STOPPING=1\nSTATUS={}", status));
}
void ServiceManager::status(std::string_view text) { send(fmt::format("STATUS={}", text)); }
void ServiceManager::alive() { send("WATCHDOG=1"); }

}  // namespace cellar::server
