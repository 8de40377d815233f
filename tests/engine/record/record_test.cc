#include "engine/record/record.h"

#include <gtest/gtest.h>

#include <cstring>

#include "engine/record/file_header.h"
#include "io/base/coding.h"
#include "io/base/crc32c.h"
#include "io/base/random.h"

namespace cellar::engine {
namespace {

constexpr uint64_t kLog = 0x0000'0003'0001;  // session 3, shard 1
const uint64_t kOwner = record_owner(RecordFileKind::log, kLog);

std::string hex(Bytes b) {
  std::string out;
  for (const char c : b) out += fmt::format("{:02x}", static_cast<uint8_t>(c));
  return out;
}

BatchBuilder batch_at(uint64_t position, size_t capacity) {
  return BatchBuilder(AlignedBuffer(capacity), capacity, kOwner, position);
}

struct Parsed {
  RecordType type;
  uint8_t flags;
  uint64_t mark;
  std::string payload;
};

// Every record of the bytes; fails the test unless they fill the bytes exactly.
std::vector<Parsed> parse_all(Bytes bytes, uint64_t position) {
  std::vector<Parsed> out;
  while (!bytes.empty()) {
    RecordView record;
    size_t need = 0;
    const RecordStatus status = parse_record(bytes, kOwner, position, &record, &need);
    EXPECT_EQ(status, RecordStatus::whole) << "at " << position;
    if (status != RecordStatus::whole) break;
    out.push_back({record.type, record.flags, record.durable_mark, std::string(record.payload)});
    bytes.remove_prefix(record.size());
    position += record.size();
  }
  return out;
}

TEST(Record, BytesAreThoseOfTheWorkedExample) {
  BatchBuilder batch = batch_at(8192, 4096);
  batch.add(RecordType::data, kFirstFragment, 4096, "cellar", "");
  batch.close(4096);
  const Bytes bytes = as_bytes_view(batch.contents());
  ASSERT_EQ(bytes.size(), 4096u);
  EXPECT_EQ(hex(bytes.substr(0, 26)), "a01118f80600000001030100001000000000000063656c6c6172");
  EXPECT_EQ(hex(bytes.substr(26, 20)), "fae616c2d20f0000020301000010000000000000");
}

TEST(Record, FileHeaderBytesAreThoseOfTheWorkedExample) {
  FileHeader header;
  header.id = kLog;
  header.number = 2;
  header.file_bytes = 64u << 20;
  const AlignedBuffer block = encode_file_header(header);
  EXPECT_EQ(hex(block.bytes(0, 48)),
            "43454c4c524c4f47010000005ed74eb40100030000000000"
            "020000000000000000000004000000000000000000000000");
  auto decoded = decode_file_header(block.bytes(0, block.size()), RecordFileKind::log, "x");
  ASSERT_TRUE(decoded) << decoded.error().to_string();
  EXPECT_EQ(*decoded, header);
}

TEST(FileHeader, AnyChangedByteIsDamageAndANewerVersionIsRefused) {
  FileHeader header;
  header.kind = RecordFileKind::manifest;
  header.id = 7;
  header.file_bytes = 1u << 20;
  const AlignedBuffer good = encode_file_header(header);
  for (size_t i = 0; i < kFileHeaderBytes; ++i) {
    std::string bad(good.bytes(0, kFileHeaderBytes));
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    const auto decoded = decode_file_header(bad, RecordFileKind::manifest, "manifest/7");
    ASSERT_FALSE(decoded) << "byte " << i;
    EXPECT_EQ(decoded.error().code, Errc::data_loss) << "byte " << i;
  }
  std::string newer(good.bytes(0, kFileHeaderBytes));
  store_le(newer.data() + 8, uint32_t{kRecordFormatVersion + 1});
  const uint32_t crc = crc32c(Bytes(newer).substr(16), crc32c(Bytes(newer).substr(0, 12)));
  store_le(newer.data() + 12, crc);
  const auto decoded = decode_file_header(newer, RecordFileKind::manifest, "manifest/7");
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, Errc::failed_precondition);
  EXPECT_NE(decoded.error().message.find("manifest/7"), std::string::npos);
  EXPECT_EQ(decode_file_header(good.bytes(0, 48), RecordFileKind::log, "x").error().code,
            Errc::data_loss);
}

// Its checksum is right: the file was made that way.
TEST(FileHeader, AnIdThatSeedsNoChecksumAndAFileOfHalfABlockAreDamage) {
  FileHeader header;
  header.id = (1ull << 56) - 1;
  header.file_bytes = kFileHeaderBlockBytes;
  const auto decode = [&header] {
    const AlignedBuffer block = encode_file_header(header);
    return decode_file_header(block.bytes(0, block.size()), RecordFileKind::log, "log/1");
  };
  EXPECT_TRUE(decode());
  header.id += 1;
  ASSERT_FALSE(decode());
  EXPECT_EQ(decode().error().code, Errc::data_loss);
  header.id = 1;
  for (const uint64_t bytes :
       {uint64_t{0}, uint64_t{100}, kFileHeaderBlockBytes - 1, kFileHeaderBlockBytes + 512}) {
    header.file_bytes = bytes;
    ASSERT_FALSE(decode()) << bytes;
    EXPECT_EQ(decode().error().code, Errc::data_loss);
  }
}

TEST(Record, EveryFillOfABatchEndsOnABlockAndParsesBack) {
  // Every payload length around a block boundary, hence every size of the filler, including that of
  // two blocks.
  for (size_t length = 0; length < 2 * 4096; ++length) {
    BatchBuilder batch = batch_at(4096, 3 * 4096);
    const std::string payload(length, 'p');
    ASSERT_EQ(batch.add(RecordType::data, kFirstFragment, 17, payload, ""), length);
    batch.close(17);
    const Bytes bytes = as_bytes_view(batch.contents());
    ASSERT_EQ(bytes.size() % 4096, 0u) << length;
    const auto records = parse_all(bytes, 4096);
    ASSERT_GE(records.size(), 1u);
    ASSERT_EQ(records[0].payload, payload);
    ASSERT_EQ(records[0].flags, kWhole);
  }
}

TEST(Record, AFullBatchTakesAPrefixAndSaysSo) {
  const std::string entry(10'000, 'e');
  Bytes left = entry;
  uint64_t position = 4096;
  uint8_t flags = kFirstFragment;
  std::string back;
  std::vector<uint8_t> seen_flags;
  while (!left.empty()) {
    BatchBuilder batch = batch_at(position, 4096);
    left.remove_prefix(batch.add(RecordType::data, flags, 0, left, ""));
    flags = 0;
    EXPECT_TRUE(left.empty() || batch.room() == 0);
    batch.close(0);
    for (const Parsed& record : parse_all(as_bytes_view(batch.contents()), position)) {
      if (record.type != RecordType::data) continue;
      back += record.payload;
      seen_flags.push_back(record.flags);
    }
    position += batch.used();
  }
  EXPECT_EQ(back, entry);
  EXPECT_EQ(seen_flags, (std::vector<uint8_t>{kFirstFragment, 0, kLastFragment}));
}

TEST(Record, HeadAndBodyAreOnePayload) {
  BatchBuilder batch = batch_at(4096, 4096);
  batch.add(RecordType::data, kFirstFragment, 0, "head ", "body");
  EXPECT_EQ(parse_all(as_bytes_view(batch.contents()), 4096)[0].payload, "head body");
}

TEST(Record, BytesOfAnotherPlaceOrAnotherFileNeverValidate) {
  BatchBuilder batch = batch_at(8192, 4096);
  batch.add(RecordType::data, kFirstFragment, 0, "cellar", "");
  const Bytes bytes = as_bytes_view(batch.contents());
  RecordView record;
  size_t need = 0;
  EXPECT_EQ(parse_record(bytes, kOwner, 8192, &record, &need), RecordStatus::whole);
  EXPECT_EQ(parse_record(bytes, kOwner, 12288, &record, &need), RecordStatus::bad);
  EXPECT_EQ(parse_record(bytes, kOwner + 1, 8192, &record, &need), RecordStatus::bad);
  const uint64_t manifest = record_owner(RecordFileKind::manifest, kLog);
  EXPECT_EQ(parse_record(bytes, manifest, 8192, &record, &need), RecordStatus::bad);
}

TEST(Record, AnyChangedBitIsSeen) {
  BatchBuilder batch = batch_at(8192, 4096);
  batch.add(RecordType::data, kFirstFragment, 4096, "cellar", "");
  const std::string good(as_bytes_view(batch.contents()));
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    RecordView record;
    size_t need = 0;
    // A larger length needs bytes that are missing; a reader provides them or reports damage.
    EXPECT_NE(parse_record(bad, kOwner, 8192, &record, &need), RecordStatus::whole) << bit;
    bad.resize(kMaxRecordPayloadBytes + kRecordHeaderBytes, '\0');
    EXPECT_EQ(parse_record(bad, kOwner, 8192, &record, &need), RecordStatus::bad) << bit;
  }
}

TEST(Record, ACutRecordAsksForTheRestAndZerosAreTheEnd) {
  BatchBuilder batch = batch_at(8192, 4096);
  batch.add(RecordType::data, kFirstFragment, 0, "cellar", "");
  const Bytes bytes = as_bytes_view(batch.contents());
  RecordView record;
  size_t need = 0;
  for (size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_EQ(parse_record(bytes.substr(0, n), kOwner, 8192, &record, &need),
              RecordStatus::need_more);
    EXPECT_EQ(need, n < kRecordHeaderBytes ? kRecordHeaderBytes : bytes.size());
  }
  const std::string zeros(4096, '\0');
  EXPECT_EQ(parse_record(zeros, kOwner, 8192, &record, &need), RecordStatus::zeros);
}

TEST(Record, RandomBytesNeverParse) {
  const uint64_t seed = entropy_seed();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Random random(seed);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(64 + random.below(200), '\0');
    for (char& c : bytes) c = static_cast<char>(random.next());
    // Half of them have a plausible header, so that the checksum decides.
    if (random.one_in(2)) {
      store_le(bytes.data() + 4, static_cast<uint32_t>(bytes.size() - kRecordHeaderBytes));
      bytes[8] = 1;
      store_le(bytes.data() + 10, kRecordFormatVersion);
      store_le(bytes.data() + 12, uint64_t{0});
    }
    RecordView record;
    size_t need = 0;
    EXPECT_NE(parse_record(bytes, kOwner, 8192, &record, &need), RecordStatus::whole);
  }
}

}  // namespace
}  // namespace cellar::engine
