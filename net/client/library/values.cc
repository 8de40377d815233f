// The members of the public values.
#include <cellar/data.h>
#include <cellar/result.h>
#include <cellar/tables.h>

#include <algorithm>

#include "io/base/result.h"

namespace cellar {
CELLAR_VERSIONED {
  namespace {

  Filter of(Filter::Kind kind) {
    Filter filter;
    filter.kind = kind;
    return filter;
  }
  Filter worded(Filter::Kind kind, std::string text) {
    Filter filter = of(kind);
    filter.text = std::move(text);
    return filter;
  }
  Filter counted(Filter::Kind kind, std::int64_t count) {
    Filter filter = of(kind);
    filter.count = count;
    return filter;
  }
  Filter tree(Filter::Kind kind, std::vector<Filter> parts) {
    Filter filter = of(kind);
    filter.children = std::move(parts);
    return filter;
  }
  Rule rule_of(Rule::Kind kind, std::int64_t value, std::vector<Rule> parts = {}) {
    Rule rule;
    rule.kind = kind;
    rule.value = value;
    rule.parts = std::move(parts);
    return rule;
  }
  // What an expiry belongs to, also behind a delete. Null: nothing was set.
  Mutation::Operation* last_set(std::vector<Mutation::Operation>& operations) {
    const auto at = std::find_if(operations.rbegin(), operations.rend(), [](const auto& operation) {
      return operation.kind == Mutation::Kind::set;
    });
    return at == operations.rend() ? nullptr : &*at;
  }

  }  // namespace

  const char* name_of(Code code) { return errc_name(static_cast<Errc>(code)).data(); }

  const Cell* Row::find(std::string_view family, std::string_view qualifier) const {
    for (const Cell& cell : cells) {
      if (cell.family == family && cell.qualifier == qualifier) return &cell;
    }
    return nullptr;
  }

  // ---- mutations

  Mutation& Mutation::set(std::string family, std::string qualifier, std::string value,
                          std::optional<std::int64_t> timestamp_us) {
    Operation& operation = operations_.emplace_back();
    operation.family = std::move(family);
    operation.qualifier = std::move(qualifier);
    operation.value = std::move(value);
    operation.timestamp_us = timestamp_us;
    return *this;
  }

  Mutation& Mutation::with_ttl(std::int64_t ttl_us) {
    if (Operation* cell = last_set(operations_)) cell->ttl_us = ttl_us;
    return *this;
  }

  Mutation& Mutation::with_expire_at(std::int64_t expire_at_us) {
    if (Operation* cell = last_set(operations_)) cell->expire_at_us = expire_at_us;
    return *this;
  }

  Mutation& Mutation::delete_column(std::string family, std::string qualifier,
                                    std::optional<std::int64_t> start_us,
                                    std::optional<std::int64_t> end_us) {
    Operation& operation = operations_.emplace_back();
    operation.kind = Kind::delete_column;
    operation.family = std::move(family);
    operation.qualifier = std::move(qualifier);
    operation.start_us = start_us;
    operation.end_us = end_us;
    return *this;
  }

  Mutation& Mutation::delete_family(std::string family) {
    Operation& operation = operations_.emplace_back();
    operation.kind = Kind::delete_family;
    operation.family = std::move(family);
    return *this;
  }

  Mutation& Mutation::delete_row() {
    operations_.emplace_back().kind = Kind::delete_row;
    return *this;
  }

  Mutation& Mutation::with_token(std::string token, std::int64_t issued_us) {
    token_issued_us_ = issued_us;
    token_ = std::move(token);
    return *this;
  }

  ReadModifyWrite& ReadModifyWrite::increment(std::string family, std::string qualifier,
                                              std::int64_t by) {
    rules.push_back({std::move(family), std::move(qualifier), std::nullopt, by});
    return *this;
  }

  ReadModifyWrite& ReadModifyWrite::append(std::string family, std::string qualifier,
                                           std::string bytes) {
    rules.push_back({std::move(family), std::move(qualifier), std::move(bytes), 0});
    return *this;
  }

  std::optional<std::int64_t> number_of(std::string_view value) {
    if (value.size() != sizeof(std::uint64_t)) return std::nullopt;
    std::uint64_t number = 0;
    for (const char c : value) number = number << 8 | static_cast<std::uint8_t>(c);
    return static_cast<std::int64_t>(number);
  }

  // ---- filters

  Filter Filter::pass() { return of(Kind::pass); }
  Filter Filter::block() { return of(Kind::block); }
  Filter Filter::strip_value() { return of(Kind::strip_value); }
  Filter Filter::chain(std::vector<Filter> parts) { return tree(Kind::chain, std::move(parts)); }
  Filter Filter::interleave(std::vector<Filter> parts) {
    return tree(Kind::interleave, std::move(parts));
  }
  Filter Filter::condition(Filter predicate, std::optional<Filter> then,
                           std::optional<Filter> otherwise) {
    Filter filter = of(Kind::condition);
    filter.children.push_back(std::move(predicate));
    filter.has_then = then.has_value();
    filter.has_else = otherwise.has_value();
    if (then) filter.children.push_back(*std::move(then));
    if (otherwise) filter.children.push_back(*std::move(otherwise));
    return filter;
  }
  Filter Filter::row_regex(std::string p) { return worded(Kind::row_regex, std::move(p)); }
  Filter Filter::family_regex(std::string p) { return worded(Kind::family_regex, std::move(p)); }
  Filter Filter::qualifier_regex(std::string p) {
    return worded(Kind::qualifier_regex, std::move(p));
  }
  Filter Filter::value_regex(std::string p) { return worded(Kind::value_regex, std::move(p)); }
  Filter Filter::column_range(std::string family, Bounds bounds) {
    Filter filter = of(Kind::column_range);
    filter.family = std::move(family);
    filter.bounds = std::move(bounds);
    return filter;
  }
  Filter Filter::value_range(Bounds bounds) {
    Filter filter = of(Kind::value_range);
    filter.bounds = std::move(bounds);
    return filter;
  }
  Filter Filter::time_range(std::optional<std::int64_t> start_us,
                            std::optional<std::int64_t> end_us) {
    Filter filter = of(Kind::time_range);
    filter.start_us = start_us;
    filter.end_us = end_us;
    return filter;
  }
  Filter Filter::cells_per_column(std::int64_t n) { return counted(Kind::cells_per_column, n); }
  Filter Filter::cells_per_row(std::int64_t n) { return counted(Kind::cells_per_row, n); }
  Filter Filter::label(std::string name) { return worded(Kind::label, std::move(name)); }

  // ---- rules

  Rule Rule::max_versions(std::int64_t count) { return rule_of(Kind::max_versions, count); }
  Rule Rule::max_age(std::int64_t age_us) { return rule_of(Kind::max_age, age_us); }
  Rule Rule::any_of(std::vector<Rule> parts) { return rule_of(Kind::any, 0, std::move(parts)); }
  Rule Rule::all_of(std::vector<Rule> parts) { return rule_of(Kind::all, 0, std::move(parts)); }

}  // namespace v0
}  // namespace cellar
