// A plot as SVG. Colours are classes of a style sheet: s0 to s5 for series.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace cellar::bench {

inline constexpr size_t kSeriesColours = 6;

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

struct Plot {
  std::string title;
  std::string x_label;
  std::string y_label;
  bool log_y = false;                                        // points with y <= 0 are left out
  bool dots = false;                                         // a mark at each point
  std::vector<std::pair<double, std::string>> x_ticks = {};  // empty: chosen
  std::vector<Series> series = {};
};

// Text with the characters of HTML escaped.
std::string escape_html(const std::string& text);
// "12.5 k", "3 M", "0.25".
std::string short_number(double value);
// Empty if no series has two points.
std::string svg_of(const Plot& plot);

}  // namespace cellar::bench
