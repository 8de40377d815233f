// What is done n, 4n and 16n times in an embedded engine on a disk in memory, and what each took of
// this thread's processor time: 4 is linear, 16 quadratic. Rows of many versions under every kind
// of rule, with deletes and expiries among them; rows of many columns; requests of many mutations;
// filters as deep and as large as they may be; many dropped ranges; many deletes in a column.
//
//   cellar-bench-linear [--only TEXT] [--rounds 3]
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <vector>

#include <CLI/CLI.hpp>

#include "engine/filter/compiled_filter.h"
#include "engine/read/scan.h"
#include "engine/retention/step_rule.h"
#include "io/base/check.h"
#include "io/base/log.h"
#include "tests/support/filter_model.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

constexpr int64_t kDayUs = 86'400'000'000;

double processor_ms() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
}

struct Count final : CellSink {
  uint64_t cells = 0;
  Flow cell(const CellView&) override { return ++cells, Flow::more; }
  Flow end_row(Bytes) override { return Flow::more; }
};

ReadSpec everything(bool reversed = false, uint32_t versions = 0) {
  ReadSpec spec;
  spec.rows = RowSet::everything();
  spec.reversed = reversed;
  spec.versions = versions;
  return spec;
}

class Bed {
 public:
  Bed() : node_(options()) {}

  // A table of its own, of one family.
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
    const engine::TabletDescriptor& tablet = node_.table(table)->tablets.front();
    auto cursor = node_.node().engine(tablet.shard).open_scan(tablet.id, tablet.epoch, spec);
    CHECK(cursor.has_value());
    Count count;
    while (true) {
      const engine::ScanStep step = (*cursor)->run(count);
      if (step == engine::ScanStep::done) return count.cells;
      CHECK(step != engine::ScanStep::failed, "{}", (*cursor)->error().to_string());
      if (step == engine::ScanStep::blocked)
        node_.world().block_on(node_.loop(tablet.shard.value()), (*cursor)->load());
    }
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

// Prepares n of something; answers what is to be measured.
using Work = std::function<void()>;
using Prepare = std::function<Work(size_t n)>;

class Table {
 public:
  Table(std::string only, int rounds) : only_(std::move(only)), rounds_(rounds) {
    fmt::print("{:<74}{:>8}{:>10}{:>10}{:>10}{:>7}{:>7}\n", "what", "n", "n ms", "4n ms", "16n ms",
               "4n/n", "16/4");
  }
  bool wants(const std::string& what) const { return what.find(only_) != std::string::npos; }
  // The least of `rounds`. `once`: the work cannot be repeated.
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

// ---- versions

struct Mix {
  const char* name;
  std::function<RetentionRule(int64_t half)> rule;
  bool deletes = false;
  bool expiries = false;
};

std::vector<Mix> mixes() {
  const auto none = [](int64_t) { return RetentionRule(); };
  const auto count = [](int64_t half) { return RetentionRule::max_versions(half); };
  const auto either = [](int64_t half) {
    return RetentionRule::union_of(
        {RetentionRule::max_versions(half), RetentionRule::max_age_us(kDayUs)});
  };
  const auto both = [](int64_t half) {
    return RetentionRule::intersection_of(
        {RetentionRule::max_versions(half), RetentionRule::max_age_us(kDayUs)});
  };
  return {{"no rule", none},
          {"max_versions", count},
          {"union", either},
          {"intersection", both},
          {"no rule, time-range deletes", none, true},
          {"union, time-range deletes, expiries (exact replay)", either, true, true},
          {"intersection, deletes, expiries (exact replay)", both, true, true}};
}

void fill_versions(Bed& bed, const std::string& table, const Mix& mix, size_t n) {
  const int64_t base_us = bed.now_us() - kDayUs / 2;
  for (size_t i = 0; i < n; ++i) {
    const auto at_us = base_us + static_cast<int64_t>(i) * 10;
    OwnedMutation set = set_cell("f:q", at_us, "value");
    if (mix.expiries && i % 3 == 1) set.expire_at_us = base_us + kDayUs + static_cast<int64_t>(i);
    bed.write(table, "row", {set});
    const auto middle_us = base_us + static_cast<int64_t>(i) * 5;
    if (mix.deletes && i % 3 == 0)
      bed.write(table, "row", {delete_column("f:q", middle_us, middle_us + 3)});
  }
  bed.settle();
}

void versions(Table& figures, Bed& bed) {
  constexpr size_t kFew = 10'000;
  for (const Mix& mix : mixes()) {
    const std::string name = fmt::format("versions, {}", mix.name);
    if (!figures.wants(name)) continue;
    const auto table = [&bed, &mix](size_t n) {
      return bed.table(mix.rule(static_cast<int64_t>(n / 2)));
    };
    const auto filled = [&bed, &mix, table](size_t n) {
      const std::string made = table(n);
      fill_versions(bed, made, mix, n);
      return made;
    };
    figures.figure(
        name + ": written", kFew,
        [&](size_t n) { return [&bed, &mix, n, t = table(n)] { fill_versions(bed, t, mix, n); }; },
        true);
    for (const auto& [what, spec] : {std::pair(": all read", everything()),
                                     {": the newest read", everything(false, 1)},
                                     {": read by a reversed scan", everything(true)}}) {
      figures.figure(name + what, kFew, [&, wanted = spec](size_t n) {
        return [&bed, wanted, t = filled(n)] { CHECK(bed.read(t, wanted) > 0); };
      });
    }
    figures.figure(
        name + ": flushed and merged", kFew,
        [&](size_t n) {
          const std::string made = filled(n);
          bed.to_disk(made);
          bed.write(made, "row", {set_cell("f:q", bed.now_us(), "newest")});
          bed.settle();
          return [&bed, made] {
            bed.to_disk(made);
            bed.compact(made);
          };
        },
        true);
  }
}

// ---- columns and mutations

void columns(Table& figures, Bed& bed) {
  const auto ops = [&bed](size_t n) {
    std::vector<OwnedMutation> all;
    for (size_t i = 0; i < n; ++i)
      all.push_back(set_cell(fmt::format("f:q{:06}", i), bed.now_us(), "value"));
    return all;
  };
  const auto filled = [&](size_t n) {
    const std::string made = bed.table(RetentionRule::max_versions(2));
    bed.write(made, "row", ops(n));
    bed.settle();
    return made;
  };
  constexpr size_t kFew = 6250;
  figures.figure(
      "columns: written in one mutation", kFew,
      [&](size_t n) {
        return [&bed, all = ops(n), t = bed.table({})] {
          bed.write(t, "row", all);
          bed.settle();
        };
      },
      true);
  for (const bool reversed : {false, true}) {
    figures.figure(
        reversed ? "columns: read by a reversed scan" : "columns: read", kFew, [&](size_t n) {
          return
              [&bed, n, reversed, t = filled(n)] { CHECK(bed.read(t, everything(reversed)) == n); };
        });
  }
  // Sets, deletes of columns, of time ranges and of the family, all mixed, of few columns.
  figures.figure(
      "one mutation of every kind of operation", kFew,
      [&](size_t n) {
        std::vector<OwnedMutation> all;
        Random random(n);
        for (size_t i = 0; i < n; ++i) {
          const std::string column = fmt::format("f:q{}", random.below(8));
          const auto at_us = static_cast<int64_t>(random.below(1'000'000));
          const uint64_t dice = random.below(10);
          if (i == n / 10) all.push_back(delete_family("f"));
          if (dice < 4) {
            all.push_back(delete_column(column, at_us, at_us + 100));
          } else {
            all.push_back(set_cell(column, at_us, "value"));
          }
        }
        all.resize(n);
        return [&bed, all, t = bed.table({})] {
          bed.write(t, "row", all);
          bed.settle();
        };
      },
      true);
  figures.figure(
      "rows: a mutation each", kFew,
      [&](size_t n) {
        return [&bed, n, t = bed.table({})] {
          for (size_t i = 0; i < n; ++i)
            bed.write(t, fmt::format("{:06}", i), {set_cell("f:q", 1, "value")});
          bed.settle();
        };
      },
      true);
}

// ---- filters

FilterSpec leaf(FilterKind kind, std::string text = {}, int64_t count = 0) {
  return filter_of(filter_leaf(kind, std::move(text), count));
}

// As deep as may be: conditions, interleaves and chains in turn.
FilterSpec deepest() {
  FilterSpec spec = leaf(FilterKind::value_regex, "v.*");
  const FilterSpec odd = leaf(FilterKind::qualifier_regex, "q.*[13579]");
  FilterNode none = filter_leaf(FilterKind::value_range, "w");
  none.has_start = true;
  for (size_t level = 1; level < kMaxFilterDepth; ++level) {
    if (level % 3 == 0) {
      spec = filter_condition(filter_of(none), &odd, &spec);
    } else if (level % 3 == 1) {
      spec = filter_tree(FilterKind::interleave, {spec, filter_of(none)});
    } else {
      spec = filter_tree(FilterKind::chain, {leaf(FilterKind::cells_per_column, {}, 3), spec});
    }
  }
  return spec;
}

std::string alternation(size_t bytes) {
  std::string text = "value";
  for (size_t i = 0; text.size() + 8 <= bytes; ++i) text += fmt::format("|w{:05}x", i);
  return text;
}

void filters(Table& figures, Bed& bed) {
  const auto filled = [&bed](size_t n) {
    const std::string made = bed.table({});
    std::vector<OwnedMutation> all;
    for (size_t i = 0; i < n; ++i) all.push_back(set_cell(fmt::format("f:q{:06}", i), 1, "value"));
    bed.write(made, "row", std::move(all));
    bed.settle();
    return made;
  };
  const auto filtered = [&bed](const std::string& table, const FilterSpec& filter) {
    ReadSpec spec = everything();
    auto plan = engine::plan_filter(filter);
    CHECK(plan.has_value(), "{}", plan.error().to_string());
    plan->narrow(spec);
    return bed.read(table, spec);
  };
  const auto over_row = [&](const char* what, const FilterSpec& filter) {
    figures.figure(fmt::format("filter over a row: {}", what), 6250, [&](size_t n) {
      return [&, t = filled(n)] { CHECK(filtered(t, filter) > 0); };
    });
  };
  over_row("20 levels", deepest());
  over_row("an alternation of 20,000 bytes", leaf(FilterKind::value_regex, alternation(20'000)));
  // Over 1,000 cells, the filter grows.
  const auto of_size = [&](const char* what, size_t n,
                           const std::function<FilterSpec(size_t)>& make) {
    figures.figure(
        fmt::format("filter that grows: {}", what), n,
        [&](size_t size) {
          return [&, filter = make(size), t = filled(1000)] { CHECK(filtered(t, filter) > 0); };
        },
        false, 2);
  };
  of_size("a chain of regular expressions", 300, [](size_t n) {
    return filter_tree(FilterKind::chain,
                       std::vector<FilterSpec>(n, leaf(FilterKind::value_regex, "v.*")));
  });
  of_size("an interleave that gives one branch", 500, [](size_t n) {
    FilterNode none = filter_leaf(FilterKind::value_range, "w");
    none.has_start = true;
    std::vector<FilterSpec> parts(n - 2, filter_of(none));
    parts.push_back(leaf(FilterKind::pass));
    return filter_tree(FilterKind::interleave, parts);
  });
  of_size("a chain of conditions", 200, [](size_t n) {
    FilterNode none = filter_leaf(FilterKind::value_range, "w");
    none.has_start = true;
    const FilterSpec pass = leaf(FilterKind::pass);
    return filter_tree(
        FilterKind::chain,
        std::vector<FilterSpec>(n, filter_condition(filter_of(none), nullptr, &pass)));
  });
  of_size("bytes of an alternation", 5000,
          [](size_t n) { return leaf(FilterKind::value_regex, alternation(n)); });
  figures.figure(
      "rule compiled: parts with an age and a count", 340,
      [](size_t n) {
        std::vector<RetentionRule> parts;
        for (size_t i = 1; i <= n; ++i)
          parts.push_back(RetentionRule::intersection_of(
              {RetentionRule::max_age_us(1000 * static_cast<int64_t>(i)),
               RetentionRule::max_versions(static_cast<int64_t>(10'000 - i))}));
        return [rule = RetentionRule::union_of(parts)] {
          for (int i = 0; i < 20; ++i) CHECK(!engine::StepRule(rule).steps().empty());
        };
      },
      false, 2);
}

// ---- deletes

void deletes(Table& figures, Bed& bed) {
  constexpr size_t kFew = 1000;
  const auto beside = [&bed](const std::string& table, size_t n) {
    for (size_t i = 0; i < n; ++i) {
      const std::string row = fmt::format("{:06}", i);
      bed.drop(table, row + "a", row + "b");
    }
    bed.settle();
  };
  const auto rule = RetentionRule::max_versions(3);
  figures.figure(
      "dropped ranges: dropped", kFew,
      [&](size_t n) { return [&, n, t = bed.table(rule)] { beside(t, n); }; }, true);
  const auto rows = [&bed](const std::string& table, size_t n) {
    for (size_t i = 0; i < n; ++i)
      bed.write(table, fmt::format("{:06}", i), {set_cell("f:q", 1, "value")});
    bed.settle();
  };
  figures.figure("dropped ranges: as many rows beside them read", kFew, [&](size_t n) {
    const std::string t = bed.table(rule);
    rows(t, n);
    beside(t, n);
    return [&bed, t, n] { CHECK(bed.read(t, everything()) == n); };
  });
  figures.figure("dropped ranges: as many rows under all of them read", kFew, [&](size_t n) {
    const std::string t = bed.table(rule);
    rows(t, n);
    for (size_t i = 0; i < n; ++i) bed.drop(t, "", "");
    bed.settle();
    bed.write(t, "last", {set_cell("f:q", 1, "value")});
    bed.settle();
    return [&bed, t] { CHECK(bed.read(t, everything()) == 1); };
  });
  figures.figure("dropped ranges: 1,000 rows read one by one", kFew, [&](size_t n) {
    const std::string t = bed.table(rule);
    rows(t, 1000);
    beside(t, n);
    return [&bed, t] {
      for (size_t i = 0; i < 1000; ++i) {
        ReadSpec spec;
        spec.rows.add(KeyRange::single(fmt::format("{:06}", i)));
        spec.rows.normalize();
        CHECK(bed.read(t, spec) == 1);
      }
    };
  });
  figures.figure(
      "dropped ranges: flushed and merged", kFew,
      [&](size_t n) {
        const std::string t = bed.table(rule);
        rows(t, n);
        bed.to_disk(t);
        beside(t, n);
        return [&bed, t] {
          bed.to_disk(t);
          bed.compact(t);
        };
      },
      true);
  for (const bool counts : {false, true}) {
    figures.figure(
        counts ? "time-range deletes of a column that counts: read" : "time-range deletes: read",
        kFew, [&, counts](size_t n) {
          const std::string t =
              bed.table(counts ? RetentionRule::max_versions(1 << 20) : RetentionRule());
          for (size_t i = 0; i < n; ++i) {
            const auto at_us = static_cast<int64_t>(i) * 10;
            bed.write(t, "row", {set_cell("f:q", at_us + 5, "value")});
            bed.write(t, "row", {delete_column("f:q", at_us, at_us + 3)});
          }
          bed.settle();
          return [&bed, t, n] { CHECK(bed.read(t, everything()) == n); };
        });
  }
}

// ---- what the cost model counts (bench/COST_MODEL.md)

constexpr size_t kCostValueBytes = 100;

// Rows of one cell with a key of 32 bytes, in no order, in so many runs.
void fill_rows(Bed& bed, const std::string& table, size_t n, size_t runs) {
  Random random(n);
  for (size_t i = 0; i < n; ++i) {
    std::string value(kCostValueBytes, 'v');
    for (size_t at = 0; at < value.size() / 2; ++at)
      value[at] = static_cast<char>(' ' + random.below(64));
    const std::string row = fmt::format("{:032}", i * 2'654'435'761 % 1'000'000'007);
    bed.write(table, row, {set_cell("f:q", 1000, value)});
    if (runs > 1 && (i + 1) % ((n + runs - 1) / runs) == 0) {
      bed.settle();
      bed.to_disk(table);
    }
  }
  bed.settle();
}

void costs(Table& figures, Bed& bed) {
  constexpr size_t kFew = 20'000;
  const auto filled = [&bed](size_t n, size_t runs) {
    const std::string made = bed.table({});
    fill_rows(bed, made, n, runs);
    return made;
  };
  figures.figure(
      "cost: rows of 32 + 100 bytes written", kFew,
      [&](size_t n) { return [&bed, n, t = bed.table({})] { fill_rows(bed, t, n, 1); }; }, true);
  figures.figure(
      "cost: those rows flushed", kFew,
      [&](size_t n) { return [&bed, t = filled(n, 1)] { bed.to_disk(t); }; }, true);
  figures.figure(
      "cost: those rows merged from 4 runs", kFew,
      [&](size_t n) {
        const std::string t = filled(n, 4);
        bed.to_disk(t);
        return [&bed, t] { bed.compact(t); };
      },
      true);
  figures.figure("cost: those rows scanned", kFew, [&](size_t n) {
    const std::string t = filled(n, 1);
    bed.to_disk(t);
    return [&bed, t, n] { CHECK(bed.read(t, everything()) == n); };
  });
  for (const size_t runs : {size_t{1}, size_t{4}}) {
    figures.figure(
        fmt::format("cost: 10,000 of those rows read, {} runs", runs), kFew, [&, runs](size_t n) {
          const std::string t = filled(n, runs);
          bed.to_disk(t);
          return [&bed, t, n] {
            for (size_t i = 0; i < 10'000; ++i) {
              ReadSpec spec;
              const size_t which = i * 7919 % n;
              spec.rows.add(
                  KeyRange::single(fmt::format("{:032}", which * 2'654'435'761 % 1'000'000'007)));
              spec.rows.normalize();
              CHECK(bed.read(t, spec) == 1);
            }
          };
        });
  }
}

int run(int argc, char** argv) {
  CLI::App app("What grows with its size, and by how much");
  int rounds = 3;
  std::string only;
  app.add_option("--rounds", rounds, "repetitions, of which the least time counts");
  app.add_option("--only", only, "what has this in its name");
  CLI11_PARSE(app, argc, argv);
  set_log_level(LogLevel::error);
  Table figures(only, rounds);
  for (const auto& part : {costs, versions, columns, filters, deletes}) {
    Bed bed;
    part(figures, bed);
  }
  return 0;
}

}  // namespace
}  // namespace cellar::support

int main(int argc, char** argv) { return cellar::support::run(argc, argv); }
