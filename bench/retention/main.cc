// The cost of strict reads: the same rows read under a retention rule and under none, alternating
// in one run, so that other load of the machine affects both. Processor time of this thread;
// medians over all rounds, and their ratio.
//
//   cellar-bench-retention [--rounds 25] [--rows 2000] [--case max_age]
//
// With --scans N instead: only N scans, for a counter of instructions (bench/README.md).
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <map>

#include <CLI/CLI.hpp>

#include "engine/read/scan.h"
#include "io/base/check.h"
#include "io/base/log.h"
#include "tests/support/count_cells.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

constexpr int kColumns = 10;
constexpr int kVersions = 2;
constexpr int kPointReads = 2000;
constexpr size_t kValueBytes = 100;
constexpr int64_t kDayUs = 86'400'000'000;

struct Case {
  const char* name;
  RetentionRule rule;
  int expiring_one_in = 0;  // one cell in this many has its own expiry
  const engine::TabletDescriptor* tablet = nullptr;
};

std::vector<Case> cases() {
  const RetentionRule age = RetentionRule::max_age_us(kDayUs);
  const RetentionRule versions = RetentionRule::max_versions(5);
  return {
      {"none", {}},
      {"max_age", age},
      {"max_versions", versions},
      {"union", RetentionRule::union_of({age, versions})},
      {"intersection", RetentionRule::intersection_of({age, versions})},
      {"own_expiry", {}, 1},
      {"own_expiry+max_age", age, 4},
      {"own_expiry+max_versions", versions, 4},
  };
}

int64_t processor_ns() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

std::string row_name(int i) { return fmt::format("row{:06}", i); }

class Bed {
 public:
  Bed(int rows, std::vector<Case>& all) : rows_(rows), node_(options()) {
    for (Case& one : all) {
      fill(one);
      one.tablet = &tables_.at(one.name);
    }
  }

  // A scan of everything; returns its processor time.
  int64_t scan(const Case& one) {
    ReadSpec spec;
    spec.rows = RowSet::everything();
    const int64_t began = processor_ns();
    const uint64_t cells = run(one, spec);
    const int64_t took = processor_ns() - began;
    CHECK(cells == static_cast<uint64_t>(rows_) * kColumns * kVersions, "{} cells of {}", cells,
          one.name);
    return took;
  }
  // kPointReads rows, each with its own cursor. The requests are prepared before, and the clock is
  // read only twice: a reading costs a good part of a point read.
  int64_t points(const Case& one, uint64_t seed) {
    Random random(seed);
    std::vector<ReadSpec> specs(kPointReads);
    for (ReadSpec& spec : specs) {
      spec.rows.add(
          KeyRange::single(row_name(static_cast<int>(random.below(static_cast<uint64_t>(rows_))))));
      spec.rows.normalize();
    }
    uint64_t cells = 0;
    const int64_t began = processor_ns();
    for (const ReadSpec& spec : specs) cells += run(one, spec);
    const int64_t took = processor_ns() - began;
    CHECK(cells == uint64_t{kPointReads} * kColumns * kVersions, "{} cells of {}", cells, one.name);
    return took;
  }

 private:
  static TestNodeOptions options() {
    TestNodeOptions options;
    options.engine.memory_bytes = size_t{1} << 30;
    options.engine.memtable_bytes = 256u << 20;
    options.engine.table_bytes = 1u << 30;
    options.engine.log_segment_bytes = 64u << 20;
    options.log.segment_bytes = 64u << 20;
    return options;
  }

  void fill(const Case& one) {
    engine::TableSpec spec;
    spec.name = one.name;
    spec.granularity = Granularity::micros;
    engine::FamilySpec& family = spec.families.emplace_back();
    family.name = "f";
    family.rule = one.rule;
    std::replace(spec.name.begin(), spec.name.end(), '+', '_');
    CHECK(node_.create_table(spec).has_value());
    const std::string table = spec.name;
    const int64_t now_us = node_.world().clock().wall_us();
    Random random(1);
    for (int i = 0; i < rows_; ++i) {
      std::vector<OwnedMutation> ops;
      for (int cell = 0; cell < kColumns * kVersions; ++cell) {
        OwnedMutation op =
            set_cell(fmt::format("f:column{}", cell / kVersions), now_us - cell % kVersions * 1000,
                     std::string(kValueBytes, 'v'));
        if (one.expiring_one_in != 0 && cell % one.expiring_one_in == 0)
          op.expire_at_us = now_us + kDayUs;
        ops.push_back(std::move(op));
      }
      CHECK(node_.write(table, row_name(i), std::move(ops)).has_value());
    }
    CHECK(node_.flush(table).has_value());
    CHECK(node_.compact(table).has_value());
    tables_[one.name] = node_.table(table)->tablets.front();
  }

  uint64_t run(const Case& one, const ReadSpec& spec) {
    return count_cells(node_, *one.tablet, spec);
  }

  const int rows_;
  TestNode node_;
  std::map<std::string, engine::TabletDescriptor> tables_;
};

double median(std::vector<int64_t> all) {
  const auto middle = all.begin() + static_cast<ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return static_cast<double>(*middle);
}

// Processor time of `one` over that of `none`: the median of the ratios of the rounds, because the
// two sides of a round are close in time.
struct Ratio {
  std::vector<int64_t> plain;
  std::vector<int64_t> ruled;
  void add(int64_t a, int64_t b) {
    plain.push_back(a);
    ruled.push_back(b);
  }
  double value() const { return median(ruled) / median(plain); }
};

void compare(Bed& bed, const Case& none, const Case& one, int rounds, int rows) {
  Ratio scans;
  Ratio points;
  for (int round = -1; round < rounds; ++round) {
    const bool first = round % 2 == 0;  // the order of the sides alternates too
    const int64_t early = bed.scan(first ? one : none);
    const int64_t late = bed.scan(first ? none : one);
    const auto seed = static_cast<uint64_t>(round + 2);
    const int64_t early_points = bed.points(first ? one : none, seed);
    const int64_t late_points = bed.points(first ? none : one, seed);
    if (round < 0) continue;  // fills the cache
    scans.add(first ? late : early, first ? early : late);
    points.add(first ? late_points : early_points, first ? early_points : late_points);
  }
  const double cells = static_cast<double>(rows) * kColumns * kVersions;
  fmt::print("{:<26}{:>10.0f}{:>10.0f}{:>8.3f}{:>12.0f}{:>10.0f}{:>8.3f}\n", one.name,
             median(scans.plain) / cells, median(scans.ruled) / cells, scans.value(),
             median(points.plain) / kPointReads, median(points.ruled) / kPointReads,
             points.value());
}

int run(int argc, char** argv) {
  CLI::App app("The cost of strict reads");
  int rounds = 25;
  int rows = 2000;
  int scans = 0;
  int point_rounds = 0;
  std::string only;
  app.add_option("--rounds", rounds, "alternations of each case");
  app.add_option("--rows", rows, "of 10 columns with 2 versions of 100 bytes");
  app.add_option("--case", only, "this one alone");
  app.add_option("--scans", scans, "run only this many scans of --case");
  app.add_option("--points", point_rounds, "run only this many times 2000 point reads of --case");
  CLI11_PARSE(app, argc, argv);
  set_log_level(LogLevel::error);
  std::vector<Case> all = cases();
  if (scans != 0 || point_rounds != 0) {
    std::erase_if(all, [&only](const Case& one) { return only != one.name; });
    CHECK(all.size() == 1, "no case '{}'", only);
    Bed bed(rows, all);
    bed.scan(all.front());
    for (int i = 0; i < scans; ++i) bed.scan(all.front());
    for (int i = 0; i < point_rounds; ++i) bed.points(all.front(), 1);
    return 0;
  }
  Bed bed(rows, all);
  fmt::print("{:<26}{:>10}{:>10}{:>8}{:>12}{:>10}{:>8}\n", "", "ns/cell", "ns/cell", "", "ns/point",
             "ns/point", "");
  fmt::print("{:<26}{:>10}{:>10}{:>8}{:>12}{:>10}{:>8}\n", "rule", "none", "rule", "ratio", "none",
             "rule", "ratio");
  for (const Case& one : all) {
    if (only.empty() || only == one.name) compare(bed, all.front(), one, rounds, rows);
  }
  return 0;
}

}  // namespace
}  // namespace cellar::support

int main(int argc, char** argv) { return cellar::support::run(argc, argv); }
