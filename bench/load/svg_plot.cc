#include "bench/load/svg_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace cellar::bench {
namespace {

constexpr double kWidth = 560;
constexpr double kHeight = 270;
constexpr double kLeft = 64;
constexpr double kRight = 30;
constexpr double kTop = 16;
constexpr double kBottom = 44;

struct Range {
  double least = INFINITY;
  double most = -INFINITY;
  void add(double v) {
    least = std::min(least, v);
    most = std::max(most, v);
  }
};

// 1, 2 or 5 times a power of ten, such that about `count` steps fill the range.
double step_of(double range, int count) {
  const double rough = range / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (double factor : {1.0, 2.0, 5.0})
    if (rough <= factor * power) return factor * power;
  return 10 * power;
}

// Maps the values of a plot to its coordinates.
class Frame {
 public:
  explicit Frame(const Plot& plot) : log_(plot.log_y) {
    for (const Series& series : plot.series) {
      for (const auto& [x, y] : series.points) {
        if (log_ && y <= 0) continue;
        x_.add(x);
        y_.add(y);
      }
    }
    for (const auto& [x, unused] : plot.x_ticks) x_.add(x);
    if (!(x_.most > x_.least)) x_.most = x_.least + 1;
    if (log_) {
      y_.least = std::pow(10, std::floor(std::log10(y_.least)));
      y_.most = std::pow(10, std::ceil(std::log10(y_.most * 1.001)));
    } else {
      y_.least = 0;
      y_.most = y_.most <= 0 ? 1 : y_.most * 1.08;
    }
  }
  double x(double v) const {
    return kLeft + (v - x_.least) / (x_.most - x_.least) * (kWidth - kLeft - kRight);
  }
  double y(double v) const {
    const double share = log_ ? std::log(v / y_.least) / std::log(y_.most / y_.least)
                              : (v - y_.least) / (y_.most - y_.least);
    return kHeight - kBottom - share * (kHeight - kTop - kBottom);
  }
  std::vector<double> y_ticks() const {
    std::vector<double> ticks;
    if (log_) {
      const bool wide = y_.most / y_.least > 1001;
      for (double power = y_.least; power <= y_.most * 1.001; power *= 10)
        for (double factor : {1.0, 2.0, 5.0})
          if ((factor == 1 || !wide) && power * factor <= y_.most * 1.001)
            ticks.push_back(power * factor);
      return ticks;
    }
    const double step = step_of(y_.most, 5);
    for (double v = 0; v <= y_.most; v += step) ticks.push_back(v);
    return ticks;
  }
  std::vector<std::pair<double, std::string>> x_ticks() const {
    std::vector<std::pair<double, std::string>> ticks;
    const double step = step_of(x_.most - x_.least, 7);
    for (double v = std::ceil(x_.least / step) * step; v <= x_.most + step * 1e-6; v += step)
      ticks.emplace_back(v, short_number(v));
    return ticks;
  }

 private:
  bool log_;
  Range x_;
  Range y_;
};

std::string axes(const Plot& plot, const Frame& frame) {
  std::string out;
  for (double v : frame.y_ticks()) {
    out += fmt::format(
        "<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
        "<text class=\"tick\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
        kLeft, kWidth - kRight, frame.y(v), frame.y(v), kLeft - 8, frame.y(v) + 4, short_number(v));
  }
  for (const auto& [x, text] : plot.x_ticks.empty() ? frame.x_ticks() : plot.x_ticks) {
    out +=
        fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                    frame.x(x), kHeight - kBottom + 18, escape_html(text));
  }
  out += fmt::format(
      "<text class=\"label\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n"
      "<text class=\"label\" transform=\"translate(14 {}) rotate(-90)\" "
      "text-anchor=\"middle\">{}</text>\n",
      (kLeft + kWidth - kRight) / 2, kHeight - 6, escape_html(plot.x_label),
      (kTop + kHeight - kBottom) / 2, escape_html(plot.y_label));
  return out;
}

std::string line_of(const Plot& plot, const Series& series, size_t colour, const Frame& frame) {
  std::string path;
  std::string marks;
  for (const auto& [x, y] : series.points) {
    if (plot.log_y && y <= 0) continue;
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", frame.x(x), frame.y(y));
    if (plot.dots)
      marks += fmt::format(
          "<circle class=\"s{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"><title>{}: {}"
          "</title></circle>",
          colour, frame.x(x), frame.y(y), escape_html(series.name), short_number(y));
  }
  return fmt::format("<path class=\"s{}\" d=\"{}\"><title>{}</title></path>{}\n", colour, path,
                     escape_html(series.name), marks);
}

}  // namespace

std::string escape_html(const std::string& text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string short_number(double value) {
  const double size = std::abs(value);
  const auto digits = [](double v) { return fmt::format("{:.3g}", v); };
  if (size >= 999'500'000) return fmt::format("{} G", digits(value / 1e9));
  if (size >= 999'500) return fmt::format("{} M", digits(value / 1e6));
  if (size >= 10'000) return fmt::format("{} k", digits(value / 1e3));
  return size >= 1000 ? fmt::format("{:.0f}", value) : digits(value);
}

std::string svg_of(const Plot& plot) {
  const bool has_line =
      std::ranges::any_of(plot.series, [](const Series& s) { return s.points.size() > 1; });
  if (!has_line) return "";
  const Frame frame(plot);
  std::string legend;
  std::string lines;
  for (size_t i = 0; i < plot.series.size(); ++i) {
    const size_t colour = i % kSeriesColours;
    lines += line_of(plot, plot.series[i], colour, frame);
    legend +=
        fmt::format("<li><i class=\"b{}\"></i>{}</li>", colour, escape_html(plot.series[i].name));
  }
  return fmt::format(
      "<figure><figcaption>{}</figcaption><svg viewBox=\"0 0 {} {}\" role=\"img\" "
      "aria-label=\"{}\">\n{}{}</svg><ul class=\"legend\">{}</ul></figure>\n",
      escape_html(plot.title), kWidth, kHeight, escape_html(plot.title), axes(plot, frame), lines,
      legend);
}

}  // namespace cellar::bench
