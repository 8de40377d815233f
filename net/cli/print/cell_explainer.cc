#include "net/cli/print/cell_explainer.h"

#include "engine/model/death_cause.h"
#include "net/cli/parse/rule_text.h"
#include "net/cli/session/json_rows.h"
#include "net/cli/text/times.h"

namespace cellar::cli {

const client::RuleHistory& CellExplainer::history(Bytes family) {
  const auto known = histories_.find(family);
  if (known != histories_.end()) return known->second;
  auto told = session_.client().rule_history(table_, family);
  client::RuleHistory& kept = histories_[std::string(family)];
  if (told) kept = *std::move(told);
  return kept;
}

std::string CellExplainer::clause(const client::Cell& cell) {
  const client::Explanation& why = *cell.explained;
  if (why.clause == kNoClause) return {};
  for (const client::RuleEra& era : history(cell.family).eras) {
    if (era.since_us > why.dies_at_us) continue;
    const client::RetentionRule* part = era.rule ? rule_clause(*era.rule, why.clause) : nullptr;
    return part ? rule_text(*part) : std::string();
  }
  return {};
}

namespace {

// What hides a cell from an index that may be read otherwise; empty: nothing does.
std::string hidden_from_index(DeathCause cause) {
  switch (cause) {
    case DeathCause::own_age:
      return "not found: older than the index's own age";
    case DeathCause::not_newest:
      return "not found: a newer version of the column counts";
    case DeathCause::replaced:
      return "not found: replaced by another value, or gone";
    default:
      return {};
  }
}

}  // namespace

std::string CellExplainer::text(const client::Cell& cell) {
  const client::Explanation& why = *cell.explained;
  if (std::string hidden = hidden_from_index(why.cause); !hidden.empty()) return hidden;
  if (!why.dead && why.dies_at_us == INT64_MAX) return "lives on";
  const int64_t now_us = history(cell.family).now_us;
  const std::string when =
      format_time(why.dies_at_us) +
      (now_us == 0 ? std::string() : fmt::format(" ({})", format_distance(why.dies_at_us, now_us)));
  const std::string part = clause(cell);
  std::string of;
  switch (why.cause) {
    case DeathCause::max_versions:
      of = part.empty() ? "pushed out by newer versions" : "pushed out by " + part;
      break;
    case DeathCause::expiry:
      of = "by its own expiry";
      break;
    case DeathCause::deleted:
      of = "deleted";
      break;
    case DeathCause::hidden:
      of = part.empty() ? "hidden by the rule" : "hidden by " + part;
      of += ", comes back if that is undone";
      break;
    default:
      of = part.empty() ? "by its age" : "by " + part;
  }
  if (why.dead) return fmt::format("dead since {}: {}", when, of);
  return fmt::format("dies {} {}", when, of);
}

std::string CellExplainer::json(const client::Cell& cell) {
  const client::Explanation& why = *cell.explained;
  // Outside the index it may live.
  const bool lives = why.cause == DeathCause::own_age || why.cause == DeathCause::not_newest;
  std::string out = fmt::format(",\"dead\":{}", why.dead && !lives);
  if (why.dies_at_us != INT64_MAX) out += fmt::format(",\"dies_at\":{}", why.dies_at_us);
  if (why.cause != DeathCause::none) out += fmt::format(",\"cause\":\"{}\"", name_of(why.cause));
  if (const std::string part = clause(cell); !part.empty()) {
    out += fmt::format(",\"clause\":{}", json_string(part));
  }
  return out;
}

}  // namespace cellar::cli
