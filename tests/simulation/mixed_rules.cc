#include "tests/simulation/mixed_rules.h"

#include <vector>

#include "io/base/check.h"

namespace cellar::simulation {
namespace {

constexpr int64_t kShortUs = 40'000'000;
constexpr int64_t kLongUs = 90'000'000;

// `newer`: newer living versions. An expiry of its own takes the place of every age; whether it has
// passed is for the caller.
bool is_due(int64_t rule, int64_t age_us, int64_t newer, bool own_expiry) {
  const bool is_short = !own_expiry && age_us > kShortUs;
  const bool is_long = !own_expiry && age_us > kLongUs;
  switch (rule) {
    case 0:
      return false;
    case 1:
      return is_short || newer >= 1;
    case 2:
      return is_short || newer >= 2;
    case 3:
      return is_long || (newer >= 1 && is_short) || newer >= 3;
    case 4:
      return is_long || (newer >= 1 && is_short);
    case 5:
      return is_long;
    case 6:
      return newer >= 1 && is_long;
    case 7:
      return newer >= 2 && is_long;
    default:
      UNREACHABLE("rule {}", rule);
  }
}

}  // namespace

client::RetentionRule mixed_rule(int64_t rule) {
  using Rule = client::RetentionRule;
  const auto kept = [](int64_t n) { return Rule::max_versions(n); };
  const Rule is_short = Rule::max_age_us(kShortUs);
  const Rule is_long = Rule::max_age_us(kLongUs);
  switch (rule) {
    case 1:
    case 2:
      return Rule::any_of({is_short, kept(rule)});
    case 3:
      return Rule::any_of({is_long, Rule::all_of({kept(1), is_short}), kept(3)});
    case 4:
      return Rule::any_of({is_long, Rule::all_of({kept(1), is_short})});
    case 5:
      return is_long;
    case 6:
    case 7:
      return Rule::all_of({kept(rule - 5), is_long});
    default:
      UNREACHABLE("rule {}", rule);
  }
}

void collect_mixed(RowState::Columns& columns, int64_t rule, int64_t now_us) {
  for (auto& [qualifier, column] : columns) {
    int64_t newer = 0;
    for (auto it = column.begin(); it != column.end();) {
      const bool own = it->second.expire_at_us != kNoExpiry;
      const bool dead =
          (own && now_us > it->second.expire_at_us) || is_due(rule, now_us - it->first, newer, own);
      newer += dead ? 0 : 1;
      it = dead ? column.erase(it) : std::next(it);
    }
  }
}

void add_mixed_deaths(const RowState::Columns& columns, int64_t rule, int64_t from_us,
                      int64_t to_us, std::set<int64_t>& at) {
  const auto add = [&](int64_t death_us) {
    if (death_us > from_us && death_us <= to_us) at.insert(death_us);
  };
  for (const auto& [qualifier, column] : columns) {
    for (const auto& [timestamp_us, version] : column) {
      if (version.expire_at_us != kNoExpiry) {
        add(version.expire_at_us + 1);
      } else if (rule != 0) {
        add(timestamp_us + kShortUs + 1);
        add(timestamp_us + kLongUs + 1);
      }
    }
  }
}

void pass_mixed(RowState::Columns& columns, int64_t rule, int64_t from_us, int64_t to_us) {
  std::set<int64_t> instants;
  add_mixed_deaths(columns, rule, from_us, to_us, instants);
  for (const int64_t now_us : instants) collect_mixed(columns, rule, now_us);
}

}  // namespace cellar::simulation
