// Bed: an embedded node on a disk in memory that the cases write to and read from. Figures: the
// table of the measured times.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "io/base/check.h"
#include "tests/support/count_cells.h"
#include "tests/support/test_node.h"

namespace cellar::support {

inline constexpr int64_t kDayUs = 86'400'000'000;

inline ReadSpec everything(bool reversed = false, uint32_t versions = 0) {
  ReadSpec spec;
  spec.rows = RowSet::everything();
  spec.reversed = reversed;
  spec.versions = versions;
  return spec;
}

class Bed {
 public:
  Bed() : node_(options()) {}

  // Creates a table of one family; returns its name.
  std::string table(RetentionRule rule) {
    engine::TableSpec spec;
    spec.name = fmt::format("t{}", ++tables_);
    spec.granularity = Granularity::micros;
    spec.families.emplace_back().name = "f";
    spec.families[0].rule = std::move(rule);
    CHECK(node_.create_table(spec).has_value());
    return spec.name;
  }
  int64_t now_us() { return node_.world().clock().wall_us(); }
  void write(const std::string& table, const std::string& row, std::vector<OwnedMutation> ops) {
    pending_.push_back(node_.begin_write(table, row, std::move(ops)));
    if (pending_.size() >= kTogether) settle();
  }
  void drop(const std::string& table, const std::string& start, const std::string& end) {
    pending_.push_back(node_.begin_drop_rows(node_.table(table)->tablets[0], start, end));
    if (pending_.size() >= kTogether) settle();
  }
  void settle() {
    for (const auto& one : pending_) {
      node_.wait(*one);
      CHECK(!one->write.error, "{}", one->write.error->to_string());
    }
    pending_.clear();
  }
  uint64_t read(const std::string& table, const ReadSpec& spec) {
    return count_cells(node_, node_.table(table)->tablets.front(), spec);
  }
  void to_disk(const std::string& table) { CHECK(node_.flush(table).has_value()); }
  void compact(const std::string& table) { CHECK(node_.compact(table).has_value()); }
  void forget(const std::string& table) { CHECK(node_.drop_table(table).has_value()); }

 private:
  static constexpr size_t kTogether = 64;

  static TestNodeOptions options() {
    TestNodeOptions options;
    options.engine.memory_bytes = size_t{2} << 30;
    options.engine.memtable_bytes = 256u << 20;
    options.engine.table_bytes = 1u << 30;
    options.engine.log_segment_bytes = 64u << 20;
    options.log.segment_bytes = 64u << 20;
    options.engine.removal_margin_us = 0;
    return options;
  }

  TestNode node_;
  int tables_ = 0;
  std::vector<std::unique_ptr<PendingWrite>> pending_;
};

double processor_ms();  // of this thread, so far

// Prepares n items; returns the work to be measured.
using Work = std::function<void()>;
using Prepare = std::function<Work(size_t n)>;

class Figures {
 public:
  Figures(std::string only, int rounds) : only_(std::move(only)), rounds_(rounds) {
    fmt::print("{:<74}{:>8}{:>10}{:>10}{:>10}{:>7}{:>7}\n", "what", "n", "n ms", "4n ms", "16n ms",
               "4n/n", "16/4");
  }
  bool wants(const std::string& what) const { return what.find(only_) != std::string::npos; }
  // The minimum of `rounds`. `once`: the work cannot be repeated.
  void figure(const std::string& what, size_t n, const Prepare& prepare, bool once = false,
              int sizes = 3) {
    if (!wants(what)) return;
    std::vector<double> ms;
    for (int i = 0; i < sizes; ++i) {
      double least = 1e18;
      const size_t size = n << (2 * i);
      Work work;
      for (int round = 0; round < rounds_; ++round) {
        if (!work || once) work = prepare(size);
        const double began = processor_ms();
        work();
        least = std::min(least, processor_ms() - began);
      }
      ms.push_back(least);
    }
    const auto shown = [](double value) {
      return fmt::format("{:.{}f}", value, value < 10 ? 2 : 0);
    };
    fmt::print("{:<74}{:>8}{:>10}{:>10}{:>10}{:>7.1f}{:>7}\n", what, n, shown(ms[0]), shown(ms[1]),
               sizes > 2 ? shown(ms[2]) : "", ms[1] / ms[0],
               sizes > 2 ? fmt::format("{:.1f}", ms[2] / ms[1]) : "");
    std::fflush(stdout);
  }

 private:
  std::string only_;
  int rounds_;
};

// The cases, each on its own bed.
void versions(Figures& figures, Bed& bed);
void columns(Figures& figures, Bed& bed);
void filters(Figures& figures, Bed& bed);
void deletes(Figures& figures, Bed& bed);
void costs(Figures& figures, Bed& bed);

}  // namespace cellar::support
