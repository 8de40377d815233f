#include "net/server/config/config.h"

#include <toml++/toml.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include <CLI/CLI.hpp>

#include "net/server/config/backup_directories.h"
#include "net/server/config/config_pages.h"
#include "net/server/config/listen_policy.h"
#include "net/server/config/settings.h"

namespace cellar::server {

std::string_view version() { return "0.1.0"; }
namespace {

constexpr std::string_view kVariablePrefix = "CELLAR_";
constexpr std::string_view kConfigVariable = "CELLAR_CONFIG";

// Joins ["a", "b"] to "a,b", for settings that take a list.
Result<std::string> join_array(const Setting& setting, const toml::array& array) {
  std::string joined;
  for (const toml::node& node : array) {
    const auto* text = node.as_string();
    if (text == nullptr) {
      return fail(Errc::invalid_argument, "{}: a list here holds strings only", setting.name);
    }
    joined += fmt::format("{}{}", joined.empty() ? "" : ",", text->get());
  }
  return joined;
}

Result<void> apply_value(const Setting& setting, const toml::node& node, ServerOptions& options) {
  if (const auto* text = node.as_string()) return apply(setting, text->get(), options);
  if (const auto* array = node.as_array(); array && setting.kind == Setting::Kind::text) {
    TRY(const std::string joined, join_array(setting, *array));
    return apply(setting, joined, options);
  }
  if (const auto* number = node.as_integer(); number && setting.kind != Setting::Kind::duration) {
    return apply(setting, number->get(), options);
  }
  if (const auto* flag = node.as_boolean(); flag && setting.kind == Setting::Kind::flag) {
    return apply(setting, flag->get() ? 1 : 0, options);
  }
  return fail(Errc::invalid_argument, "{}: a value of a kind that does not belong there",
              setting.name);
}

Result<void> apply_table(const toml::table& table, const std::string& prefix,
                         std::string_view origin, ServerOptions& options, Origins* origins) {
  for (const auto& [key, node] : table) {
    const std::string name = prefix + std::string(key.str());
    if (const auto* inner = node.as_table()) {
      TRY_VOID(apply_table(*inner, name + ".", origin, options, origins));
      continue;
    }
    const std::string place = fmt::format("{}:{}", origin, key.source().begin.line);
    const Setting* setting = find_setting(name);
    if (setting == nullptr) {
      return fail(Errc::invalid_argument, "{}: there is no setting '{}'; did you mean '{}'?", place,
                  name, nearest_setting(name));
    }
    if (auto set = apply_value(*setting, node, options); !set) {
      return fail(Errc::invalid_argument, "{}: {}", place, set.error().message);
    }
    if (origins != nullptr) (*origins)[setting->name] = place;
  }
  return {};
}

Result<std::string> read_config(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return fail(Errc::not_found, "cannot read configuration file '{}'", path);
  return text.str();
}

// Name and value of each variable that starts with CELLAR_.
std::map<std::string, std::string> variables_of(const char* const* environment) {
  std::map<std::string, std::string> found;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view one(*environment);
    const size_t equals = one.find('=');
    if (equals == std::string_view::npos || !one.starts_with(kVariablePrefix)) continue;
    found.emplace(one.substr(0, equals), one.substr(equals + 1));
  }
  return found;
}

// Shorter names are not judged: those of other programs are too similar by chance.
constexpr size_t kLettersToJudge = 15;
constexpr size_t kMisspelt = 2;

Result<void> refuse_misspelt(const std::string& variable) {
  if (variable == kConfigVariable || variable.size() < kLettersToJudge) return {};
  for (const Setting& setting : settings()) {
    const std::string known = variable_of(setting);
    if (edit_distance(known, variable) <= kMisspelt) {
      return fail(Errc::invalid_argument, "environment: there is no {}; did you mean {}?", variable,
                  known);
    }
  }
  return {};
}

Result<void> apply_environment(const std::map<std::string, std::string>& variables,
                               Config& config) {
  std::map<std::string, const Setting*> known;
  for (const Setting& setting : settings()) known[variable_of(setting)] = &setting;
  for (const auto& [name, value] : variables) {
    const auto at = known.find(name);
    if (at == known.end()) {
      TRY_VOID(refuse_misspelt(name));
      continue;
    }
    if (auto set = apply(*at->second, std::string_view(value), config.options); !set) {
      return fail(Errc::invalid_argument, "{}: {}", name, set.error().message);
    }
    config.origins[at->second->name] = name;
  }
  return {};
}

// The parsed command line before validation.
struct CommandLine {
  CLI::App app{std::string(about_program()), "cellard"};
  std::map<std::string_view, std::string> given;
  std::string config_path;
  bool version = false;
  bool print_config = false;
  bool check_config = false;
  bool sample_config = false;
  bool config_reference = false;
  bool insecure = false;
  OfflineTask task;
};

void declare(CommandLine& line, const std::vector<ExtraFlag>& extra) {
  CLI::App& app = line.app;
  app.add_flag("--version", line.version, "print the version and exit");
  app.add_option("--config", line.config_path, "TOML file with settings [CELLAR_CONFIG]");
  app.add_flag("--print-config", line.print_config,
               "print every setting, its value and where it came from, and exit");
  app.add_flag("--check-config", line.check_config,
               "say whether a start would take this configuration, and exit: 0 or 2");
  app.add_flag("--sample-config", line.sample_config,
               "print a configuration file of all settings at their defaults, and exit");
  app.add_flag("--config-reference", line.config_reference,
               "print the page that describes every setting, and exit");
  app.add_flag("--insecure", line.insecure, "the same as --security-insecure true");
  app.add_option("--restore-from", line.task.restore_from,
                 "fill a new data directory from the backups in this directory, or in "
                 "rados:POOL/NAME, and exit");
  app.add_option("--restore-backup", line.task.restore_name, "which of them [default: the newest]");
  for (const Setting& setting : settings()) {
    app.add_option(flag_of(setting), line.given[setting.name], help_of(setting));
  }
  for (const ExtraFlag& flag : extra) app.add_option(flag.name, *flag.value, flag.help);
}

// The page to print instead of serving; empty if none was requested.
std::string page_of(const CommandLine& line) {
  if (line.version) return fmt::format("cellard {}\n", version());
  if (line.sample_config) return sample_config();
  if (line.config_reference) return config_reference();
  return {};
}

Result<void> apply_sources(const CommandLine& line,
                           const std::map<std::string, std::string>& variables, Config& config) {
  std::string path = line.config_path;
  if (const auto at = variables.find(std::string(kConfigVariable));
      path.empty() && at != variables.end()) {
    path = at->second;
  }
  if (!path.empty()) {
    TRY(const std::string text, read_config(path));
    TRY_VOID(apply_toml(text, path, config.options, &config.origins));
  }
  TRY_VOID(apply_environment(variables, config));
  for (const Setting& setting : settings()) {
    const std::string flag = flag_of(setting);
    if (line.app.count(flag) == 0) continue;
    TRY_VOID(apply(setting, std::string_view(line.given.at(setting.name)), config.options));
    config.origins[setting.name] = flag;
  }
  if (line.insecure) {
    config.options.security.insecure = true;
    config.origins["security.insecure"] = "--insecure";
  }
  return {};
}

}  // namespace

Result<void> apply_toml(std::string_view text, std::string_view origin, ServerOptions& options,
                        Origins* origins) {
  try {
    const toml::table table = toml::parse(text, origin);
    return apply_table(table, "", origin, options, origins);
  } catch (const toml::parse_error& error) {
    return fail(Errc::invalid_argument, "{}:{}: {}", origin, error.source().begin.line,
                error.description());
  }
}

Result<void> check_options(const ServerOptions& options) {
  if (options.data_dir.empty()) {
    return fail(Errc::invalid_argument, "--data-dir is missing (see --help)");
  }
  TRY_VOID(check_backup_schedule(options.backup));
  return check_listen_policy(options.listen, options.security);
}

Result<Config> parse_command_line(int argc, const char* const* argv,
                                  const std::vector<ExtraFlag>& extra,
                                  const char* const* environment) {
  CommandLine line;
  declare(line, extra);
  Config config;
  try {
    line.app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    config.print = line.app.help();
    return config;
  } catch (const CLI::ParseError& error) {
    return fail(Errc::invalid_argument, "{} (see --help)", error.what());
  }
  config.print = page_of(line);
  if (!config.print.empty()) return config;
  TRY_VOID(
      apply_sources(line, variables_of(environment != nullptr ? environment : environ), config));
  if (line.print_config) {
    config.print = effective_config(config);
    return config;
  }
  TRY_VOID(check_options(config.options));
  if (line.check_config) config.print = "cellard: the configuration is in order\n";
  config.task = line.task;
  config.reread = [argc, argv, extra, environment] {
    return parse_command_line(argc, argv, extra, environment);
  };
  return config;
}

}  // namespace cellar::server
