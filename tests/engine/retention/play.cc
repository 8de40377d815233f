// Plays a history on a node (tests/support/test_node.h).
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/shard_engine.h"
#include "tests/engine/retention/history.h"
#include "tests/support/retention_model.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

constexpr int64_t kStartUs = 1'000'000'000;

TestNodeOptions options_of(uint64_t seed) {
  Random random(seed);
  TestNodeOptions options;
  options.seed = seed;
  options.shards = 1 + static_cast<uint32_t>(random.below(2));
  options.start_wall_us = kStartUs;
  const int64_t margins[] = {0, 0, 5000, 300'000'000};
  options.engine.removal_margin_us = margins[random.below(4)];
  options.engine.memtable_bytes = random.one_in(2) ? 64u << 10 : 1u << 20;
  return options;
}

TableOptions table_options(uint64_t seed) {
  Random random(seed + 1);
  TableOptions options;
  options.block_bytes = random.one_in(2) ? kMinBlockBytes : 4096;
  options.compression = random.one_in(2) ? Compression::none : Compression::lz4;
  return options;
}

class Player {
 public:
  Player(const History& history, uint64_t options_seed)
      : history_(history), random_(options_seed), node_(options_of(options_seed)) {
    engine::TableSpec spec;
    spec.name = "t";
    spec.granularity = Granularity::micros;
    spec.options = table_options(options_seed);
    spec.splits = {"b"};
    for (const History::Family& family : history.families) {
      engine::FamilySpec& made = spec.families.emplace_back();
      made.name = family.name;
      made.rule = family.rule;
      made.born_dead = BornDead::accept;
      made.undo_window_us = family.undo_window_us;
      model_.create_family(family.name, family.rule, family.undo_window_us);
    }
    expect(node_.create_table(std::move(spec)), "create");
  }

  std::optional<std::string> run() {
    for (size_t i = 0; i < history_.steps.size() && !problem_; ++i) {
      step(history_.steps[i]);
      if (problem_) problem_ = fmt::format("step {}: {}", i, *problem_);
    }
    return problem_;
  }

 private:
  using Kind = HistoryStep::Kind;

  template <class R>
  bool expect(const R& result, const char* what) {
    if (result) return true;
    problem_ = fmt::format("{}: {}", what, result.error().to_string());
    return false;
  }
  int64_t now_us() { return node_.world().clock().wall_us(); }

  void step(const HistoryStep& step) {
    switch (step.kind) {
      case Kind::write: {
        const auto stamp = node_.write("t", step.row, step.ops);
        if (expect(stamp, "write")) model_.mutate(*stamp, step.row, step.ops);
        return;
      }
      case Kind::drop_rows:
        return drop_rows(step);
      case Kind::change_rule:
        return change_rule(step);
      case Kind::pass_time:
        node_.world().clock().advance_us(step.us);
        return;
      case Kind::flush:
        return (void)expect(node_.flush("t"), "flush");
      case Kind::compact:
        return (void)expect(node_.compact("t"), "compact");
      case Kind::compact_some:
        return compact_some(step);
      case Kind::crash:
        node_.crash(static_cast<CrashPolicy>(step.a % 4));
        return (void)expect(node_.reopen(), "reopen after a crash");
      case Kind::kill:
        node_.kill();
        return (void)expect(node_.reopen(), "reopen after a kill");
      case Kind::close:
        if (expect(node_.close(), "close")) expect(node_.reopen(), "reopen");
        return;
      case Kind::read:
        return read(step);
    }
  }

  void drop_rows(const HistoryStep& step) {
    const std::vector<engine::TabletDescriptor> tablets = node_.table("t")->tablets;
    for (const engine::TabletDescriptor& tablet : tablets) {
      const auto pending = node_.begin_drop_rows(tablet, step.row, step.end);
      node_.wait(*pending);
      if (pending->write.error) problem_ = "drop: " + pending->write.error->to_string();
      if (pending->write.stamp == CommitStamp{}) continue;  // nothing of it lies there
      const KeyRange rows{std::max(step.row, tablet.start),
                          tablet.end.empty() ? step.end : std::min(step.end, tablet.end)};
      model_.drop_rows(pending->write.stamp, rows.start, rows.end);
    }
  }

  void change_rule(const HistoryStep& step) {
    engine::TableChange change;
    change.name = "t";
    engine::FamilySpec& family = change.alter.emplace_back();
    family.name = step.family;
    family.rule = step.rule;
    const bool refused = model_.refuses(step.family, step.rule, now_us());
    const auto entry = node_.alter_table(std::move(change));
    if (!entry && refused && entry.error().code == Errc::failed_precondition) return;
    if (!expect(entry, "change a rule")) return;
    if (refused) problem_ = "a ninth undo window was opened";
    const auto& past = entry->schema.find_family(step.family)->history;
    const CommitStamp stamp = past.empty() ? CommitStamp{} : past.back().until;
    model_.change_rule(stamp, now_us(), step.family, step.rule);
  }

  void compact_some(const HistoryStep& step) {
    const std::vector<engine::TabletDescriptor> tablets = node_.table("t")->tablets;
    const engine::TabletDescriptor& tablet = tablets[step.a % tablets.size()];
    auto& shard = static_cast<engine::ShardEngine&>(node_.node().engine(tablet.shard));
    expect(node_.world().block_on(node_.loop(tablet.shard.value()),
                                  shard.compact_window(tablet.id, step.a / 8, step.b)),
           "compact some");
  }

  // A read of everything, or of a part of it; the model's answer is cut by hand.
  void read(const HistoryStep& step) {
    ReadSpec spec;
    const bool one_row = step.a % 4 == 0;
    const std::string row(1, static_cast<char>('a' + step.b % 3));
    if (one_row) {
      spec.rows.add(KeyRange::single(row));
      spec.rows.normalize();
    } else {
      spec.rows = RowSet::everything();
    }
    if (step.a % 3 == 0) {
      spec.time_range.start_us = now_us() - static_cast<int64_t>(step.b / 8 % 30) * 1000;
      spec.time_range.end_us =
          spec.time_range.start_us + 1 + static_cast<int64_t>(step.b / 256 % 20) * 1000;
    }
    spec.versions = step.a % 5 == 0 ? 1 + static_cast<uint32_t>(step.b % 2) : 0;
    const int64_t before_us = now_us();
    const auto got = node_.read("t", spec);
    if (!expect(got, "read")) return;
    if (now_us() != before_us) return;  // time has passed meanwhile; what it saw is not known

    std::vector<OwnedCell> expected;
    uint32_t taken = 0;
    std::string column;
    for (OwnedCell& cell : model_.read(before_us)) {
      if (one_row && cell.row != row) continue;
      if (!spec.time_range.contains(cell.timestamp_us)) continue;
      std::string at = cell.row + ' ' + cell.family + ':' + cell.qualifier;
      if (std::exchange(column, at) != at) taken = 0;
      if (spec.versions != 0 && taken++ >= spec.versions) continue;
      expected.push_back(std::move(cell));
    }
    if (*got == expected) return;
    problem_ = fmt::format("at {} the node answers\n{}and the model\n{}", before_us, to_text(*got),
                           to_text(expected));
  }

  const History& history_;
  Random random_;
  TestNode node_;
  RetentionModel model_;
  std::optional<std::string> problem_;
};

}  // namespace

std::optional<std::string> play(const History& history, uint64_t options_seed) {
  return Player(history, options_seed).run();
}

}  // namespace cellar::support
