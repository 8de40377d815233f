// The metrics of /metrics in one table. METRICS.md, the golden list of the tests and the output are
// checked against it. Names: cellar_ prefix, base units, _total for counters.
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
  std::string_view labels;  // label names separated by commas; empty: none
  std::string_view help;
};

std::span<const Metric> metrics();
std::string_view name_of(Metric::Type type);

// The contents of METRICS.md.
std::string metrics_page();

// Tables beyond this number are summed under the label "other"; the largest are listed.
inline constexpr size_t kLabelledTables = 50;

// Writes the text format. Every family is opened before its samples; a family that is not in the
// table is a bug.
class MetricsText {
 public:
  void family(std::string_view name);
  // `labels` is like `op="read_row",code="ok"`, or empty.
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

// Escapes backslash, quote and newline.
std::string label_value(std::string_view text);

}  // namespace cellar::http
