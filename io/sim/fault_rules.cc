#include "io/sim/fault_rules.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <utility>

#include "io/disk/path.h"

namespace cellar {
namespace {

constexpr std::array kOperations = {
    std::string_view("read"),       std::string_view("write"),    std::string_view("sync"),
    std::string_view("open"),       std::string_view("create"),   std::string_view("remove"),
    std::string_view("rename"),     std::string_view("list"),     std::string_view("create_dir"),
    std::string_view("sync_dir"),   std::string_view("allocate"), std::string_view("truncate"),
    std::string_view("size"),       std::string_view("close"),    std::string_view("lock"),
    std::string_view("free_bytes"), std::string_view("*"),
};

constexpr std::array kErrors = {
    std::pair(std::string_view("EIO"), EIO),       std::pair(std::string_view("ENOSPC"), ENOSPC),
    std::pair(std::string_view("EDQUOT"), EDQUOT), std::pair(std::string_view("EROFS"), EROFS),
    std::pair(std::string_view("EMFILE"), EMFILE), std::pair(std::string_view("ENOMEM"), ENOMEM),
    std::pair(std::string_view("EACCES"), EACCES), std::pair(std::string_view("EPERM"), EPERM),
    std::pair(std::string_view("ENOENT"), ENOENT), std::pair(std::string_view("EINVAL"), EINVAL),
    std::pair(std::string_view("EAGAIN"), EAGAIN), std::pair(std::string_view("EINTR"), EINTR),
};

// Parses all of `text` as a number.
template <class T>
bool parse_number(std::string_view text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

std::string_view next_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

}  // namespace

Result<void> FaultRules::Rule::set(std::string_view key, std::string_view value,
                                   std::string_view text) {
  bool understood = true;
  if (key == "path") {
    path = value;
  } else if (key == "nth") {
    understood = parse_number(value, nth) && nth > 0;
  } else if (key == "at") {
    understood = parse_number(value, at.emplace());
  } else if (key == "p") {
    understood = parse_number(value, p) && p >= 0 && p <= 1;
  } else if (key == "seed") {
    uint64_t seed = 0;
    understood = parse_number(value, seed);
    random = Random(seed);
  } else if (key == "delay_us") {
    understood = parse_number(value, effect.delay_us) && effect.delay_us > 0;
  } else if (key == "error") {
    const auto it = std::find_if(kErrors.begin(), kErrors.end(),
                                 [&](const auto& known) { return known.first == value; });
    understood = it != kErrors.end();
    if (understood) effect.error = it->second;
  } else if (key == "sticky" && value.empty()) {
    sticky = true;
  } else if (key == "short" && value.empty()) {
    effect.cut = true;
  } else if (key == "drop" && value.empty()) {
    effect.drop = true;
  } else if (key == "hang" && value.empty()) {
    effect.hang = true;
  } else {
    understood = false;
  }
  if (understood) return {};
  return fail(Errc::invalid_argument, "fault rule '{}': '{}{}{}' is not understood", text, key,
              value.empty() ? "" : "=", value);
}

bool FaultRules::Rule::matches(std::string_view name, std::string_view of, uint64_t from,
                               uint64_t to) const {
  if (operation != "*" && operation != name) return false;
  return path_matches(path, of) && (!at || (from <= *at && *at < to));
}

bool FaultRules::Rule::applies() {
  ++seen;
  if (sticky && hits > 0) return true;
  if (nth > 0) return seen == nth;
  if (p >= 0) return random.unit() < p;
  return !effect.drop || hits == 0;
}

Result<void> FaultRules::add(std::string_view text) {
  if (rules_.size() >= kMaxRules) {
    return fail(Errc::resource_exhausted, "there are {} fault rules, which is the bound",
                kMaxRules);
  }
  Rule rule;
  std::string_view rest = text;
  rule.operation = next_word(rest);
  if (std::find(kOperations.begin(), kOperations.end(), rule.operation) == kOperations.end()) {
    return fail(Errc::invalid_argument, "fault rule '{}': '{}' is no operation", text,
                rule.operation);
  }
  for (auto word = next_word(rest); !word.empty(); word = next_word(rest)) {
    const size_t equals = word.find('=');
    const bool has_value = equals != std::string_view::npos;
    TRY_VOID(rule.set(word.substr(0, equals), has_value ? word.substr(equals + 1) : "", text));
  }
  if (rule.effect.drop && rule.effect.error == 0) rule.effect.error = EIO;
  if (!rule.effect.any()) {
    return fail(Errc::invalid_argument,
                "fault rule '{}' says nothing that goes wrong: one of error=, short, drop, hang "
                "and delay_us= is needed",
                text);
  }
  rules_.push_back(std::move(rule));
  return {};
}

FaultEffect FaultRules::decide(std::string_view operation, std::string_view path, uint64_t from,
                               uint64_t to) {
  FaultEffect effect;
  for (Rule& rule : rules_) {
    if (!rule.matches(operation, path, from, to) || !rule.applies() || effect.any()) continue;
    ++rule.hits;
    effect = rule.effect;
    effect.draw = rule.random.next();
  }
  return effect;
}

uint64_t FaultRules::hits() const {
  uint64_t sum = 0;
  for (const Rule& rule : rules_) sum += rule.hits;
  return sum;
}

}  // namespace cellar
