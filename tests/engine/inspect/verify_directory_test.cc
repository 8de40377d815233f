// Verification of a whole data directory: a sound one and every state that a crash leaves pass;
// missing and changed files are named.
#include "engine/inspect/verify_directory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <sstream>

#include "engine/backup/backup_file.h"
#include "engine/inspect/inspect_file.h"
#include "engine/inspect/summary.h"
#include "engine/store/blob/blob_files.h"
#include "engine/store/local/format_file.h"
#include "engine/store/log/log_files.h"
#include "engine/store/manifest/manifest_file.h"
#include "io/sim/mem_fs.h"
#include "io/sim/sim_loop.h"
#include "tests/support/manifest_of_disk.h"
#include "tests/support/seeds.h"
#include "tests/support/test_node.h"

namespace cellar::engine {
namespace {

using support::TestNode;

struct Verdict {
  Result<VerifiedFiles> done;
  size_t problems = 0;
  std::string text;
};

// A node in memory writes no FORMAT file.
void give_format(MemDisk& disk) {
  ASSERT_TRUE(disk.write_all(kFormatPath, encode_format({.id = std::string(32, '0')})));
}

Verdict verify(MemDisk& disk, bool format = true, DumpForm form = DumpForm::problems_only) {
  if (format) give_format(disk);
  SimWorld world;
  SimLoop& loop = world.add_loop();
  MemFs fs(loop.executor(), disk);
  std::ostringstream out;
  const auto dump = make_dump(form, out);
  Verdict verdict;
  verdict.done = world.block_on(loop, verify_directory(fs, *dump));
  verdict.problems = dump->problems();
  verdict.text = out.str();
  return verdict;
}

void remove(MemDisk& disk, const std::string& path) {
  SimWorld world;
  SimLoop& loop = world.add_loop();
  MemFs fs(loop.executor(), disk);
  ASSERT_TRUE(world.block_on(loop, fs.remove(path)));
}

// Two tables of several tablets; some rows flushed, compacted, split and moved, some in the log
// only, and a file that two tablets share.
void fill(TestNode& node) {
  ASSERT_TRUE(node.create_table("t", {"f"}, {"m"}));
  ASSERT_TRUE(node.create_table("other", {"f", "g"}));
  for (int i = 0; i < 200; ++i) {
    const std::string row = fmt::format("{}{:03}", i % 2 == 0 ? "a" : "z", i);
    ASSERT_TRUE(node.set("t", row, "f:q", i, std::string(500, 'v')));
  }
  ASSERT_TRUE(node.flush("t"));
  ASSERT_TRUE(node.split(node.table("t")->tablets[0].id, "a100"));
  ASSERT_TRUE(node.drop_rows("t", "z150", "z160"));
  ASSERT_TRUE(node.set("t", "a1", "f:late", 1, "x"));
  ASSERT_TRUE(node.set("other", "r", "g:q", 1, "x"));
  ASSERT_TRUE(node.move(node.table("t")->tablets[1].id, 1));
}

class VerifyDirectory : public testing::Test {
 protected:
  VerifyDirectory() : node_(two_shards()) { fill(node_); }
  static support::TestNodeOptions two_shards() {
    support::TestNodeOptions options;
    options.shards = 2;
    return options;
  }

  TestNode node_;
};

TEST_F(VerifyDirectory, WhatANodeLeavesIsInOrder) {
  const Verdict alive = verify(node_.disk());
  ASSERT_TRUE(alive.done);
  EXPECT_EQ(alive.problems, 0u) << alive.text;
  EXPECT_EQ(alive.done->tables, 2u);
  EXPECT_EQ(alive.done->tablets, 4u);
  EXPECT_GT(alive.done->files, 3u);
  ASSERT_TRUE(node_.close());
  const Verdict closed = verify(node_.disk());
  EXPECT_EQ(closed.problems, 0u) << closed.text;
}

TEST_F(VerifyDirectory, WhatACrashLeavesIsInOrder) {
  const uint64_t seed = number_from_environment("CELLAR_SEED", 5);
  Random random(seed);
  constexpr CrashPolicy kPolicies[] = {CrashPolicy::none, CrashPolicy::all,
                                       CrashPolicy::random_subset, CrashPolicy::torn_last_write};
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(node_.set("t", fmt::format("b{}", i), "f:q", i, std::string(300, 'w')));
    if (i % 10 == 9) ASSERT_TRUE(node_.flush("t"));
    const auto image = node_.crash_image(kPolicies[random.below(4)]);
    const Verdict verdict = verify(*image);
    ASSERT_TRUE(verdict.done);
    EXPECT_EQ(verdict.problems, 0u) << "CELLAR_SEED=" << seed << "\n" << verdict.text;
  }
}

TEST_F(VerifyDirectory, ABlobThatSeveralTabletsNameIsMarkedByEach) {
  ASSERT_TRUE(node_.close());
  TabletId unmarked;
  support::change_manifest(node_.disk(), [&](const support::ManifestEntries& entries, auto& edits) {
    for (const auto& [key, entry] : entries) {
      if (key.kind != ManifestKey::Kind::tablet || !edits.empty()) continue;
      for (const auto& [blob, bytes] : entry.items) {
        TableItem item = value_of(decode_table_item(bytes));
        if (!std::exchange(item.shared, false)) continue;
        VersionEdit edit;
        edit.key = key;
        edit.expected_version = entry.version;
        edit.put_items.emplace_back(blob, encode_table_item(item));
        edits.push_back(std::move(edit));
        unmarked = TabletId{key.id};
        break;
      }
    }
  });
  ASSERT_NE(unmarked, TabletId{}) << "the split has marked nothing";
  const Verdict verdict = verify(node_.disk());
  EXPECT_EQ(verdict.problems, 1u) << verdict.text;
  EXPECT_NE(
      verdict.text.find(fmt::format("is named by 2 tablets and not marked as shared by tablet "
                                    "{}",
                                    unmarked)),
      std::string::npos)
      << verdict.text;
}

TEST_F(VerifyDirectory, WhatBecomesOfAnOrphanDependsOnWhoMadeIt) {
  ASSERT_TRUE(node_.close());
  const std::string own = blob_path(make_blob_id(SessionEpoch{1}, 1, 999));
  const std::string others = blob_path(make_blob_id(SessionEpoch{500}, 1, 999));
  for (const std::string& path : {own, others}) ASSERT_TRUE(node_.disk().write_all(path, "x"));
  give_format(node_.disk());
  const std::string text = verify(node_.disk(), true, DumpForm::text).text;
  EXPECT_NE(text.find(own + " is an orphan: no tablet names it; the next start removes it"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(others + " is an orphan: no tablet names it; it is of a session of another "
                               "node, and stays"),
            std::string::npos)
      << text;
}

TEST_F(VerifyDirectory, AMissingOrDamagedFormatIsNamed) {
  ASSERT_TRUE(node_.close());
  const Verdict missing = verify(node_.disk(), false);
  EXPECT_EQ(missing.problems, 1u) << missing.text;
  EXPECT_NE(missing.text.find("FORMAT is missing"), std::string::npos) << missing.text;
  const std::string whole = encode_format({.id = std::string(32, '0')});
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    ASSERT_TRUE(node_.disk().write_all(kFormatPath, damaged));
    const Verdict verdict = verify(node_.disk(), false);
    EXPECT_EQ(verdict.problems, 1u) << i;
    EXPECT_NE(verdict.text.find("FORMAT"), std::string::npos) << verdict.text;
  }
  for (const uint32_t version : {kDirectoryFormat - 1, kDirectoryFormat + 1}) {
    ASSERT_TRUE(
        node_.disk().write_all(kFormatPath, encode_format({version, std::string(32, '0')})));
    const Verdict verdict = verify(node_.disk(), false);
    EXPECT_EQ(verdict.problems, 1u);
    EXPECT_NE(verdict.text.find(fmt::format("of format {}", version)), std::string::npos);
  }
}

TEST_F(VerifyDirectory, AMissingFileIsNamed) {
  for (const std::string& path : node_.disk().all_files()) {
    const bool needed = path == kCurrentPath || path.ends_with(".manifest") ||
                        path.starts_with(std::string(kBlobDirectory) + "/");
    if (!needed) continue;
    const auto copy = node_.disk().clone();
    remove(*copy, path);
    const Verdict verdict = verify(*copy);
    ASSERT_TRUE(verdict.done);
    EXPECT_GE(verdict.problems, 1u) << path;
    EXPECT_NE(verdict.text.find(path), std::string::npos) << path << "\n" << verdict.text;
  }
}

TEST_F(VerifyDirectory, AMissingLogIsNamed) {
  const auto copy = node_.disk().clone();
  for (const std::string& path : copy->all_files()) {
    if (path.starts_with("log/")) remove(*copy, path);
  }
  const Verdict verdict = verify(*copy);
  EXPECT_GE(verdict.problems, 1u);
  EXPECT_NE(verdict.text.find("log "), std::string::npos) << verdict.text;
}

// A log of several segments, all of which a start needs.
class VerifyLog : public testing::Test {
 protected:
  VerifyLog() {
    EXPECT_TRUE(node_.create_table("t", {"f"}));
    for (int i = 0; i < 160; ++i) {
      EXPECT_TRUE(node_.set("t", fmt::format("r{:03}", i), "f:q", i, std::string(3000, 'v')));
    }
    node_.kill();
    for (const std::string& path : node_.disk().all_files()) {
      if (path.ends_with("-00000000.seg")) first_ = path;
    }
  }
  // `change` of the first segment is damage to a verification and to a start.
  void expect_damage(const std::function<void(MemDisk&)>& change, std::string_view told) {
    auto copy = node_.disk().clone();
    EXPECT_EQ(verify(*copy).problems, 0u) << verify(*copy).text;
    change(*copy);
    const auto files = copy->all_files();
    const Verdict verdict = verify(*copy);
    EXPECT_EQ(verdict.problems, 1u) << verdict.text;
    EXPECT_NE(verdict.text.find(fmt::format("PROBLEM: {} {}", first_, told)), std::string::npos)
        << verdict.text;
    EXPECT_EQ(copy->all_files(), files);
    const TestNode started({}, std::move(copy));
    ASSERT_TRUE(started.open_error());
    EXPECT_EQ(started.open_error()->code, Errc::data_loss);
    EXPECT_NE(started.open_error()->message.find(fmt::format("{} {}", first_, told)),
              std::string::npos)
        << started.open_error()->message;
  }

  TestNode node_;
  std::string first_;
};

TEST_F(VerifyLog, ALostEndOfASegmentBeforeTheLastIsDamage) {
  expect_damage(
      [this](MemDisk& disk) {
        std::string content = disk.read_all(first_).value();
        std::fill(content.begin() + static_cast<std::ptrdiff_t>(content.size() / 2), content.end(),
                  '\0');
        ASSERT_TRUE(disk.write_all(first_, content));
      },
      "is damaged at ");
}

TEST_F(VerifyLog, AFlippedBitAtTheEndOfASegmentBeforeTheLastIsDamage) {
  expect_damage(
      [this](MemDisk& disk) {
        const size_t last = disk.read_all(first_)->find_last_not_of('\0');
        ASSERT_TRUE(disk.corrupt(first_, last, 1));
      },
      "is damaged at ");
}

TEST_F(VerifyLog, AMissingFirstSegmentIsDamage) {
  expect_damage([this](MemDisk& disk) { remove(disk, first_); }, "is missing and was not trimmed");
}

TEST_F(VerifyLog, AMissingSegmentThatAStartNeedsIsDamage) {
  std::string second = first_;
  second.replace(second.find("-00000000"), 9, "-00000001");
  ASSERT_TRUE(node_.disk().read_all(second));
  remove(node_.disk(), second);
  const Verdict verdict = verify(node_.disk());
  EXPECT_EQ(verdict.problems, 1u) << verdict.text;
  EXPECT_NE(verdict.text.find(fmt::format("PROBLEM: {} is missing", second)), std::string::npos)
      << verdict.text;
  ASSERT_FALSE(node_.reopen());
}

// The first segment of a log could not be removed when it was trimmed, and those behind it could.
TEST_F(VerifyLog, AGapBehindATrimmedSegmentIsNone) {
  ASSERT_TRUE(node_.reopen());
  std::string kept;
  for (const std::string& path : node_.disk().all_files()) {
    if (path.ends_with("-00000000.seg")) kept = path;
  }
  const std::string content = node_.disk().read_all(kept).value();
  for (int i = 0; i < 400; ++i) {
    ASSERT_TRUE(node_.set("t", fmt::format("s{:03}", i), "f:q", i, std::string(3000, 'w')));
  }
  ASSERT_TRUE(node_.flush("t"));
  for (int i = 0; i < 60; ++i) {
    ASSERT_TRUE(node_.set("t", fmt::format("u{:03}", i), "f:q", i, std::string(3000, 'w')));
  }
  node_.kill();
  ASSERT_FALSE(node_.disk().read_all(kept));
  std::string second = kept;
  second.replace(second.find("-00000000"), 9, "-00000001");
  ASSERT_FALSE(node_.disk().read_all(second));
  ASSERT_TRUE(node_.disk().write_all(kept, content));
  const Verdict verdict = verify(node_.disk());
  EXPECT_EQ(verdict.problems, 0u) << verdict.text;
  EXPECT_NE(verdict.text.find(second), std::string::npos) << verdict.text;
  ASSERT_TRUE(node_.reopen());
  EXPECT_EQ(node_.cells("t").size(), 160u + 400u + 60u);
}

TEST_F(VerifyLog, ATornTailOfTheLastSegmentIsNone) {
  std::string last;
  size_t used = 0;
  for (const std::string& path : node_.disk().all_files()) {
    if (!path.ends_with(".seg")) continue;
    const size_t end = node_.disk().read_all(path)->find_last_not_of('\0');
    if (end < kIoAlignment) continue;  // prepared, and without a record
    last = path;
    used = end;
  }
  ASSERT_NE(last, first_);
  ASSERT_TRUE(node_.disk().corrupt(last, used, 1));
  const Verdict verdict = verify(node_.disk());
  EXPECT_EQ(verdict.problems, 0u) << verdict.text;
  EXPECT_NE(verdict.text.find("torn tail"), std::string::npos) << verdict.text;
  EXPECT_TRUE(node_.reopen());
}

// The node was killed while it shortened the files of an obsolete log.
TEST_F(VerifyDirectory, WhatIsLeftOfARemovedLogIsInOrder) {
  const LogId log{0x77};
  ASSERT_TRUE(node_.disk().write_all(segment_path(log, 3), "half of it"));
  const Verdict damaged = verify(node_.disk());
  EXPECT_EQ(damaged.problems, 1u) << damaged.text;
  ASSERT_TRUE(node_.disk().write_all(gone_path(log), ""));
  const Verdict verdict = verify(node_.disk());
  EXPECT_EQ(verdict.problems, 0u) << verdict.text;
}

// Every byte of a table and every used byte of the manifest is under a checksum.
TEST_F(VerifyDirectory, AFlippedBitIsFoundInTheFileItIsIn) {
  ASSERT_TRUE(node_.close());
  const uint64_t seed = number_from_environment("CELLAR_SEED", 6);
  Random random(seed);
  size_t found = 0;
  size_t tables = 0;
  for (const std::string& path : node_.disk().all_files()) {
    const bool table = path.starts_with(std::string(kBlobDirectory) + "/");
    if (!table && path != kCurrentPath) continue;
    const uint64_t size = node_.disk().read_all(path)->size();
    for (int i = 0; i < 20; ++i) {
      const auto copy = node_.disk().clone();
      ASSERT_TRUE(copy->corrupt(path, random.below(size), 1 << random.below(8)));
      const Verdict verdict = verify(*copy);
      if (table) ++tables;
      if (table && verdict.problems > 0) ++found;
      if (verdict.problems > 0) {
        EXPECT_NE(verdict.text.find(path), std::string::npos) << path << "\n" << verdict.text;
      }
    }
  }
  EXPECT_GT(tables, 0u);
  EXPECT_EQ(found, tables) << "CELLAR_SEED=" << seed;
}

// What dump prints of every file below a folder.
std::string dump_all(MemDisk& disk, std::string_view folder, const DumpOptions& options) {
  SimWorld world;
  SimLoop& loop = world.add_loop();
  MemFs fs(loop.executor(), disk);
  std::ostringstream out;
  const auto text = make_dump(DumpForm::text, out);
  const auto filtered = only_entries(*text);
  for (const std::string& path : disk.all_files()) {
    if (!path.starts_with(folder) || path.ends_with(".spare"))
      continue;  // a spare has no header yet
    Dump& dump = options.filter.active() ? *filtered : *text;
    EXPECT_TRUE(world.block_on(loop, inspect_file(fs, path, options, dump))) << path;
  }
  return out.str();
}

size_t count(const std::string& text, std::string_view part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

// Every entry has its cell and every cell its entry, in files of flushes, merges and rewrites.
TEST_F(VerifyDirectory, EntriesOfIndexesAreThoseOfTheCells) {
  TableChange change;
  change.name = "t";
  IndexSpec spec;
  spec.family = "f";
  spec.qualifier = "late";
  spec.name = "by_value";
  spec.parts = {cellar::IndexPart::value};
  change.add_indexes.push_back(spec);
  spec.qualifier.reset();
  spec.name = "by_time";
  spec.parts = {cellar::IndexPart::time};
  spec.max_age_us = 86'400'000'000;
  change.add_indexes.push_back(spec);
  spec = IndexSpec();
  spec.name = "number";
  spec.family = "f";
  spec.qualifier = "late";
  spec.parts = {cellar::IndexPart::value};
  spec.type = IndexType::int64;
  change.add_indexes.push_back(spec);
  const auto altered = node_.alter_table(change);
  ASSERT_TRUE(altered) << altered.error().message;
  for (const int at : {5, 5, 6}) {  // a cell that is written again at its timestamp too
    ASSERT_TRUE(node_.set("t", "a1", "f:late", at, "12345678"));
    ASSERT_TRUE(node_.set("t", "a2", "f:late", at, "not a number"));
  }
  const auto are_ready = [this] {
    const auto states = node_.index_states("t");
    return states && std::ranges::all_of(states->states, &IndexState::ready);
  };
  for (int i = 0; i < 1000 && !are_ready(); ++i) node_.world().run_for_us(100'000);
  ASSERT_TRUE(are_ready());
  for (int round = 0; round < 3; ++round) {
    if (round == 1) ASSERT_TRUE(node_.flush("t"));
    if (round == 2) ASSERT_TRUE(node_.compact("t"));
    const Verdict verdict = verify(node_.disk());
    ASSERT_TRUE(verdict.done) << verdict.done.error().message;
    EXPECT_EQ(verdict.problems, 0u) << verdict.text;
  }
  SimWorld world;
  SimLoop& loop = world.add_loop();
  MemFs fs(loop.executor(), node_.disk());
  const IndexesByTable indexes = world.block_on(loop, read_indexes(fs));
  ASSERT_EQ(indexes.size(), 1u);
  EXPECT_EQ(indexes.begin()->second.size(), 3u);
  const std::string tables =
      dump_all(node_.disk(), "blob/", {.entries = true, .filter = {}, .indexes = &indexes});
  EXPECT_GE(count(tables, "entry \"12345678\" of \"a1\" f:\"late\" at 6"), 1u);
  EXPECT_GE(count(tables, "entry 3544952156018063160 of \"a1\" f:\"late\" at 6"), 1u);
  EXPECT_GE(count(tables, "cells without an int64"), 1u);
}

TEST_F(VerifyDirectory, AManifestIsToldInWords) {
  const std::string words = dump_all(node_.disk(), "manifest/0", {});
  EXPECT_NE(words.find("'other', schema version 1"), std::string::npos) << words;
  EXPECT_NE(words.find("family g: keep everything; timestamps time"), std::string::npos) << words;
  EXPECT_NE(words.find("rows [\"a100\", \"m\") of table"), std::string::npos) << words;
  EXPECT_NE(words.find(": run 1, "), std::string::npos) << words;
  EXPECT_EQ(words.find("filler record"), std::string::npos);
  const auto filter = [this](const std::string& table) {
    SimWorld world;
    SimLoop& loop = world.add_loop();
    MemFs fs(loop.executor(), node_.disk());
    return world.block_on(loop, make_filter(fs, table, std::nullopt));
  };
  give_format(node_.disk());
  const auto other = filter("other");
  ASSERT_TRUE(other) << other.error().message;
  const std::string filtered =
      dump_all(node_.disk(), "manifest/0", {.entries = true, .filter = *other});
  EXPECT_NE(filtered.find("'other'"), std::string::npos) << filtered;
  EXPECT_EQ(filtered.find("'t'"), std::string::npos) << filtered;
  EXPECT_FALSE(filter("absent"));
}

TEST_F(VerifyDirectory, TheEntriesOfATableAreNotThoseOfADroppedOneOfItsName) {
  const uint64_t dropped = node_.table("other")->tablets[0].id.value();
  ASSERT_TRUE(node_.drop_table("other"));
  ASSERT_EQ(node_.dropped_tables().size(), 1u);
  ASSERT_TRUE(node_.create_table("other", {"f", "g"}));
  give_format(node_.disk());
  SimWorld world;
  SimLoop& loop = world.add_loop();
  MemFs fs(loop.executor(), node_.disk());
  const auto filter = world.block_on(loop, make_filter(fs, "other", std::nullopt));
  ASSERT_TRUE(filter) << filter.error().message;
  EXPECT_FALSE(filter->wants_tablet(dropped));
  EXPECT_TRUE(filter->wants_tablet(node_.table("other")->tablets[0].id.value()));
}

TEST_F(VerifyDirectory, ARowAndATableAreFound) {
  DumpOptions options{.entries = true, .filter = {.row = "a002", .table = {}, .tablets = {}}};
  const std::string tables = dump_all(node_.disk(), "blob/", options);
  EXPECT_GE(count(tables, "cell \"a002\""), 1u) << tables;
  EXPECT_EQ(count(tables, "\"a004\""), 0u);
  EXPECT_EQ(count(tables, "footer"), 0u);
  options.filter.row = "a1";
  const std::string logs = dump_all(node_.disk(), "log/", options);
  EXPECT_EQ(count(logs, "cell \"a1\" f:\"late\""), 1u) << logs;
  EXPECT_EQ(count(logs, "\"r\""), 0u) << logs;
  options.filter.row = "z155";
  EXPECT_GE(count(dump_all(node_.disk(), "log/", options), "range delete [\"z150\", \"z160\")"),
            1u);
}

TEST_F(VerifyDirectory, ASummaryTellsWhatADirectoryHolds) {
  give_format(node_.disk());
  const auto summary = [this](bool json) {
    SimWorld world;
    SimLoop& loop = world.add_loop();
    MemFs fs(loop.executor(), node_.disk());
    std::ostringstream out;
    EXPECT_TRUE(world.block_on(loop, summarize_directory(fs, json, out)));
    return out.str();
  };
  const std::string text = summary(false);
  EXPECT_NE(text.find("2 tables"), std::string::npos) << text;
  EXPECT_NE(text.find(" 't', schema version 1: 3 tablets"), std::string::npos) << text;
  EXPECT_NE(text.find("rows [\"m\", end)"), std::string::npos) << text;
  const std::string json = summary(true);
  EXPECT_NE(json.find("\"name\":\"other\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"start\":\"a100\""), std::string::npos) << json;
}

TEST_F(VerifyDirectory, BackupsAndTheFormatArePrinted) {
  BackupFile backup;
  backup.source = std::string(32, 'a');
  backup.program = "0.1.0";
  backup.blobs.push_back({BlobId{7}, 100, 5});
  std::string content = encode_backup(backup);
  ASSERT_TRUE(node_.disk().write_all("one.backup", content));
  give_format(node_.disk());
  const std::string words = dump_all(node_.disk(), "one.backup", {});
  EXPECT_NE(words.find("written by version 0.1.0"), std::string::npos) << words;
  EXPECT_NE(words.find("0000000000000007: 100 bytes"), std::string::npos) << words;
  const std::string format = dump_all(node_.disk(), "FORMAT", {});
  EXPECT_NE(
      format.find(fmt::format("format {}, directory {}", kDirectoryFormat, std::string(32, '0'))),
      std::string::npos)
      << format;
  content[content.size() / 2] = static_cast<char>(content[content.size() / 2] ^ 1);
  ASSERT_TRUE(node_.disk().write_all("one.backup", content));
  EXPECT_NE(dump_all(node_.disk(), "one.backup", {}).find("PROBLEM"), std::string::npos);
}

TEST(VerifyDirectoryAlone, AFolderWithoutAStoreIsRefused) {
  MemDisk disk;
  const Verdict verdict = verify(disk);
  ASSERT_FALSE(verdict.done);
  EXPECT_EQ(verdict.done.error().code, Errc::failed_precondition);
}

}  // namespace
}  // namespace cellar::engine
