#include "net/cli/program/invocation.h"

#include <ranges>

#include <CLI/CLI.hpp>

#include "net/cli/program/app.h"
#include "net/cli/text/suggest.h"

namespace cellar::cli {

namespace {

// "gc set" is in the group "gc".
std::string group_of(const CommandSpec& spec) {
  const size_t blank = spec.name.find(' ');
  return blank == std::string::npos ? std::string() : spec.name.substr(0, blank);
}

// CLI11 splits a word "[a,b]" into several, and drops "{}". So such a word, and one that begins
// with the guard itself, has a guard before it while CLI11 parses; no argument of a process
// contains it.
constexpr char kGuard = '\0';

std::string guarded(const std::string& word) {
  const bool list = word.starts_with('[') && word.ends_with(']');
  const bool guard = list || word == "{}" || word.starts_with(kGuard);
  return guard ? kGuard + word : word;
}

std::string unguarded(std::string word) { return word.starts_with(kGuard) ? word.substr(1) : word; }

std::vector<std::string> unguarded(std::vector<std::string> words) {
  for (std::string& word : words) word = unguarded(std::move(word));
  return words;
}

struct Chosen {
  const CommandSpec* spec = nullptr;
  CLI::App* app = nullptr;
  std::vector<std::string> words;
  std::map<std::string, std::string> values;  // of keys written as options
};

void add_globals(CLI::App& app, GlobalOptions& globals) {
  app.add_option("--addr", globals.address);
  app.add_flag("--tls", globals.tls);
  app.add_option("--ca", globals.ca);
  app.add_option("--cert", globals.certificate);
  app.add_option("--key", globals.key);
  app.add_option("--server-name", globals.server_name);
  app.add_option("--token-file", globals.token_file);
  app.add_option("--route-hint", globals.route_hint);
  app.add_flag("--tls-no-verify", globals.no_verify);
  app.add_option("--bytes", globals.bytes);
  app.add_option("--key-format", globals.key_format);
  app.add_option("--value-format", globals.value_format);
  app.add_option("--timeout", globals.timeout);
  app.add_flag("--json", globals.json);
  app.add_flag("--escaped", globals.escaped);
  app.add_flag("-h,--help", globals.help);
  app.add_flag("--version", globals.version);
  for (CLI::Option* option : app.get_options()) {
    option->transform([](std::string word) { return unguarded(std::move(word)); });
  }
}

using Groups = std::map<std::string, CLI::App*>;

CLI::App* add_app(CLI::App& app, const CommandSpec& spec, Groups& groups) {
  const std::string group = group_of(spec);
  if (group.empty()) return app.add_subcommand(spec.name);
  CLI::App*& of_group = groups[group];
  if (of_group == nullptr) {
    of_group = app.add_subcommand(group);
    of_group->set_help_flag();
    of_group->fallthrough();
    of_group->require_subcommand(0, 1);
  }
  return of_group->add_subcommand(spec.name.substr(group.size() + 1));
}

// One subcommand per command, whose options are the keys of the table.
void add_commands(CLI::App& app, std::vector<Chosen>& chosen, Groups& groups) {
  chosen.reserve(commands().size());
  for (const CommandSpec& spec : commands()) {
    Chosen& one = chosen.emplace_back();
    one.spec = &spec;
    one.app = add_app(app, spec, groups);
    one.app->set_help_flag();
    one.app->fallthrough();
    one.app->add_option("words", one.words);
    for (const KeySpec& key : spec.keys) {
      std::string* value = &one.values[key.name];
      if (key.is_flag()) {
        one.app->add_flag_callback("--" + key.name, [value] { *value = "true"; });
      } else {
        const auto join = [value](const std::vector<std::string>& given) {
          for (const std::string& g : given) *value += (value->empty() ? "" : ",") + unguarded(g);
        };
        // Each occurrence of the option takes one word.
        one.app->add_option_function<std::vector<std::string>>("--" + key.name, join)
            ->allow_extra_args(false);
      }
    }
  }
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

// A group without one of its commands.
Error no_member(const std::string& group, const std::vector<std::string>& extras) {
  std::string members;
  for (const CommandSpec& spec : commands()) {
    if (group_of(spec) != group) continue;
    members += (members.empty() ? "" : ", ") + spec.name.substr(group.size() + 1);
  }
  const std::string instead = extras.empty() ? "" : fmt::format(", not '{}'", extras[0]);
  return Error(Errc::invalid_argument, fmt::format("{} takes one of {}{}; see cellar {} --help",
                                                   group, members, instead, group));
}

std::map<std::string, std::string> given_options(const Chosen& chosen) {
  std::map<std::string, std::string> given;
  for (const KeySpec& key : chosen.spec->keys) {
    if (chosen.app->count("--" + key.name) == 0) continue;
    std::string& value = given[key.name] = chosen.values.at(key.name);
    if (key.is_flag() && value.empty()) value = "false";  // --yes=false has no callback
  }
  return given;
}

// The word in place of a command.
Result<void> check_no_command(const std::vector<std::string>& extras) {
  if (extras.empty() || extras[0] == "help") return {};
  if (!extras[0].starts_with("-")) return std::unexpected(unknown_command(extras[0]));
  return fail(Errc::invalid_argument, "there is no option {}; see cellar --help", extras[0]);
}

}  // namespace

Result<Invocation> parse_invocation(const std::vector<std::string>& words) {
  Invocation out;
  out.any_word = !words.empty();
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  app.require_subcommand(0,
                         1);  // a word after a command is not a command, whatever it is
  add_globals(app, out.globals);
  std::vector<Chosen> all;
  Groups groups;
  add_commands(app, all, groups);
  std::vector<std::string> reversed;
  for (const std::string& word : words | std::views::reverse) reversed.push_back(guarded(word));
  std::optional<std::string> wrong;
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    wrong = error.what();
  }
  const Chosen* chosen = nullptr;
  for (const Chosen& one : all) {
    if (one.app->parsed()) chosen = &one;
  }
  if (chosen) out.spec = chosen->spec;
  for (const auto& [name, group] : groups) {
    if (!chosen && group->parsed()) out.group = name;
  }
  const bool named = chosen || !out.group.empty();
  if (out.globals.version || (named && out.globals.help)) return out;
  if (wrong) {
    if (chosen) *wrong += fmt::format("; see cellar {} --help", chosen->spec->name);
    return fail(Errc::invalid_argument, "{}", *wrong);
  }
  if (!chosen && out.group.empty()) {
    TRY_VOID(check_no_command(unguarded(app.remaining())));
    return out;
  }
  const std::vector<std::string> extras = unguarded(app.remaining(true));
  if (!chosen) return std::unexpected(no_member(out.group, extras));
  if (!extras.empty()) {
    return fail(Errc::invalid_argument, "{} takes no {}; see cellar {} --help", chosen->spec->name,
                extras[0], chosen->spec->name);
  }
  TRY(out.arguments,
      Arguments::parse(*chosen->spec, unguarded(chosen->words), given_options(*chosen)));
  return out;
}

}  // namespace cellar::cli
