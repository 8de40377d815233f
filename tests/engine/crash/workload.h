// A random workload over one table, and the states that a node may recover to after a power
// failure.
//
// The table is cut into tablets; each has its own order of commits. A recovered tablet must hold
// exactly the result of some prefix of its commits, and that prefix must include every commit that
// was acknowledged at level sync before the power failed.
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

// One tablet's commits, in the order in which they were submitted.
struct TabletHistory {
  std::string start;
  std::string end;
  std::vector<std::shared_ptr<PendingWrite>> commits;

  // The number of commits that must survive a power failure at this moment.
  size_t durable() const {
    size_t n = 0;
    for (size_t i = 0; i < commits.size(); ++i) {
      const bool sync = commits[i]->write.level.value_or(Durability::sync) == Durability::sync;
      if (sync && commits[i]->acked()) n = i + 1;
    }
    return n;
  }
};

struct CrashImage {
  std::unique_ptr<MemDisk> disk;
  std::vector<size_t> durable;    // per tablet
  std::vector<size_t> submitted;  // per tablet
  int64_t wall_us = 0;
  bool table_exists = false;  // its creation had been answered
  std::string note;
};

class CrashWorkload {
 public:
  explicit CrashWorkload(uint64_t seed, FaultRules* faults = nullptr)
      : random_(seed), node_(options(seed, faults)) {}

  void run(int steps) {
    ASSERT_TRUE(node_.is_open()) << node_.open_error()->to_string();
    auto created = node_.create_table("t", {"f", "g"}, {"k10", "k20"});
    if (!created) return;
    for (const auto& tablet : created->tablets)
      histories_.push_back({tablet.start, tablet.end, {}});
    for (int i = 0; i < steps; ++i) step();
    settle(0);
  }

  // From now on one round in `one_in` takes an image, until there are `most`.
  void take_images(uint64_t one_in, size_t most) {
    one_in_ = one_in;
    most_ = most;
  }
  std::vector<CrashImage>& images() { return images_; }
  TestNode& node() { return node_; }
  const std::vector<TabletHistory>& histories() const { return histories_; }

  // The cells of tablet `i` after its first n commits.
  std::vector<OwnedCell> expected(size_t i, size_t n) const {
    ReadSpec spec;
    spec.rows.add({histories_[i].start, histories_[i].end});
    spec.rows.normalize();
    RowModel model(Granularity::micros);
    for (size_t c = 0; c < n; ++c) apply(*histories_[i].commits[c], model);
    return model.read(spec);
  }

  // Tablet `i` of a recovered node is a prefix of at least `durable` and at most `submitted`.
  void check_tablet(TestNode& node, size_t i, size_t durable, size_t submitted,
                    const std::string& note) const {
    ReadSpec spec;
    spec.rows.add({histories_[i].start, histories_[i].end});
    spec.rows.normalize();
    const auto got = node.read("t", spec);
    ASSERT_TRUE(got) << note << ": " << got.error().to_string();
    for (size_t n = submitted + 1; n-- > durable;) {
      if (*got == expected(i, n)) return;
    }
    ADD_FAILURE() << note << ": tablet " << i << " is no prefix between " << durable << " and "
                  << submitted << " commits; it holds\n"
                  << to_text(*got) << "after all of them it would hold\n"
                  << to_text(expected(i, submitted)) << "after the durable ones\n"
                  << to_text(expected(i, durable));
  }

 private:
  static constexpr size_t kInFlight = 8;
  static constexpr int kWritesInAFlush = 4;
  static constexpr uint64_t kFlushRoundsAWrite = 4;

  TestNodeOptions options(uint64_t seed, FaultRules* faults) {
    TestNodeOptions options;
    options.seed = seed;
    options.shards = 1 + static_cast<uint32_t>(seed % 3);
    options.min_latency_us = 20;
    options.max_latency_us = 400;
    options.log.segment_bytes = 64u << 10;
    options.log.batch_bytes = 16u << 10;
    options.engine.log_segment_bytes = 64u << 10;
    options.engine.memtable_bytes = 512u << 10;
    if (seed % 2 == 0) options.engine.index_parts = engine::IndexParts::always;
    options.engine.index_part_bytes = 300;
    options.on_round = [this](TestNode& node) { on_round(node); };
    if (faults != nullptr) {
      options.wrap = [faults](std::unique_ptr<FileSystem> inner, MemDisk&, SimLoop& loop) {
        return std::make_unique<FaultyFs>(loop.executor(), std::move(inner), *faults,
                                          &loop.timers());
      };
    }
    return options;
  }

  void on_round(TestNode& node) {
    if (writes_in_flush_ > 0 && random_.one_in(kFlushRoundsAWrite)) {
      --writes_in_flush_;
      write();
    }
    if (one_in_ == 0 || images_.size() >= most_ || !random_.one_in(one_in_)) return;
    const auto policy = static_cast<CrashPolicy>(random_.below(4));
    CrashImage image;
    image.disk = node.crash_image(policy);
    for (const TabletHistory& history : histories_) {
      image.durable.push_back(history.durable());
      image.submitted.push_back(history.commits.size());
    }
    image.table_exists = !histories_.empty();
    image.wall_us = node.world().clock().wall_us();
    image.note = fmt::format("seed {} image {} policy {}", node.seed(), images_.size(),
                             static_cast<int>(policy));
    images_.push_back(std::move(image));
  }

  void step() {
    const uint64_t dice = random_.below(100);
    if (dice < 3) {
      flush();
    } else if (dice < 5) {
      (void)node_.compact("t");
    } else if (dice < 8) {
      drop_range();
    } else {
      write();
    }
    settle(kInFlight);
  }

  // Writes while the flush runs: its commits are behind those that the flush takes.
  void flush() {
    writes_in_flush_ = kWritesInAFlush;
    (void)node_.flush("t");
    writes_in_flush_ = 0;
  }

  size_t tablet_of(const std::string& row) const {
    size_t i = 0;
    while (i + 1 < histories_.size() && row >= histories_[i + 1].start) ++i;
    return i;
  }
  std::string row() { return fmt::format("k{:02}", random_.below(30)); }

  void write() {
    std::vector<OwnedMutation> ops;
    const std::string at = row();
    for (uint64_t n = 1 + random_.below(4); n > 0; --n) {
      const uint64_t dice = random_.below(20);
      const std::string column =
          fmt::format("{}:{}", random_.one_in(3) ? "g" : "f", random_.below(3));
      if (dice == 0) {
        ops.push_back(delete_row());
      } else if (dice == 1) {
        ops.push_back(delete_family("f"));
      } else if (dice < 4) {
        ops.push_back(delete_column(column, 0, static_cast<int64_t>(1 + random_.below(5))));
      } else {
        const size_t bytes = random_.one_in(20) ? 20'000 : 10;
        ops.push_back(set_cell(column, static_cast<int64_t>(random_.below(5)),
                               std::to_string(next_value_++) + std::string(bytes, 'v')));
      }
    }
    const uint64_t level = random_.below(6);
    const Durability durability = level == 0   ? Durability::memory
                                  : level == 1 ? Durability::periodic
                                               : Durability::sync;
    std::shared_ptr<PendingWrite> pending = node_.begin_write("t", at, std::move(ops), durability);
    track(tablet_of(at), std::move(pending));
  }

  void drop_range() {
    std::string a = row();
    std::string b = row();
    if (b < a) std::swap(a, b);
    if (a == b) return;
    const std::vector<engine::TabletDescriptor> tablets = node_.table("t")->tablets;
    for (size_t i = 0; i < tablets.size(); ++i) {
      std::shared_ptr<PendingWrite> pending = node_.begin_drop_rows(tablets[i], a, b);
      track(i, std::move(pending));
    }
  }

  // A write that was refused at once is not a commit.
  void track(size_t tablet, std::shared_ptr<PendingWrite> pending) {
    if (pending->finished && (pending->write.error || pending->write.stamp == CommitStamp{}))
      return;
    histories_[tablet].commits.push_back(pending);
    in_flight_.push_back(std::move(pending));
  }

  void settle(size_t most) {
    while (in_flight_.size() > most) {
      node_.wait(*in_flight_.front());
      in_flight_.erase(in_flight_.begin());
    }
  }

  static void apply(const PendingWrite& commit, RowModel& model) {
    const CommitStamp stamp = commit.write.stamp;
    if (commit.write.range) {
      model.drop_rows(stamp, commit.range_start, commit.range_end);
    } else {
      model.mutate(stamp, commit.row, commit.ops, static_cast<int64_t>(stamp.value() / 1000));
    }
  }

  Random random_;
  uint64_t next_value_ = 0;
  uint64_t one_in_ = 0;
  size_t most_ = 0;
  int writes_in_flush_ = 0;  // still to be made while a flush runs
  std::vector<CrashImage> images_;
  std::vector<TabletHistory> histories_;
  std::vector<std::shared_ptr<PendingWrite>> in_flight_;
  TestNode node_;
};

}  // namespace cellar::support
