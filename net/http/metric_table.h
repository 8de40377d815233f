// The metrics that /metrics gives, in one table: METRICS.md, the golden list of the tests and the
// text itself are held to it. Names: cellar_, base units, _total for what only grows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cellar::http {

struct Metric {
  enum class Type : uint8_t { counter, gauge, histogram };
  std::string_view name;
  Type type;
  std::string_view labels;  // names, comma between them; empty: none
  std::string_view help;
};

std::span<const Metric> metrics();
std::string_view name_of(Metric::Type type);

// METRICS.md as it must be.
std::string metrics_page();

// Tables beyond so many, the biggest first, are added up under the label "other".
inline constexpr size_t kLabelledTables = 50;

// Writes the text format. Every family is opened before its samples; one that is not in the table
// is a bug.
class MetricsText {
 public:
  void family(std::string_view name);
  // Labels as `op="read_row",code="ok"`, or empty.
  void sample(std::string_view labels, double value, std::string_view suffix = "");
  void sample(std::string_view labels, uint64_t value, std::string_view suffix = "");
  // family() and one sample() without labels.
  void plain(std::string_view name, uint64_t value);
  void seconds(std::string_view name, int64_t us);
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  std::string_view at_;
};

// With backslash, quote and newline escaped.
std::string label_value(std::string_view text);

}  // namespace cellar::http
