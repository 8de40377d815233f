// S4 of the fault catalogue: every single damage of a small log is either detected or harmless.
// Damage of acknowledged entries is DATA_LOSS with file and offset; damage after them is a torn
// tail; a successful read returns every entry that was on disk.
#include <deque>
#include <map>

#include "engine/store/log/local_log_store.h"
#include "io/base/coding.h"
#include "io/base/crc32c.h"
#include "tests/engine/store/store_rig.h"

namespace cellar::engine {
namespace {

constexpr uint64_t kSegmentBytes = 16u << 10;

LogOptions tiny_segments() {
  LogOptions options;
  options.segment_bytes = kSegmentBytes;
  options.batch_bytes = 8u << 10;
  return options;
}

struct Written {
  std::vector<std::string> payloads;
  std::vector<uint64_t> ends;
};

// A log over three segments and a spare, left with its closing mark but not sealed.
Written write_log(MemDisk& disk) {
  Written written;
  StoreRig rig(disk);
  LocalLogStore store(*rig.fs, rig.runtime, tiny_segments());
  auto log = value_of(rig.run(store.create(kLog)));
  std::deque<Append> appends;
  std::vector<int> order;
  // Entries appended in one turn share a batch.
  const std::vector<std::vector<size_t>> turns = {
      {1500, 1500}, {1500}, {9000}, {1500, 1500}, {1500}};
  for (const std::vector<size_t>& sizes : turns) {
    for (const size_t size : sizes) {
      const size_t i = appends.size();
      written.payloads.push_back(payload_of(i, size));
      Append& a = appends.emplace_back(order, static_cast<int>(i));
      expect_ok(log->append(entry_of(i, written.payloads.back()), a));
      written.ends.push_back(a.end.value());
    }
    EXPECT_TRUE(rig.world.run_until([&] { return appends.back().is_done; }));
  }
  rig.world.run_for_us(100'000);  // the closing mark
  return written;
}

struct Outcome {
  Result<LogReadReport> report;
  Collector seen;
};

Outcome read_log(MemDisk& disk) {
  StoreRig rig(disk);
  LocalLogStore store(*rig.fs, rig.runtime, tiny_segments());
  Outcome outcome;
  outcome.report = rig.run(store.read(kLog, kLogBegin, outcome.seen));
  return outcome;
}

uint64_t segment_of(const std::string& path) { return static_cast<uint64_t>(path[28] - '0'); }

// The entries that read_log found are a prefix; returns their number.
size_t expect_prefix(const Outcome& outcome, const Written& written) {
  EXPECT_LE(outcome.seen.seen.size(), written.payloads.size());
  for (size_t i = 0; i < outcome.seen.seen.size(); ++i) {
    EXPECT_EQ(outcome.seen.seen[i].payload, written.payloads[i]);
  }
  return outcome.seen.seen.size();
}

struct LogDamageTest : testing::Test {
  void SetUp() override {
    written = write_log(disk);
    for (const std::string& path : disk.all_files()) {
      if (path.ends_with(".seg")) files[path] = value_of(disk.read_all(path));
    }
    ASSERT_EQ(files.size(), 4u);
    const Outcome whole = read_log(disk);
    ASSERT_TRUE(whole.report) << whole.report.error().to_string();
    ASSERT_EQ(expect_prefix(whole, written), written.payloads.size());
    EXPECT_EQ(whole.report->torn_tail_bytes, 0u);
  }

  // Damage loses nothing silently: success means that every entry is there.
  void expect_found_or_harmless(MemDisk& damaged, const std::string& path) {
    const Outcome outcome = read_log(damaged);
    const size_t seen = expect_prefix(outcome, written);
    if (outcome.report) {
      ++harmless;
      EXPECT_EQ(seen, written.payloads.size()) << "silent loss";
    } else {
      ++found;
      EXPECT_EQ(outcome.report.error().code, Errc::data_loss);
      EXPECT_NE(outcome.report.error().message.find(path.substr(0, 29)), std::string::npos)
          << outcome.report.error().message;
    }
  }
  void damage(const std::string& path, const std::string& content) {
    auto image = disk.clone();
    expect_ok(image->remove(path));
    expect_ok(image->write_all(path, content));
    expect_found_or_harmless(*image, path);
  }

  MemDisk disk;
  Written written;
  std::map<std::string, std::string> files;
  size_t found = 0;
  size_t harmless = 0;
};

TEST_F(LogDamageTest, FlippedBytesAreFoundOrHarmless) {
  for (const auto& [path, content] : files) {
    for (size_t at = 0; at < content.size(); at += at % 4096 < 128 ? 1 : 13) {
      SCOPED_TRACE(fmt::format("{} at {}", path, at));
      auto image = disk.clone();
      expect_ok(image->corrupt(path, at, 0x40));
      expect_found_or_harmless(*image, path);
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(found, 2000u);
  EXPECT_GT(harmless, 500u);
}

TEST_F(LogDamageTest, ZeroedRangesAreFoundOrHarmless) {
  for (const auto& [path, content] : files) {
    for (size_t at = 0; at < content.size(); at += 97) {
      for (const size_t length : {20u, 512u, 4096u, 16384u}) {
        SCOPED_TRACE(fmt::format("{} at {}, {} bytes", path, at, length));
        std::string bad = content;
        const size_t n = std::min(length, bad.size() - at);
        bad.replace(at, n, n, '\0');
        // Damage that covers the last data together with its mark cannot be detected.
        const uint64_t begin = segment_of(path) * kSegmentBytes + at;
        if (begin < written.ends.back() && begin + n > align_up(written.ends.back())) continue;
        damage(path, bad);
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(found, 500u);
}

TEST_F(LogDamageTest, CutFilesAreAlwaysFound) {
  for (const auto& [path, content] : files) {
    for (size_t at = 0; at < content.size(); at += 61) {
      SCOPED_TRACE(fmt::format("{} cut at {}", path, at));
      damage(path, content.substr(0, at));
      if (HasFailure()) return;
    }
  }
  EXPECT_EQ(harmless, 0u);
}

TEST_F(LogDamageTest, MissingFilesAreFoundUnlessTheyAreTheUnusedSpare) {
  for (const auto& [path, content] : files) {
    SCOPED_TRACE(path);
    auto image = disk.clone();
    expect_ok(image->remove(path));
    const Outcome outcome = read_log(*image);
    if (path.ends_with("03.seg")) {
      EXPECT_TRUE(outcome.report);
    } else {
      ASSERT_FALSE(outcome.report);
      EXPECT_EQ(outcome.report.error().code, Errc::data_loss);
      EXPECT_NE(outcome.report.error().message.find(path), std::string::npos)
          << outcome.report.error().message;
    }
  }
}

TEST_F(LogDamageTest, ExchangedAndStaleBlocksAreFound) {
  const auto first = files.begin();
  for (const auto& [path, content] : files) {
    for (size_t a = 0; a < kSegmentBytes; a += 4096) {
      for (size_t b = 0; b < kSegmentBytes; b += 4096) {
        const std::string from = first->second.substr(b, 4096);
        if (from == content.substr(a, 4096)) continue;
        SCOPED_TRACE(fmt::format("block {} of the first segment to {} of {}", b, a, path));
        std::string bad = content;
        bad.replace(a, 4096, from);
        damage(path, bad);
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(found, 20u);
}

TEST_F(LogDamageTest, DamageBehindTheLastMarkIsATornTailThatIsCounted) {
  const uint64_t last_segment = written.ends.back() / kSegmentBytes;
  const std::string path = fmt::format("log/0000000000030001-{:08x}.seg", last_segment);
  // The block after the closing mark.
  const auto at = static_cast<size_t>(align_up(written.ends.back() % kSegmentBytes) + 4096);
  ASSERT_LT(at, kSegmentBytes);
  auto image = disk.clone();
  expect_ok(image->corrupt(path, at + 100, 0xff));
  const Outcome outcome = read_log(*image);
  ASSERT_TRUE(outcome.report) << outcome.report.error().to_string();
  EXPECT_EQ(expect_prefix(outcome, written), written.payloads.size());
  EXPECT_EQ(outcome.report->torn_tail_bytes, 4096u);
}

TEST_F(LogDamageTest, AnUnreadableBlockIsReadTwiceThenAnErrorAndNeverAnEnd) {
  for (const char* rule :
       {"read path=log/* nth=6 error=EIO", "read path=log/* sticky nth=6 error=EIO"}) {
    StoreRig rig(disk);
    LocalLogStore store(*rig.fs, rig.runtime, tiny_segments());
    expect_ok(rig.rules.add(rule));
    Collector seen;
    const auto report = rig.run(store.read(kLog, kLogBegin, seen));
    if (std::string_view(rule).find("sticky") == std::string_view::npos) {
      EXPECT_TRUE(report) << report.error().to_string();
      EXPECT_EQ(seen.seen.size(), written.payloads.size());
    } else {
      ASSERT_FALSE(report);
      EXPECT_EQ(report.error().os_error, EIO);
    }
    EXPECT_GE(rig.rules.hits(), 1u);
  }
}

TEST_F(LogDamageTest, AnotherFormatIsRefusedAndNothingIsTouched) {
  // Golden header of format 2: the same layout and checksum.
  auto& [path, content] = *files.begin();
  std::string newer = content;
  newer[8] = 2;
  const uint32_t crc = crc32c(Bytes(newer).substr(16, 32), crc32c(Bytes(newer).substr(0, 12)));
  store_le(newer.data() + 12, crc);
  auto image = disk.clone();
  expect_ok(image->remove(path));
  expect_ok(image->write_all(path, newer));
  const Outcome outcome = read_log(*image);
  ASSERT_FALSE(outcome.report);
  EXPECT_EQ(outcome.report.error().code, Errc::failed_precondition);
  EXPECT_EQ(value_of(image->read_all(path)), newer);
}

// Until the mark after it is written, a damaged last write looks like a torn one: it is reported
// with its position.
TEST_F(LogDamageTest, WhatCannotBeToldFromATornTailIsNamed) {
  MemDisk young;
  {
    StoreRig rig(young);
    LocalLogStore store(*rig.fs, rig.runtime, tiny_segments());
    auto log = value_of(rig.run(store.create(kLog)));
    std::vector<int> order;
    for (int i = 0; i < 2; ++i) {
      const std::string payload = payload_of(static_cast<uint64_t>(i), 500);
      Append a(order, i);
      expect_ok(log->append(entry_of(static_cast<uint64_t>(i), payload), a));
      ASSERT_TRUE(rig.world.run_until([&] { return a.is_done; }));
    }
  }
  expect_ok(young.corrupt(files.begin()->first, 8192 + 30, 1));
  const Outcome outcome = read_log(young);
  ASSERT_TRUE(outcome.report) << outcome.report.error().to_string();
  EXPECT_EQ(outcome.report->entries, 1u);
  EXPECT_EQ(outcome.report->torn_tail_bytes, 4096u);
  EXPECT_EQ(outcome.report->torn_place, files.begin()->first + " at 8192");
}

}  // namespace
}  // namespace cellar::engine
