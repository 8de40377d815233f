// Clients that repeat their increments until they get an answer: through kills, splits, merges,
// moves and power cuts each token is applied exactly once and always answered the same.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/engine/write/token_bed.h"
#include "tests/support/seeds.h"

namespace cellar::support {
namespace {

// One increment by 1 and what its client knows.
struct Increment {
  TokenAsk ask;
  std::optional<int64_t> answer;  // once an answer came
};

class TokenWorkload {
 public:
  static constexpr int kRows = 6;
  static constexpr size_t kInFlight = 12;

  TokenWorkload(TestNodeOptions options, uint64_t seed) : bed(std::move(options)), random(seed) {
    EXPECT_TRUE(bed.node.create_table("t", {"f"}, {"r3"}));
  }

  // Submits a new increment, or one again that is in flight, answered or lost.
  void submit() {
    if (increments.empty() || random.one_in(2)) {
      Increment& made = increments.emplace_back();
      made.ask = increment(fmt::format("{}", random.below(5) == 0 ? 7 : increments.size()));
      made.ask.row = fmt::format("r{}", random.below(kRows));
      made.ask.client = fmt::format("client{}", random.below(4));
      made.ask.issued_us = bed.now_us();
      const auto name = std::tuple(made.ask.row, made.ask.client, made.ask.token);
      if (!names.insert(name).second) {
        increments.pop_back();
        return;
      }
      flying.emplace_back(increments.size() - 1, bed.begin(made.ask));
      return;
    }
    const size_t which = random.one_in(2) ? increments.size() - 1 : random.below(increments.size());
    flying.emplace_back(which, bed.begin(increments[which].ask));
  }

  // Collects the answers that have arrived.
  void take_answers() {
    std::erase_if(flying, [this](const auto& one) {
      const auto& [which, write] = one;
      if (!write->finished) return false;
      EXPECT_FALSE(write->write.error) << write->write.error->to_string();
      if (!write->write.error) answered(increments[which], *write);
      return true;
    });
  }
  void settle(size_t left = 0) {
    const bool settled = bed.node.world().run_until([&] {
      take_answers();
      return flying.size() <= left;
    });
    ASSERT_TRUE(settled);
  }
  // The node is closed: unanswered increments are in doubt.
  void forget_flying() { flying.clear(); }

  static void answered(Increment& one, const TokenWrite& write) {
    ASSERT_EQ(write.write.new_cells.size(), 1u);
    const int64_t value = counter_value(write.write.new_cells[0].value);
    if (one.answer) {
      EXPECT_EQ(value, *one.answer) << "token " << one.ask.token << " of " << one.ask.client;
      EXPECT_TRUE(write.write.repeated);
    }
    one.answer = value;
  }

  TokenBed bed;
  Random random;
  std::vector<Increment> increments;
  std::set<std::tuple<std::string, std::string, std::string>> names;
  std::vector<std::pair<size_t, std::unique_ptr<TokenWrite>>> flying;
  size_t reshapes_asked = 0;
  size_t reshapes_done = 0;
};

// Submits all of them once more: then each has been applied once, so the answers of a row are 1 to
// n and its counter is n.
void check_all(TokenBed& bed, std::vector<Increment> increments) {
  std::map<std::string, std::set<int64_t>> answers;
  std::map<std::string, int64_t> tokens;
  for (Increment& one : increments) {
    const auto write = bed.begin(one.ask);
    bed.wait(*write);
    ASSERT_FALSE(write->write.error) << write->write.error->to_string();
    TokenWorkload::answered(one, *write);
    answers[one.ask.row].insert(*one.answer);
    ++tokens[one.ask.row];
  }
  for (const auto& [row, n] : tokens) {
    EXPECT_EQ(bed.count(row), n) << row;
    EXPECT_EQ(static_cast<int64_t>(answers[row].size()), n) << row;
    EXPECT_EQ(*answers[row].begin(), 1) << row;
    EXPECT_EQ(*answers[row].rbegin(), n) << row;
  }
}

TestNodeOptions workload_options(uint64_t seed) {
  TestNodeOptions options;
  options.seed = seed;
  options.shards = 1 + static_cast<uint32_t>(seed % 3);
  options.min_latency_us = 20;
  options.max_latency_us = 400;
  options.engine.memtable_bytes = 64u << 10;
  if (seed % 2 == 0) options.engine.index_parts = engine::IndexParts::always;
  options.engine.index_part_bytes = 300;
  return options;
}

class RandomTokens : public testing::TestWithParam<uint64_t> {};

// A split, merge or move is done, or refused because the table's tablets do not allow it.
template <class R>
void expect_reshaped(TokenWorkload& load, const R& result) {
  ++load.reshapes_asked;
  if (result) {
    ++load.reshapes_done;
    return;
  }
  const Errc code = result.error().code;
  EXPECT_TRUE(code == Errc::failed_precondition || code == Errc::out_of_range)
      << result.error().to_string();
}

void reshape_something(TokenWorkload& load) {
  const auto tablets = load.bed.node.table("t")->tablets;
  const auto& one = tablets[load.random.below(tablets.size())];
  switch (load.random.below(3)) {
    case 0:
      expect_reshaped(load, load.bed.node.split(one.id, fmt::format("r{}", load.random.below(6))));
      break;
    case 1:
      if (tablets.size() > 1)
        expect_reshaped(load, load.bed.node.merge(tablets[0].id, tablets[1].id));
      break;
    default:
      expect_reshaped(
          load, load.bed.node.move(
                    one.id, static_cast<uint32_t>(load.random.below(load.bed.node.shards()))));
      break;
  }
}

TEST_P(RandomTokens, AreAppliedOnceThroughWhateverComes) {
  const uint64_t seed = GetParam();
  TokenWorkload load(workload_options(seed), seed);
  for (int round = 0; round < 120; ++round) {
    SCOPED_TRACE(fmt::format("seed {} round {}", seed, round));
    for (uint64_t n = 1 + load.random.below(10); n > 0; --n) load.submit();
    const uint64_t dice = load.random.below(12);
    if (dice < 3) {
      // At any point of the writes.
      for (uint64_t turns = load.random.below(40); turns > 0; --turns) {
        (void)load.bed.node.world().run_until([n = 0]() mutable { return ++n > 1; });
      }
      load.take_answers();
      if (load.random.one_in(2))
        load.bed.node.crash(CrashPolicy::random_subset);
      else
        load.bed.node.kill();
      load.forget_flying();
      ASSERT_TRUE(load.bed.node.reopen(1 + static_cast<uint32_t>(load.random.below(3))));
    } else {
      // a reshape refuses writes that arrive meanwhile, and this test does not hold them back
      load.settle();
      if (dice == 3) ASSERT_TRUE(load.bed.node.flush("t"));
      if (dice == 4) ASSERT_TRUE(load.bed.node.compact("t"));
      if (dice == 5) load.bed.cold();
      if (dice == 6 || dice == 7) reshape_something(load);
    }
    if (testing::Test::HasFailure()) return;
  }
  load.settle();
  check_all(load.bed, load.increments);
  load.bed.cold();
  check_all(load.bed, load.increments);
  EXPECT_GE(load.reshapes_done * 4, load.reshapes_asked) << load.reshapes_asked;
  EXPECT_GT(load.reshapes_done, 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomTokens, testing::ValuesIn(test_seeds(6)));

// An image of the disk at every step of writes, flushes and merges: if everything is submitted once
// more, every counter equals the number of its tokens.
TEST(TokenCrash, AnImageAtAnyMomentHoldsTokensExactlyWhereItHoldsTheirWrites) {
  struct Image {
    std::unique_ptr<MemDisk> disk;
    std::vector<Increment> increments;
    int64_t wall_us;
  };
  for (const uint64_t seed : test_seeds(3)) {
    std::vector<Image> images;
    TokenWorkload* load = nullptr;
    uint64_t rounds = 0;
    TestNodeOptions options = workload_options(seed);
    options.on_round = [&](TestNode& node) {
      if (load == nullptr || load->increments.empty() || ++rounds % 11 != 0) return;
      load->take_answers();
      Image& image = images.emplace_back();
      image.disk = node.crash_image(static_cast<CrashPolicy>(load->random.below(4)));
      image.increments = load->increments;
      image.wall_us = load->bed.now_us();
    };
    TokenWorkload made(options, seed);
    load = &made;
    for (int round = 0; round < 40; ++round) {
      for (uint64_t n = 1 + made.random.below(10); n > 0; --n) made.submit();
      made.settle(TokenWorkload::kInFlight);
      if (round % 8 == 3) ASSERT_TRUE(made.bed.node.flush("t"));
      if (round % 16 == 9) ASSERT_TRUE(made.bed.node.compact("t"));
    }
    made.settle();
    load = nullptr;
    EXPECT_GT(images.size(), 20u);
    for (size_t i = 0; i < images.size(); ++i) {
      SCOPED_TRACE(fmt::format("seed {} image {}", seed, i));
      TestNodeOptions again = workload_options(seed + i);
      again.start_wall_us = images[i].wall_us;
      TokenBed bed(again, std::move(images[i].disk));
      ASSERT_TRUE(bed.node.is_open()) << bed.node.open_error()->to_string();
      check_all(bed, images[i].increments);
      if (testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace cellar::support
