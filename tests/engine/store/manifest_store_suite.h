// ManifestStoreSuite: what every body of ManifestStore does.
#pragma once

#include <gmock/gmock.h>

#include <map>
#include <string>
#include <vector>

#include "engine/store/manifest_store.h"
#include "io/base/random.h"
#include "tests/engine/store/store_bed.h"

namespace cellar::engine {

using ManifestStoreBody = StoreBody<ManifestStore>;

class ManifestStoreSuite : public StoreSuite<ManifestStore> {
 protected:
  using State = std::map<ManifestKey, ManifestEntry>;
  using Versions = std::vector<uint64_t>;

  static constexpr ManifestKey kNode{ManifestKey::Kind::node, 0};
  static ManifestKey tablet(uint64_t id) { return {ManifestKey::Kind::tablet, id}; }

  static VersionEdit edit_of(ManifestKey key, uint64_t expected, std::string state) {
    VersionEdit edit;
    edit.key = key;
    edit.expected_version = expected;
    edit.state = std::move(state);
    return edit;
  }
  static VersionEdit removal_of(ManifestKey key, uint64_t expected) {
    VersionEdit edit;
    edit.key = key;
    edit.expected_version = expected;
    edit.remove = true;
    return edit;
  }
  Async<Result<Versions>> commit(VersionEdit edit) {
    std::vector<VersionEdit> edits;
    edits.push_back(std::move(edit));
    return store().commit(std::move(edits));
  }
  uint64_t committed(VersionEdit edit) { return value(commit(std::move(edit))).at(0); }

  static void expect_same(const State& found, const State& expected) {
    EXPECT_EQ(found.size(), expected.size());
    for (const auto& [key, entry] : expected) {
      const auto it = found.find(key);
      if (it == found.end()) {
        ADD_FAILURE() << "key " << key.id << " is missing";
        continue;
      }
      EXPECT_EQ(it->second.version, entry.version) << key.id;
      EXPECT_TRUE(it->second.state == entry.state) << key.id;
      EXPECT_TRUE(it->second.items == entry.items) << key.id;
    }
  }
};

TEST_P(ManifestStoreSuite, EditsAreConditionalAndAreSeenByALaterStore) {
  EXPECT_TRUE(value(store().load()).empty());
  (void)committed(edit_of(kNode, kAbsent, "first"));
  VersionEdit edit = edit_of(tablet(7), kAbsent, "state");
  edit.put_items = {{1, "one"}, {2, "two"}};
  const uint64_t made = committed(edit);
  EXPECT_NE(made, kAbsent);
  // A second edit of the same version: another one was installed first.
  const Error stale = error(commit(edit), Errc::aborted);
  EXPECT_THAT(stale.message, testing::HasSubstr("tablet 7"));
  EXPECT_EQ(stale.applied, Applied::not_applied);
  (void)error(commit(edit_of(tablet(8), made, "absent")), Errc::aborted);
  // Items change without the state.
  VersionEdit items;
  items.key = tablet(7);
  items.expected_version = made;
  items.remove_items = {1, 77};
  items.put_items = {{3, std::string(1000, 'x')}};
  EXPECT_GT(committed(items), made);
  const State expected = value(store().load());
  EXPECT_EQ(expected.at(tablet(7)).state, "state");
  EXPECT_THAT(expected.at(tablet(7)).items, testing::ElementsAre(testing::Key(2), testing::Key(3)));
  ok(store().close());
  reopen();
  expect_same(value(store().load()), expected);
}

TEST_P(ManifestStoreSuite, AnEditOfManySubjectsIsAllOrNothing) {
  (void)committed(edit_of(tablet(2), kAbsent, "there"));
  std::vector<VersionEdit> edits = {edit_of(tablet(1), kAbsent, "a"),
                                    edit_of(tablet(2), kAbsent, "b"),
                                    edit_of(tablet(3), kAbsent, "c")};
  (void)error(store().commit(edits), Errc::aborted);
  EXPECT_EQ(value(store().load()).size(), 1u);
  edits[1].key = tablet(1);
  (void)error(store().commit(edits), Errc::invalid_argument);
  EXPECT_EQ(value(store().load()).size(), 1u);
  edits[1].key = kNode;
  const Versions versions = value(store().commit(edits));
  ASSERT_EQ(versions.size(), 3u);
  reopen();
  const State found = value(store().load());
  EXPECT_EQ(found.size(), 4u);
  EXPECT_EQ(found.at(tablet(1)).version, versions[0]);
  EXPECT_EQ(found.at(kNode).version, versions[1]);
  EXPECT_EQ(found.at(tablet(3)).version, versions[2]);
}

TEST_P(ManifestStoreSuite, ASubjectMadeAgainHasNothingOfTheFirstNorItsVersion) {
  uint64_t last = 0;
  for (int life = 0; life < 3; ++life) {
    VersionEdit edit = edit_of(tablet(1), kAbsent, "x");
    edit.put_items = {{static_cast<uint64_t>(life), "item"}};
    const uint64_t made = committed(edit);
    EXPECT_GT(made, last);
    last = made;
    EXPECT_EQ(value(store().load()).at(tablet(1)).items.size(), 1u);
    EXPECT_EQ(committed(removal_of(tablet(1), made)), kAbsent);
    EXPECT_TRUE(value(store().load()).empty());
    reopen();
    EXPECT_TRUE(value(store().load()).empty());
  }
}

TEST_P(ManifestStoreSuite, OfTwoEditsOfOneVersionAtOnceTheSecondIsAborted) {
  std::vector<Result<Versions>> answers;
  size_t begun = 0;
  const auto run_one = [&](ManifestKey key) -> Async<void> {
    ++begun;
    auto answer = co_await commit(edit_of(key, kAbsent, "x"));
    answers.push_back(std::move(answer));
  };
  for (const ManifestKey key : {tablet(1), tablet(2), tablet(2), tablet(3)}) {
    spawn(bed().executor(), run_one(key));
  }
  ASSERT_TRUE(bed().run_until([&] { return begun == 4 && answers.size() == begun; }));
  size_t aborted = 0;
  for (const Result<Versions>& answer : answers) {
    if (answer) continue;
    EXPECT_EQ(answer.error().code, Errc::aborted);
    ++aborted;
  }
  EXPECT_EQ(aborted, 1u);
  EXPECT_EQ(value(store().load()).size(), 3u);
}

TEST_P(ManifestStoreSuite, LargeEditsAndManyItemsAreKept) {
  VersionEdit large = edit_of(tablet(1), kAbsent, text_of(3'000'000));
  for (uint64_t i = 0; i < 10'000; ++i) large.put_items.emplace_back(i, text_of(100, i));
  const uint64_t made = committed(large);
  VersionEdit some;
  some.key = tablet(1);
  some.expected_version = made;
  for (uint64_t i = 0; i < 10'000; i += 2) some.remove_items.push_back(i);
  (void)committed(some);
  reopen();
  const State found = value(store().load());
  EXPECT_TRUE(found.at(tablet(1)).state == text_of(3'000'000));
  EXPECT_EQ(found.at(tablet(1)).items.size(), 5'000u);
  EXPECT_TRUE(found.at(tablet(1)).items.at(9'999) == text_of(100, 9'999));
}

TEST_P(ManifestStoreSuite, NothingIsChangedAfterTheEnd) {
  (void)committed(edit_of(kNode, kAbsent, "first"));
  ok(store().close());
  const Error closed = error(commit(edit_of(tablet(8), kAbsent, "")), Errc::unavailable);
  EXPECT_EQ(closed.applied, Applied::not_applied);
  reopen();
  EXPECT_EQ(value(store().load()).size(), 1u);
}

// Random edits against a model, over several lives of the store.
TEST_P(ManifestStoreSuite, ARandomHistoryIsKept) {
  Random random(11);
  State model;
  for (int step = 0; step < 400; ++step) {
    std::vector<VersionEdit> edits;
    const uint64_t subjects = 1 + random.below(4);
    for (uint64_t i = 0; i < subjects; ++i) {
      const ManifestKey key = tablet(i * 5 + random.below(5));
      const auto it = model.find(key);
      VersionEdit edit = it == model.end() ? edit_of(key, kAbsent, "new") : VersionEdit();
      edit.key = key;
      if (it != model.end()) {
        edit.expected_version = it->second.version;
        edit.remove = random.below(6) == 0;
      }
      if (!edit.remove) {
        if (random.below(2) == 0) edit.state = text_of(random.below(300), random.below(1000));
        edit.put_items = {{random.below(8), text_of(random.below(40), random.below(1000))}};
        edit.remove_items = {8 + random.below(8)};
        edit.put_items.emplace_back(8 + (edit.remove_items[0] + 1) % 8, "there");
      }
      edits.push_back(std::move(edit));
    }
    const bool stale = random.below(8) == 0;
    if (stale) edits.back().expected_version += 1;
    if (stale) {
      (void)error(store().commit(edits), Errc::aborted);
    } else {
      const Versions versions = value(store().commit(edits));
      for (size_t i = 0; i < edits.size(); ++i) {
        const VersionEdit& edit = edits[i];
        if (edit.remove) {
          EXPECT_EQ(versions[i], kAbsent);
          model.erase(edit.key);
          continue;
        }
        ManifestEntry& entry = model[edit.key];
        EXPECT_GT(versions[i], entry.version);
        entry.version = versions[i];
        if (edit.state) entry.state = *edit.state;
        for (const auto& [item, content] : edit.put_items) entry.items[item] = content;
        for (const uint64_t item : edit.remove_items) entry.items.erase(item);
      }
    }
    if (step % 50 == 49) {
      if (step % 100 == 99) ok(store().close());
      reopen();
      expect_same(value(store().load()), model);
    }
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ManifestStoreSuite);

}  // namespace cellar::engine
