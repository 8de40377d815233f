// The cost of reads, in moves of their sources rather than in time: four times as many versions,
// columns, deletes or dropped ranges cost four times the moves, whatever rule counts and whatever
// has to be replayed. bench/linear prints the times.
#include <gtest/gtest.h>

#include <memory>

#include "engine/model/mutation.h"
#include "engine/read/memtable_source.h"
#include "engine/read/row_reader.h"
#include "engine/read/scan.h"
#include "io/base/check.h"
#include "tests/support/row_model.h"

namespace cellar::engine {
namespace {

using support::OwnedMutation;

// Forwards every call and counts the moves.
class CountedIterator final : public EntryIterator {
 public:
  CountedIterator(EntryIterator& inner, uint64_t& moves) : inner_(inner), moves_(moves) {}
  Step seek(Bytes key) override { return ++moves_, inner_.seek(key); }
  Step seek_before(Bytes key) override { return ++moves_, inner_.seek_before(key); }
  Step next() override { return ++moves_, inner_.next(); }
  Step resume() override { return inner_.resume(); }
  void collect(std::vector<BlockRequest*>& requests) override { inner_.collect(requests); }
  Bytes key() const override { return inner_.key(); }
  Bytes value() const override { return inner_.value(); }
  const Error& error() const override { return inner_.error(); }

 private:
  EntryIterator& inner_;
  uint64_t& moves_;
};

class CountedSource final : public ReadSource {
 public:
  CountedSource(const Memtable& memtable, uint64_t& moves) : inner_(memtable), moves_(moves) {}
  EntryIterator* open(const ReadScope& scope, IteratorArena& arena) const override {
    return arena.make<CountedIterator>(*inner_.open(scope, arena), moves_);
  }
  const std::vector<RangeTombstone>& range_deletes() const override {
    return inner_.range_deletes();
  }

 private:
  MemtableSource inner_;
  uint64_t& moves_;
};

struct Counting final : CellSink {
  uint64_t cells = 0;
  Flow cell(const CellView&) override { return ++cells, Flow::more; }
  Flow end_row(Bytes) override { return Flow::more; }
};

// The cells that a read gave, and its moves.
struct Read {
  uint64_t cells = 0;
  uint64_t moves = 0;
};

// Two memtables, the older one frozen, with the entries divided between them.
class Bed final : public VisibleStamp, private CommitVisitor {
 public:
  explicit Bed(RetentionRule rule = {}) {
    schema_.id = TableId{1};
    schema_.name = "t";
    schema_.granularity = Granularity::micros;
    schema_.families = {{"f", CommitStamp{}}};
    schema_.families[0].rule = std::move(rule);
  }
  CommitStamp visible_stamp() const override { return stamp_; }

  void write(const std::string& row, const std::vector<OwnedMutation>& ops) {
    std::vector<Mutation> views;
    for (const OwnedMutation& op : ops) views.push_back(op.view());
    std::vector<Mutation> canonical;
    canonicalize({row, views}, schema_, now_us(), canonical);
    std::string payload;
    encode_row_commit(payload, row, canonical);
    commit(payload);
  }
  void drop(const std::string& start, const std::string& end) {
    std::string payload;
    encode_range_delete(payload, {start, end});
    commit(payload);
  }
  Read read(const ReadSpec& spec) {
    uint64_t moves = 0;
    ReadSources sources;
    for (const Memtable& memtable : memtables_)
      sources.push_back(std::make_unique<CountedSource>(memtable, moves));
    ScanSetup setup;
    setup.schema = &schema_;
    setup.visible = this;
    setup.sources = &sources;
    setup.spec = &spec;
    ScanCursor cursor(std::move(setup));
    Counting sink;
    ScanStep step = cursor.run(sink);
    while (step == ScanStep::yielded) step = cursor.run(sink);
    EXPECT_EQ(step, ScanStep::done);
    return {sink.cells, moves};
  }
  // Reads one row, with a reader that may have read before.
  Read read_row(RowReader& reader, const ReadSpec& spec) {
    uint64_t moves = 0;
    ReadSources sources;
    for (const Memtable& memtable : memtables_)
      sources.push_back(std::make_unique<CountedSource>(memtable, moves));
    Counting sink;
    RowStart start;
    EXPECT_EQ(reader.read({spec, sources, stamp_, now_us()}, sink, start),
              RowReader::Outcome::done);
    return {sink.cells, moves};
  }
  const TableSchema& schema() const { return schema_; }

 private:
  int64_t now_us() const { return static_cast<int64_t>(stamp_.value() / 1000); }
  void commit(const std::string& payload) {
    stamp_ = CommitStamp{stamp_.value() + 1000};
    CHECK(visit_commit(payload, stamp_, *this).has_value());
  }
  void entry(Bytes key, Bytes value) override {
    CHECK(memtables_[stamp_.value() / 1000 % 2].add(key, value));
  }
  void range_delete(const RangeDelete& range, CommitStamp stamp) override {
    memtables_[0].add_range_delete(range, stamp);
  }

  TableSchema schema_;
  Memtable memtables_[2];
  CommitStamp stamp_{1'000'000'000'000};
};

OwnedMutation cell(std::string qualifier, int64_t timestamp_us, int64_t expire_at_us = kNoExpiry) {
  OwnedMutation op;
  op.family = "f";
  op.qualifier = std::move(qualifier);
  op.timestamp_us = timestamp_us;
  op.value = "value";
  op.expire_at_us = expire_at_us;
  return op;
}

OwnedMutation remove(int64_t start_us, int64_t end_us) {
  OwnedMutation op;
  op.kind = Mutation::Kind::delete_from_column;
  op.family = "f";
  op.qualifier = "q";
  op.start_us = start_us;
  op.end_us = end_us;
  return op;
}

ReadSpec every_row(bool reversed = false, uint32_t versions = 0) {
  ReadSpec spec;
  spec.rows = RowSet::everything();
  spec.reversed = reversed;
  spec.versions = versions;
  return spec;
}

// `large` holds four times as much as `small`: at most four times the moves, and a bounded number
// of moves per entry.
void expect_linear(const Read& small, const Read& large, uint64_t entries,
                   const std::string& what) {
  EXPECT_LE(large.moves, 4 * small.moves + 64) << what;
  EXPECT_LE(large.moves, 3 * entries + 64) << what;
}

struct Mix {
  const char* name;
  RetentionRule rule;
  bool deletes;
  bool expiries;
};

std::vector<Mix> mixes(int64_t n) {
  const RetentionRule half = RetentionRule::max_versions(std::max<int64_t>(n / 2, 1));
  const RetentionRule age = RetentionRule::max_age_us(1'000'000'000'000);
  const RetentionRule both = RetentionRule::union_of({half, age});
  const RetentionRule each = RetentionRule::intersection_of({half, age});
  std::vector<Mix> all;
  for (const auto& [name, rule] : {std::pair("none", RetentionRule()),
                                   {"versions", half},
                                   {"age", age},
                                   {"union", both},
                                   {"intersection", each}}) {
    for (const bool deletes : {false, true}) {
      for (const bool expiries : {false, true}) all.push_back({name, rule, deletes, expiries});
    }
  }
  return all;
}

// n versions of a column, with n / 3 deletes of time ranges and expiries among them.
std::unique_ptr<Bed> versions(const Mix& mix, int64_t n) {
  auto bed = std::make_unique<Bed>(mix.rule);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t expire_at_us = mix.expiries && i % 3 == 1 ? 1'000'000'000 + i : kNoExpiry;
    bed->write("row", {cell("q", 1000 + i * 10, expire_at_us)});
    if (mix.deletes && i % 3 == 0) bed->write("row", {remove(1000 + i * 5, 1003 + i * 5)});
  }
  return bed;
}

TEST(LinearReads, AReaderOfRowsKeepsNothingOfOneReadForTheNext) {
  Bed bed;
  for (int i = 0; i < 4; ++i) bed.write("row", {cell(fmt::format("q{}", i), 1000)});
  const TableRetention retention(bed.schema());
  RowReader reader(bed.schema(), retention);
  ReadSpec spec;
  spec.rows.add(KeyRange::single("row"));
  const Read first = bed.read_row(reader, spec);
  EXPECT_EQ(first.cells, 4u);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(bed.read_row(reader, spec).moves, first.moves);
}

TEST(LinearReads, ARowOfManyVersions) {
  constexpr int64_t kFew = 2500;
  const std::vector<Mix> few = mixes(kFew);
  const std::vector<Mix> many = mixes(4 * kFew);
  for (size_t i = 0; i < few.size(); ++i) {
    const auto small = versions(few[i], kFew);
    const auto large = versions(many[i], 4 * kFew);
    const std::string what = fmt::format("{}{}{}", few[i].name, few[i].deletes ? ", deletes" : "",
                                         few[i].expiries ? ", expiries" : "");
    const uint64_t entries = 4 * kFew * 4 / 3;
    for (const bool reversed : {false, true}) {
      const Read all = large->read(every_row(reversed));
      EXPECT_GT(all.cells, static_cast<uint64_t>(kFew)) << what;
      expect_linear(small->read(every_row(reversed)), all, entries, what + ", all");
    }
    const Read newest = large->read(every_row(false, 1));
    EXPECT_EQ(newest.cells, 1u) << what;
    // Deletes precede the cells; without them the newest cell is found in a few moves.
    if (!few[i].deletes) EXPECT_LT(newest.moves, 64u) << what << ", newest";
    ReadSpec late = every_row();
    late.time_range = {1000 + 4 * kFew * 5, kMaxTimestampUs};
    expect_linear(small->read(every_row()), large->read(late), entries, what + ", times");
  }
}

TEST(LinearReads, ARowOfAHundredThousandColumns) {
  const auto columns = [](int n) {
    auto bed = std::make_unique<Bed>(RetentionRule::max_versions(2));
    std::vector<OwnedMutation> ops;
    for (int i = 0; i < n; ++i) ops.push_back(cell(fmt::format("q{:06}", i), 1000));
    bed->write("row", ops);
    return bed;
  };
  const auto small = columns(25'000);
  const auto large = columns(100'000);
  for (const bool reversed : {false, true}) {
    const Read all = large->read(every_row(reversed));
    EXPECT_EQ(all.cells, 100'000u);
    expect_linear(small->read(every_row(reversed)), all, 100'000, "columns");
  }
}

TEST(LinearReads, ManyDroppedRangesOverAndBesideManyRows) {
  const auto dropped = [](const RetentionRule& rule, int n, bool nested) {
    auto bed = std::make_unique<Bed>(rule);
    for (int i = 0; i < n; ++i) {
      const std::string row = fmt::format("{:06}", i);
      bed->write(row, {cell("q", 1000)});
      bed->drop(nested ? "" : row + "a", nested ? "" : row + "b");
      if (nested && i % 2 == 0) bed->write(row, {cell("q", 1001)});
    }
    return bed;
  };
  for (const RetentionRule& rule : {RetentionRule(), RetentionRule::max_versions(1)}) {
    for (const bool nested : {false, true}) {
      const auto small = dropped(rule, 1000, nested);
      const auto large = dropped(rule, 4000, nested);
      const Read all = large->read(every_row());
      EXPECT_EQ(all.cells, nested ? 0u : 4000u);
      expect_linear(small->read(every_row()), all, 8000, nested ? "nested" : "beside");
    }
  }
}

}  // namespace
}  // namespace cellar::engine
