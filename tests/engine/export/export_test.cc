// The bytes of export files: a golden file, round trips, and detection of every flipped bit.
#include <gtest/gtest.h>

#include <map>

#include "engine/export/export_check.h"
#include "engine/export/export_encoder.h"
#include "engine/export/row_reader.h"
#include "io/base/random.h"
#include "tests/support/seeds.h"

namespace cellar::engine {
namespace {

std::string to_hex(Bytes bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

// The example of EXPORT_FORMAT.md.
std::string example() {
  ExportEncoder out;
  std::string file = out.begin("{\"table\":\"t\"}");
  out.begin_row("r");
  out.add({"f", "q", 2000, std::nullopt, "new"});
  out.add({"f", "q", 1000, 9000, "old"});
  out.end_row();
  return file + out.finish();
}

// Walks the file; returns the problem, or empty.
std::string walk(Bytes file, ExportCheck& check) {
  const auto head = check.file_head(file.substr(0, kExportHeadBytes));
  if (!head) return head.error().message;
  while (check.bytes() < file.size()) {
    const Bytes rest = file.substr(check.bytes());
    if (rest.size() < kFrameHeadBytes) return "cut in a head";
    const auto decoded = decode_frame_head(rest.substr(0, kFrameHeadBytes));
    if (!decoded) return decoded.error().message;
    if (rest.size() - kFrameHeadBytes < decoded->payload_bytes) return "cut in a payload";
    const auto kind = check.frame(rest.substr(0, kFrameHeadBytes),
                                  rest.substr(kFrameHeadBytes, decoded->payload_bytes));
    if (!kind) return kind.error().message;
  }
  return check.ended() ? "" : "no end";
}

TEST(Export, TheBytesAreTheGoldenOnes) {
  EXPECT_EQ(to_hex(example()),
            "43454c4c52455850"
            "01000000"
            "a5c93131"  // magic, version, checksum
            "dbbe7cc4"
            "0d000000"
            "01000000"                    // the description
            "7b227461626c65223a2274227d"  //
            "e1ef8514"
            "1a000000"
            "02000000"
            "01"
            "02"  // rows: one row, two cells
            "0172"
            "02"  // "r"
            "00"
            "0166"
            "0171"
            "a01f"
            "036e6577"  // f:q at 2000 = "new"
            "07"
            "d00f"
            "d08c01"
            "036f6c64"  // the same at 1000, expires 9000
            "271a68ff"
            "03000000"
            "03000000"
            "01"
            "02"
            "06");  // end
}

TEST(Export, EveryFlippedBitAndEveryCutIsFound) {
  const std::string file = example();
  ExportCheck whole;
  ASSERT_EQ(walk(file, whole), "");
  EXPECT_EQ(whole.counts(), (ExportCounts{1, 2, 6}));
  EXPECT_EQ(whole.last_key(), "r");
  EXPECT_EQ(whole.description(), "{\"table\":\"t\"}");
  for (size_t byte = 0; byte < file.size(); ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = file;
      damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << bit));
      ExportCheck check;
      EXPECT_NE(walk(damaged, check), "") << "bit " << bit << " of byte " << byte;
    }
    ExportCheck check;
    EXPECT_NE(walk(Bytes(file).substr(0, byte), check), "") << "cut at " << byte;
  }
}

TEST(Export, FramesThatAreDoubledLeftOutOrOfAnotherFileAreFound) {
  ExportEncoder out;
  std::vector<std::string> frames = {out.begin("{}")};
  for (int i = 0; i < 3; ++i) {
    out.begin_row(fmt::format("r{}", i));
    out.add({"f", "", i, std::nullopt, "v"});
    out.end_row();
    frames.push_back(out.take_block());
  }
  frames.push_back(out.finish());
  const auto play = [&](std::vector<size_t> order) {
    std::string file;
    for (const size_t i : order) file += frames[i];
    ExportCheck check;
    return walk(file, check);
  };
  EXPECT_EQ(play({0, 1, 2, 3, 4}), "");
  EXPECT_NE(play({0, 1, 3, 4}), "");
  EXPECT_NE(play({0, 1, 2, 2, 3, 4}), "");
  EXPECT_NE(play({0, 2, 1, 3, 4}), "");
  EXPECT_NE(play({0, 1, 2, 3, 4, 4}), "");
  EXPECT_NE(play({0, 1, 2, 3}), "");
}

TEST(Export, RandomRowsComeBackAndAResumedFileIsTheSame) {
  for (const uint64_t seed : test_seeds(20)) {
    Random random(seed);
    std::map<std::string, std::vector<std::string>> rows;
    for (uint64_t n = random.below(300); n > 0; --n) {
      auto& values = rows[fmt::format("{:06}", random.below(1'000'000))];
      for (uint64_t c = 1 + random.below(5); c > 0; --c) {
        values.push_back(std::string(random.below(20'000), static_cast<char>(random.below(256))));
      }
    }
    const auto add = [](ExportEncoder& out, const std::string& key,
                        const std::vector<std::string>& values) {
      out.begin_row(key);
      int64_t at = 0;
      for (const std::string& value : values) {
        out.add({"f", value.substr(0, 3), ++at, std::nullopt, value});
      }
      out.end_row();
    };
    ExportEncoder out;
    std::string file = out.begin("{}");
    for (const auto& [key, values] : rows) {
      add(out, key, values);
      if (out.block_full()) file += out.take_block();
    }
    file += out.finish();
    ExportCheck check;
    ASSERT_EQ(walk(file, check), "") << "seed " << seed;
    EXPECT_EQ(check.counts().rows, rows.size());

    // The file cut anywhere, then resumed after the last complete frame.
    const Bytes cut = Bytes(file).substr(0, random.below(file.size()));
    ExportCheck part;
    (void)walk(cut, part);
    if (part.frames() == 0 || part.ended()) continue;
    ExportEncoder rest;
    rest.resume(part.chain(), part.counts());
    std::string resumed(cut.substr(0, part.bytes()));
    for (auto at = rows.upper_bound(part.last_key()); at != rows.end(); ++at) {
      add(rest, at->first, at->second);
      if (rest.block_full()) resumed += rest.take_block();
    }
    resumed += rest.finish();
    EXPECT_TRUE(resumed == file) << "seed " << seed;
  }
}

}  // namespace
}  // namespace cellar::engine
