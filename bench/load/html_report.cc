#include "bench/load/html_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include <boost/json/array.hpp>

#include "bench/load/svg_plot.h"

namespace cellar::bench {
namespace {

namespace json = boost::json;
using RunResults = std::vector<json::object>;

constexpr const char* kHead = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>cellar-bench</title><style>
:root{--page:#f6f7f9;--card:#fff;--text:#1c2330;--soft:#5d6778;--line:#e2e6ec;--bad:#b3261e;
--c0:#2563eb;--c1:#d97706;--c2:#059669;--c3:#db2777;--c4:#7c3aed;--c5:#0891b2}
@media(prefers-color-scheme:dark){:root{--page:#11151c;--card:#1a202b;--text:#e6eaf1;--soft:#97a3b6;
--line:#2c3544;--bad:#ff8a80;--c0:#6ea8fe;--c1:#fbbf24;--c2:#34d399;--c3:#f472b6;--c4:#a78bfa;--c5:#22d3ee}}
*{box-sizing:border-box}body{margin:0;background:var(--page);color:var(--text);
font:15px/1.5 system-ui,"Segoe UI",Roboto,sans-serif}main{max-width:1120px;margin:0 auto;padding:32px 20px}
h1{font-size:26px;margin:0 0 4px}h2{font-size:18px;margin:36px 0 12px}p{color:var(--soft);margin:0 0 12px}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px;margin:16px 0}
.tile,figure,.table{background:var(--card);border:1px solid var(--line);border-radius:10px}
.tile{padding:12px 16px}.tile b{display:block;font-size:22px;font-weight:600;font-variant-numeric:tabular-nums}
.tile span{color:var(--soft);font-size:13px}.bad{color:var(--bad);font-weight:600}
.plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,460px),1fr));gap:16px}
figure{margin:0;padding:14px 14px 10px}figcaption{font-weight:600;margin-bottom:6px}svg{width:100%;height:auto;display:block}
svg path{fill:none;stroke-width:2;stroke-linejoin:round}svg .grid{stroke:var(--line);stroke-width:1}
svg text{fill:var(--soft);font-size:12px}.legend{list-style:none;display:flex;flex-wrap:wrap;gap:4px 16px;
margin:6px 0 0;padding:0 0 0 4px;font-size:13px;color:var(--soft)}.legend i{display:inline-block;width:14px;height:3px;
margin:0 6px 4px 0;border-radius:2px;vertical-align:middle}
.s0{stroke:var(--c0)}.s1{stroke:var(--c1)}.s2{stroke:var(--c2)}.s3{stroke:var(--c3)}.s4{stroke:var(--c4)}.s5{stroke:var(--c5)}
.b0{background:var(--c0)}.b1{background:var(--c1)}.b2{background:var(--c2)}.b3{background:var(--c3)}.b4{background:var(--c4)}.b5{background:var(--c5)}
circle{stroke-width:2;fill:var(--card)}.table{overflow-x:auto}table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:7px 12px;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}tr:last-child td{border-bottom:0}
th{color:var(--soft);font-weight:500;font-size:13px}th:first-child,td:first-child{text-align:left}
</style></head><body><main>
)";

const json::value* find(const json::object& o, std::string_view key) { return o.if_contains(key); }

double number_of(const json::object& o, std::string_view key) {
  const json::value* v = find(o, key);
  return v != nullptr && v->is_number() ? v->to_number<double>() : 0;
}

std::string string_of(const json::object& o, std::string_view key) {
  const json::value* v = find(o, key);
  return v != nullptr && v->is_string() ? std::string(v->get_string()) : "";
}

const json::object& child(const json::object& o, std::string_view key) {
  static const json::object kNone;
  const json::value* v = find(o, key);
  return v != nullptr && v->is_object() ? v->get_object() : kNone;
}

const json::array& list(const json::object& o, std::string_view key) {
  static const json::array kNone;
  const json::value* v = find(o, key);
  return v != nullptr && v->is_array() ? v->get_array() : kNone;
}

// "42 us", "1.5 ms".
std::string time_text(double us) {
  return us < 1000 ? fmt::format("{:.3g} µs", us) : fmt::format("{:.3g} ms", us / 1000);
}

bool is_invalid(const json::object& result) {
  const json::value* valid = find(result, "valid");
  return valid != nullptr && valid->is_bool() && !valid->get_bool();
}

// Percentiles on the axis of HdrHistogram's plots: equal distances for 90, 99, 99.9.
constexpr double kLastDecade = 5;
double percentile_axis(double percent) {
  return std::min(kLastDecade, percent >= 100 ? kLastDecade : -std::log10(1 - percent / 100));
}
const std::vector<std::pair<double, std::string>> kPercentileTicks = {
    {0, "0"}, {1, "90 %"}, {2, "99 %"}, {3, "99.9 %"}, {4, "99.99 %"}, {5, "99.999 %"}};

// Percentiles beyond the last but one operation are left out.
Series curve(const std::string& name, const json::object& operation) {
  Series series{name, {}};
  const double last = 100 * (1 - 1 / std::max(2.0, number_of(operation, "completed")));
  for (const json::value& point : list(operation, "curve")) {
    if (!point.is_array() || point.get_array().size() != 2) continue;
    const double percent = point.get_array()[0].to_number<double>();
    if (percent <= last)
      series.points.emplace_back(percentile_axis(percent),
                                 point.get_array()[1].to_number<double>());
  }
  return series;
}

Plot percentile_plot(const std::string& title) {
  Plot plot;
  plot.title = title;
  plot.x_label = "percentile";
  plot.y_label = "latency, µs";
  plot.log_y = true;
  plot.x_ticks = kPercentileTicks;
  return plot;
}

Series over_time(const std::string& name, const json::object& result, const std::string& operation,
                 std::string_view figure) {
  Series series{name, {}};
  double longest = 0;
  for (const json::value& i : list(result, "intervals"))
    if (i.is_object()) longest = std::max(longest, number_of(i.get_object(), "length_s"));
  for (const json::value& i : list(result, "intervals")) {
    if (!i.is_object()) continue;
    const json::object& interval = i.get_object();
    if (number_of(interval, "length_s") < longest * 0.9) continue;
    const json::object& from =
        operation.empty() ? interval : child(child(interval, "operations"), operation);
    series.points.emplace_back(number_of(interval, "at_s") + number_of(interval, "length_s") / 2,
                               number_of(from, figure));
  }
  return series;
}

std::string tile(const std::string& value, const std::string& what) {
  return fmt::format("<div class=\"tile\"><b>{}</b><span>{}</span></div>", value,
                     escape_html(what));
}

std::string tiles(const json::object& r) {
  std::string out = "<div class=\"tiles\">";
  out += tile(short_number(number_of(r, "per_second")), "operations/s");
  out += tile(time_text(number_of(r, "p50_us")), "median latency");
  out += tile(time_text(number_of(r, "p99_us")), "99th percentile");
  out += tile(time_text(number_of(r, "p99.9_us")), "99.9th percentile");
  const json::object& server = child(r, "server_process");
  if (!server.empty()) {
    out += tile(time_text(number_of(server, "processor_us_per_operation")),
                "server's processor time per operation");
    out +=
        tile(short_number(number_of(server, "resident_bytes")) + "B", "server's resident memory");
  }
  if (find(r, "verified") != nullptr)
    out += tile(short_number(number_of(r, "verified")),
                fmt::format("values verified, {:.0f} wrong", number_of(r, "wrong")));
  return out + "</div>\n";
}

std::string operations_table(const json::object& r) {
  std::string out =
      "<div class=\"table\"><table><tr><th>operation</th><th>/s</th><th>p50</th><th>p90</th>"
      "<th>p99</th><th>p99.9</th><th>p99.99</th><th>max</th><th>found</th><th>failed</th></tr>";
  for (const auto& [name, value] : child(r, "operations")) {
    const json::object& o = value.get_object();
    out += fmt::format("<tr><td>{}</td><td>{}</td>", escape_html(name),
                       short_number(number_of(o, "per_second")));
    for (const char* p : {"p50_us", "p90_us", "p99_us", "p99.9_us", "p99.99_us", "max_us"})
      out += fmt::format("<td>{}</td>", time_text(number_of(o, p)));
    out += find(o, "found") == nullptr
               ? "<td></td>"
               : fmt::format("<td>{:.2f} %</td>", 100 * number_of(o, "found") /
                                                      std::max(1.0, number_of(o, "completed")));
    out += fmt::format("<td>{:.0f}</td></tr>", number_of(o, "failed"));
  }
  return out + "</table></div>\n";
}

std::string description(const json::object& r) {
  const double rate = number_of(r, "rate");
  std::string out = fmt::format(
      "{}, workload {}: {:.0f} connections × {:.0f} in flight, {:.0f} keys, {:.0f} × {:.0f} B",
      string_of(r, "server"), string_of(r, "workload"), number_of(r, "connections"),
      number_of(r, "depth"), number_of(r, "keys"), number_of(r, "fields"),
      number_of(r, "value_bytes"));
  out += rate > 0 ? fmt::format(", open loop at {:.0f}/s", rate) : ", closed loop";
  out += fmt::format(", {:.1f} s", number_of(r, "elapsed_us") / 1e6);
  const auto started = static_cast<std::time_t>(number_of(r, "started_s"));
  char date[40] = "";
  std::tm utc{};
  if (started > 0)
    std::strftime(date, sizeof date, ", %Y-%m-%d %H:%M UTC", gmtime_r(&started, &utc));
  return escape_html(out + date);
}

std::string one_result(const json::object& r) {
  std::string out =
      fmt::format("<h2>{}</h2><p>{}</p>", escape_html(string_of(r, "name")), description(r));
  if (is_invalid(r))
    out += fmt::format("<p class=\"bad\">Invalid: {}</p>",
                       escape_html(string_of(r, "invalid_reason")));
  if (number_of(r, "failed") > 0)
    out += fmt::format("<p class=\"bad\">{:.0f} operations failed; first: {}</p>",
                       number_of(r, "failed"), escape_html(string_of(r, "first_error")));
  out += tiles(r) + operations_table(r) + "<h2></h2><div class=\"plots\">";
  Plot percentiles = percentile_plot("Latency by percentile");
  Plot rates{.title = "Rate over time", .x_label = "seconds", .y_label = "operations/s"};
  for (const auto& [key, value] : child(r, "operations")) {
    const std::string name(key);
    percentiles.series.push_back(curve(name, value.get_object()));
    rates.series.push_back(over_time(name, r, name, "per_second"));
  }
  Plot latencies{
      .title = "Latency over time", .x_label = "seconds", .y_label = "latency, µs", .log_y = true};
  for (const auto& [name, figure] : {std::pair("p50", "p50_us"), std::pair("p99", "p99_us"),
                                     std::pair("p99.9", "p99.9_us"), std::pair("max", "max_us")})
    latencies.series.push_back(over_time(name, r, "", figure));
  return out + svg_of(percentiles) + svg_of(rates) + svg_of(latencies) + "</div>\n";
}

std::string summary_table(const RunResults& results) {
  std::string out =
      "<h2>Runs</h2><div "
      "class=\"table\"><table><tr><th>run</th><th>server</th><th>operations/s</th>"
      "<th>p50</th><th>p99</th><th>p99.9</th><th>max</th><th>processor/operation</th></tr>";
  for (const json::object& r : results) {
    const double use = number_of(child(r, "server_process"), "processor_us_per_operation");
    out += fmt::format(
        "<tr><td>{}{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>"
        "<td>{}</td></tr>",
        escape_html(string_of(r, "name")),
        is_invalid(r) ? " <span class=\"bad\">invalid</span>" : "",
        escape_html(string_of(r, "server")), short_number(number_of(r, "per_second")),
        time_text(number_of(r, "p50_us")), time_text(number_of(r, "p99_us")),
        time_text(number_of(r, "p99.9_us")), time_text(number_of(r, "max_us")),
        use > 0 ? time_text(use) : "");
  }
  return out + "</table></div>\n";
}

// Latency against the rate, a set of lines per server.
Plot sweep_plot(const RunResults& results) {
  Plot plot{.title = "Latency by rate",
            .x_label = "operations/s",
            .y_label = "latency, µs",
            .log_y = true,
            .dots = true};
  std::vector<std::string> servers;
  for (const json::object& r : results)
    if (std::ranges::find(servers, string_of(r, "server")) == servers.end())
      servers.push_back(string_of(r, "server"));
  for (const std::string& server : servers) {
    for (const auto& [name, figure] : {std::pair("p50", "p50_us"), std::pair("p99", "p99_us")}) {
      Series series{servers.size() > 1 ? server + " " + name : name, {}};
      for (const json::object& r : results)
        if (number_of(r, "rate") > 0 && string_of(r, "server") == server)
          series.points.emplace_back(number_of(r, "per_second"), number_of(r, figure));
      std::ranges::sort(series.points);
      plot.series.push_back(std::move(series));
    }
  }
  return plot;
}

std::string several_results(const RunResults& results) {
  Plot percentiles = percentile_plot("Latency by percentile, per run");
  for (const json::object& r : results) {
    const json::object& operations = child(r, "operations");
    for (const auto& [name, value] : operations) {
      const std::string run = string_of(r, "name") + " (" + string_of(r, "server") + ")";
      percentiles.series.push_back(
          curve(operations.size() > 1 ? run + " " + std::string(name) : run, value.get_object()));
    }
  }
  std::string out =
      summary_table(results) + "<h2></h2><div class=\"plots\">" + svg_of(sweep_plot(results));
  if (percentiles.series.size() <= 2 * kSeriesColours) out += svg_of(percentiles);
  return out + "</div>\n";
}

}  // namespace

std::string html_report(const RunResults& results) {
  std::string out = kHead;
  out +=
      "<h1>cellar-bench</h1><p>Latency counts from the time when a request was due (open loop) or "
      "sent (closed loop).</p>\n";
  if (results.size() > 1) out += several_results(results);
  for (const json::object& result : results) out += one_result(result);
  return out + "</main></body></html>\n";
}

}  // namespace cellar::bench
