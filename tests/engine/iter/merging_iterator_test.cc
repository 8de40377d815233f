#include "engine/iter/merging_iterator.h"

#include <gtest/gtest.h>

#include "tests/support/model_script.h"
#include "tests/support/random_entries.h"
#include "tests/support/seeds.h"
#include "tests/support/vector_iterator.h"

namespace cellar::engine {
namespace {

std::string key_of(uint64_t n) { return fmt::format("key{:04}", n); }

TEST(MergingIterator, WithoutSourcesThereIsNothing) {
  MergingIterator merge;
  EXPECT_EQ(merge.seek(""), Step::end);
  EXPECT_EQ(merge.seek_before("x"), Step::end);
}

TEST(MergingIterator, OfEqualKeysTheNewestSourceIsShownOnce) {
  MergingIterator merge;
  merge.add(std::make_unique<VectorIterator>(EntryVector{{"a", "new"}, {"c", "new"}}));
  merge.add(std::make_unique<VectorIterator>(EntryVector{{"a", "mid"}, {"b", "mid"}, {"c", "m"}}));
  merge.add(std::make_unique<VectorIterator>(EntryVector{{"a", "old"}, {"c", "old"}}));
  std::string seen;
  for (Step s = merge.seek(""); s == Step::ready; s = merge.next()) {
    seen += fmt::format("{}={} ", merge.key(), merge.value());
  }
  EXPECT_EQ(seen, "a=new b=mid c=new ");
  ASSERT_EQ(merge.seek_before("c"), Step::ready);
  EXPECT_EQ(merge.key(), "b");
  ASSERT_EQ(merge.seek_before("b"), Step::ready);
  EXPECT_EQ(merge.value(), "new");
  ASSERT_EQ(merge.next(), Step::ready);
  EXPECT_EQ(merge.key(), "b");
}

TEST(MergingIterator, AllBlockedSourcesAreWantedTogether) {
  Random always(1);
  MergingIterator merge;
  for (int i = 0; i < 5; ++i) {
    merge.add(std::make_unique<VectorIterator>(EntryVector{{key_of(i), ""}}, &always, 1));
  }
  ASSERT_EQ(merge.seek(""), Step::blocked);
  std::vector<BlockRequest*> requests;
  merge.collect(requests);
  EXPECT_EQ(requests.size(), 5u);
}

TEST(MergingIterator, AFailedSourceFailsTheMergeWithItsError) {
  MergingIterator merge;
  auto bad = std::make_unique<VectorIterator>(EntryVector{{"b", ""}, {"d", ""}});
  VectorIterator* raw = bad.get();
  merge.add(std::make_unique<VectorIterator>(EntryVector{{"a", ""}, {"c", ""}}));
  merge.add(std::move(bad));
  ASSERT_EQ(merge.seek("b"), Step::ready);
  raw->fail_next(Error(Errc::data_loss, "block 7"));
  ASSERT_EQ(merge.next(), Step::failed);
  EXPECT_EQ(merge.error().message, "block 7");
}

// Advances where a seek has the same result.
struct Advancing final : EntryIterator {
  Advancing(MergingIterator& of, Random& chance) : merge(of), random(chance) {}
  Step seek(Bytes key) override {
    if (!ready || merge.key() > key || random.one_in(4)) return note(merge.seek(key));
    target.assign(key);
    ++advanced;
    return note(merge.advance_to(target));
  }
  Step seek_before(Bytes key) override { return note(merge.seek_before(key)); }
  Step next() override { return note(merge.next()); }
  Step resume() override { return note(merge.resume()); }
  void collect(std::vector<BlockRequest*>& requests) override { merge.collect(requests); }
  Bytes key() const override { return merge.key(); }
  Bytes value() const override { return merge.value(); }
  const Error& error() const override { return merge.error(); }
  Step note(Step step) {
    ready = step == Step::ready;
    return step;
  }
  MergingIterator& merge;
  Random& random;
  bool ready = false;
  std::string target;
  size_t advanced = 0;
};

TEST(MergingIterator, WalksAsTheMapOfAllSourcesWhateverBlocks) {
  size_t advanced = 0;
  for (const uint64_t seed : test_seeds(60)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const size_t sources = 1 + random.below(8);
    const uint64_t keys = 1 + random.below(200);
    std::vector<EntryMap> contents(sources);
    EntryMap model;
    for (size_t s = 0; s < sources; ++s) {
      const uint64_t n = random.below(60);
      for (uint64_t i = 0; i < n; ++i) {
        const std::string key = key_of(random.below(keys));
        contents[s][key] = fmt::format("source {}", s);
      }
    }
    for (size_t s = sources; s-- > 0;) {
      for (const auto& [key, value] : contents[s]) model[key] = value;
    }
    MergingIterator merge;
    for (const EntryMap& content : contents) {
      merge.add(std::make_unique<VectorIterator>(EntryVector(content.begin(), content.end()),
                                                 seed % 2 == 0 ? &random : nullptr));
    }
    InstantLoader loader;
    Advancing it(merge, random);
    walk_against_model(
        it, model, random, 400, [&](Step s) { return loader.finish(it, s); },
        [&] { return key_of(random.below(keys + 2)); });
    advanced += it.advanced;
  }
  EXPECT_GT(advanced, 100u);
}

TEST(MergingIterator, SomeSourcesAreMovedBackAndTheOthersStay) {
  size_t moved = 0;
  for (const uint64_t seed : test_seeds(400)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const size_t sources = 1 + random.below(6);
    std::vector<EntryMap> contents(sources);
    for (size_t s = 0; s < sources; ++s) {
      for (uint64_t i = 0, n = random.below(40); i < n; ++i) {
        contents[s][key_of(random.below(100))] = fmt::format("source {}", s);
      }
    }
    MergingIterator merge;
    for (const EntryMap& content : contents) {
      merge.add(std::make_unique<VectorIterator>(EntryVector(content.begin(), content.end()),
                                                 seed % 2 == 0 ? &random : nullptr));
    }
    InstantLoader loader;
    // The bound of each source: it stands at its last entry before that.
    std::vector<std::string> bounds(sources, key_of(40 + random.below(70)));
    Step step = loader.finish(merge, merge.seek_before(bounds[0]));
    for (int moves = 0; moves < 3 && step == Step::ready; ++moves) {
      const std::string target = key_of(random.below(100));
      const uint64_t marked = random.below(uint64_t{1} << sources);
      const auto which = [marked](size_t source) { return (marked >> source & 1) != 0; };
      const auto last_before = [&](size_t s) {
        const auto it = contents[s].lower_bound(bounds[s]);
        return it == contents[s].begin() ? std::string() : std::prev(it)->first;
      };
      bool any = false;
      for (size_t s = 0; s < sources; ++s) {
        if (!which(s) || last_before(s) < target) continue;
        any = true;
        bounds[s] = target;
      }
      ASSERT_EQ(merge.any_from(target, which), any);
      moved += any;
      step = loader.finish(merge, merge.recede_some_to(target, which));
      std::string wanted;
      std::string value;
      for (size_t s = sources; s-- > 0;) {
        const std::string last = last_before(s);
        if (last.empty() || last < wanted) continue;
        wanted = last;
        value = fmt::format("source {}", s);
      }
      ASSERT_EQ(step == Step::ready, !wanted.empty());
      if (step != Step::ready) break;
      ASSERT_EQ(merge.key(), wanted);
      ASSERT_EQ(merge.value(), value);
    }
    if (step != Step::ready) continue;
    const std::string target = key_of(random.below(100));
    step = loader.finish(merge, merge.seek(target));
    std::string least;
    for (const EntryMap& content : contents) {
      const auto it = content.lower_bound(target);
      if (it != content.end() && (least.empty() || it->first < least)) least = it->first;
    }
    ASSERT_EQ(step == Step::ready ? std::string(merge.key()) : std::string(), least);
  }
  EXPECT_GT(moved, 100u);
}

TEST(MergingIterator, SomeSourcesAreMovedAheadAndTheOthersStay) {
  size_t moved = 0;
  for (const uint64_t seed : test_seeds(400)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const size_t sources = 1 + random.below(6);
    std::vector<EntryMap> contents(sources);
    for (size_t s = 0; s < sources; ++s) {
      for (uint64_t i = 0, n = random.below(40); i < n; ++i) {
        contents[s][key_of(random.below(100))] = fmt::format("source {}", s);
      }
    }
    MergingIterator merge;
    for (const EntryMap& content : contents) {
      merge.add(std::make_unique<VectorIterator>(EntryVector(content.begin(), content.end()),
                                                 seed % 2 == 0 ? &random : nullptr));
    }
    InstantLoader loader;
    Step step = loader.finish(merge, merge.seek(key_of(random.below(60))));
    for (uint64_t n = random.below(20); n > 0 && step == Step::ready; --n) {
      step = loader.finish(merge, merge.next());
    }
    if (step != Step::ready) continue;
    const std::string at(merge.key());
    const std::string target = key_of(random.below(110));
    const uint64_t marked = random.below(uint64_t{1} << sources);
    const auto which = [marked](size_t source) { return (marked >> source & 1) != 0; };
    EntryMap wanted;
    bool any = false;
    for (size_t s = sources; s-- > 0;) {
      const auto place = contents[s].lower_bound(at);
      const bool moves = which(s) && place != contents[s].end() && place->first < target;
      any |= moves;
      const auto first = moves ? contents[s].lower_bound(target) : place;
      for (auto it = first; it != contents[s].end(); ++it) wanted[it->first] = it->second;
    }
    ASSERT_EQ(merge.any_before(target, which), any);
    moved += any;
    EntryMap found;
    for (step = loader.finish(merge, merge.advance_some_to(target, which)); step == Step::ready;
         step = loader.finish(merge, merge.next())) {
      found.emplace(merge.key(), merge.value());
    }
    ASSERT_EQ(found, wanted);
  }
  EXPECT_GT(moved, 50u);
}

}  // namespace
}  // namespace cellar::engine
