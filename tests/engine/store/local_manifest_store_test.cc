#include "engine/store/manifest/local_manifest_store.h"

#include <gmock/gmock.h>

#include "io/base/coding.h"
#include "io/base/crc32c.h"
#include "tests/engine/store/store_rig.h"

namespace cellar::engine {
namespace {

using State = std::map<ManifestKey, ManifestEntry>;

constexpr ManifestKey kNode{ManifestKey::Kind::node, 0};
ManifestKey tablet(uint64_t id) { return {ManifestKey::Kind::tablet, id}; }

ManifestOptions small_manifest() {
  ManifestOptions options;
  options.edits_per_snapshot = 2;
  options.min_edit_bytes = 48u << 10;
  return options;
}

VersionEdit edit_of(ManifestKey key, uint64_t expected, std::string state) {
  VersionEdit edit;
  edit.key = key;
  edit.expected_version = expected;
  edit.state = std::move(state);
  return edit;
}

bool same(const State& a, const State& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.version == y.second.version &&
           x.second.state == y.second.state && x.second.items == y.second.items;
  });
}

struct ManifestTest : testing::Test {
  std::unique_ptr<LocalManifestStore> open(StoreRig& rig) {
    return value_of(rig.run(LocalManifestStore::open(*rig.fs, small_manifest())));
  }
  Result<State> reopened(MemDisk& from) {
    StoreRig rig(from);
    auto store = rig.run(LocalManifestStore::open(*rig.fs, small_manifest()));
    if (!store) return std::unexpected(store.error());
    return rig.run((*store)->load());
  }
  static Result<std::vector<uint64_t>> commit(StoreRig& rig, ManifestStore& store,
                                              VersionEdit edit) {
    return rig.run(store.commit(ReshapeEdit(std::move(edit))));
  }
  std::vector<std::string> manifests(const MemDisk& of) {
    std::vector<std::string> names;
    for (const std::string& path : of.all_files()) {
      if (path.ends_with(".manifest")) names.push_back(path);
    }
    return names;
  }

  MemDisk disk;
  uint64_t next_version_ = 1;
};

TEST_F(ManifestTest, EditsAreConditionalAndSurviveARestart) {
  State expected;
  {
    StoreRig rig(disk);
    auto store = open(rig);
    EXPECT_TRUE(value_of(rig.run(store->load())).empty());
    const auto versions = value_of(commit(rig, *store, edit_of(kNode, kAbsent, "first")));
    ASSERT_EQ(versions.size(), 1u);
    VersionEdit edit = edit_of(tablet(7), kAbsent, "state");
    edit.put_items = {{1, "one"}, {2, "two"}};
    const uint64_t v = value_of(commit(rig, *store, edit))[0];
    EXPECT_NE(v, kAbsent);
    // A second edit from the same version: another one was installed first.
    const auto stale = commit(rig, *store, edit);
    ASSERT_FALSE(stale);
    EXPECT_EQ(stale.error().code, Errc::aborted);
    EXPECT_NE(stale.error().message.find("tablet 7"), std::string::npos);
    // Items change without the state.
    VersionEdit items;
    items.key = tablet(7);
    items.expected_version = v;
    items.remove_items = {1};
    items.put_items = {{3, std::string(1000, 'x')}};
    EXPECT_GT(value_of(commit(rig, *store, items))[0], v);
    expected = value_of(rig.run(store->load()));
    EXPECT_EQ(expected[tablet(7)].state, "state");
    EXPECT_EQ(expected[tablet(7)].items.size(), 2u);
    expect_ok(rig.run(store->close()));
    const auto closed = commit(rig, *store, edit_of(tablet(8), kAbsent, ""));
    ASSERT_FALSE(closed);
    EXPECT_EQ(closed.error().code, Errc::unavailable);
  }
  EXPECT_TRUE(same(value_of(reopened(disk)), expected));
}

TEST_F(ManifestTest, AnEditOfManySubjectsIsAllOrNothing) {
  StoreRig rig(disk);
  auto store = open(rig);
  (void)value_of(commit(rig, *store, edit_of(tablet(2), kAbsent, "there")));
  std::vector<VersionEdit> edits = {edit_of(tablet(1), kAbsent, "a"),
                                    edit_of(tablet(2), kAbsent, "b"),
                                    edit_of(tablet(3), kAbsent, "c")};
  const auto refused = rig.run(store->commit(ReshapeEdit(edits)));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::aborted);
  EXPECT_EQ(value_of(rig.run(store->load())).size(), 1u);
  edits[1].key = tablet(1);
  EXPECT_EQ(rig.run(store->commit(ReshapeEdit(edits))).error().code, Errc::invalid_argument);
}

TEST_F(ManifestTest, ASubjectMadeAgainNeverGetsAnOldVersion) {
  uint64_t last = 0;
  for (int life = 0; life < 3; ++life) {
    StoreRig rig(disk);
    auto store = open(rig);
    const uint64_t made = value_of(commit(rig, *store, edit_of(tablet(1), kAbsent, "x")))[0];
    EXPECT_GT(made, last);
    last = made;
    VersionEdit gone;
    gone.key = tablet(1);
    gone.expected_version = made;
    gone.remove = true;
    EXPECT_EQ(value_of(commit(rig, *store, gone))[0], kAbsent);
    EXPECT_TRUE(value_of(rig.run(store->load())).empty());
    expect_ok(rig.run(store->close()));
  }
}

// Concurrent edits share the next write; a crash leaves a prefix of them.
TEST_F(ManifestTest, CommitsAtOnceAreWrittenTogetherAndInOrder) {
  constexpr size_t kEdits = 20;
  StoreRig rig(disk, 1, {.min_latency_us = 200, .max_latency_us = 200});
  auto store = open(rig);
  const int64_t began_us = rig.loop.timers().now_us();
  (void)value_of(commit(rig, *store, edit_of(kNode, kAbsent, "alone")));
  const int64_t alone_us = rig.loop.timers().now_us() - began_us;

  std::vector<size_t> answered;
  const auto run_one = [&](size_t i) -> Async<void> {
    ReshapeEdit edit(edit_of(tablet(i), kAbsent, "x"));
    auto versions = co_await store->commit(std::move(edit));
    EXPECT_TRUE(versions);
    answered.push_back(i);
  };
  for (size_t i = 0; i < kEdits; ++i) spawn(rig.loop.executor(), run_one(i));
  Random random(1);
  const auto look = [&] {
    const State found = value_of(reopened(*disk.crash_image(CrashPolicy::random_subset, random)));
    const size_t tablets = found.size() - 1;
    EXPECT_GE(tablets, answered.size());
    for (size_t i = 0; i < tablets; ++i) EXPECT_TRUE(found.contains(tablet(i)));
    return answered.size() == kEdits;
  };
  ASSERT_TRUE(rig.world.run_until(look));
  for (size_t i = 0; i < kEdits; ++i) EXPECT_EQ(answered[i], i);
  EXPECT_LT(rig.loop.timers().now_us() - began_us, 5 * alone_us);
}

TEST_F(ManifestTest, OfTwoEditsOfOneVersionAtOnceTheSecondIsAborted) {
  StoreRig rig(disk, 1, {.min_latency_us = 50, .max_latency_us = 500});
  auto store = open(rig);
  std::vector<Result<std::vector<uint64_t>>> answers;
  const auto run_one = [&](ManifestKey key) -> Async<void> {
    ReshapeEdit edit(edit_of(key, kAbsent, "x"));
    answers.push_back(co_await store->commit(std::move(edit)));
  };
  for (const ManifestKey key : {tablet(1), tablet(2), tablet(2), tablet(3)}) {
    spawn(rig.loop.executor(), run_one(key));
  }
  ASSERT_TRUE(rig.world.run_until([&] { return answers.size() == 4; }));
  EXPECT_TRUE(answers[0] && answers[1] && answers[3]);
  ASSERT_FALSE(answers[2]);
  EXPECT_EQ(answers[2].error().code, Errc::aborted);
}

TEST_F(ManifestTest, AFullFileRollsAndOnlyTheNewOneStays) {
  StoreRig rig(disk);
  auto store = open(rig);
  const uint64_t first = store->file_number();
  uint64_t version = kAbsent;
  for (int i = 0; i < 60; ++i) {
    version = value_of(commit(
        rig, *store, edit_of(kNode, version, payload_of(static_cast<uint64_t>(i), 3000))))[0];
  }
  // Far larger than a file: a new file of sufficient size is made.
  const std::string large = payload_of(1, 700'000);
  (void)value_of(commit(rig, *store, edit_of(tablet(1), kAbsent, large)));
  EXPECT_GT(store->file_number(), first + 3);
  EXPECT_EQ(manifests(disk).size(), 1u);
  const State expected = value_of(rig.run(store->load()));
  EXPECT_TRUE(same(value_of(reopened(*disk.clone())), expected));
}

TEST_F(ManifestTest, RestartsDoNotGrowTheDirectory) {
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(reopened(disk));
  EXPECT_THAT(disk.all_files(),
              testing::ElementsAre("manifest/00000014.manifest", "manifest/CURRENT",
                                   "manifest/CURRENT.old", "manifest/spare"));
}

TEST_F(ManifestTest, AFailedWritePoisons) {
  StoreRig rig(disk);
  auto store = open(rig);
  const uint64_t v = value_of(commit(rig, *store, edit_of(kNode, kAbsent, "before")))[0];
  expect_ok(rig.rules.add("write path=manifest/*.manifest nth=1 error=EIO"));
  const auto failed = commit(rig, *store, edit_of(kNode, v, "failed"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Errc::unavailable);
  EXPECT_EQ(failed.error().applied, Applied::maybe_applied);
  const auto later = commit(rig, *store, edit_of(kNode, v, "later"));
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error().applied, Applied::not_applied);
  EXPECT_EQ(rig.rules.hits(), 1u);
  EXPECT_EQ(value_of(reopened(*disk.clone())).at(kNode).state, "before");
}

TEST_F(ManifestTest, AFullDiskAtRollingRefusesTheEditAndTheNextOneWorks) {
  StoreRig rig(disk);
  auto store = open(rig);
  disk.set_bytes_limit(disk.used_bytes());
  const std::string large(100'000, 'x');
  const auto refused = commit(rig, *store, edit_of(kNode, kAbsent, large));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::resource_exhausted);
  (void)value_of(commit(rig, *store, edit_of(tablet(1), kAbsent, "small")));
  disk.set_bytes_limit(UINT64_MAX);
  (void)value_of(commit(rig, *store, edit_of(kNode, kAbsent, large)));
  EXPECT_EQ(value_of(reopened(*disk.clone())).size(), 2u);
}

// The file of the next manifest was made without room for its bytes: they follow when there is.
TEST_F(ManifestTest, ASpareWithoutBytesIsExtendedLater) {
  StoreRig rig(disk);
  expect_ok(rig.rules.add("allocate path=manifest/spare nth=1 error=ENOSPC"));
  auto store = open(rig);
  ASSERT_EQ(rig.rules.hits(), 1u);
  uint64_t version = kAbsent;
  for (int i = 0; i < 40; ++i) {
    version = value_of(commit(rig, *store, edit_of(kNode, version, std::to_string(i))))[0];
  }
  const auto spare = disk.read_all("manifest/spare");
  ASSERT_TRUE(spare);
  EXPECT_GE(spare->size(), small_manifest().min_edit_bytes);
}

TEST_F(ManifestTest, BytesAreThoseOfTheWorkedExample) {
  VersionEdit edit = edit_of(tablet(7), 4, "s");
  edit.put_items = {{1, "x"}};
  edit.remove_items = {2};
  const std::string bytes = encode_edit({edit}, {5}, 6);
  EXPECT_EQ(bytes, std::string("\x03\x06\x01\x02\x07\x05\x01\x01s\x01\x01\x01x\x01\x02", 15));
  ManifestState state;
  expect_ok(apply_entry(bytes, state));
  EXPECT_EQ(state.next_version, 6u);
  EXPECT_EQ(state.entries.at(tablet(7)).items.at(1), "x");
  EXPECT_EQ(encode_current(12).substr(0, 25), "cellar manifest 0000000c ");
}

// S6: every byte of the file and of the pointer.
TEST_F(ManifestTest, DamageIsDataLossNamingTheFileOrHarmless) {
  State expected;
  {
    StoreRig rig(disk);
    auto store = open(rig);
    uint64_t v = kAbsent;
    for (int i = 0; i < 3; ++i) {
      v = value_of(commit(rig, *store, edit_of(kNode, v, payload_of(1, 500))))[0];
    }
    expected = value_of(rig.run(store->load()));
  }
  size_t found = 0;
  for (const std::string& path : disk.all_files()) {
    // reserved space without contents
    const bool idle = path == kPreviousPath || path == kSpareManifestPath;
    const std::string content = value_of(disk.read_all(path)).substr(0, idle ? 5000 : SIZE_MAX);
    for (size_t at = 0; at < content.size(); at += at % 4096 < 700 ? 1 : 37) {
      for (const bool cut : {false, true}) {
        if (cut && at % 7 != 0) continue;
        SCOPED_TRACE(fmt::format("{} at {} cut {}", path, at, cut));
        auto image = disk.clone();
        if (cut) {
          expect_ok(image->remove(path));
          expect_ok(image->write_all(path, content.substr(0, at)));
        } else {
          expect_ok(image->corrupt(path, at, 0x20));
        }
        const auto before = image->all_files();
        const auto state = reopened(*image);
        if (state) {
          EXPECT_TRUE(same(*state, expected)) << "silent loss";
          EXPECT_TRUE(idle || !cut);
        } else {
          ++found;
          EXPECT_EQ(state.error().code, Errc::data_loss);
          EXPECT_NE(state.error().message.find(path), std::string::npos) << state.error().message;
          EXPECT_EQ(image->all_files(), before);
        }
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(found, 1500u);
}

TEST_F(ManifestTest, AMissingPointerIsDamageWhenThereWasAnythingToPointTo) {
  {
    StoreRig rig(disk);
    auto store = open(rig);
    (void)value_of(commit(rig, *store, edit_of(kNode, kAbsent, "x")));
  }
  expect_ok(disk.remove("manifest/CURRENT"));
  const auto state = reopened(disk);
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().code, Errc::data_loss);
}

TEST_F(ManifestTest, ANewerFormatIsRefusedAndNothingIsTouched) {
  {
    EXPECT_TRUE(reopened(disk));
  }
  const std::string path = manifests(disk).at(0);
  std::string newer = value_of(disk.read_all(path));
  newer[8] = 2;
  const uint32_t crc = crc32c(Bytes(newer).substr(16, 32), crc32c(Bytes(newer).substr(0, 12)));
  store_le(newer.data() + 12, crc);
  expect_ok(disk.remove(path));
  expect_ok(disk.write_all(path, newer));
  const auto before = disk.all_files();
  const auto state = reopened(disk);
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().code, Errc::failed_precondition);
  EXPECT_EQ(disk.all_files(), before);
  EXPECT_EQ(value_of(disk.read_all(path)), newer);
}

// The power fails at every step: first start, edits, new files, later starts.
TEST_F(ManifestTest, CrashesLeaveTheLastAnsweredEditOrTheOneUnderWay) {
  constexpr CrashPolicy kPolicies[] = {CrashPolicy::none, CrashPolicy::all,
                                       CrashPolicy::random_subset, CrashPolicy::torn_last_write};
  size_t images = 0;
  for (uint64_t seed = 1; seed <= 10 && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    auto machine = std::make_unique<MemDisk>();
    Random random(seed);
    State answered;
    for (int life = 0; life < 3 && !HasFailure(); ++life) {
      StoreRig rig(*machine, seed, {.min_latency_us = 20, .max_latency_us = 300});
      State under_way = answered;
      const auto look = [&] {
        auto image = machine->crash_image(kPolicies[random.below(4)], random);
        ++images;
        const auto found = reopened(*image);
        EXPECT_TRUE(found) << found.error().to_string();
        if (found) EXPECT_TRUE(same(*found, answered) || same(*found, under_way));
        return HasFailure();
      };
      bool finished = false;
      std::unique_ptr<LocalManifestStore> store;
      const auto work = [&]() -> Async<void> {
        auto opened = co_await LocalManifestStore::open(*rig.fs, small_manifest());
        store = value_of(std::move(opened));
        for (int i = 0; i < 25; ++i) {
          const ManifestKey key = tablet(random.below(4));
          const bool exists = answered.contains(key);
          VersionEdit edit = edit_of(key, exists ? answered[key].version : kAbsent,
                                     payload_of(random.next(), random.below(6000)));
          edit.put_items = {{random.below(3), "item"}};
          edit.remove = exists && random.one_in(4);
          // The state after this edit; the version is taken from the answer.
          ReshapeEdit edits(edit);
          State next = answered;
          if (edit.remove) {
            next.erase(key);
          } else {
            next[key].state = *edit.state;
            next[key].items[edit.put_items[0].first] = "item";
            next[key].version = next_version_;
          }
          under_way = next;
          auto versions = co_await store->commit(std::move(edits));
          const auto got = value_of(std::move(versions));
          if (!edit.remove) EXPECT_EQ(got[0], next_version_++);
          answered = next;
        }
        finished = true;
      };
      next_version_ = life == 0 ? 1 : next_version_;
      spawn(rig.loop.executor(), work());
      rig.world.run_until([&] { return look() || finished; });
      EXPECT_TRUE(finished);
      rig.world.crash();
      store.reset();
      machine = machine->crash_image(kPolicies[random.below(4)], random);
    }
  }
  EXPECT_GT(images, 2000u);
}

}  // namespace
}  // namespace cellar::engine
