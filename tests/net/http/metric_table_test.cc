// The list of metrics is stable: dashboards and alerts depend on it.
#include "net/http/metric_table.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "net/http/api.h"

namespace cellar::http {
namespace {

std::string file_of(const std::string& path) {
  std::ifstream in(CELLAR_SOURCE_DIR "/" + path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string list() {
  std::string lines;
  for (const Metric& metric : metrics()) {
    lines += fmt::format("{} {} {}\n", metric.name, name_of(metric.type), metric.labels);
  }
  return lines;
}

// The label "op".
TEST(OpNames, AreThoseOfBothSchemas) {
  EXPECT_EQ(op_name(0), "none");
  EXPECT_EQ(op_name(18), "read_row");
  EXPECT_EQ(op_name(64), "backup");
  EXPECT_EQ(op_name(65), "control");
  EXPECT_EQ(op_name(66), "reclaim");
  EXPECT_EQ(op_name(5), "none") << "no schema declares it";
}

TEST(MetricTable, IsTheGoldenListAndThePage) {
  EXPECT_EQ(list(), file_of("tests/net/golden/metrics.txt"))
      << "a metric that goes or is renamed breaks dashboards; one that is new belongs in the list";
  const std::string page = CELLAR_SOURCE_DIR "/net/http/METRICS.md";
  if (std::getenv("CELLAR_UPDATE_GOLDEN")) std::ofstream(page) << metrics_page();
  EXPECT_EQ(metrics_page(), file_of("net/http/METRICS.md"))
      << "if this is meant, run with CELLAR_UPDATE_GOLDEN=1";
}

TEST(MetricTable, NamesFollowTheConventions) {
  for (const Metric& metric : metrics()) {
    const std::string name(metric.name);
    EXPECT_TRUE(name.starts_with("cellar_")) << name;
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string::npos) << name;
    for (const char* unit : {"_us", "_ms", "_millis", "_kb", "_mb", "_percent"}) {
      EXPECT_EQ(name.find(unit), std::string::npos) << name << ": base units";
    }
  }
}

TEST(MetricsText, EscapesLabels) { EXPECT_EQ(label_value("a\"b\\c\nd"), "a\\\"b\\\\c\\nd"); }

}  // namespace
}  // namespace cellar::http
