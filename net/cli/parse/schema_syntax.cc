#include "net/cli/parse/schema_syntax.h"

#include <algorithm>
#include <charconv>

#include "net/cli/parse/rule_text.h"
#include "net/cli/text/columns.h"
#include "net/cli/text/times.h"

namespace cellar::cli {

namespace {

using client::BornDead;
using client::Compaction;
using client::FamilySpec;
using client::Profile;
using client::TimestampMeaning;
using client::WriteWindow;

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
  if (arguments.has("window-past")) {
    TRY(window.past_us, bound(arguments, "window-past"));
  }
  if (arguments.has("window-future")) {
    TRY(window.future_us, bound(arguments, "window-future"));
  }
  if (const std::string* unit = arguments.find("window-unit")) {
    if (*unit != "exact" && *unit != "seconds") {
      return fail(Errc::invalid_argument, "window-unit={} is neither exact nor seconds", *unit);
    }
    window.whole_seconds = *unit == "seconds";
  }
  family.window = window;
  return {};
}

Result<TimestampMeaning> parse_meaning(const std::string& name) {
  for (const auto meaning :
       {TimestampMeaning::time, TimestampMeaning::expiry, TimestampMeaning::sequence}) {
    if (name == name_of(meaning)) return meaning;
  }
  return fail(Errc::invalid_argument, "timestamps={} is none of time, expiry, sequence", name);
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
  if (const std::string* name = arguments.find("timestamps")) {
    TRY(family.timestamps, parse_meaning(*name));
  }
  if (const std::string* name = arguments.find("born-dead")) {
    if (*name != "refuse" && *name != "accept") {
      return fail(Errc::invalid_argument, "born-dead={} is neither refuse nor accept", *name);
    }
    family.born_dead = *name == "accept" ? BornDead::accept : BornDead::refuse;
  }
  if (arguments.has("undo-window")) {
    TRY(family.undo_window_us, duration(arguments, "undo-window"));
  }
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
  if (const std::string* name = arguments.find("durability")) {
    TRY(options.durability, parse_durability(*name));
  }
  if (const std::string* name = arguments.find("compression")) {
    TRY(options.compression, parse_compression(*name));
  }
  if (arguments.has("block-bytes")) {
    TRY(const uint64_t bytes, arguments.number("block-bytes", 0));
    if (bytes > UINT32_MAX) {
      return fail(Errc::invalid_argument, "block-bytes={} is too large", bytes);
    }
    options.block_bytes = static_cast<uint32_t>(bytes);
  }
  if (arguments.has("reclaim-within")) {
    TRY(options.reclaim_within_us, duration(arguments, "reclaim-within"));
  }
  if (arguments.has("dead-slack")) {
    TRY(options.dead_slack, share(arguments, "dead-slack"));
  }
  if (arguments.has("reclaim-share")) {
    TRY(options.reclaim_share, share(arguments, "reclaim-share"));
  }
  if (const std::string* name = arguments.find("compaction")) {
    TRY(options.compaction, parse_compaction(*name));
  }
  if (const std::string* name = arguments.find("bottom-compression")) {
    TRY(options.bottom_compression, parse_bottom_compression(*name));
  }
  return options;
}

Result<Granularity> parse_granularity(const std::string& name) {
  if (name == "millis") return Granularity::millis;
  if (name == "micros") return Granularity::micros;
  return fail(Errc::invalid_argument, "granularity={} is neither millis nor micros", name);
}

Result<Compaction> parse_compaction(const std::string& name) {
  for (const auto compaction :
       {Compaction::automatic, Compaction::tiered, Compaction::time_window}) {
    if (name == name_of(compaction)) return compaction;
  }
  return fail(Errc::invalid_argument, "compaction={} is none of automatic, tiered, time-window",
              name);
}

Result<Durability> parse_durability(const std::string& name) {
  if (name == "sync") return Durability::sync;
  if (name == "periodic") return Durability::periodic;
  if (name == "memory") return Durability::memory;
  return fail(Errc::invalid_argument, "durability={} is none of sync, periodic, memory", name);
}

Result<client::BottomCompression> parse_bottom_compression(const std::string& name) {
  using Bottom = client::BottomCompression;
  for (const Bottom bottom : {Bottom::automatic, Bottom::same, Bottom::zstd}) {
    if (name == name_of(bottom)) return bottom;
  }
  return fail(Errc::invalid_argument, "bottom-compression={} is none of automatic, same, zstd",
              name);
}

Result<client::Compression> parse_compression(const std::string& name) {
  if (name == "none") return client::Compression::none;
  if (name == "lz4") return client::Compression::lz4;
  return fail(Errc::invalid_argument, "compression={} is neither none nor lz4", name);
}

Result<Profile> parse_profile(const std::string& name) {
  for (const auto profile : {Profile::none, Profile::bigtable, Profile::tablestore}) {
    if (name == name_of(profile)) return profile;
  }
  return fail(Errc::invalid_argument, "profile={} is none of none, bigtable, tablestore", name);
}

std::string_view name_of(Granularity granularity) {
  return granularity == Granularity::millis ? "millis" : "micros";
}

std::string_view name_of(Durability durability) {
  return durability == Durability::sync       ? "sync"
         : durability == Durability::periodic ? "periodic"
                                              : "memory";
}

std::string_view name_of(TimestampMeaning meaning) {
  switch (meaning) {
    case TimestampMeaning::expiry:
      return "expiry";
    case TimestampMeaning::sequence:
      return "sequence";
    default:
      return "time";
  }
}

std::string_view name_of(BornDead born_dead) {
  return born_dead == BornDead::accept ? "accept" : "refuse";
}

std::string_view name_of(Profile profile) {
  switch (profile) {
    case Profile::bigtable:
      return "bigtable";
    case Profile::tablestore:
      return "tablestore";
    default:
      return "none";
  }
}

std::string_view name_of(Compaction compaction) {
  switch (compaction) {
    case Compaction::tiered:
      return "tiered";
    case Compaction::time_window:
      return "time-window";
    default:
      return "automatic";
  }
}

std::string_view name_of(client::BottomCompression compression) {
  switch (compression) {
    case client::BottomCompression::same:
      return "same";
    case client::BottomCompression::zstd:
      return "zstd";
    default:
      return "automatic";
  }
}

std::string window_text(const std::optional<WriteWindow>& window) {
  if (!window || (!window->past_us && !window->future_us)) return "none";
  std::string text;
  if (window->past_us) text += "past " + exact_duration(*window->past_us);
  if (window->past_us && window->future_us) text += ", ";
  if (window->future_us) text += "future " + exact_duration(*window->future_us);
  return window->whole_seconds ? text + ", whole seconds" : text;
}

std::string share_text(double share) { return fmt::format("{:.6g}%", share * 100); }

std::vector<std::vector<std::string>> family_lines(const std::vector<FamilySpec>& families) {
  std::vector<std::vector<std::string>> lines = {
      {"FAMILY", "RULE", "TIMESTAMPS", "BORN DEAD", "WINDOW", "UNDO"}};
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
