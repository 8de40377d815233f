// LogSalvage on logs written record by record: what is an end, what is damage, what is delivered.
#include "engine/repair/log_salvage.h"

#include <gtest/gtest.h>

#include "engine/store/log/local_log.h"
#include "engine/store/log/log_files.h"
#include "io/base/coding.h"
#include "io/sim/faulty_fs.h"
#include "io/sim/mem_fs.h"
#include "io/sim/sim_loop.h"

namespace cellar::engine {
namespace {

constexpr LogId kLog{0x30001};
constexpr uint64_t kSegmentBytes = 64 * 1024;
constexpr uint64_t kBlock = 4096;

class Log : public testing::Test, private LogTaker {
 protected:
  Log() : fs_(loop_.executor(), std::make_unique<MemFs>(loop_.executor(), disk_), rules_) {
    EXPECT_TRUE(disk_.create_dir(std::string(kLogDirectory)));
  }

  // The block at `position` holds one entry, with this stamp and durable mark.
  void block(uint64_t position, uint64_t stamp, uint64_t mark, uint8_t flags = kWhole) {
    BatchBuilder batch = open(position);
    const std::string payload = fmt::format("entry {}", stamp);
    const LogEntry entry{TabletId{7}, Epoch{1}, CommitStamp{stamp}, payload};
    const auto head = encode_entry_head(entry);
    const Bytes first(head.data(), head.size());
    if (flags == kLastFragment) {
      batch.add(RecordType::data, 0, mark, {}, payload);
    } else if (flags == kFirstFragment) {
      add_cut(batch, mark, std::string(first) + payload);
    } else {
      batch.add(RecordType::data, kFirstFragment, mark, first, payload);
    }
    close(batch, position, mark);
  }
  void trim(uint64_t position, uint64_t to, uint64_t mark) {
    BatchBuilder batch = open(position);
    std::string payload;
    put_u64(payload, to);
    batch.add(RecordType::trim, kFirstFragment, mark, {}, payload);
    close(batch, position, mark);
  }
  void write_segments(uint64_t first, uint64_t last) {
    for (uint64_t segment = first; segment <= last; ++segment) {
      FileHeader header;
      header.id = kLog.value();
      header.number = segment;
      header.file_bytes = kSegmentBytes;
      const AlignedBuffer head = encode_file_header(header);
      std::string bytes = content_[segment];
      bytes.resize(kSegmentBytes);
      bytes.replace(0, kBlock, head.chars(), kBlock);
      ASSERT_TRUE(disk_.write_all(segment_path(kLog, segment), bytes));
      segments_.insert(segment);
    }
  }
  // Stamps of the entries that are delivered.
  std::vector<uint64_t> read(uint64_t from = 0, uint64_t recorded_end = 0) {
    stamps_.clear();
    salvage_.emplace(fs_, kLog, segments_);
    EXPECT_TRUE(world_.block_on(loop_, salvage_->survey(from, recorded_end)));
    EXPECT_TRUE(world_.block_on(loop_, salvage_->deliver(*this)));
    return stamps_;
  }
  const std::vector<LogGap>& gaps() const { return salvage_->gaps(); }
  using Stamps = std::vector<uint64_t>;

  SimWorld world_;
  SimLoop& loop_ = world_.add_loop();
  MemDisk disk_;
  FaultRules rules_;
  FaultyFs fs_;
  std::set<uint64_t> segments_;
  std::optional<LogSalvage> salvage_;

 private:
  static BatchBuilder open(uint64_t position) {
    return {AlignedBuffer(kBlock), kBlock, record_owner(RecordFileKind::log, kLog.value()),
            position};
  }
  // A first fragment whose rest is elsewhere: the payload fills the batch.
  static void add_cut(BatchBuilder& batch, uint64_t mark, std::string payload) {
    payload.resize(2 * kBlock, 'x');
    batch.add(RecordType::data, kFirstFragment, mark, payload, {});
  }
  void close(BatchBuilder& batch, uint64_t position, uint64_t mark) {
    batch.close(mark);
    ASSERT_EQ(batch.contents().size(), kBlock);
    std::string& bytes = content_[position / kSegmentBytes];
    bytes.resize(kSegmentBytes);
    bytes.replace(position % kSegmentBytes, kBlock,
                  reinterpret_cast<const char*>(batch.contents().data()), kBlock);
  }
  void entry(const LogEntry& entry, LogPosition end) override {
    EXPECT_GT(end.value(), 0u);
    EXPECT_EQ(entry.tablet, TabletId{7});
    stamps_.push_back(entry.stamp.value());
  }
  Async<Result<void>> rest() override { co_return Result<void>(); }

  std::map<uint64_t, std::string> content_;
  Stamps stamps_;
};

TEST_F(Log, ATornWriteIsTheEndAlsoIfALaterOneIsOnDisk) {
  block(kBlock, 1, kBlock);
  block(3 * kBlock, 3, 2 * kBlock);  // the block between them was in flight
  write_segments(0, 1);
  EXPECT_EQ(read(), Stamps{1});
  EXPECT_TRUE(gaps().empty());
  EXPECT_EQ(salvage_->torn_records(), 1u);
  // An earlier start read the log further.
  EXPECT_EQ(read(0, 4 * kBlock), (Stamps{1, 3}));
  ASSERT_EQ(gaps().size(), 1u);
}

TEST_F(Log, AHoleBelowALaterMarkIsDamage) {
  block(kBlock, 1, kBlock);
  block(3 * kBlock, 3, 2 * kBlock);
  block(4 * kBlock, 4, 4 * kBlock);
  write_segments(0, 0);
  EXPECT_EQ(read(), (Stamps{1, 3, 4}));
  ASSERT_EQ(gaps().size(), 1u);
  EXPECT_EQ(gaps()[0].from, 2 * kBlock);
  EXPECT_EQ(gaps()[0].to, 3 * kBlock);
  EXPECT_EQ(gaps()[0].after, CommitStamp{1});
  EXPECT_EQ(gaps()[0].before, CommitStamp{3});
  EXPECT_NE(gaps()[0].place.find("-00000000.seg at 8192"), std::string::npos) << gaps()[0].place;
  // What no one needs is not lost.
  EXPECT_EQ(read(3 * kBlock), (Stamps{3, 4}));
  EXPECT_TRUE(gaps().empty());
}

TEST_F(Log, AnEntryOfWhichAPartIsLostIsNotDelivered) {
  block(kBlock, 1, kBlock);
  block(2 * kBlock, 2, 2 * kBlock, kFirstFragment);
  block(4 * kBlock, 2, 4 * kBlock, kLastFragment);
  block(5 * kBlock, 5, 5 * kBlock);
  write_segments(0, 0);
  EXPECT_EQ(read(), (Stamps{1, 5}));
  EXPECT_EQ(gaps().size(), 1u);
}

TEST_F(Log, SegmentsMayBeMissingWhereTheyWereTrimmed) {
  block(2 * kSegmentBytes + kBlock, 9, 2 * kSegmentBytes);
  write_segments(2, 2);
  EXPECT_EQ(read(), Stamps{9});
  ASSERT_EQ(gaps().size(), 1u) << "nothing tells that they were trimmed";
  EXPECT_EQ(gaps()[0].to, 2 * kSegmentBytes);
  trim(2 * kSegmentBytes + 2 * kBlock, 2 * kSegmentBytes, 2 * kSegmentBytes);
  write_segments(2, 2);
  EXPECT_EQ(read(), Stamps{9});
  EXPECT_TRUE(gaps().empty());
}

TEST_F(Log, AMissingAShortAndAHeadlessSegmentLoseNoOther) {
  for (uint64_t segment = 0; segment < 4; ++segment) {
    for (uint64_t n = 1; n < kSegmentBytes / kBlock; ++n) {
      const uint64_t at = segment * kSegmentBytes + n * kBlock;
      block(at, segment * 100 + n, at);
    }
  }
  write_segments(0, 3);
  EXPECT_EQ(read().size(), 60u);
  EXPECT_TRUE(gaps().empty());
  ASSERT_TRUE(disk_.corrupt(segment_path(kLog, 0), 20, 1));
  EXPECT_EQ(read().size(), 60u) << "every record says where it belongs";
  const std::string whole = *disk_.read_all(segment_path(kLog, 3));
  ASSERT_TRUE(world_.block_on(loop_, fs_.remove(segment_path(kLog, 3))));
  ASSERT_TRUE(disk_.write_all(segment_path(kLog, 3), whole.substr(0, 3 * kBlock + 100)));
  EXPECT_EQ(read().size(), 45u + 2);
  ASSERT_EQ(gaps().size(), 1u) << "a short file is always damage";
  EXPECT_EQ(gaps()[0].from, 3 * kSegmentBytes + 3 * kBlock);
  segments_.erase(1);
  EXPECT_EQ(read().size(), 30u + 2);
  EXPECT_EQ(gaps().size(), 2u);
}

TEST_F(Log, ABlockThatCannotBeReadLosesNoOther) {
  for (uint64_t n = 1; n < kSegmentBytes / kBlock; ++n) block(n * kBlock, n, n * kBlock);
  block(kSegmentBytes + kBlock, 100, kSegmentBytes);
  write_segments(0, 1);
  ASSERT_TRUE(rules_.add(
      fmt::format("read path={} at={} error=EIO", segment_path(kLog, 0), 5 * kBlock + 100)));
  EXPECT_EQ(read(), (Stamps{1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 100}));
  ASSERT_EQ(gaps().size(), 1u);
  EXPECT_EQ(gaps()[0].from, 5 * kBlock);
  EXPECT_EQ(gaps()[0].to, 6 * kBlock);
}

TEST_F(Log, AnEntryWhoseLastFragmentNeverCameIsBroken) {
  block(kBlock, 1, kBlock);
  block(2 * kBlock, 2, 2 * kBlock, kFirstFragment);
  block(3 * kBlock, 3, 3 * kBlock);
  write_segments(0, 0);
  EXPECT_EQ(read(), (Stamps{1, 3}));
  EXPECT_TRUE(gaps().empty());
  EXPECT_EQ(salvage_->broken_entries(), 1u);
}

}  // namespace
}  // namespace cellar::engine
