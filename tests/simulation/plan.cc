#include "tests/simulation/plan.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <map>
#include <sstream>

#include "io/base/random.h"

namespace cellar::simulation {
namespace {

constexpr std::array<std::string_view, kFeatures> kNames = {
    "batches",   "conditions",  "modifications", "range_drops", "expiries",   "scans",
    "weak",      "jitter",      "cuts",          "half_open",   "refusals",   "power",
    "kills",     "stops",       "restarts",      "disk_errors", "disk_hangs", "disk_full",
    "disk_slow", "wall_jumps",  "boots",         "reshapes",    "balancer",   "flushes",
    "rules",     "drop_tables", "drop_families", "shards",      "backups",    "mixed_rules"};

// Those that were added later are drawn apart, so that earlier seeds draw what they did.
constexpr size_t kDrawnFirst = static_cast<size_t>(Feature::backups);

std::string off_names(uint64_t features) {
  std::string out;
  for (size_t i = 0; i < kFeatures; ++i) {
    if ((features >> i & 1) == 0) out += (out.empty() ? "" : ",") + std::string(kNames.at(i));
  }
  return out;
}

}  // namespace

std::string_view feature_name(Feature feature) { return kNames.at(static_cast<size_t>(feature)); }

Plan Plan::of(uint64_t seed) {
  Random random(seed * 7919 + 17);
  Plan plan;
  plan.seed = seed;
  const bool many = random.one_in(4);
  for (size_t i = 0; i < kDrawnFirst; ++i) {
    const bool on = many ? !random.one_in(4) : random.one_in(2);
    if (on) plan.features |= uint64_t{1} << i;
  }
  // A table without families has no undo window, so it would not come back.
  plan.turn_off(random.one_in(2) ? Feature::drop_tables : Feature::drop_families);
  plan.beats = 6 + static_cast<uint32_t>(random.below(8));
  plan.clients = 3 + static_cast<uint32_t>(random.below(6));
  plan.requests = 2 + static_cast<uint32_t>(random.below(5));
  plan.rows = 2 + static_cast<uint32_t>(random.below(6));
  plan.tables = 1 + static_cast<uint32_t>(random.below(2));
  plan.granularity = random.one_in(3) ? Granularity::millis : Granularity::micros;
  const int64_t versions[] = {0, 1, 2, 3};
  const int64_t ages_us[] = {0, 40'000'000, 90'000'000, 300'000'000};
  plan.families = {{"a", FamilyKind::versions, versions[random.below(4)], !random.one_in(4)},
                   {"b", FamilyKind::age, ages_us[random.below(4)], !random.one_in(4)}};
  Random later(seed * 7919 + 18);
  for (size_t i = kDrawnFirst; i < kFeatures; ++i) {
    if (later.one_in(2)) plan.features |= uint64_t{1} << i;
  }
  const auto mixed = static_cast<int64_t>(later.below(kMixedRules + 1));
  const bool can_undo = !later.one_in(4);
  if (plan.has(Feature::mixed_rules)) {
    plan.families.push_back({"m", FamilyKind::mixed, mixed, can_undo});
  }
  return plan;
}

void Plan::turn_off(Feature feature) {
  features &= ~(uint64_t{1} << static_cast<size_t>(feature));
  if (feature != Feature::mixed_rules) return;
  std::erase_if(families, [](const FamilyPlan& one) { return one.kind == FamilyKind::mixed; });
}

Result<void> Plan::turn_off(std::string_view names) {
  while (!names.empty()) {
    const size_t comma = std::min(names.find(','), names.size());
    const std::string_view name = names.substr(0, comma);
    names.remove_prefix(std::min(names.size(), comma + 1));
    size_t i = 0;
    while (i < kFeatures && kNames.at(i) != name) ++i;
    if (i == kFeatures) return fail(Errc::invalid_argument, "no feature '{}'", name);
    turn_off(static_cast<Feature>(i));
  }
  return {};
}

std::string Plan::options() const {
  const Plan drawn = of(seed);
  std::string out = fmt::format("--seed {}", seed);
  const std::string off = off_names(features | ~drawn.features);
  if (!off.empty()) out += " --off " + off;
  if (beats != drawn.beats) out += fmt::format(" --beats {}", beats);
  if (clients != drawn.clients) out += fmt::format(" --clients {}", clients);
  return out;
}

std::string Plan::environment() const {
  const Plan drawn = of(seed);
  std::string out = fmt::format("CELLAR_SEED={}", seed);
  const std::string off = off_names(features | ~drawn.features);
  if (!off.empty()) out += " CELLAR_SIM_OFF=" + off;
  if (beats != drawn.beats) out += fmt::format(" CELLAR_SIM_BEATS={}", beats);
  if (clients != drawn.clients) out += fmt::format(" CELLAR_SIM_CLIENTS={}", clients);
  return out;
}

std::string Plan::described() const {
  std::string on;
  for (size_t i = 0; i < kFeatures; ++i) {
    if (has(static_cast<Feature>(i))) on += " " + std::string(kNames.at(i));
  }
  std::string rules;
  for (const FamilyPlan& family : families) {
    rules += fmt::format(" {}={}{}", family.name, family.rule, family.can_undo ? "" : "!");
  }
  return fmt::format("seed {}: {} beats, {} clients, {} requests, {} tables of {} rows,{}; rules{}",
                     seed, beats, clients, requests, tables, rows, on, rules);
}

Result<Plan> plan_from_options(std::string_view line) {
  std::istringstream words{std::string(line)};
  std::string name, value;
  std::map<std::string, std::string> given;
  while (words >> name >> value) given[name] = value;
  if (!given.contains("--seed")) return fail(Errc::invalid_argument, "no --seed");
  Plan plan = Plan::of(std::stoull(given["--seed"]));
  for (const auto& [option, text] : given) {
    if (option == "--seed") continue;
    if (option == "--off") {
      TRY_VOID(plan.turn_off(text));
    } else if (option == "--beats") {
      plan.beats = static_cast<uint32_t>(std::stoul(text));
    } else if (option == "--clients") {
      plan.clients = static_cast<uint32_t>(std::stoul(text));
    } else {
      return fail(Errc::invalid_argument, "no option '{}'", option);
    }
  }
  return plan;
}

Result<Plan> plan_from_environment(uint64_t seed) {
  Plan plan = Plan::of(seed);
  if (const char* off = std::getenv("CELLAR_SIM_OFF")) TRY_VOID(plan.turn_off(off));
  const auto number = [](const char* name, uint32_t otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : static_cast<uint32_t>(std::stoul(text));
  };
  plan.beats = number("CELLAR_SIM_BEATS", plan.beats);
  plan.clients = number("CELLAR_SIM_CLIENTS", plan.clients);
  return plan;
}

}  // namespace cellar::simulation
