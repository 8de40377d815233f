#include "net/cli/session/arguments.h"

#include <algorithm>
#include <charconv>

#include "net/cli/text/suggest.h"

namespace cellar::cli {

namespace {

bool is_key(std::string_view word) {
  return !word.empty() && word.find_first_not_of("abcdefghijklmnopqrstuvwxyz-_") == word.npos;
}

const KeySpec* find_key(const CommandSpec& spec, std::string_view name) {
  for (const KeySpec& key : spec.keys) {
    if (key.name == name) return &key;
  }
  return nullptr;
}

}  // namespace

Result<Arguments> Arguments::parse(const CommandSpec& spec, const std::vector<std::string>& words,
                                   const std::map<std::string, std::string>& options) {
  Arguments out;
  out.values_.insert(options.begin(), options.end());
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const bool known = equals != std::string::npos && find_key(spec, name);
    const bool verbatim = out.positional_.size() < spec.least || (spec.all_positional && !known);
    if (verbatim || equals == std::string::npos || !is_key(name)) {
      out.positional_.push_back(word);
      continue;
    }
    if (!known) {
      std::vector<std::string> names;
      for (const KeySpec& key : spec.keys) names.push_back(key.name);
      const std::string near = nearest(name, names);
      return fail(Errc::invalid_argument, "{} takes no {}={}{}{}", spec.name, name,
                  near.empty() ? "; see cellar " : "; did you mean ",
                  near.empty() ? spec.name + " --help" : near + "=", near.empty() ? "" : "?");
    }
    out.values_[name] = word.substr(equals + 1);
  }
  if (out.positional_.size() < spec.least) {
    return fail(Errc::invalid_argument, "{} needs {}; see cellar {} --help", spec.name,
                spec.positional, spec.name);
  }
  if (out.positional_.size() > spec.most && !spec.all_positional) {
    return fail(Errc::invalid_argument, "{} takes {}, and '{}' is too much; see cellar {} --help",
                spec.name, spec.positional.empty() ? "no arguments" : spec.positional,
                out.positional_[spec.most], spec.name);
  }
  return out;
}

const std::string* Arguments::find(std::string_view key) const {
  const auto it = values_.find(key);
  return it == values_.end() ? nullptr : &it->second;
}

std::string Arguments::get(std::string_view key, std::string_view otherwise) const {
  const std::string* value = find(key);
  return value ? *value : std::string(otherwise);
}

Result<bool> Arguments::flag(std::string_view key) const {
  const std::string* value = find(key);
  if (!value || *value == "false" || *value == "no" || *value == "0") return false;
  if (value->empty() || *value == "true" || *value == "yes" || *value == "1") return true;
  return fail(Errc::invalid_argument, "{}={} is neither true nor false", key, *value);
}

Result<uint64_t> Arguments::number(std::string_view key, uint64_t otherwise) const {
  const std::string* value = find(key);
  if (!value) return otherwise;
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), number);
  if (error != std::errc() || end != value->data() + value->size()) {
    return fail(Errc::invalid_argument, "{}={} is not a whole number", key, *value);
  }
  return number;
}

}  // namespace cellar::cli
