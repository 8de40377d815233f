// A random workload over one table whose tablets are split, merged and moved meanwhile, and the
// states that each of its rows may have afterwards.
//
// The commits of every row are kept in the order of their submission. The state of a row must be
// the result of some prefix of them: of all of them while the node lives, of at least those up to
// the last acknowledged one after a crash.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/base/random.h"
#include "io/sim/faulty_fs.h"
#include "tests/support/test_node.h"

namespace cellar::support {

using Commits = std::vector<std::shared_ptr<PendingWrite>>;

// How many commits of each row must survive a power failure at that moment, and how many may.
struct RowBounds {
  size_t least = 0;
  size_t most = 0;
};

class ReshapeWorkload {
 public:
  static constexpr int kRows = 40;
  static constexpr size_t kInFlight = 8;

  explicit ReshapeWorkload(TestNodeOptions options) : random_(options.seed), node_(options) {}

  TestNode& node() { return node_; }
  Random& random() { return random_; }
  std::string row(uint64_t i) const { return fmt::format("k{:02}", i); }
  std::string random_row() { return row(random_.below(kRows)); }
  const std::vector<engine::TabletDescriptor>& tablets() { return node_.table("t")->tablets; }
  const engine::TabletDescriptor& random_tablet() {
    return tablets()[random_.below(tablets().size())];
  }

  // ---- writing; a refused write has no effect
  void write(const std::string& at) {
    if (node_.table("t")->locate(at).held) return;
    std::vector<OwnedMutation> ops;
    for (uint64_t n = 1 + random_.below(3); n > 0; --n) {
      const uint64_t dice = random_.below(20);
      const std::string column = fmt::format("f:{}", random_.below(3));
      if (dice == 0) {
        ops.push_back(delete_row());
      } else if (dice < 3) {
        ops.push_back(delete_column(column, 0, static_cast<int64_t>(1 + random_.below(5))));
      } else {
        const size_t bytes = random_.one_in(10) ? 9'000 : 20;
        ops.push_back(set_cell(column, static_cast<int64_t>(random_.below(5)),
                               std::to_string(++values_) + std::string(bytes, 'v')));
      }
    }
    std::shared_ptr<PendingWrite> pending = node_.begin_write("t", at, std::move(ops));
    if (refused(*pending)) return;
    expect_stamp_rises(at, pending->write.stamp);
    history_[at].push_back(pending);
    in_flight_.push_back(std::move(pending));
  }
  void drop_range() {
    std::string a = random_row();
    std::string b = random_.one_in(4) ? "" : random_row();
    if (!b.empty() && b < a) std::swap(a, b);
    if (a == b) return;
    for (const engine::TabletDescriptor& tablet : tablets()) {
      if (tablet.held) continue;
      std::shared_ptr<PendingWrite> pending = node_.begin_drop_rows(tablet, a, b);
      if (refused(*pending) || pending->write.stamp == CommitStamp{}) continue;
      const KeyRange part = intersect({a, b}, {tablet.start, tablet.end});
      for (int i = 0; i < kRows; ++i) {
        if (part.contains(row(static_cast<uint64_t>(i))))
          history_[row(static_cast<uint64_t>(i))].push_back(pending);
      }
      in_flight_.push_back(std::move(pending));
    }
  }
  void write_something() {
    if (random_.one_in(30)) return drop_range();
    write(random_row());
  }
  void flush_ahead(size_t most = 0) {
    while (in_flight_.size() > most) {
      node_.wait(*in_flight_.front());
      in_flight_.erase(in_flight_.begin());
    }
  }

  // ---- reshaping, concurrent with writes
  Async<Result<void>> random_reshape() {
    const engine::TabletDescriptor tablet = random_tablet();
    const uint64_t dice = random_.below(10);
    engine::Node& node = node_.node();
    if (dice < 4) {
      std::string at;
      if (!random_.one_in(3)) at = random_row();
      auto split = co_await node.split_tablet(ShardId{0}, tablet.id, std::move(at));
      if (!split) co_return std::unexpected(split.error());
    } else if (dice < 7) {
      std::vector<engine::TabletDescriptor> all = tablets();
      const size_t i = random_.below(all.size());
      if (i + 1 == all.size()) co_return Result<void>{};
      auto merged = co_await node.merge_tablets(ShardId{0}, all[i].id, all[i + 1].id);
      if (!merged) co_return std::unexpected(merged.error());
    } else {
      const ShardId to{static_cast<uint32_t>(random_.below(shards_))};
      auto moved = co_await node.move_tablet(ShardId{0}, tablet.id, to);
      if (!moved) co_return std::unexpected(moved.error());
    }
    co_return Result<void>{};
  }
  // Runs the work to its end, with a write every few rounds.
  Result<void> while_writing(Async<Result<void>> work) {
    std::optional<Result<void>> result;
    spawn(node_.loop(0).executor(), detail::run_into(std::move(work), result));
    int rounds = 0;
    const bool done = node_.world().run_until([&] {
      if (on_round) on_round();
      if (++rounds % 3 == 0 && in_flight_.size() < 4 * kInFlight) write_something();
      return result.has_value();
    });
    EXPECT_TRUE(done) << "a reshape never ended";
    return done ? *std::move(result) : Result<void>{};
  }
  std::function<void()> on_round;  // called during while_writing()
  void set_shards(uint32_t shards) { shards_ = shards; }

  // ---- checking
  std::map<std::string, RowBounds> bounds() const {
    std::map<std::string, RowBounds> all;
    for (const auto& [row, commits] : history_) {
      RowBounds& bounds = all[row];
      bounds.most = commits.size();
      for (size_t i = 0; i < commits.size(); ++i) {
        if (commits[i]->acked()) bounds.least = i + 1;
      }
    }
    return all;
  }
  // The node holds the whole workload: a live node has each acknowledged commit and no refused one.
  void check(TestNode& node, const std::string& note) const { check(node, bounds(), note); }
  void check(TestNode& node, const std::map<std::string, RowBounds>& bounds,
             const std::string& note) const {
    ASSERT_TRUE(node.is_open()) << note << ": " << node.open_error()->to_string();
    check_cover(node, note);
    std::map<std::string, std::vector<OwnedCell>> rows;
    ReadSpec spec;
    spec.rows = RowSet::everything();
    const auto all = node.read("t", spec);
    ASSERT_TRUE(all) << note << ": " << all.error().to_string();
    for (const OwnedCell& cell : *all) rows[cell.row].push_back(cell);
    spec.reversed = true;
    auto back = node.read("t", spec);
    ASSERT_TRUE(back) << note << ": " << back.error().to_string();
    EXPECT_EQ(back->size(), all->size()) << note;
    for (const auto& [row, found] : rows) EXPECT_TRUE(bounds.contains(row)) << note << row;
    for (const auto& [row, bound] : bounds) check_row(row, bound, rows[row], note);
  }

 private:
  static bool refused(const PendingWrite& pending) {
    return pending.finished && pending.write.error && pending.write.append.failure == nullptr;
  }
  void expect_stamp_rises(const std::string& row, CommitStamp stamp) {
    EXPECT_GT(stamp, last_stamp_[row]) << row;
    last_stamp_[row] = stamp;
  }
  void check_row(const std::string& row, RowBounds bound, const std::vector<OwnedCell>& got,
                 const std::string& note) const {
    ReadSpec spec;
    spec.rows.add(KeyRange::single(row));
    spec.rows.normalize();
    const Commits& commits = history_.at(row);
    for (size_t n = bound.most + 1; n-- > bound.least;) {
      RowModel model(Granularity::micros);
      for (size_t i = 0; i < n; ++i) {
        const PendingWrite& commit = *commits[i];
        // Stamps count from 1 here: the commits of a row are in order, and tablets have separate
        // clocks.
        if (commit.write.range) {
          model.drop_rows(CommitStamp{i + 1}, row, "");
        } else {
          model.mutate(CommitStamp{i + 1}, row, commit.ops, 0);
        }
      }
      if (model.read(spec) == got) return;
      if (n == bound.most && bound.least == bound.most) {
        ADD_FAILURE() << note << ": row " << row << " holds\n"
                      << to_text(got) << "and should hold\n"
                      << to_text(model.read(spec));
        return;
      }
    }
    ADD_FAILURE() << note << ": row " << row << " is no prefix between " << bound.least << " and "
                  << bound.most << " commits:\n"
                  << to_text(got);
  }
  // The tablets of the table cover every row once, none is on hold, and all shards have the same
  // map.
  static void check_cover(TestNode& node, const std::string& note) {
    std::string expected;
    const auto& tablets = node.table("t")->tablets;
    for (const engine::TabletDescriptor& tablet : tablets) {
      EXPECT_EQ(tablet.start, expected) << note;
      EXPECT_FALSE(tablet.held) << note;
      expected = tablet.end;
    }
    EXPECT_EQ(expected, "") << note;
    EXPECT_EQ(node.figures("t").size(), tablets.size()) << note;
  }

  Random random_;
  uint64_t values_ = 0;
  uint32_t shards_ = 1;
  std::map<std::string, Commits> history_;
  std::map<std::string, CommitStamp> last_stamp_;
  Commits in_flight_;
  TestNode node_;
};

}  // namespace cellar::support
