// The row cache in a node: whatever is written, deleted, flushed, moved or altered, and however
// time passes, a point read returns what a scan of the same row returns. Scans do not use the
// cache.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>

#include "engine/shard_figures.h"
#include "io/base/random.h"
#include "tests/engine/node/alter_bed.h"
#include "tests/support/seeds.h"

namespace cellar::support {
namespace {

constexpr int64_t kSecondUs = 1'000'000;
constexpr int kRows = 6;

const std::vector<std::string>& family_names() {
  static const std::vector<std::string> names = {"all", "age", "few", "any", "both"};
  return names;
}

RetentionRule rule_of(Bytes family) {
  const RetentionRule age = RetentionRule::max_age_us(8 * kSecondUs);
  const RetentionRule versions = RetentionRule::max_versions(2);
  if (family == "age") return age;
  if (family == "few") return versions;
  if (family == "any") return RetentionRule::union_of({age, versions});
  if (family == "both") return RetentionRule::intersection_of({age, versions});
  return {};
}

class History {
 public:
  explicit History(uint64_t seed) : random_(seed), node_(options(seed)) {
    engine::TableSpec spec;
    spec.name = "t";
    spec.granularity = Granularity::micros;
    for (const std::string& name : family_names()) {
      engine::FamilySpec& family = spec.families.emplace_back();
      family.name = name;
      family.rule = rule_of(name);
    }
    EXPECT_TRUE(node_.create_table(spec));
  }

  void play(int steps) {
    for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
      const uint64_t what = random_.below(100);
      if (what < 60) {
        compare();
      } else if (what < 80) {
        write();
      } else if (what < 90) {
        node_.world().run_for_us(static_cast<int64_t>(random_.below(3 * kSecondUs)));
      } else {
        disturb();
      }
      while (!pending_.empty() && pending_.front()->finished) pending_.pop_front();
    }
    for (const auto& write : pending_) node_.wait(*write);
  }
  uint64_t hits() {
    uint64_t hits = 0;
    for (uint32_t shard = 0; shard < node_.shards(); ++shard)
      hits += node_.node().engine(ShardId{shard}).shard_figures().row_hits;
    return hits;
  }

 private:
  static TestNodeOptions options(uint64_t seed) {
    TestNodeOptions options;
    options.shards = 2;
    options.seed = seed;
    options.min_latency_us = 100;
    options.max_latency_us = 20'000;
    return options;
  }
  std::string any_row() { return fmt::format("r{}", random_.below(kRows)); }
  std::string any_column() {
    return fmt::format("{}:q{}", family_names()[random_.below(family_names().size())],
                       random_.below(2));
  }

  // A point read, which the node repeats (TestNode::read), against a scan.
  void compare() {
    const std::string row = any_row();
    ReadSpec point;
    point.rows.add(KeyRange::single(row));
    point.versions = static_cast<uint32_t>(random_.below(3));
    ReadSpec scan = point;
    scan.rows = {};
    scan.rows.add({row, row + std::string(2, '\0')});
    const auto scanned = node_.read("t", scan);
    const auto read = node_.read("t", point);
    const auto again = node_.read("t", scan);
    ASSERT_TRUE(scanned && read && again);
    // Reads from disk take time, in which cells may die.
    if (*scanned != *again) return;
    EXPECT_EQ(to_text(*read), to_text(*scanned)) << "seed " << node_.seed() << ", " << row;
  }

  void write() {
    std::vector<OwnedMutation> ops;
    const uint64_t what = random_.below(20);
    if (what == 0) ops.push_back(delete_row());
    if (what == 1) ops.push_back(delete_family(family_names()[random_.below(5)]));
    if (what == 2) ops.push_back(delete_column(any_column()));
    if (what > 2) {
      OwnedMutation set = set_cell(any_column(), kServerStamped, std::to_string(++values_));
      if (what == 3) set.ttl_us = static_cast<int64_t>(1 + random_.below(6 * kSecondUs));
      if (what == 4 && set.family == "few") set.timestamp_us = 5;
      ops.push_back(std::move(set));
    }
    const Durability level = random_.below(2) == 0 ? Durability::sync : Durability::memory;
    pending_.push_back(node_.begin_write("t", any_row(), std::move(ops), level));
    if (random_.below(2) == 0) node_.wait(*pending_.back());
  }

  void disturb() {
    switch (random_.below(6)) {
      case 0:
        EXPECT_TRUE(node_.drop_rows("t", any_row(), "r9"));
        break;
      case 1:
        EXPECT_TRUE(node_.flush("t"));
        break;
      case 2:
        EXPECT_TRUE(node_.compact("t"));
        break;
      case 3:
        alter();
        break;
      default:
        move();
    }
  }

  // Mostly without a change of a rule, after which the cache is not used.
  void alter() {
    if (random_.below(20) != 0) {
      (void)node_.alter_table(adding({fmt::format("x{}", ++values_)}));
      return;
    }
    TableChange change = of_table();
    engine::FamilySpec& family = change.alter.emplace_back();
    family.name = "few";
    family.rule = RetentionRule::max_versions(static_cast<int64_t>(1 + random_.below(3)));
    (void)node_.alter_table(std::move(change));
  }

  // Away and, later, back: results of the first stay must not be given after the second.
  void move() {
    const engine::TabletDescriptor tablet = node_.table("t")->tablets.front();
    (void)node_.move(tablet.id, 1 - tablet.shard.value());
  }

  Random random_;
  TestNode node_;
  std::deque<std::unique_ptr<PendingWrite>> pending_;
  int values_ = 0;
};

TEST(RowCacheHistory, APointReadReturnsWhatAScanReturns) {
  uint64_t hits = 0;
  for (const uint64_t seed : test_seeds(60)) {
    History history(seed);
    history.play(400);
    hits += history.hits();
    if (HasFailure()) return;
  }
  if (std::getenv("CELLAR_SEED") == nullptr) EXPECT_GT(hits, 60 * 100u);
}

}  // namespace
}  // namespace cellar::support
