#include "net/cli/parse/schema_syntax.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "net/cli/parse/rule_text.h"
#include "net/cli/text/columns.h"
#include "net/cli/text/text.h"
#include "net/cli/text/times.h"

namespace cellar::cli {

namespace {

using client::BornDead;
using client::BottomCompression;
using client::Compaction;
using client::Compression;
using client::FamilySpec;
using client::Profile;
using client::TimestampMeaning;
using client::WriteWindow;

// The names of an enum's values, in their order.
template <class Enum>
constexpr std::array<std::string_view, 0> kNames{};
template <>
constexpr std::array<std::string_view, 2> kNames<Granularity>{"millis", "micros"};
template <>
constexpr std::array<std::string_view, 3> kNames<Durability>{"sync", "periodic", "memory"};
template <>
constexpr std::array<std::string_view, 3> kNames<TimestampMeaning>{"time", "expiry", "sequence"};
template <>
constexpr std::array<std::string_view, 2> kNames<BornDead>{"refuse", "accept"};
template <>
constexpr std::array<std::string_view, 3> kNames<Profile>{"none", "bigtable", "tablestore"};
template <>
constexpr std::array<std::string_view, 2> kNames<Compression>{"none", "lz4"};
template <>
constexpr std::array<std::string_view, 3> kNames<Compaction>{"automatic", "tiered", "time-window"};
template <>
constexpr std::array<std::string_view, 3> kNames<BottomCompression>{"automatic", "same", "zstd"};

// A value that this program does not know has the first name, the default's.
template <class Enum>
std::string_view known_name(Enum value) {
  const auto i = static_cast<size_t>(value);
  return kNames<Enum>[i < kNames<Enum>.size() ? i : 0];
}

template <class Enum>
Result<Enum> parse_name(std::string_view key, std::string_view name) {
  constexpr const auto& kAll = kNames<Enum>;
  for (size_t i = 0; i < kAll.size(); ++i) {
    if (name == kAll[i]) return static_cast<Enum>(i);
  }
  if constexpr (kAll.size() == 2) {
    return fail(Errc::invalid_argument, "{}={} is neither {} nor {}", key, name, kAll[0], kAll[1]);
  } else {
    return fail(Errc::invalid_argument, "{}={} is none of {}", key, name, fmt::join(kAll, ", "));
  }
}

template <class Enum>
Result<Enum> named(const Arguments& arguments, const char* key) {
  return parse_name<Enum>(key, arguments.get(key));
}

// Parses an argument into `to`, if it is given.
template <class To, class Parse>
Result<void> read_option(const Arguments& arguments, const char* key, To& to, Parse parse) {
  if (!arguments.has(key)) return {};
  TRY(to, parse(arguments, key));
  return {};
}

Result<int64_t> duration(const Arguments& arguments, const char* key) {
  const auto us = parse_duration(arguments.get(key));
  if (us) return *us;
  return fail(Errc::invalid_argument, "{}={}", key, us.error().message);
}

// A duration, or none.
Result<std::optional<int64_t>> bound(const Arguments& arguments, const char* key) {
  if (arguments.get(key) == "none") return std::optional<int64_t>();
  TRY(const int64_t us, duration(arguments, key));
  return std::optional<int64_t>(us);
}

// "0.1" or "10%".
Result<double> share(const Arguments& arguments, const char* key) {
  const std::string text = arguments.get(key);
  const bool percent = text.ends_with('%');
  const char* const last = text.data() + text.size() - (percent ? 1 : 0);
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || stop != last) {
    return fail(Errc::invalid_argument, "{}={} is no share like 0.1 or 10%", key, text);
  }
  return percent ? value / 100 : value;
}

Result<void> read_window(const Arguments& arguments, const std::optional<WriteWindow>& present,
                         FamilySpec& family) {
  if (!arguments.has("window-past") && !arguments.has("window-future") &&
      !arguments.has("window-unit")) {
    return {};
  }
  WriteWindow window = present.value_or(WriteWindow());
  TRY_VOID(read_option(arguments, "window-past", window.past_us, bound));
  TRY_VOID(read_option(arguments, "window-future", window.future_us, bound));
  if (const std::string* unit = arguments.find("window-unit")) {
    if (*unit != "exact" && *unit != "seconds") {
      return fail(Errc::invalid_argument, "window-unit={} is neither exact nor seconds", *unit);
    }
    window.whole_seconds = *unit == "seconds";
  }
  family.window = window;
  return {};
}

Result<uint32_t> block_bytes(const Arguments& arguments, const char* key) {
  TRY(const uint64_t bytes, arguments.number(key, 0));
  if (bytes <= UINT32_MAX) return static_cast<uint32_t>(bytes);
  return fail(Errc::invalid_argument, "{}={} is too large", key, bytes);
}

}  // namespace

std::vector<KeySpec> rule_keys() {
  return {{"rule", "RULE", "when cells die: 'maxage=2d or maxversions=3', never"}};
}

std::vector<KeySpec> family_keys() {
  return {
      {"timestamps", "MEANING", "what a timestamp is: time (default), expiry or sequence"},
      {"born-dead", "HOW", "a write that would be dead at once: refuse (default) or accept"},
      {"window-past", "DURATION|none", "write window: the oldest timestamp, from now"},
      {"window-future", "DURATION|none", "the newest one"},
      {"window-unit", "UNIT", "of both: exact (default) or seconds, rounded down"},
      {"undo-window", "DURATION", "for so long a tightened rule can be undone (default: 24h)"},
  };
}

std::vector<KeySpec> option_keys() {
  return {
      {"durability", "LEVEL", "when a write is answered: sync (default), periodic or memory"},
      {"compression", "NAME", "of files written from now on: lz4 (default) or none"},
      {"block-bytes", "N", "size of their blocks: 1024 to 1048576 (default: 4096)"},
      {"reclaim-within", "DURATION", "what is dead leaves the disk within (default: 1h)"},
      {"dead-slack", "SHARE", "of live bytes, that may stay dead for longer (default: 10%)"},
      {"reclaim-share", "SHARE", "of the disk's writes, for reclaiming at most (default: 25%)"},
      {"compaction", "NAME", "automatic (default), tiered or time-window, for time series"},
      {"bottom-compression", "NAME", "of the oldest files: automatic (default), same or zstd"},
  };
}

bool has_any(const Arguments& arguments, const std::vector<KeySpec>& keys) {
  return std::ranges::any_of(keys, [&](const KeySpec& key) { return arguments.has(key.name); });
}

std::string names_of(const std::vector<KeySpec>& keys) {
  std::string text;
  for (size_t i = 0; i < keys.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == keys.size() ? " or " : ", ") + keys[i].name + "=";
  }
  return text;
}

Result<void> read_family(const Arguments& arguments, const std::optional<WriteWindow>& present,
                         FamilySpec& family) {
  if (const std::string* text = arguments.find("rule")) {
    TRY(family.rule, parse_rule(*text));
    family.rule_given = true;
  }
  TRY_VOID(read_option(arguments, "timestamps", family.timestamps, named<TimestampMeaning>));
  TRY_VOID(read_option(arguments, "born-dead", family.born_dead, named<BornDead>));
  TRY_VOID(read_option(arguments, "undo-window", family.undo_window_us, duration));
  return read_window(arguments, present, family);
}

Result<std::vector<FamilySpec>> read_families(const Arguments& arguments) {
  std::vector<FamilySpec> families;
  for (const char* key : {"families", "family"}) {
    for (const std::string& one : split_list(arguments.get(key))) {
      FamilySpec& family = families.emplace_back();
      TRY_VOID(read_family(arguments, {}, family));
      const size_t colon = one.find(':');
      family.name = one.substr(0, colon);
      if (colon == std::string::npos) continue;
      TRY(family.rule, parse_rule(one.substr(colon + 1)));
      family.rule_given = true;
    }
  }
  if (families.empty() && (has_any(arguments, rule_keys()) || has_any(arguments, family_keys()))) {
    return fail(Errc::invalid_argument, "what is said of families needs families=");
  }
  return families;
}

Result<client::TableOptions> table_options(const Arguments& arguments) {
  client::TableOptions options;
  TRY_VOID(read_option(arguments, "durability", options.durability, named<Durability>));
  TRY_VOID(read_option(arguments, "compression", options.compression, named<Compression>));
  TRY_VOID(read_option(arguments, "block-bytes", options.block_bytes, block_bytes));
  TRY_VOID(read_option(arguments, "reclaim-within", options.reclaim_within_us, duration));
  TRY_VOID(read_option(arguments, "dead-slack", options.dead_slack, share));
  TRY_VOID(read_option(arguments, "reclaim-share", options.reclaim_share, share));
  TRY_VOID(read_option(arguments, "compaction", options.compaction, named<Compaction>));
  TRY_VOID(read_option(arguments, "bottom-compression", options.bottom_compression,
                       named<BottomCompression>));
  return options;
}

Result<Granularity> parse_granularity(const std::string& name) {
  return parse_name<Granularity>("granularity", name);
}
Result<Durability> parse_durability(const std::string& name) {
  return parse_name<Durability>("durability", name);
}
Result<Profile> parse_profile(const std::string& name) {
  return parse_name<Profile>("profile", name);
}

std::string_view name_of(Granularity granularity) { return known_name(granularity); }
std::string_view name_of(Durability durability) { return known_name(durability); }
std::string_view name_of(TimestampMeaning meaning) { return known_name(meaning); }
std::string_view name_of(BornDead born_dead) { return known_name(born_dead); }
std::string_view name_of(Profile profile) { return known_name(profile); }
std::string_view name_of(Compression compression) { return known_name(compression); }
std::string_view name_of(Compaction compaction) { return known_name(compaction); }
std::string_view name_of(BottomCompression compression) { return known_name(compression); }

std::string window_text(const std::optional<WriteWindow>& window) {
  if (!window || (!window->past_us && !window->future_us)) return "none";
  std::string text;
  if (window->past_us) text += "past " + exact_duration(*window->past_us);
  if (window->past_us && window->future_us) text += ", ";
  if (window->future_us) text += "future " + exact_duration(*window->future_us);
  return window->whole_seconds ? text + ", whole seconds" : text;
}

std::string share_text(double share) { return fmt::format("{:.6g}%", share * 100); }

Lines family_lines(const std::vector<FamilySpec>& families) {
  Lines lines = {{"FAMILY", "RULE", "TIMESTAMPS", "BORN DEAD", "WINDOW", "UNDO"}};
  const auto mark = [](bool from_profile) { return from_profile ? " (profile)" : ""; };
  for (const FamilySpec& family : families) {
    lines.push_back({family.name, rule_text(family.rule),
                     std::string(name_of(family.timestamps.value_or(TimestampMeaning::time))),
                     fmt::format("{}{}", name_of(family.born_dead.value_or(BornDead::refuse)),
                                 mark(family.born_dead_from_profile)),
                     window_text(family.window) + mark(family.window_from_profile),
                     family.undo_window_us ? exact_duration(*family.undo_window_us) : "1d"});
  }
  return lines;
}

}  // namespace cellar::cli
