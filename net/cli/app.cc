#include "net/cli/app.h"

#include <cstdlib>

#include <CLI/CLI.hpp>

#include "io/base/log.h"
#include "net/cli/suggest.h"
#include "net/cli/times.h"

namespace cellar::cli {

namespace {

struct Globals {
  std::string address;
  std::string bytes = "utf8";
  std::string timeout = "30s";
  bool json = false;
  bool escaped = false;
  bool help = false;
  bool version = false;
};

struct Chosen {
  const CommandSpec* spec = nullptr;
  CLI::App* app = nullptr;
  std::vector<std::string> words;
  std::map<std::string, std::string> values;  // of keys written as options
};

void add_globals(CLI::App& app, Globals& globals) {
  app.add_option("--addr", globals.address);
  app.add_option("--bytes", globals.bytes);
  app.add_option("--timeout", globals.timeout);
  app.add_flag("--json", globals.json);
  app.add_flag("--escaped", globals.escaped);
  app.add_flag("-h,--help", globals.help);
  app.add_flag("--version", globals.version);
}

// One subcommand each, whose options are the keys of the table.
void add_commands(CLI::App& app, std::vector<Chosen>& chosen) {
  chosen.reserve(commands().size());
  for (const CommandSpec& spec : commands()) {
    Chosen& one = chosen.emplace_back();
    one.spec = &spec;
    one.app = app.add_subcommand(spec.name);
    one.app->set_help_flag();
    one.app->fallthrough();
    one.app->add_option("words", one.words);
    for (const KeySpec& key : spec.keys) {
      std::string* value = &one.values[key.name];
      if (key.is_flag()) {
        one.app->add_flag_callback("--" + key.name, [value] { *value = "true"; });
      } else {
        const auto join = [value](const std::vector<std::string>& given) {
          for (const std::string& g : given) *value += (value->empty() ? "" : ",") + g;
        };
        // One word after the option, however often the option stands.
        one.app->add_option_function<std::vector<std::string>>("--" + key.name, join)
            ->allow_extra_args(false);
      }
    }
  }
}

Result<Session> make_session(const Globals& globals, const Console& console) {
  Session session;
  session.console = console;
  session.json = globals.json;
  session.escaped_input = globals.escaped;
  if (globals.bytes == "hex") {
    session.bytes = BytesForm::hex;
  } else if (globals.bytes == "base64") {
    session.bytes = BytesForm::base64;
  } else if (globals.bytes != "utf8") {
    return fail(Errc::invalid_argument, "--bytes {} is none of utf8, hex, base64", globals.bytes);
  }
  TRY(const int64_t timeout_us, parse_duration(globals.timeout));
  const char* from_environment = std::getenv("CELLAR_ADDR");
  if (!globals.address.empty()) {
    session.options.address = globals.address;
  } else if (from_environment && *from_environment) {
    session.options.address = from_environment;
  }
  TRY_VOID(parse_address(session.options.address));
  session.options.client_name = "cellar 0.1";
  session.options.request_deadline_us = timeout_us;
  session.options.connect_timeout_us = std::min<int64_t>(timeout_us, 5'000'000);
  session.options.admin_deadline_us = std::max<int64_t>(timeout_us, 300'000'000);
  return session;
}

Error unknown_command(const std::string& word) {
  std::vector<std::string> names;
  for (const CommandSpec& spec : commands()) names.push_back(spec.name);
  const std::string near = nearest(word, names);
  return Error(Errc::invalid_argument,
               near.empty()
                   ? fmt::format("there is no command '{}'; see cellar --help", word)
                   : fmt::format("there is no command '{}'; did you mean {}?", word, near));
}

// What CLI11 found wrong, in our words: an option of the command that does not exist, mostly.
Error bad_option(const CLI::ParseError& error, const Chosen* chosen) {
  std::string message = error.what();
  if (chosen) message += fmt::format("; see cellar {} --help", chosen->spec->name);
  return Error(Errc::invalid_argument, message);
}

std::map<std::string, std::string> given_options(const Chosen& chosen) {
  std::map<std::string, std::string> given;
  for (const auto& [name, value] : chosen.values) {
    if (chosen.app->count("--" + name) > 0) given[name] = value;
  }
  return given;
}

}  // namespace

client::SyncClient& Session::client() {
  if (!made) made = std::make_unique<client::SyncClient>(options);
  return *made;
}

Result<std::string> Session::input(const std::string& word) const {
  if (!escaped_input) return word;
  return unescaped(word);
}

int Session::fail(const Error& error) const {
  console.complain("{}", error.to_string());
  if (error.applied == Applied::maybe_applied) {
    console.complain("the change may have been applied nevertheless");
  }
  return exit_code_of(error);
}

int Session::usage(const Error& error) const {
  console.complain("{}", error.message);
  return kUsage;
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
    default:
      return kFailed;
  }
}

int run(const std::vector<std::string>& words, const Console& console) {
  set_log_level(LogLevel::off);
  Globals globals;
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  add_globals(app, globals);
  std::vector<Chosen> all;
  add_commands(app, all);

  const Chosen* chosen = nullptr;
  Session usage_session;
  usage_session.console = console;
  std::vector<std::string> reversed(words.rbegin(), words.rend());
  std::optional<Error> wrong;
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    wrong = Error(Errc::invalid_argument, error.what());
    for (const Chosen& one : all) {
      if (one.app->parsed()) wrong = bad_option(error, &one);
    }
  }
  for (const Chosen& one : all) {
    if (one.app->parsed()) chosen = &one;
  }
  if (globals.version) {
    console.print("cellar 0.1.0\n");
    return kDone;
  }
  if (chosen && globals.help) {
    console.write(command_help(*chosen->spec));
    return kDone;
  }
  if (wrong) return usage_session.usage(*wrong);
  if (!chosen) {
    const std::vector<std::string> extras = app.remaining();
    if (!extras.empty() && extras[0] != "help") {
      const bool option = extras[0].starts_with("-");
      return usage_session.usage(
          option ? Error(Errc::invalid_argument,
                         fmt::format("there is no option {}; see cellar --help", extras[0]))
                 : unknown_command(extras[0]));
    }
    console.write(overview_help());
    return words.empty() ? kUsage : kDone;
  }
  const std::vector<std::string> extras = app.remaining(true);
  if (!extras.empty()) {
    return usage_session.usage(Error(
        Errc::invalid_argument, fmt::format("{} takes no {}; see cellar {} --help",
                                            chosen->spec->name, extras[0], chosen->spec->name)));
  }
  auto session = make_session(globals, console);
  if (!session) return usage_session.usage(session.error());
  auto arguments = Arguments::parse(*chosen->spec, chosen->words, given_options(*chosen));
  if (!arguments) return usage_session.usage(arguments.error());
  const int code = chosen->spec->run(*session, *arguments);
  std::fflush(console.out);
  return code;
}

}  // namespace cellar::cli
