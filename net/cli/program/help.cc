#include <algorithm>

#include "net/cli/program/app.h"

namespace cellar::cli {

namespace {

constexpr size_t kNameWidth = 14;

// One line of two columns; `width` is that of the first.
std::string entry(std::string_view left, std::string_view right, size_t width) {
  return fmt::format("  {:<{}}  {}\n", left, width, right);
}

constexpr std::string_view kGlobalHelp =
    "  --addr HOST:PORT      of the node (default: $CELLAR_ADDR, else 127.0.0.1:7420)\n"
    "  --tls                 speak TLS (implied by --ca and --cert; $CELLAR_TLS=1)\n"
    "  --ca FILE             PEM: who may have signed the node's certificate (default: "
    "$CELLAR_CA,\n"
    "                        else whom the system trusts)\n"
    "  --cert FILE           PEM: a certificate that says who you are ($CELLAR_CERT)\n"
    "  --key FILE            PEM: its key ($CELLAR_KEY)\n"
    "  --server-name NAME    that the node's certificate is for ($CELLAR_SERVER_NAME)\n"
    "  --token-file FILE     a token that says who you are ($CELLAR_TOKEN_FILE)\n"
    "  --route-hint NAME     what a proxy may choose the node by: one name, one node\n"
    "                        ($CELLAR_ROUTE_HINT)\n"
    "  --tls-no-verify       believe any node; for trials only\n"
    "  --json                one JSON object a line; bytes that are no UTF-8 as NAME_base64\n"
    "  --bytes FORM          show bytes as utf8 (escaped as C does), hex, base64 or int64\n"
    "  --key-format FORM     the same, of row keys only\n"
    "  --value-format FORM   the same, of values only\n"
    "  --escaped             keys and values on the command line are escaped as they are shown\n"
    "  --timeout DURATION    for one request (default: 30s)\n"
    "  -h, --help            this, or a command's help\n"
    "  --version\n";

}  // namespace

std::string overview_help() {
  std::string text =
      "cellar: the command line of Cellar, a storage node for cells that age\n\n"
      "Usage: cellar [OPTIONS] COMMAND [ARGUMENTS]\n";
  std::string group;
  for (const CommandSpec& spec : commands()) {
    if (spec.group != group) text += fmt::format("\n{}:\n", spec.group);
    group = spec.group;
    text += entry(spec.name, spec.summary, kNameWidth);
  }
  text += "\nOptions:\n";
  text += kGlobalHelp;
  text +=
      "\nArguments like count=5 may also be written --count 5. A TIME is microseconds since 1970,\n"
      "2026-11-21T08:00:00Z, now, today, yesterday, tomorrow, -1h, now-2h, 2h ago or in 2w; a\n"
      "DURATION is 500us, 10s, 36h, 2d or 2w.\n"
      "A RULE is 'maxage=2d or maxversions=3', with and, or and parentheses, or never. Keys,\n"
      "qualifiers and values are text, or bytes written as\n"
      "hex:00ff, base64:AP8=, int64:-5 or esc:a\\x00b (raw:hex: is the text \"hex:\").\n\n"
      "Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 5 cannot connect or too late,\n"
      "6 not known to the node or not allowed, 7 an import with rejected lines or a script with\n"
      "failed commands, 8 damage found, or an index that differs from its table.\n\n"
      "Without a command, at a terminal: the shell.\n"
      "Example: cellar read packages prefix=lib count=5 versions=1\n"
      "More: cellar COMMAND --help\n";
  return text;
}

std::string group_help(std::string_view group) {
  std::string text = fmt::format("Usage: cellar {} COMMAND [ARGUMENTS]\n\nCommands:\n", group);
  for (const CommandSpec& spec : commands()) {
    if (!spec.name.starts_with(fmt::format("{} ", group))) continue;
    text += entry(spec.name, spec.summary, kNameWidth);
  }
  return text + fmt::format("\nMore: cellar {} COMMAND --help\n", group);
}

std::string command_help(const CommandSpec& spec) {
  std::string text = spec.summary + "\n\nUsage: cellar " + spec.name;
  if (!spec.positional.empty()) text += " " + spec.positional;
  if (!spec.keys.empty()) text += " [KEY=VALUE...]";
  text += "\n";
  if (!spec.details.empty()) text += "\n" + spec.details + "\n";
  if (!spec.keys.empty()) {
    text += "\nArguments (key=value or --key value):\n";
    size_t width = 0;
    const auto label = [](const KeySpec& key) {
      return key.is_flag() ? "--" + key.name : key.name + "=" + key.value;
    };
    for (const KeySpec& key : spec.keys) width = std::max(width, label(key).size());
    for (const KeySpec& key : spec.keys) text += entry(label(key), key.help, width);
  }
  text += "\nOptions of every command:\n";
  text += kGlobalHelp;
  text += spec.examples.size() == 1 ? "\nExample:\n" : "\nExamples:\n";
  for (const std::string& example : spec.examples) text += "  " + example + "\n";
  return text;
}

}  // namespace cellar::cli
