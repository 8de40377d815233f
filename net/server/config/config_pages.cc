#include "net/server/config/config_pages.h"

#include <algorithm>
#include <vector>

namespace cellar::server {
namespace {

using Kind = Setting::Kind;

struct Section {
  std::string_view name;  // "" for settings before the first section
  std::string_view about;
};

// In page order. A section that is not listed follows without a description.
constexpr Section kSections[] = {
    {"", "the node"},
    {"http", "health, metrics, admin API, console"},
    {"proxy", "proxies before the node"},
    {"agent", "a proxy's agent check"},
    {"cluster", "other nodes"},
    {"io", "files and sockets"},
    {"memory", "memory limits; divided among the shards"},
    {"log", "write-ahead log and event log"},
    {"tables", "tables on disk"},
    {"clock", "trusted time"},
    {"tokens", "idempotency tokens of writes"},
    {"balance", "automatic split, merge and move of tablets"},
    {"limits", "limits of requests and connections"},
    {"timeouts", "timeouts"},
    {"security", "authentication and authorization (net/server/SECURITY.md)"},
    {"backup", "backups, restores, and the schedule of backups"},
    {"ceph", "a Ceph cluster that holds backups"},
};

constexpr std::string_view kSampleDataDir = "/var/lib/cellar";

std::string_view section_of(const Setting& setting) {
  const size_t dot = setting.name.find('.');
  return dot == std::string_view::npos ? std::string_view() : setting.name.substr(0, dot);
}
std::string_view key_of(const Setting& setting) {
  return setting.name.substr(setting.name.find('.') + 1);
}

// The sections of kSections, then the others in the order of the settings table.
std::vector<Section> sections() {
  std::vector<Section> all(std::begin(kSections), std::end(kSections));
  for (const Setting& setting : settings()) {
    const std::string_view name = section_of(setting);
    const bool known = std::any_of(all.begin(), all.end(),
                                   [name](const Section& one) { return one.name == name; });
    if (!known) all.push_back({name, ""});
  }
  return all;
}

std::string toml_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

// The value as TOML.
std::string toml_value(const Setting& setting, const ServerOptions& options) {
  const std::string value = value_of(setting, options);
  const bool bare = setting.kind == Kind::flag || setting.kind == Kind::count;
  return bare ? value : toml_string(value);
}

std::string_view when_changed(const Setting& setting) {
  return setting.change == Setting::Change::reload ? "reload" : "restart";
}

std::string sample_entry(const Setting& setting) {
  ServerOptions options;
  options.data_dir = kSampleDataDir;
  const std::string bounds = bounds_of(setting);
  return fmt::format("# {}{} [{}]\n{} = {}\n", setting.help,
                     bounds.empty() ? "" : fmt::format("; {}", bounds), when_changed(setting),
                     key_of(setting), toml_value(setting, options));
}

std::string reference_row(const Setting& setting) {
  const std::string fallback = default_of(setting);
  std::string kind(kind_name(setting.kind));
  if (const std::string bounds = bounds_of(setting); !bounds.empty()) kind += ", " + bounds;
  return fmt::format("| `{}` | {} | {} | {} | {} |\n", setting.name, setting.help, kind,
                     fallback.empty() ? "none" : fmt::format("`{}`", fallback),
                     when_changed(setting));
}

}  // namespace

std::string_view about_program() {
  return "cellard: a storage node for cells that age.\n"
         "It prints one line 'cellard: ready on HOST:PORT' when it serves, and its log to "
         "standard\n"
         "error. SIGTERM or SIGINT stops it in order; a second one stops it at once. SIGHUP reads\n"
         "the configuration again.\n"
         "Exit codes: 0 stopped in order, 1 cannot start, 2 wrong usage or configuration.\n"
         "Every setting below is also a key of the configuration file (--memory-total is 'total'\n"
         "under [memory]) and a variable of the environment (CELLAR_MEMORY_TOTAL). A flag wins\n"
         "over the environment, that over the file.";
}

std::string help_of(const Setting& setting) {
  std::string help(setting.help);
  if (setting.kind != Kind::text) help += fmt::format(" ({}", kind_name(setting.kind));
  if (const std::string bounds = bounds_of(setting); !bounds.empty()) help += ", " + bounds;
  if (setting.kind != Kind::text) help += ")";
  const std::string fallback = default_of(setting);
  if (!fallback.empty()) help += fmt::format(" [default: {}]", fallback);
  if (setting.change == Setting::Change::reload) help += " [reload]";
  return help;
}

std::string sample_config() {
  std::string out =
      "# Every setting of cellard with its default, written by `cellard --sample-config`. A flag "
      "or a variable\n"
      "# of the environment wins over this file; an unknown key stops the start and names the "
      "nearest one.\n"
      "# [reload]: SIGHUP puts another value in force; [restart]: the next start does.\n"
      "# data_dir has no default.\n";
  for (const Section& section : sections()) {
    out += "\n";
    if (!section.name.empty()) out += fmt::format("[{}]", section.name);
    if (!section.about.empty()) {
      out += fmt::format("{}# {}", section.name.empty() ? "" : "  ", section.about);
    }
    out += "\n";
    for (const Setting& setting : settings()) {
      if (section_of(setting) == section.name) out += sample_entry(setting);
    }
  }
  return out;
}

std::string config_reference() {
  std::string out =
      "# Settings of cellard\n\n"
      "Written by `cellard --config-reference` from the table in `settings.cc`; a test compares."
      "\n\n"
      "A setting is a key of the configuration file (`--config FILE` or `CELLAR_CONFIG`), a "
      "variable of the environment and a\nflag: `memory.total` is `total` under `[memory]`, "
      "`CELLAR_MEMORY_TOTAL`, and `--memory-total`. A flag wins over the\nenvironment, that over "
      "the file, that over the default. An unknown key or flag, a value out of bounds or of "
      "another kind\nrefuses the start with the place and the nearest name, exit 2. Lists are "
      "arrays of strings, or one string with commas.\n\n"
      "Sizes are `64MiB` (`B`, `KiB`, `MiB`, `GiB`, `TiB`) or a plain number of bytes, durations "
      "`100ms` (`us`, `ms`, `s`, `m`, `h`, `d`).\n\n"
      "- `cellard --check-config ...` says whether a start would take it (exit 0 or 2).\n"
      "- `cellard --print-config ...` prints every value and where it came from: default, "
      "`file:line`, variable or flag.\n"
      "- `cellard --sample-config` writes the sample file, [deploy/cellard.toml]"
      "(../../deploy/cellard.toml).\n"
      "- SIGHUP reads the file again. What is marked *reload* takes force at once, each change is "
      "logged; what is marked\n  *restart* is named and waits for the next start; with any error "
      "nothing is changed at all.\n";
  for (const Section& section : sections()) {
    out += section.name.empty() ? "\n## At the top" : fmt::format("\n## `[{}]`", section.name);
    if (!section.about.empty()) out += fmt::format(": {}", section.about);
    out += "\n\n| setting | meaning | kind | default | takes force with |\n|---|---|---|---|---|\n";
    for (const Setting& setting : settings()) {
      if (section_of(setting) == section.name) out += reference_row(setting);
    }
  }
  return out;
}

std::string effective_config(const Config& config) {
  std::string out;
  for (const Setting& setting : settings()) {
    const auto origin = config.origins.find(setting.name);
    const std::string line =
        fmt::format("{} = {}", setting.name, toml_value(setting, config.options));
    out += fmt::format("{:<40}  # {}\n", line,
                       origin == config.origins.end() ? "default" : origin->second);
  }
  return out;
}

}  // namespace cellar::server
