#include "net/server/config.h"

#include <toml++/toml.h>

#include <fstream>
#include <map>
#include <sstream>

#include <CLI/CLI.hpp>

#include "net/server/server.h"
#include "net/server/settings.h"

namespace cellar::server {
namespace {

Result<void> apply_value(const Setting& setting, const toml::node& node, ServerOptions& options) {
  if (const auto* text = node.as_string()) return apply(setting, text->get(), options);
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
                         std::string_view origin, ServerOptions& options) {
  for (const auto& [key, node] : table) {
    const std::string name = prefix + std::string(key.str());
    if (const auto* inner = node.as_table()) {
      TRY_VOID(apply_table(*inner, name + ".", origin, options));
      continue;
    }
    const Setting* setting = find_setting(name);
    if (setting == nullptr) {
      return fail(Errc::invalid_argument, "{}:{}: there is no setting '{}'; did you mean '{}'?",
                  origin, key.source().begin.line, name, nearest_setting(name));
    }
    if (auto set = apply_value(*setting, node, options); !set) {
      return fail(Errc::invalid_argument, "{}:{}: {}", origin, key.source().begin.line,
                  set.error().message);
    }
  }
  return {};
}

std::string help_of(const Setting& setting) {
  constexpr std::string_view kKinds[] = {"", "true|false", "count", "size", "duration"};
  std::string help(setting.help);
  if (setting.kind != Setting::Kind::text) {
    help += fmt::format(" ({})", kKinds[static_cast<size_t>(setting.kind)]);
  }
  const std::string fallback = default_of(setting);
  if (!fallback.empty()) help += fmt::format(" [default: {}]", fallback);
  return help;
}

Result<std::string> read_config(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return fail(Errc::not_found, "cannot read configuration file '{}'", path);
  return text.str();
}

constexpr std::string_view kAbout =
    "cellard: a storage node for cells that age.\n"
    "It prints one line 'cellard: ready on HOST:PORT' when it serves, and its log to standard\n"
    "error. SIGTERM or SIGINT stops it in order; a second one stops it at once.\n"
    "Exit codes: 0 stopped in order, 1 cannot start, 2 wrong usage.\n"
    "Every setting below is also a key of the configuration file: --memory-total is\n"
    "'total' under [memory].";

}  // namespace

Result<void> apply_toml(std::string_view text, std::string_view origin, ServerOptions& options) {
  try {
    const toml::table table = toml::parse(text, origin);
    return apply_table(table, "", origin, options);
  } catch (const toml::parse_error& error) {
    return fail(Errc::invalid_argument, "{}:{}: {}", origin, error.source().begin.line,
                error.description());
  }
}

Result<Config> parse_command_line(int argc, const char* const* argv,
                                  const std::vector<ExtraFlag>& extra) {
  CLI::App app{std::string(kAbout), "cellard"};
  std::string config_path;
  std::map<std::string_view, std::string> given;
  bool want_version = false;
  app.add_flag("--version", want_version, "print the version and exit");
  app.add_option("--config", config_path, "TOML file with settings; the command line wins over it");
  for (const Setting& setting : settings()) {
    app.add_option(flag_of(setting), given[setting.name], help_of(setting));
  }
  for (const ExtraFlag& flag : extra) app.add_option(flag.name, *flag.value, flag.help);
  Config config;
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    config.print = app.help();
    return config;
  } catch (const CLI::ParseError& error) {
    return fail(Errc::invalid_argument, "{} (see --help)", error.what());
  }
  if (want_version) {
    config.print = fmt::format("cellard {}\n", version());
    return config;
  }
  if (!config_path.empty()) {
    TRY(const std::string text, read_config(config_path));
    TRY_VOID(apply_toml(text, config_path, config.options));
  }
  for (const Setting& setting : settings()) {
    if (app.count(flag_of(setting)) == 0) continue;
    TRY_VOID(apply(setting, std::string_view(given[setting.name]), config.options));
  }
  if (config.options.data_dir.empty()) {
    return fail(Errc::invalid_argument, "--data-dir is missing (see --help)");
  }
  TRY(const Address address, parse_address(config.options.listen));
  (void)address;
  return config;
}

}  // namespace cellar::server
