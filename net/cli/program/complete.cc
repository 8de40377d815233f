#include "net/cli/program/complete.h"

#include <algorithm>
#include <array>

#include "net/cli/text/columns.h"
#include "net/cli/text/words.h"

namespace cellar::cli {

namespace {

constexpr int64_t kAskUs = 500'000;  // longest wait for the node on a key press

const std::vector<KeySpec>& global_keys() {
  static const std::vector<KeySpec> kKeys = {
      {"addr", "HOST:PORT", "of the node"},
      {"tls", "", "speak TLS"},
      {"ca", "FILE", "who may have signed the node's certificate"},
      {"cert", "FILE", "a certificate that says who you are"},
      {"key", "FILE", "its key"},
      {"server-name", "NAME", "that the node's certificate is for"},
      {"token-file", "FILE", "a token that says who you are"},
      {"route-hint", "NAME", "what a proxy may choose the node by"},
      {"tls-no-verify", "", "believe any node"},
      {"json", "", "one JSON object a line"},
      {"bytes", "FORM", "how bytes are shown"},
      {"key-format", "FORM", "how row keys are shown"},
      {"value-format", "FORM", "how values are shown"},
      {"escaped", "", "words are escaped"},
      {"timeout", "DURATION", "for one request"},
      {"help", "", "about the command"},
  };
  return kKeys;
}

class Completer {
 public:
  Completer(Session& session, const std::string& current) : session_(session), current_(current) {}

  void offer(const std::string& text, std::string help = {}, bool ends_word = true) {
    if (text.starts_with(current_)) found_.push_back({text, std::move(help), ends_word});
  }

  // `lead` precedes each part of a comma-separated list.
  void offer_list(const std::string& lead, const std::vector<std::string>& names, bool open_end) {
    const size_t comma = current_.rfind(',');
    const size_t at = comma == current_.npos || comma < lead.size() ? lead.size() : comma + 1;
    const std::string begun = current_.size() < lead.size() ? lead : current_.substr(0, at);
    for (const std::string& name : names) offer(begun + name, {}, !open_end);
  }

  void commands_and_options() {
    command_words("");
    if (current_.starts_with("-")) options(global_keys());
  }
  // The next words of the commands with the prefix `lead`: "" or "gc ".
  void command_words(const std::string& lead) {
    std::string last;
    for (const CommandSpec& spec : commands()) {
      if (!spec.name.starts_with(lead)) continue;
      const std::string rest = spec.name.substr(lead.size());
      const std::string word = rest.substr(0, rest.find(' '));
      if (word != last) offer(word, word == rest ? spec.summary : "see " + word + " --help");
      last = word;
    }
  }
  void options(const std::vector<KeySpec>& keys) {
    for (const KeySpec& key : keys) offer("--" + key.name, key.help);
  }

  // The key=VALUE arguments and their values.
  void arguments(const CommandSpec& spec, const std::string& table) {
    for (const KeySpec& key : spec.keys) {
      if (key.is_flag()) continue;
      const std::string lead = key.name + "=";
      if (current_.starts_with(lead)) {
        values(key, lead, table);
      } else {
        offer(lead, key.help, false);
      }
    }
  }
  void values(const KeySpec& key, const std::string& lead, const std::string& table) {
    if (key.name == "columns") return offer_list(lead, families(table), true);
    if (key.name == "covered") return offer_list(lead, of_columns(table), true);
    if (key.name == "on") {
      for (const std::string& family : of_columns(table)) offer(lead + family, {}, false);
      return;
    }
    for (const std::string& choice : choices_of(key)) offer(lead + choice);
  }

  // A positional argument, by its name in the usage line.
  void positional(const CommandSpec& spec, const std::string& name, const std::string& table) {
    if (spec.name == "restoretable") {
      for (const std::string& each : tables(true)) offer(each);
    } else if (name.starts_with("TABLE") || name.starts_with("[TABLE")) {
      for (const std::string& each : tables(false)) offer(each);
    } else if (name.starts_with("FAMILY:")) {
      for (const std::string& each : families(table)) offer(each + ":", {}, false);
    } else if (name.starts_with("FAMILY") || name.starts_with("[FAMILY")) {
      for (const std::string& each : families(table)) offer(each);
    } else if (name == "INDEX") {
      for (const std::string& each : indexes(table)) offer(each);
    } else if (name == "then") {
      offer(name);
    } else if (name.starts_with("OPERATION")) {
      for (const char* word : {"deletecolumn", "deletefamily", "deleterow", "else"}) offer(word);
      for (const std::string& each : families(table)) offer(each + ":", {}, false);
    } else if (name.starts_with("RULE")) {
      for (const char* rule : {"never", "maxage=2d", "maxversions=1"}) offer(rule);
    } else if (name.find('|') != name.npos && name.find("FILE") == name.npos) {
      std::string_view rest = name;  // "bash|zsh"
      while (!rest.empty()) {
        const size_t bar = std::min(rest.find('|'), rest.size());
        offer(std::string(rest.substr(0, bar)));
        rest.remove_prefix(std::min(bar + 1, rest.size()));
      }
    } else if (name == "[COMMAND]") {
      for (const CommandSpec& each : commands()) offer(each.name, each.summary);
    }
  }

  std::vector<Candidate> sorted() && {
    std::ranges::sort(found_, {}, &Candidate::text);
    return std::move(found_);
  }

 private:
  std::vector<std::string> tables(bool dropped) {
    std::vector<std::string> names;
    const auto listed = session_.client().list_tables({.prefix = "", .include_dropped = dropped});
    if (!listed) return names;
    for (const client::TableSummary& table : *listed) {
      if (table.dropped == dropped) names.push_back(table.name);
    }
    return names;
  }
  std::vector<std::string> families(const std::string& table) {
    std::vector<std::string> names;
    const auto described = session_.client().describe_table(table);
    if (!described) return names;
    for (const client::FamilySpec& family : described->families) names.push_back(family.name);
    return names;
  }

  std::vector<std::string> of_columns(const std::string& table) {
    std::vector<std::string> names = families(table);
    for (std::string& name : names) name += ":";
    return names;
  }
  std::vector<std::string> indexes(const std::string& table) {
    std::vector<std::string> names;
    const auto described = session_.client().describe_table(table);
    if (!described) return names;
    for (const client::IndexSpec& index : described->indexes) names.push_back(index.name);
    return names;
  }

  Session& session_;
  const std::string current_;
  std::vector<Candidate> found_;
};

const KeySpec* find_key(const std::vector<KeySpec>& keys, std::string_view name) {
  for (const KeySpec& key : keys) {
    if (key.name == name) return &key;
  }
  return nullptr;
}

// The parsed words before the cursor.
struct Front {
  const CommandSpec* spec = nullptr;
  std::string group;  // "gc ": its first word, if the second is missing
  std::vector<std::string> positional;
  const KeySpec* open_key = nullptr;  // an option that still needs its value
};

Front sort_out(const std::vector<std::string>& before) {
  Front front;
  for (const std::string& word : before) {
    if (front.open_key) {
      front.open_key = nullptr;
    } else if (word.starts_with("--")) {
      const std::string name = word.substr(2, word.find('=') - 2);
      const KeySpec* key = front.spec ? find_key(front.spec->keys, name) : nullptr;
      if (!key) key = find_key(global_keys(), name);
      const bool waits = key && !key->is_flag() && word.find('=') == word.npos;
      if (waits) front.open_key = key;
    } else if (!front.spec) {
      const std::string name = front.group + word;
      for (const CommandSpec& spec : commands()) {
        if (spec.name == name) front.spec = &spec;
        if (spec.name.starts_with(name + " ")) front.group = name + " ";
      }
      if (!front.spec && front.group.empty()) front.positional.push_back(word);
    } else if (front.positional.size() < front.spec->least || word.find('=') == word.npos) {
      front.positional.push_back(word);
    }
  }
  return front;
}

}  // namespace

std::vector<std::string> choices_of(const KeySpec& key) {
  if (key.name == "durability") return {"sync", "periodic", "memory"};
  if (key.name == "granularity") return {"millis", "micros"};
  if (key.name == "compression") return {"none", "lz4"};
  if (key.name == "bottom-compression") return {"automatic", "same", "zstd"};
  if (key.name == "profile") return {"bigtable", "none", "tablestore"};
  if (key.name == "timestamps") return {"time", "expiry", "sequence"};
  if (key.name == "born-dead") return {"refuse", "accept"};
  if (key.value == "PARTS") return {"value", "value,time", "time", "qualifier,time"};
  if (key.value == "TYPE") return {"bytes", "int64"};
  if (key.value == "WHICH") return {"newest", "any"};
  if (key.value == "ANSWER") return {"follow", "refuse"};
  if (key.name == "window-unit") return {"exact", "seconds"};
  if (key.name == "format") return {"csv", "jsonl", "cellar", "dpkg-log", "package-list"};
  if (key.name == "tz") return {"local", "utc"};
  if (key.value == "FORM") return {"utf8", "hex", "base64", "int64"};
  if (key.value == "BOOL") return {"true", "false"};
  if (key.value == "TIME") return {"-1h", "-1d", "-7d", "now", "today"};
  if (key.value == "RULE") return {"never", "maxage=2d", "maxversions=1"};
  if (key.value.starts_with("DURATION")) return {"1h", "1d", "7d"};
  return {};
}

std::vector<Candidate> complete(Session& session, const std::vector<std::string>& before,
                                const std::string& current) {
  Completer completer(session, current);
  const Front front = sort_out(before);
  const std::string table = front.positional.empty() ? std::string() : front.positional[0];
  if (front.open_key) {
    completer.values(*front.open_key, "", table);
  } else if (!front.spec) {
    if (!front.group.empty()) {
      completer.command_words(front.group);
    } else if (front.positional.empty()) {
      completer.commands_and_options();
    }
  } else {
    const std::vector<std::string> names = split_words(front.spec->positional).value();
    const size_t at = front.positional.size();
    if (current.starts_with("-")) {
      completer.options(front.spec->keys);
      completer.options(global_keys());
    } else if (at < names.size() && at < front.spec->most) {
      completer.positional(*front.spec, names[at], table);
    } else if (front.spec->all_positional && !names.empty()) {
      completer.positional(*front.spec, names.back(), table);
    }
    if (at >= front.spec->least && !current.starts_with("-")) {
      completer.arguments(*front.spec, table);
    }
  }
  return std::move(completer).sorted();
}

int complete_for_shell(const std::vector<std::string>& words, const Console& console) {
  if (words.size() != 2) return kUsage;
  CutLine cut = cut_line(words[1]);
  if (cut.before.empty()) return kDone;
  cut.before.erase(cut.before.begin());
  GlobalOptions globals;
  for (size_t i = 0; i + 1 < cut.before.size(); ++i) {
    if (cut.before[i] == "--addr") globals.address = cut.before[i + 1];
  }
  auto session = make_session(globals, console);
  if (!session) return kUsage;
  session->options.connect_timeout_us = kAskUs;
  session->options.request_deadline_us = session->options.admin_deadline_us = kAskUs;
  for (const Candidate& candidate : complete(*session, cut.before, cut.current)) {
    const std::string_view end = candidate.ends_word ? " " : "";
    if (words[0] == "fish") {
      console.print("{}\t{}\n", candidate.text, candidate.help);
    } else if (words[0] == "zsh") {
      console.print("{}{}\t{}\n", candidate.text, end, candidate.help);
    } else {
      console.print("{}{}\n", candidate.text, end);
    }
  }
  return kDone;
}

namespace {

constexpr std::string_view kBash = R"sh(# Completion of cellar for bash. Load it with
#   source <(cellar completion bash)
# or put it into ~/.local/share/bash-completion/completions/cellar
_cellar() {
  local IFS=$'\n' line=${COMP_LINE:0:COMP_POINT} lead
  COMPREPLY=($("$1" __complete bash "$line" 2>/dev/null))
  # bash breaks words at = and : and replaces only what stands behind them.
  line=${line##* }
  if [[ $line == *[=:]* && $COMP_WORDBREAKS == *=* ]]; then
    lead=${line%"${line##*[=:]}"}
    COMPREPLY=("${COMPREPLY[@]#"$lead"}")
  fi
}
complete -o nospace -o default -F _cellar cellar
)sh";

constexpr std::string_view kZsh = R"sh(#compdef cellar
# Completion of cellar for zsh. Load it with
#   source <(cellar completion zsh)
# or put it into a directory of $fpath as _cellar
_cellar() {
  local line word
  local -a whole whole_help open open_help
  for line in "${(@f)$(${words[1]} __complete zsh "${BUFFER[1,CURSOR]}" 2>/dev/null)}"; do
    word=${line%%$'\t'*}
    [[ -z $word ]] && continue
    if [[ $word == *' ' ]]; then
      whole+=("${word% }")
      whole_help+=("${word% }  ${line#*$'\t'}")
    else
      open+=("$word")
      open_help+=("$word  ${line#*$'\t'}")
    fi
  done
  (( $#whole )) && compadd -Q -l -d whole_help -a whole
  (( $#open )) && compadd -Q -S '' -l -d open_help -a open
  (( $#whole + $#open )) || _files
}
if [[ ${funcstack[1]} == _cellar ]]; then _cellar "$@"; else compdef _cellar cellar; fi
)sh";

constexpr std::string_view kFish = R"sh(# Completion of cellar for fish. Load it with
#   cellar completion fish | source
# or put it into ~/.config/fish/completions/cellar.fish
function __cellar_complete
  cellar __complete fish (commandline -cp) 2>/dev/null
end
complete -c cellar -f -a '(__cellar_complete)'
)sh";

}  // namespace

CommandResult completion(Session& session, const Arguments& arguments) {
  for (const auto& [shell, script] : {std::pair("bash", kBash), {"zsh", kZsh}, {"fish", kFish}}) {
    if (arguments[0] != shell) continue;
    session.console.write(script);
    return kDone;
  }
  return usage_error("there is no completion for '{}'; bash, fish and zsh have one", arguments[0]);
}

}  // namespace cellar::cli
