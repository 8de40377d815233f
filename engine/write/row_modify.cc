#include "engine/write/row_modify.h"

#include <algorithm>
#include <tuple>

namespace cellar::engine {
namespace {

constexpr size_t kCounterBytes = 8;

int64_t load_counter(Bytes value) {
  uint64_t number = 0;
  for (const char c : value) number = number << 8 | static_cast<uint8_t>(c);
  return static_cast<int64_t>(number);
}

std::string store_counter(int64_t value) {
  std::string bytes(kCounterBytes, '\0');
  auto number = static_cast<uint64_t>(value);
  for (size_t i = kCounterBytes; i-- > 0; number >>= 8) bytes[i] = static_cast<char>(number);
  return bytes;
}

}  // namespace

RowModify::RowModify(std::span<const ModifyRule> rules, size_t most_bytes)
    : rules_(rules), most_bytes_(most_bytes), column_of_(rules.size()) {
  std::vector<size_t> order(rules.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&rules](size_t a, size_t b) {
    return std::tie(rules[a].family, rules[a].qualifier, a) <
           std::tie(rules[b].family, rules[b].qualifier, b);
  });
  for (const size_t i : order) {
    const ModifyRule& rule = rules[i];
    const bool same = !columns_.empty() && columns_.back().family == rule.family &&
                      columns_.back().qualifier == rule.qualifier;
    if (!same) {
      Column& column = columns_.emplace_back();
      column.family = rule.family;
      column.qualifier = rule.qualifier;
    }
    column_of_[i] = columns_.size() - 1;
  }
}

// Cells arrive by column, newest first within a column.
CellSink::Flow RowModify::cell(const CellView& cell) {
  while (next_ < columns_.size() && std::tie(columns_[next_].family, columns_[next_].qualifier) <
                                        std::tie(cell.family, cell.qualifier)) {
    ++next_;
  }
  if (next_ == columns_.size()) return Flow::pause;  // no further column is needed
  Column& column = columns_[next_];
  if (column.has_cell || column.family != cell.family || column.qualifier != cell.qualifier) {
    return Flow::more;
  }
  bytes_ += cell.value.size();
  if (bytes_ > most_bytes_) return Flow::pause;  // make() tells
  column.has_cell = true;
  column.has_value = true;
  column.timestamp_us = cell.timestamp_us;
  column.value = cell.value;
  return Flow::more;
}

CellSink::Flow RowModify::end_row(Bytes /*row*/) { return Flow::pause; }

Result<void> RowModify::apply(const ModifyRule& rule, Column& column,
                              const MutationLimits& limits) const {
  if (rule.kind == ModifyRule::Kind::append) {
    if (column.value.size() + rule.value.size() > limits.cell_bytes)
      return fail(
          Errc::invalid_argument,
          "appending {} bytes to the {} bytes of column '{}:{}' makes a value over the limit "
          "of {} bytes",
          rule.value.size(), column.value.size(), rule.family, escape_bytes(rule.qualifier),
          limits.cell_bytes);
    column.value.append(rule.value);
    column.has_value = true;
    return {};
  }
  if (column.has_value && column.value.size() != kCounterBytes)
    return fail(Errc::failed_precondition, "column '{}:{}' holds {} bytes; an increment needs {}",
                rule.family, escape_bytes(rule.qualifier), column.value.size(), kCounterBytes);
  const int64_t before = column.has_value ? load_counter(column.value) : 0;
  int64_t after = 0;
  if (__builtin_add_overflow(before, rule.by, &after))
    return fail(Errc::out_of_range, "adding {} to the {} of column '{}:{}' overflows 64 bits",
                rule.by, before, rule.family, escape_bytes(rule.qualifier));
  column.value = store_counter(after);
  column.has_value = true;
  return {};
}

Result<void> RowModify::make(int64_t server_us, const MutationLimits& limits) {
  mutations_.clear();
  if (bytes_ > most_bytes_) {
    return fail(Errc::invalid_argument, "the columns hold more than {} bytes together",
                most_bytes_);
  }
  for (size_t i = 0; i < rules_.size(); ++i) {
    TRY_VOID(apply(rules_[i], columns_[column_of_[i]], limits));
  }
  for (const Column& column : columns_) {
    Mutation& made = mutations_.emplace_back();
    made.family = column.family;
    made.qualifier = column.qualifier;
    made.value = column.value;
    made.timestamp_us = column.has_cell ? std::max(server_us, column.timestamp_us) : server_us;
  }
  return {};
}

}  // namespace cellar::engine
