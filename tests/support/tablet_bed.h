// TabletBed: the memtables and runs of one tablet without log, store or loop, filled with a random
// history that a RowModel replays.
#pragma once

#include <memory>
#include <vector>

#include "engine/memtable/memtable.h"
#include "engine/model/mutation.h"
#include "engine/read/memtable_source.h"
#include "engine/read/scan.h"
#include "tests/support/entry_run.h"
#include "tests/support/row_model.h"

namespace cellar::support {

// The sources of one cursor.
struct OwnedSources final : engine::ReadPin {
  engine::ReadSources sources;
};

class TabletBed final : public engine::VisibleStamp, private CommitVisitor {
 public:
  explicit TabletBed(Random& random) : random_(random), memtable_(new engine::Memtable) {
    schema_.id = TableId{1};
    schema_.name = "t";
    schema_.granularity = Granularity::micros;
    schema_.families = {{"f", CommitStamp{}}, {"g", CommitStamp{}}};
  }

  CommitStamp visible_stamp() const override { return visible_; }

  // ---- writes; each is one commit and visible at once unless hide_next() was called before
  void hide_next() { hide_ = true; }
  void show_all() { visible_ = stamp_, hide_ = false; }
  CommitStamp mutate(const std::string& row, const std::vector<OwnedMutation>& ops) {
    std::vector<Mutation> views;
    for (const OwnedMutation& op : ops) views.push_back(op.view());
    std::vector<Mutation> canonical;
    canonicalize({row, views}, schema_, kNowUs, canonical);
    std::string payload;
    encode_row_commit(payload, row, canonical);
    commit(payload);
    model_.mutate(stamp_, row, ops, kNowUs);
    return stamp_;
  }
  void drop_rows(const std::string& start, const std::string& end) {
    std::string payload;
    encode_range_delete(payload, {start, end});
    commit(payload);
    model_.drop_rows(stamp_, start, end);
  }
  // Drops a family and adds it again, empty.
  void replace_family(size_t index) {
    tick();
    schema_.families[index].created = stamp_;
    model_.drop_family(stamp_, schema_.families[index].name);
  }

  // ---- shape
  // Turns the memtable into a frozen one, or into the newest run. REQUIRES for a run: all is
  // visible.
  void freeze() {
    memtable_->freeze();
    frozen_.push_back(std::move(memtable_));
    memtable_.reset(new engine::Memtable);
  }
  void flush() {
    show_all();
    if (!memtable_->empty()) freeze();
    for (const auto& memtable : frozen_)
      runs_.push_back(std::make_unique<EntryRun>(copy_of(*memtable)));
    frozen_.clear();
  }
  std::vector<std::unique_ptr<EntryRun>>& runs() { return runs_; }  // oldest first
  // The input of a flush of everything: frozen memtables, oldest first.
  std::vector<std::unique_ptr<engine::Memtable>> take_memtables() {
    show_all();
    if (!memtable_->empty()) freeze();
    return std::exchange(frozen_, {});
  }
  const engine::Memtable& memtable() const { return *memtable_; }

  // ---- reads
  // Without runs: users with runs of their own add them. `spec` outlives the setup.
  engine::ScanSetup setup(const ReadSpec& spec) {
    engine::ScanSetup setup;
    setup.schema = &schema_;
    setup.visible = this;
    setup.spec = &spec;
    auto owned = std::make_unique<OwnedSources>();
    setup.sources = &owned->sources;
    setup.pin = std::move(owned);
    add_source(setup, std::make_unique<engine::MemtableSource>(*memtable_));
    for (size_t i = frozen_.size(); i > 0; --i)
      add_source(setup, std::make_unique<engine::MemtableSource>(*frozen_[i - 1]));
    return setup;
  }
  // Adds a source older than all before it. REQUIRES: `setup` comes from setup().
  static void add_source(engine::ScanSetup& setup, std::unique_ptr<engine::ReadSource> source) {
    static_cast<OwnedSources&>(*setup.pin).sources.push_back(std::move(source));
  }
  std::unique_ptr<engine::ScanCursor> open(const ReadSpec& spec, uint64_t block_one_in = 0) {
    engine::ScanSetup setup = this->setup(spec);
    for (size_t i = runs_.size(); i > 0; --i)
      add_source(setup, std::make_unique<EntryRunSource>(
                            *runs_[i - 1], block_one_in == 0 ? nullptr : &random_, block_one_in));
    return std::make_unique<engine::ScanCursor>(std::move(setup));
  }
  std::vector<OwnedCell> expected(const ReadSpec& spec) const {
    return model_.read(spec, visible_);
  }
  const RowModel& model() const { return model_; }
  const TableSchema& schema() const { return schema_; }
  TableSchema& schema() { return schema_; }

  // ---- random values
  std::string random_row() {
    static const char* const kRows[] = {"a", "aa", "b", "c", "c\x01", "d", "e", "\xff"};
    return random_.one_in(9) ? std::string("a\0b", 3) : std::string(kRows[random_.below(8)]);
  }
  OwnedMutation random_op() {
    OwnedMutation op;
    op.family = random_.one_in(2) ? "f" : "g";
    op.qualifier = random_.one_in(3) ? std::string("\0q", 2) : random_.one_in(2) ? "" : "q";
    const auto t = static_cast<int64_t>(random_.below(8));
    switch (random_.below(14)) {
      case 0:
        op.kind = Mutation::Kind::delete_from_row;
        break;
      case 1:
        op.kind = Mutation::Kind::delete_from_family;
        break;
      case 2:
      case 3:
      case 4:
        op.kind = Mutation::Kind::delete_from_column;
        op.start_us = t;
        op.end_us =
            random_.one_in(3) ? kMaxTimestampUs : t + 1 + static_cast<int64_t>(random_.below(4));
        if (random_.one_in(3)) op.start_us = 0;
        break;
      default:
        op.timestamp_us = t;
        op.value = fmt::format("v{}", ++values_);
    }
    return op;
  }
  void random_commit() {
    if (random_.one_in(25)) {
      const std::string start = random_.one_in(4) ? "" : random_row();
      const std::string end = random_.one_in(3) ? "" : random_row();
      if (end.empty() || start < end) return drop_rows(start, end);
    }
    if (random_.one_in(60)) return replace_family(random_.below(2));
    std::vector<OwnedMutation> ops;
    for (uint64_t i = 0, n = 1 + random_.below(4); i < n; ++i) ops.push_back(random_op());
    mutate(random_row(), ops);
  }
  ReadSpec random_spec() {
    ReadSpec spec;
    if (random_.one_in(2)) {
      spec.rows = RowSet::everything();
    } else {
      for (uint64_t i = 0, n = 1 + random_.below(3); i < n; ++i)
        spec.rows.add(random_.one_in(2)
                          ? KeyRange::single(random_row())
                          : KeyRange{random_row(), random_.one_in(3) ? "" : random_row()});
      spec.rows.normalize();
    }
    spec.reversed = random_.one_in(2);
    if (random_.one_in(3)) spec.row_limit = 1 + random_.below(4);
    if (random_.one_in(3)) spec.versions = 1 + static_cast<uint32_t>(random_.below(3));
    if (random_.one_in(3)) {
      spec.time_range.start_us = static_cast<int64_t>(random_.below(5));
      spec.time_range.end_us =
          random_.one_in(3) ? kMaxTimestampUs
                            : spec.time_range.start_us + 1 + static_cast<int64_t>(random_.below(4));
    }
    return spec;
  }

 private:
  static constexpr int64_t kNowUs = 5;

  void tick() {
    stamp_ = CommitStamp{stamp_.value() + 1 + random_.below(3)};
    if (!hide_) visible_ = stamp_;
  }
  void commit(const std::string& payload) {
    tick();
    const auto visited = visit_commit(payload, stamp_, *this);
    CHECK(visited.has_value());
  }
  void entry(Bytes key, Bytes value) override { CHECK(memtable_->add(key, value)); }
  void range_delete(const RangeDelete& range, CommitStamp stamp) override {
    memtable_->add_range_delete(range, stamp);
  }

  Random& random_;
  TableSchema schema_;
  RowModel model_;
  std::unique_ptr<engine::Memtable> memtable_;
  std::vector<std::unique_ptr<engine::Memtable>> frozen_;  // oldest first
  std::vector<std::unique_ptr<EntryRun>> runs_;
  CommitStamp stamp_{100};
  CommitStamp visible_{100};
  bool hide_ = false;
  uint64_t values_ = 0;
};

}  // namespace cellar::support
