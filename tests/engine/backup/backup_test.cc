// Backups: a backup holds everything acknowledged before it began, copies shared files once, is
// absent if it was interrupted, and is refused by name if it is damaged. Retention continues in a
// restored table.
#include "engine/backup/backup.h"

#include <gtest/gtest.h>

#include "engine/backup/backup_file.h"
#include "engine/store/manifest/local_manifest_store.h"
#include "tests/engine/write/range_token_bed.h"
#include "tests/support/durations.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

using engine::BackupProgress;
using engine::BackupRequest;
using engine::BackupSummary;
constexpr int64_t kStartUs = 1'000 * kHourUs;
const std::string kSource = "0123456789abcdef0123456789abcdef";

TestNodeOptions options_of(uint32_t shards, int64_t start_us = kStartUs) {
  TestNodeOptions options;
  options.shards = shards;
  options.start_wall_us = start_us;
  return options;
}

// Bytes that do not compress.
std::string noise(int seed) {
  Random random(static_cast<uint64_t>(seed));
  std::string text(200, ' ');
  for (char& c : text) c = static_cast<char>('!' + random.below(90));
  return text;
}

// The directory of the backups, as the home shard of the node accesses it.
class Destination {
 public:
  Destination(TestNode& node, MemDisk& disk)
      : fs_(node.loop(0).executor(), disk), store_(engine::make_local_backup_store(fs_)) {}
  engine::BackupStore& operator*() { return *store_; }

 private:
  MemFs fs_;
  std::unique_ptr<engine::BackupStore> store_;
};

class Backup : public testing::Test {
 protected:
  template <class T>
  T run(Async<T> work) {
    return node_.world().block_on(node_.loop(0), std::move(work));
  }
  BackupRequest request(std::string name) { return {std::move(name), {}, kSource, "test"}; }
  Result<void> back_up(std::string name) {
    Destination there(node_, *disk_);
    progress_ = {};
    return run(node_.node().back_up(ShardId{0}, *there, request(name), progress_));
  }
  Result<BackupSummary> verify(std::string name) {
    Destination there(node_, *disk_);
    progress_ = {};
    return run(engine::verify_backup(*there, std::move(name), node_.loop(0).timers(),
                                     node_.loop(0).executor(), progress_));
  }
  Result<engine::TableEntry> restore(std::string name, std::string as, std::string table = "t") {
    Destination there(node_, *disk_);
    progress_ = {};
    return run(node_.node().restore_backup(ShardId{0}, *there,
                                           {std::move(name), std::move(table), std::move(as)},
                                           node_.author, progress_));
  }
  Result<std::vector<std::string>> prune(uint32_t keep, int64_t taken_from_us = INT64_MIN) {
    Destination there(node_, *disk_);
    return run(engine::prune_backups(*there, keep, taken_from_us));
  }
  std::vector<std::string> files(std::string_view directory) const {
    std::vector<std::string> found;
    for (const std::string& file : disk_->all_files()) {
      if (file.starts_with(directory)) found.push_back(file);
    }
    return found;
  }
  void create() {
    engine::TableSpec spec;
    spec.name = "t";
    spec.granularity = Granularity::micros;
    spec.splits = {"m"};
    spec.families.resize(2);
    spec.families[0].name = "f";
    spec.families[0].rule = RetentionRule::max_versions(2);
    spec.families[1].name = "g";
    spec.families[1].rule = RetentionRule::max_age_us(kHourUs);
    ASSERT_TRUE(node_.create_table(spec));
  }
  void fill(const std::string& prefix) {
    for (int i = 0; i < 40; ++i) {
      const std::string row = fmt::format("{}{:03}", i % 2 == 0 ? "a" : "z", i) + prefix;
      ASSERT_TRUE(node_.set("t", row, "f:q", kStartUs + i, prefix + noise(i)));
    }
    ASSERT_TRUE(node_.set("t", "a000", "f:v", 1, "1"));
    ASSERT_TRUE(node_.set("t", "a000", "f:v", 2, "2"));
    ASSERT_TRUE(node_.set("t", "a000", "f:v", 3, "3"));  // pushes the first out of the log
    ASSERT_TRUE(node_.write("t", "a000", {delete_column("f:v", 3, 4)}));
    ASSERT_TRUE(node_.set("t", "z000", "g:q", kStartUs, "for an hour"));
    ASSERT_TRUE(node_.drop_rows("t", "z030", "z035"));
  }
  using Cells = std::vector<OwnedCell>;

  TestNode node_{options_of(2)};
  std::unique_ptr<MemDisk> disk_ = std::make_unique<MemDisk>();
  std::vector<std::unique_ptr<MemDisk>> left_;
  BackupProgress progress_;
};

TEST_F(Backup, HoldsWhatWasAcknowledgedAndIsRestoredIntoANewTableAsItWas) {
  create();
  fill("one");
  const Cells before = node_.cells("t");
  ASSERT_TRUE(back_up("first"));
  fill("two");
  ASSERT_TRUE(verify("first"));
  const auto restored = restore("first", "copy");
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(restored->tablets.size(), 2u);
  EXPECT_EQ(node_.cells("copy"), before);
  // The copy is an ordinary table: it takes writes, is merged and survives a power cut.
  ASSERT_TRUE(node_.set("copy", "a000", "f:v", 9, "new"));
  ASSERT_TRUE(node_.compact("copy"));
  Cells after = node_.cells("copy");
  EXPECT_EQ(after.size(), before.size() + 1);
  node_.crash(CrashPolicy::random_subset);
  ASSERT_TRUE(node_.reopen());
  EXPECT_EQ(node_.cells("copy"), after);
}

// Restored tables have the sections that their sources had; the rest is built.
TEST_F(Backup, ARestoredTableHasTheIndexesOfItsSource) {
  create();
  fill("one");
  ASSERT_TRUE(node_.flush("t"));
  engine::IndexSpec by_value;
  by_value.name = "i";
  by_value.family = "f";
  by_value.qualifier = "q";
  by_value.parts = {cellar::IndexPart::value};
  engine::TableChange change;
  change.name = "t";
  change.add_indexes.push_back(by_value);
  ASSERT_TRUE(node_.alter_table(change));
  const auto is_ready = [this](const std::string& table) {
    const auto states = node_.index_states(table);
    return states && states->states.size() == 1 && states->states[0].ready;
  };
  for (int i = 0; i < 1000 && !is_ready("t"); ++i) node_.world().run_for_us(100'000);
  ASSERT_TRUE(is_ready("t"));
  IndexReadSpec spec;
  spec.index = "i";
  const auto before = node_.read_index("t", spec);
  ASSERT_TRUE(before) << before.error().message;
  ASSERT_GT(before->size(), 30u);
  ASSERT_TRUE(back_up("first"));
  ASSERT_TRUE(verify("first"));
  ASSERT_TRUE(restore("first", "copy"));
  EXPECT_TRUE(is_ready("copy")) << "at once";
  const auto after = node_.read_index("copy", spec);
  ASSERT_TRUE(after) << after.error().message;
  ASSERT_EQ(after->size(), before->size());
  for (size_t i = 0; i < after->size(); ++i) {
    EXPECT_EQ((*after)[i].row, (*before)[i].row);
    EXPECT_EQ((*after)[i].position, (*before)[i].position);
  }
  // It goes on as an index of its own.
  ASSERT_TRUE(node_.set("copy", "new", "f:q", kStartUs, "!"));
  EXPECT_EQ(node_.read_index("copy", spec)->size(), before->size() + 1);
  EXPECT_EQ(node_.read_index("t", spec)->size(), before->size());
  ASSERT_TRUE(node_.compact("copy"));
  node_.crash(CrashPolicy::random_subset);
  ASSERT_TRUE(node_.reopen());
  EXPECT_EQ(node_.read_index("copy", spec)->size(), before->size() + 1);
}

TEST_F(Backup, TheNextOneCopiesOnlyWhatIsNew) {
  create();
  fill("one");
  ASSERT_TRUE(back_up("first"));
  const uint64_t all = progress_.copied_bytes;
  EXPECT_GT(all, 0u);
  ASSERT_TRUE(back_up("idle"));
  EXPECT_EQ(progress_.copied_bytes, 0u);
  ASSERT_TRUE(node_.set("t", "b", "f:q", kStartUs, "little"));
  const Cells now = node_.cells("t");
  ASSERT_TRUE(back_up("second"));
  EXPECT_GT(progress_.copied_bytes, 0u);
  EXPECT_LT(progress_.copied_bytes, all);
  EXPECT_EQ(progress_.bytes_done, progress_.bytes_total);
  ASSERT_TRUE(restore("second", "copy"));
  EXPECT_EQ(node_.cells("copy"), now);
}

TEST_F(Backup, BlobsThatAMergeReplacesStayUntilItHasThem) {
  create();
  fill("one");
  const Cells before = node_.cells("t");
  Destination there(node_, *disk_);
  std::optional<Result<void>> done;
  progress_.rate_bytes_per_s = 1'000;
  auto work = [&]() -> Async<void> {
    done = co_await node_.node().back_up(ShardId{0}, *there, request("slow"), progress_);
  };
  spawn(node_.loop(0).executor(), work);
  node_.world().run_until([&] { return progress_.phase == "copying"; });
  fill("two");
  ASSERT_TRUE(node_.compact("t"));
  EXPECT_FALSE(done.has_value());
  node_.world().run_until([&] { return done.has_value(); });
  ASSERT_TRUE(*done) << done->error().message;
  ASSERT_TRUE(restore("slow", "copy"));
  EXPECT_EQ(node_.cells("copy"), before);
  // The source has no files left over: the files present are those that the manifest names.
  node_.world().run_for_us(1'000'000);
  size_t named = 0;
  for (const char* table : {"t", "copy"}) {
    for (const auto& figures : node_.figures(table)) named += figures.tables;
  }
  size_t there_now = 0;
  for (const std::string& file : node_.disk().all_files()) there_now += file.starts_with("blob/");
  EXPECT_EQ(there_now, named);
}

// A table that is dropped cannot be flushed. Restored a moment later it would be in the backup
// without what was in memory.
TEST_F(Backup, HoldsAllOfATableThatIsDroppedAndRestoredMeanwhile) {
  create();
  for (const char* name : {"a", "z"}) ASSERT_TRUE(node_.create_table(name, {"f"}));
  int written = 0;
  for (int before = 0; before < 30; before += 3) {
    for (int between = 0; between < 40; between += 4) {
      SCOPED_TRACE(fmt::format("{} {}", before, between));
      for (const char* name : {"a", "t", "z"}) {
        ++written;
        ASSERT_TRUE(node_.set(name, "r", "f:q", written, noise(written)));
      }
      const Cells cells = node_.cells("t");
      Destination there(node_, *disk_);
      progress_ = {};
      std::optional<Result<void>> done;
      bool restored = false;
      const std::string name = fmt::format("b{}", written);
      auto work = [&]() -> Async<void> {
        done = co_await node_.node().back_up(ShardId{0}, *there, request(name), progress_);
      };
      auto drop = [&]() -> Async<void> {
        for (int i = 0; i < before; ++i) co_await yield_now();
        const auto dropped = co_await node_.node().drop_table(ShardId{0}, "t", node_.author);
        EXPECT_TRUE(dropped);
        for (int i = 0; i < between; ++i) co_await yield_now();
        const auto back = co_await node_.node().restore_table(ShardId{0}, "t", node_.author);
        EXPECT_TRUE(back);
        restored = true;
      };
      spawn(node_.loop(0).executor(), work);
      spawn(node_.loop(0).executor(), drop);
      node_.world().run_until([&] { return done.has_value() && restored; });
      ASSERT_TRUE(*done) << done->error().message;
      const auto copy = restore(name, name);
      if (!copy) continue;  // dropped when the backup was made
      EXPECT_EQ(node_.cells(name), cells);
      ASSERT_TRUE(node_.drop_table(name));
    }
  }
}

// A file that has rotted here is not copied over the good copy of it that earlier backups name.
TEST_F(Backup, ADamagedFileDoesNotReplaceItsCopies) {
  create();
  fill("one");
  ASSERT_TRUE(back_up("one"));
  std::string blob;
  for (const std::string& path : node_.disk().all_files()) {
    if (path.starts_with("blob/")) blob = path;
  }
  ASSERT_TRUE(node_.disk().corrupt(blob, node_.disk().read_all(blob)->size() - 20, 0x10));
  const auto again = back_up("two");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Errc::data_loss);
  EXPECT_NE(again.error().message.find(blob), std::string::npos) << again.error().message;
  EXPECT_TRUE(verify("one"));
  EXPECT_FALSE(verify("two"));
}

TEST_F(Backup, OneThatWasCutShortIsNoneAndTheDestinationStaysUsable) {
  create();
  fill("one");
  ASSERT_TRUE(back_up("whole"));
  fill("two");
  const Cells now = node_.cells("t");
  for (const uint64_t stop_after : {0ull, 3'000ull, 5'000ull}) {
    {
      Destination there(node_, *disk_);
      std::optional<Result<void>> done;
      progress_ = {};
      progress_.rate_bytes_per_s = 1'000;
      auto work = [&]() -> Async<void> {
        done = co_await node_.node().back_up(ShardId{0}, *there, request("cut"), progress_);
      };
      spawn(node_.loop(0).executor(), work);
      node_.world().run_until([&] {
        return done.has_value() ||
               (progress_.phase == "copying" && progress_.copied_bytes >= stop_after);
      });
      Random random(stop_after + 1);
      std::unique_ptr<MemDisk> left = disk_->crash_image(CrashPolicy::random_subset, random);
      progress_.cancelled = true;
      node_.world().run_until([&] { return done.has_value(); });
      ASSERT_FALSE(*done);
      EXPECT_EQ(done->error().code, Errc::cancelled);
      left_.push_back(std::exchange(disk_, std::move(left)));  // its file system still uses it
    }
    EXPECT_EQ(files("backups/"), std::vector<std::string>{"backups/whole.backup"});
    EXPECT_TRUE(verify("whole"));
  }
  ASSERT_TRUE(back_up("next"));
  ASSERT_TRUE(verify("next"));
  ASSERT_TRUE(restore("next", "copy"));
  EXPECT_EQ(node_.cells("copy"), now);
}

// A power failure during the first claim left SOURCE and lost the directory that was made before
// it.
TEST_F(Backup, OutlivesAPowerFailureAfterAClaimThatWasCutShort) {
  create();
  for (const std::string_view name : {"empty", "full"}) {
    SCOPED_TRACE(name);
    if (name == "full") fill("one");
    left_.push_back(std::exchange(disk_, std::make_unique<MemDisk>()));
    ASSERT_TRUE(disk_->write_all("SOURCE", kSource + "\n"));
    ASSERT_TRUE(back_up(std::string(name)));
    Random random(1);
    std::unique_ptr<MemDisk> after = disk_->crash_image(CrashPolicy::none, random);
    left_.push_back(std::exchange(disk_, std::move(after)));
    EXPECT_TRUE(verify(std::string(name)));
  }
}

TEST_F(Backup, DamageIsRefusedByTheNameOfTheFile) {
  create();
  fill("one");
  ASSERT_TRUE(back_up("b"));
  const auto blobs = files("blob/");
  ASSERT_FALSE(blobs.empty());
  ASSERT_TRUE(disk_->corrupt(blobs[0], 100, 0x10));
  for (const Error& error : {verify("b").error(), restore("b", "copy").error()}) {
    EXPECT_EQ(error.code, Errc::data_loss);
    EXPECT_NE(error.message.find(blobs[0]), std::string::npos) << error.message;
  }
  EXPECT_EQ(node_.table("copy"), nullptr);
  ASSERT_TRUE(disk_->corrupt(blobs[0], 100, 0x10));
  EXPECT_TRUE(verify("b"));
  ASSERT_TRUE(disk_->remove(blobs[0]));
  const auto missing = verify("b");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find(blobs[0] + " is missing"), std::string::npos)
      << missing.error().message;
  ASSERT_TRUE(disk_->corrupt("backups/b.backup", 40, 1));
  const auto damaged = verify("b");
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, Errc::data_loss);
  EXPECT_NE(damaged.error().message.find("backups/b.backup"), std::string::npos);
}

TEST_F(Backup, WhatHasDiedMeanwhileIsNotShown) {
  create();
  fill("one");
  ASSERT_TRUE(back_up("b"));
  const size_t before = node_.cells("t").size();
  node_.world().run_for_us(2 * kHourUs);
  ASSERT_TRUE(restore("b", "copy"));
  EXPECT_EQ(node_.cells("copy").size(), before - 1);  // the cell that lives for an hour
  EXPECT_EQ(node_.cells("copy"), node_.cells("t"));
}

TEST_F(Backup, PruningKeepsWhatTheOthersShare) {
  create();
  fill("one");
  ASSERT_TRUE(back_up("1"));
  node_.world().run_for_us(1'000'000);
  ASSERT_TRUE(node_.set("t", "b", "f:q", kStartUs, "more"));
  const Cells now = node_.cells("t");
  ASSERT_TRUE(back_up("2"));
  node_.world().run_for_us(1'000'000);
  ASSERT_TRUE(node_.compact("t"));
  ASSERT_TRUE(back_up("3"));
  const size_t all = files("blob/").size();
  EXPECT_EQ(prune(2).value(), std::vector<std::string>{"1"});
  EXPECT_TRUE(verify("2"));
  EXPECT_TRUE(verify("3"));
  EXPECT_EQ(prune(0).value(), std::vector<std::string>{"2"});  // the last one is always kept
  EXPECT_LT(files("blob/").size(), all);
  ASSERT_TRUE(restore("3", "copy"));
  EXPECT_EQ(node_.cells("copy"), now);
}

TEST_F(Backup, PruningByAgeKeepsTheNewest) {
  create();
  std::vector<int64_t> taken_us;
  for (const char* name : {"1", "2", "3"}) {
    ASSERT_TRUE(back_up(name));
    taken_us.push_back(verify(name)->wall_us);
    node_.world().run_for_us(1'000'000);
  }
  EXPECT_EQ(prune(9, taken_us[0])->size(), 0u);
  EXPECT_EQ(prune(9, taken_us[0] + 1).value(), std::vector<std::string>{"1"});
  EXPECT_EQ(prune(9, INT64_MAX).value(), std::vector<std::string>{"2"});
  EXPECT_TRUE(verify("3"));
}

TEST_F(Backup, RefusesWhatCannotBe) {
  create();
  EXPECT_EQ(back_up("../up").error().code, Errc::invalid_argument);
  ASSERT_TRUE(back_up("b"));
  EXPECT_EQ(back_up("b").error().code, Errc::already_exists);
  EXPECT_TRUE(verify("b"));
  EXPECT_EQ(restore("b", "t").error().code, Errc::already_exists);
  EXPECT_EQ(restore("b", "copy", "other").error().code, Errc::not_found);
  EXPECT_EQ(restore("other", "copy").error().code, Errc::not_found);
  Destination there(node_, *disk_);
  BackupRequest foreign = request("c");
  foreign.source = std::string(32, 'f');
  const auto refused = run(node_.node().back_up(ShardId{0}, *there, foreign, progress_));
  EXPECT_EQ(refused.error().code, Errc::failed_precondition);
  BackupRequest one = request("c");
  one.tables = {"nothing"};
  EXPECT_EQ(run(node_.node().back_up(ShardId{0}, *there, one, progress_)).error().code,
            Errc::not_found);
}

TEST_F(Backup, BecomesANewNodeOfAnotherNumberOfShards) {
  create();
  fill("one");
  ASSERT_TRUE(back_up("b"));
  const Cells before = node_.cells("t");
  auto target = std::make_unique<MemDisk>();
  const auto restore_at = [&](int64_t wall_us) {
    Destination there(node_, *disk_);
    MemFs fs(node_.loop(0).executor(), *target);
    const auto blobs = engine::make_local_blob_store(fs);
    auto manifest = run(engine::open_local_manifest_store(fs, {}));
    EXPECT_TRUE(manifest);
    progress_ = {};
    const auto done =
        run(engine::restore_directory(*there, "b", *blobs, **manifest, wall_us,
                                      node_.loop(0).timers(), node_.loop(0).executor(), progress_));
    EXPECT_TRUE(run((*manifest)->close()));
    return done;
  };
  EXPECT_EQ(restore_at(kStartUs - 1).error().code, Errc::failed_precondition);
  const int64_t now_us = node_.clock_report().wall_us;
  const auto done = restore_at(now_us);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->tables, std::vector<std::string>{"t"});
  // the directory holds a store
  EXPECT_EQ(restore_at(now_us).error().code, Errc::failed_precondition);
  TestNode other(options_of(3, now_us), std::move(target));
  ASSERT_TRUE(other.is_open()) << other.open_error()->message;
  EXPECT_EQ(other.cells("t"), before);
  EXPECT_TRUE(other.set("t", "b", "f:q", now_us, "goes on"));
}

// Its token is scoped to the table.
TEST_F(Backup, LeavesTheTokenOfARangeDeleteToTheTableThatItIsOf) {
  create();
  const auto drop = [this](const std::string& table) {
    DropAsk ask;
    ask.end = "";
    ask.issued_us = kStartUs;
    const auto tablets = node_.table(table)->tablets;
    for (const engine::TabletDescriptor& tablet : tablets) {
      const auto part = begin_drop(node_, tablet, ask);
      EXPECT_TRUE(node_.world().run_until([&] { return part->finished; }));
      EXPECT_FALSE(part->write.error) << part->write.error->message;
    }
  };
  drop("t");
  fill("one");
  ASSERT_TRUE(back_up("b"));
  ASSERT_TRUE(restore("b", "copy"));
  drop("t");
  EXPECT_FALSE(node_.cells("t").empty());
  drop("copy");
  EXPECT_TRUE(node_.cells("copy").empty());
}

// A clock that lags a little is waited for: no cell is judged at a time before earlier answers.
TEST_F(Backup, WhatWasDeadWhenItWasTakenIsDeadWhereTheClockIsALittleBehind) {
  create();
  ASSERT_TRUE(node_.set("t", "a", "f:q", 1, "lives"));
  ASSERT_TRUE(node_.set("t", "z", "g:q", kStartUs, "for an hour"));
  node_.world().clock().advance_us(kHourUs + 300'000);
  ASSERT_EQ(node_.cells("t").size(), 1u);
  ASSERT_TRUE(back_up("b"));
  const int64_t taken_us = node_.clock_report().trusted_us;
  for (const int64_t behind_us : {100'000, 900'000}) {
    TestNode other(options_of(2, taken_us - behind_us));
    Destination there(other, *disk_);
    progress_ = {};
    const auto restored = other.world().block_on(
        other.loop(0), other.node().restore_backup(ShardId{0}, *there, {"b", "t", "copy"},
                                                   other.author, progress_));
    ASSERT_TRUE(restored) << restored.error().message;
    EXPECT_EQ(other.cells("copy").size(), 1u) << behind_us;
    EXPECT_GE(other.shard(1).clock().now_us(), taken_us);
  }
  TestNode far(options_of(2, taken_us - 10'000'000));
  Destination there(far, *disk_);
  progress_ = {};
  const auto refused = far.world().block_on(
      far.loop(0),
      far.node().restore_backup(ShardId{0}, *there, {"b", "t", "copy"}, far.author, progress_));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::failed_precondition);
}

TEST(BackupFile, IsReadBackAndAnyOtherFormatIsRefusedByItsNumber) {
  engine::BackupFile file;
  file.source = kSource;
  file.program = "1.2.3";
  file.wall_us = 5;
  file.trusted_us = -4;
  file.copied_bytes = 9;
  file.entries[{engine::ManifestKey::Kind::table, 7}] = {3, "state", {{1, "x"}}};
  file.blobs = {{BlobId{0x10}, 300, 0xdeadbeef}};
  std::string bytes = engine::encode_backup(file);
  const auto read = engine::decode_backup(bytes, "n");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->blobs, file.blobs);
  EXPECT_EQ(read->trusted_us, -4);
  EXPECT_EQ(read->entries.begin()->second.items.at(1), "x");
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string bad = bytes;
    bad[i] ^= 4;
    EXPECT_FALSE(engine::decode_backup(bad, "n")) << i;
    EXPECT_FALSE(engine::decode_backup(Bytes(bytes).substr(0, i), "n")) << i;
  }
  for (const int format : {1, 2, 3, 4, 5, 7}) {
    bytes[8] = static_cast<char>(format);
    const auto refused = engine::decode_backup(bytes, "n");
    ASSERT_FALSE(refused) << format;
    EXPECT_EQ(refused.error().code, Errc::failed_precondition);
    EXPECT_EQ(
        refused.error().message,
        fmt::format("backups/n.backup is of format {}; this program reads format 6 only", format));
  }
}

TEST_F(Backup, KeepsWhatCameFromTheProfile) {
  engine::TableSpec spec;
  spec.name = "t";
  spec.profile = Profile::tablestore;
  spec.families = {{"f"}, {"g"}};
  spec.families[1].window = WriteWindow{1000, {}, WriteWindow::Unit::exact};
  ASSERT_TRUE(node_.create_table(spec));
  ASSERT_TRUE(back_up("first"));
  ASSERT_TRUE(restore("first", "copy"));
  const auto alter = [this](std::string family) {
    engine::TableChange change;
    change.name = "copy";
    change.alter.push_back({std::move(family)});
    change.alter.back().timestamps = TimestampMeaning::sequence;
    return node_.alter_table(change);
  };
  const auto altered = alter("f");
  ASSERT_TRUE(altered) << altered.error().message;
  EXPECT_EQ(altered->schema.find_family("f")->window, WriteWindow());
  EXPECT_EQ(alter("g").error().code, Errc::invalid_argument) << "its window was named";
}

}  // namespace
}  // namespace cellar::support
