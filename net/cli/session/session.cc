#include "net/cli/session/session.h"

#include <cstdlib>

#include "net/cli/session/not_found_hint.h"
#include "net/cli/text/times.h"
#include "net/cli/text/words.h"

namespace cellar::cli {

namespace {

constexpr const char* kDefaultTimeout = "30s";
constexpr int64_t kConnectTimeoutUs = 5'000'000;
constexpr int64_t kAdminDeadlineUs = 300'000'000;

Result<void> set_forms(const GlobalOptions& globals, Session& session) {
  if (!globals.bytes.empty()) {
    TRY(session.other_form, parse_bytes_form("--bytes", globals.bytes));
    session.key_form = session.value_form = session.other_form;
  }
  if (!globals.key_format.empty()) {
    TRY(session.key_form, parse_bytes_form("--key-format", globals.key_format));
  }
  if (!globals.value_format.empty()) {
    TRY(session.value_form, parse_bytes_form("--value-format", globals.value_format));
  }
  return {};
}

// The option if given, else the environment variable.
std::string either(const std::string& option, const char* variable) {
  if (!option.empty()) return option;
  const char* value = std::getenv(variable);
  return value != nullptr ? value : "";
}

void set_security(const GlobalOptions& globals, client::ClientOptions& options) {
  client::TlsOptions& tls = options.tls;
  tls.ca = either(globals.ca, "CELLAR_CA");
  tls.certificate = either(globals.certificate, "CELLAR_CERT");
  tls.key = either(globals.key, "CELLAR_KEY");
  tls.server_name = either(globals.server_name, "CELLAR_SERVER_NAME");
  tls.verify = !globals.no_verify;
  const std::string wanted = either("", "CELLAR_TLS");
  tls.enabled = globals.tls || globals.no_verify || !tls.ca.empty() || !tls.certificate.empty() ||
                (!wanted.empty() && wanted != "0");
  options.token_file = either(globals.token_file, "CELLAR_TOKEN_FILE");
  const std::string hint = either(globals.route_hint, "CELLAR_ROUTE_HINT");
  if (!hint.empty()) options.routing_hint = client::hint_of(hint);
}

}  // namespace

const Clock& system_clock() {
  static const SystemClock kClock;
  return kClock;
}

Result<Session> make_session(const GlobalOptions& globals, const Console& console,
                             const Clock& clock) {
  Session session;
  session.clock = &clock;
  session.console = console;
  session.json = session.console.json = globals.json;
  session.escaped_input = globals.escaped;
  session.globals = globals;
  TRY_VOID(set_forms(globals, session));
  TRY(const int64_t timeout_us,
      parse_duration(globals.timeout.empty() ? kDefaultTimeout : globals.timeout));
  const char* from_environment = std::getenv("CELLAR_ADDR");
  if (!globals.address.empty()) {
    session.options.address = globals.address;
  } else if (from_environment && *from_environment) {
    session.options.address = from_environment;
  }
  TRY_VOID(parse_address(session.options.address));
  set_security(globals, session.options);
  session.options.client_name = "cellar 0.1";
  // The same for all runs, so that a given token= means the same in each; drawn tokens are long.
  session.options.client_id = "cellar";
  session.options.request_deadline_us = timeout_us;
  session.options.connect_timeout_us = std::min<int64_t>(timeout_us, kConnectTimeoutUs);
  session.options.admin_deadline_us = std::max<int64_t>(timeout_us, kAdminDeadlineUs);
  return session;
}

client::SyncClient& Session::client() {
  if (!made) made = std::make_unique<client::SyncClient>(options);
  return *made;
}

void Session::take_client(Session& other) {
  const bool same = options.address == other.options.address &&
                    options.request_deadline_us == other.options.request_deadline_us &&
                    options.tls == other.options.tls &&
                    options.routing_hint == other.options.routing_hint &&
                    options.token_file == other.options.token_file;
  if (same && other.made) made = std::move(other.made);
}

Result<std::string> Session::input(const std::string& word) const {
  return parse_bytes(word, escaped_input);
}

std::string Session::show_timestamp(int64_t us) const {
  return plain_timestamps ? fmt::format("{}", us) : format_time(us);
}

int Session::fail(const Error& error) const {
  console.complain_of(error);
  if (json) return exit_code_of(error);
  if (error.applied == Applied::maybe_applied) {
    console.complain("the change may have been applied nevertheless");
  }
  return exit_code_of(error);
}

int Session::usage(const Error& error) const {
  if (console.json) {
    console.complain_of(error);
    return kUsage;
  }
  console.complain("{}", error.message);
  return kUsage;
}

int Session::exit_code(const CommandResult& result) {
  if (result) return *result;
  if (result.error().of_usage) return usage(result.error().error);
  const Error& error = result.error().error;
  return fail(error.code == Errc::not_found ? with_suggestion(error, client()) : error);
}

int exit_code_of(const Error& error) {
  switch (error.code) {
    case Errc::ok:
      return kDone;
    case Errc::not_found:
      return kNotFound;
    case Errc::unavailable:
    case Errc::deadline_exceeded:
      return kUnreachable;
    case Errc::unauthenticated:
    case Errc::permission_denied:
      return kRefused;
    case Errc::data_loss:
      return kDamaged;
    default:
      return kFailed;
  }
}

GlobalOptions GlobalOptions::over(const GlobalOptions& outer) const {
  GlobalOptions all = *this;
  const auto take = [](std::string& own, const std::string& other) {
    if (own.empty()) own = other;
  };
  take(all.address, outer.address);
  take(all.ca, outer.ca);
  take(all.certificate, outer.certificate);
  take(all.key, outer.key);
  take(all.server_name, outer.server_name);
  take(all.token_file, outer.token_file);
  take(all.route_hint, outer.route_hint);
  take(all.timeout, outer.timeout);
  take(all.bytes, outer.bytes);
  take(all.key_format, outer.key_format);
  take(all.value_format, outer.value_format);
  all.tls |= outer.tls;
  all.no_verify |= outer.no_verify;
  all.json |= outer.json;
  all.escaped |= outer.escaped;
  return all;
}

}  // namespace cellar::cli
