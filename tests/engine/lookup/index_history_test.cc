// Random histories with indexes: writes, deletes, expiries, range deletes, changes of rules and
// their undoing, flushes, merges, splits, moves, power failures, clock moves, indexes that come,
// change and go. After each few steps every index answers exactly what a scan answers
// (index_model.h), read at once and in pieces. Short histories have many kinds of steps for each
// write; long ones have more rows and up to CELLAR_INDEX_BURST writes (250) in a step. With 2,500
// the long ones are a million operations.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/engine/lookup/index_model.h"
#include "tests/engine/node/index_bed.h"
#include "tests/support/random_rules.h"
#include "tests/support/seeds.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

constexpr int64_t kAgeUnitUs = 1'000'000;

std::string be64(int64_t v) {
  std::string out;
  put_be64(out, static_cast<uint64_t>(v));
  return out;
}

TestNodeOptions options_for(uint64_t seed, uint64_t burst) {
  TestNodeOptions options;
  options.seed = seed;
  options.shards = 1 + static_cast<uint32_t>(seed % 2);
  options.engine.table_bytes = burst > 1 ? 64u << 10 : 2u << 10;
  if (seed % 3 == 0) options.engine.memtable_bytes = 4 * options.engine.table_bytes;
  if (seed % 4 == 0) options.engine.index_parts = engine::IndexParts::always;
  options.engine.index_part_bytes = 300;
  return options;
}

class IndexHistory {
 public:
  // `burst`: writes of one step, at most.
  IndexHistory(uint64_t seed, uint64_t burst)
      : node_(options_for(seed, burst)), random_(seed), burst_(burst) {}

  void run(int steps) {
    create();
    for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
      SCOPED_TRACE(fmt::format("step {}", step));
      for (uint64_t n = 1 + random_.below(4); n > 0; --n) act();
      if (random_.one_in(2)) check();
    }
  }

  uint64_t compared() const { return compared_; }
  uint64_t hits() const { return hits_; }
  uint64_t operations() const { return operations_; }

 private:
  void create() {
    engine::TableSpec spec;
    spec.name = "t";
    spec.granularity = Granularity::micros;
    spec.options.block_bytes = kMinBlockBytes;
    engine::FamilySpec f;
    f.name = "f";
    f.born_dead = BornDead::accept;
    if (!random_.one_in(4)) f.rule = random_rule(random_, kAgeUnitUs);
    f.undo_window_us = random_.one_in(2) ? 0 : 20 * kAgeUnitUs;
    engine::FamilySpec g = f;
    g.name = "g";
    if (random_.one_in(2)) g.rule = RetentionRule{};
    spec.families = {f, g};
    if (random_.one_in(2)) spec.splits = {"d", "k"};
    ASSERT_TRUE(node_.create_table(std::move(spec)));
    for (uint64_t n = random_.below(3); n > 0; --n) create_index();
  }

  int64_t now_us() { return node_.clock_report().trusted_us; }
  // Long histories have ten times as many rows.
  std::string random_row() {
    std::string row(1, static_cast<char>('a' + random_.below(14)));
    if (is_long()) row += static_cast<char>('0' + random_.below(10));
    return row;
  }
  bool is_long() const { return burst_ > 1; }
  std::string random_qualifier() {
    static const std::vector<std::string> kQualifiers = {"p", "q", "", std::string("q\0", 2)};
    return kQualifiers[random_.below(kQualifiers.size())];
  }
  std::string random_value() {
    switch (random_.below(6)) {
      case 0:
        return be64(static_cast<int64_t>(random_.below(4)) - 2);
      case 1:
        return std::string(256, 'v') + static_cast<char>('a' + random_.below(3));
      case 2:
        return std::string(random_.below(3), '\0') + "x";
      default:
        return std::string(random_.below(3), static_cast<char>('a' + random_.below(2)));
    }
  }
  int64_t random_time() {
    const auto back = static_cast<int64_t>(random_.below(12)) * kAgeUnitUs / 2;
    const int64_t at = now_us() - now_us() % (kAgeUnitUs / 2) - back;
    return at + static_cast<int64_t>(random_.below(3));
  }

  OwnedMutation random_op() {
    const std::string family = random_.one_in(3) ? "g" : "f";
    switch (random_.below(is_long() ? 120 : 12)) {
      case 0:
        return delete_family(family);
      case 1:
        return delete_row();
      case 2: {
        const int64_t from_us = random_time();
        return delete_column(family + ":" + random_qualifier(), from_us, from_us + kAgeUnitUs);
      }
      default: {
        OwnedMutation set =
            set_cell(family + ":" + random_qualifier(), random_time(), random_value());
        if (random_.one_in(5))
          set.expire_at_us = now_us() + static_cast<int64_t>(random_.below(8)) * kAgeUnitUs;
        return set;
      }
    }
  }

  void write() {
    std::vector<OwnedMutation> ops;
    for (uint64_t n = 1 + random_.below(3); n > 0; --n) ops.push_back(random_op());
    const auto written = node_.write("t", random_row(), std::move(ops));
    if (!written) ASSERT_EQ(written.error().code, Errc::out_of_range);
    ++operations_;
  }

  void write_burst() {
    for (uint64_t n = 1 + random_.below(burst_); n > 0 && !testing::Test::HasFatalFailure(); --n)
      write();
    // Writes take no time here, but a stamp each, so that a thousand of them are a microsecond
    // ahead of the clock, and so are reads.
    if (is_long()) node_.world().run_for_us(static_cast<int64_t>(burst_) / 1000 + 2);
  }

  void act() {
    const uint64_t dice = random_.below(60);
    if (dice < 36) return write_burst();
    ++operations_;
    if (dice < 40) return static_cast<void>(node_.flush("t"));
    if (dice < 42) return static_cast<void>(node_.compact("t"));
    if (dice < 45) return pass_time();
    if (dice < 47) return change_rule();
    if (dice < 49) return reshape();
    if (dice < 51) return restart();
    if (dice < 52) {
      const std::string start = random_row();
      ASSERT_TRUE(node_.drop_rows("t", start, start + "\xff"));
      return;
    }
    if (dice < 55) return create_index();
    if (dice < 58) return alter_index();
    return drop_index();
  }

  void pass_time() {
    node_.world().run_for_us(static_cast<int64_t>(random_.below(3 * kAgeUnitUs)));
  }

  void change_rule() {
    const std::string family = random_.one_in(2) ? "f" : "g";
    if (random_.one_in(3)) return static_cast<void>(node_.undo_rule({"t", family, 0}));
    (void)node_.alter_table(
        ruling(family, random_.one_in(4) ? RetentionRule{} : random_rule(random_, kAgeUnitUs)));
  }

  void reshape() {
    const auto& tablets = node_.table("t")->tablets;
    const engine::TabletDescriptor tablet = tablets[random_.below(tablets.size())];
    switch (random_.below(3)) {
      case 0:
        return static_cast<void>(node_.split(tablet.id, random_row()));
      case 1:
        if (tablets.size() > 1) (void)node_.merge(tablets[0].id, tablets[1].id);
        return;
      default:
        (void)node_.move(tablet.id, static_cast<uint32_t>(random_.below(node_.shards())));
    }
  }

  void restart() {
    if (random_.one_in(2)) {
      ASSERT_TRUE(node_.close());
    } else {
      node_.crash(static_cast<CrashPolicy>(random_.below(4)));
    }
    const auto shards = static_cast<uint32_t>(1 + random_.below(2));
    ASSERT_TRUE(node_.reopen(shards)) << node_.open_error()->to_string();
  }

  // ---- indexes

  IndexSpec random_index() {
    IndexSpec spec;
    spec.name = fmt::format("i{}", random_.below(4));
    spec.family = random_.one_in(4) ? "g" : "f";
    switch (random_.below(4)) {
      case 0:
        spec.parts = {IndexPart::value};
        break;
      case 1:
        spec.parts = {IndexPart::value, IndexPart::time};
        break;
      case 2:
        spec.parts = {IndexPart::time};
        break;
      default:
        spec.parts = {IndexPart::qualifier, IndexPart::time};
    }
    const bool of_value = spec.parts.front() == IndexPart::value;
    const bool of_family = spec.parts.front() == IndexPart::qualifier;
    if (of_value || (!of_family && random_.one_in(2))) spec.qualifier = random_qualifier();
    if (of_value && random_.one_in(3)) spec.type = IndexType::int64;
    if (random_.one_in(2)) spec.match = IndexMatch::any;
    for (const char* family : {"f", "g"}) {
      IndexColumn column{family, random_qualifier()};
      const bool indexed =
          spec.qualifier && family == spec.family && column.qualifier == *spec.qualifier;
      if (random_.one_in(3) && !indexed) spec.covered.push_back(std::move(column));
    }
    if (random_.one_in(3)) spec.max_age_us = random_age();
    return spec;
  }
  int64_t random_age() { return kAgeUnitUs * static_cast<int64_t>(1 + random_.below(8)) / 2; }

  void create_index() {
    const auto created = node_.alter_table(creating(random_index()));
    if (created) return;
    // A name in use, or an own age above the rule's.
    const Errc code = created.error().code;
    ASSERT_TRUE(code == Errc::already_exists || code == Errc::invalid_argument)
        << created.error().to_string();
  }

  std::optional<IndexSchema> some_index() {
    const std::vector<IndexSchema>& indexes = node_.table("t")->schema.indexes;
    if (indexes.empty()) return std::nullopt;
    return indexes[random_.below(indexes.size())];
  }

  void alter_index() {
    const auto index = some_index();
    if (!index) return;
    IndexChange change;
    change.name = index->name;
    change.max_age_us.emplace();
    if (!random_.one_in(3)) *change.max_age_us = random_age();
    (void)node_.alter_table(altering_index(std::move(change)));
  }

  void drop_index() {
    const auto index = some_index();
    if (index && random_.one_in(2)) ASSERT_TRUE(node_.alter_table(dropping_indexes({index->name})));
  }

  // ---- comparing

  KeyPartRange random_range(const std::function<std::string()>& bound) {
    if (random_.one_in(3)) return KeyPartRange::exactly(bound());
    KeyPartRange range;
    if (!random_.one_in(3)) range.start = bound();
    if (!random_.one_in(3)) range.end = bound();
    range.start_open = random_.one_in(2);
    range.end_closed = random_.one_in(2);
    return range;
  }

  IndexReadSpec random_read(const IndexSchema& index) {
    IndexReadSpec spec;
    spec.index = index.name;
    spec.reversed = random_.one_in(2);
    if (index.has(IndexPart::value) && random_.one_in(2)) {
      spec.values = random_range([&] {
        return index.type == IndexType::int64 ? be64(static_cast<int64_t>(random_.below(4)) - 2)
                                              : random_value();
      });
    }
    if (index.has(IndexPart::qualifier) && random_.one_in(2))
      spec.qualifiers = random_range([&] { return random_qualifier(); });
    if (index.has(IndexPart::time) && random_.one_in(2)) {
      const int64_t start_us = random_time();
      spec.time = TimeRange{start_us, random_.one_in(3) ? kMaxTimestampUs : start_us + kAgeUnitUs};
    }
    if (random_.one_in(4)) {
      spec.rows = RowSet();
      spec.rows.add({random_row(), ""});
      if (random_.one_in(2)) spec.rows.add(KeyRange::single(random_row()));
      spec.rows.normalize();
    }
    spec.whole_rows = random_.one_in(4);
    if (spec.whole_rows && random_.one_in(2)) spec.row.versions = 1;
    return spec;
  }

  void check() {
    const auto index = some_index();
    if (!index || !is_ready(index->name)) return;
    for (int reads = 0; reads < (is_long() ? 2 : 4); ++reads) {
      const IndexReadSpec spec = random_read(*index);
      if (!is_valid(spec, *index)) continue;
      compare(*index, spec);
    }
  }

  bool is_valid(const IndexReadSpec& spec, const IndexSchema& index) {
    return validate_index_read(spec, index, Granularity::micros).has_value();
  }

  // Waits for a while; a table whose merges fail is not the subject here.
  bool is_ready(const std::string& name) {
    for (int waits = 0; waits < 200; ++waits) {
      const auto states = node_.index_states("t");
      if (!states) return false;
      for (size_t i = 0; i < states->indexes.size(); ++i) {
        if (states->indexes[i].name == name && states->states[i].ready) return true;
      }
      node_.world().run_for_us(20'000);
    }
    ADD_FAILURE() << "index " << name << " does not become ready";
    return false;
  }

  void compare(const IndexSchema& index, const IndexReadSpec& spec) {
    const int64_t from_us = now_us();
    const std::vector<OwnedCell> before = node_.cells("t");
    const bool resume = random_.one_in(3);
    const auto hits = node_.read_index("t", spec, 1 + random_.below(6), resume);
    const std::vector<OwnedCell> after = node_.cells("t");
    const int64_t to_us = now_us();
    const IndexModel model(index, after, to_us);
    // Something has died meanwhile: the moment of the read is not known.
    if (before != after || model.changes_between(from_us, to_us)) return;
    if (!hits) {
      // A merge has left out what a raised age finds again, or a memtable is older than the index.
      ASSERT_EQ(hits.error().code, Errc::failed_precondition) << hits.error().to_string();
      return;
    }
    ++compared_;
    ++operations_;
    hits_ += hits->size();
    std::vector<std::vector<OwnedCell>> answer;
    for (const engine::IndexHit& hit : *hits) {
      std::vector<OwnedCell>& cells = answer.emplace_back();
      for (const engine::HitCell& cell : hit.cells)
        cells.push_back({hit.row, cell.family, cell.qualifier, cell.timestamp_us, cell.value});
    }
    ASSERT_EQ(text(answer), text(model.read(spec)))
        << "index " << index.name << " by " << static_cast<int>(index.parts.front()) << ", scan\n"
        << to_text(after);
  }

  static std::string text(const std::vector<std::vector<OwnedCell>>& hits) {
    std::string out;
    for (const auto& hit : hits) out += "hit\n" + to_text(hit);
    return out;
  }

  TestNode node_;
  Random random_;
  const uint64_t burst_;
  uint64_t compared_ = 0;
  uint64_t hits_ = 0;
  uint64_t operations_ = 0;
};

struct Totals {
  uint64_t operations = 0;
  uint64_t compared = 0;
  uint64_t hits = 0;
};

Totals play(uint64_t first_seed, int histories, uint64_t burst) {
  Totals totals;
  for (const uint64_t round : test_seeds(histories)) {
    const bool chosen = std::getenv("CELLAR_SEED") != nullptr;
    const uint64_t seed = chosen ? round : first_seed + round;
    SCOPED_TRACE(fmt::format("seed {}", seed));
    IndexHistory history(seed, burst);
    history.run(80);
    if (testing::Test::HasFailure()) break;
    totals.operations += history.operations();
    totals.compared += history.compared();
    totals.hits += history.hits();
  }
  fmt::print("{} operations, {} reads compared, {} hits\n", totals.operations, totals.compared,
             totals.hits);
  return totals;
}

class IndexHistories : public testing::TestWithParam<uint64_t> {};

TEST_P(IndexHistories, AnswerWhatAScanAnswers) {
  const Totals totals = play(GetParam() * 1000, 25, 1);
  EXPECT_GT(totals.compared, 100u);
  EXPECT_GT(totals.hits, 100u);
}

TEST_P(IndexHistories, AnswerWhatAScanAnswersAfterManyWrites) {
  const uint64_t burst = number_from_environment("CELLAR_INDEX_BURST", 250);
  const Totals totals = play(100'000 + GetParam() * 1000, 2, burst);
  EXPECT_GT(totals.operations, 100 * burst);
  EXPECT_GT(totals.compared, 50u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, IndexHistories, testing::Range<uint64_t>(0, 4));

}  // namespace
}  // namespace cellar::support
