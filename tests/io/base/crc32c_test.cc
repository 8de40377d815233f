#include "io/base/crc32c.h"

#include <gtest/gtest.h>

#include <set>

#include "io/base/random.h"

namespace cellar {
namespace {

// The vectors of RFC 3720, B.4.
TEST(Crc32c, MatchesThePublishedVectors) {
  std::string ascending, descending;
  for (int i = 0; i < 32; ++i) {
    ascending += static_cast<char>(i);
    descending += static_cast<char>(31 - i);
  }
  for (const auto crc :
       {+[](Bytes b) { return crc32c(b); }, +[](Bytes b) { return crc32c_portable(b, 0); }}) {
    EXPECT_EQ(crc(""), 0u);
    EXPECT_EQ(crc("123456789"), 0xe3069283u);
    EXPECT_EQ(crc(std::string(32, '\0')), 0x8a9136aau);
    EXPECT_EQ(crc(std::string(32, '\xff')), 0x62a8ab43u);
    EXPECT_EQ(crc(ascending), 0x46dd794eu);
    EXPECT_EQ(crc(descending), 0x113fdb5cu);
  }
}

TEST(Crc32c, HardwareAndTableAgreeAtEveryLengthAndAlignment) {
  Random random(1);
  std::string data(300, '\0');
  for (char& c : data) c = static_cast<char>(random.next());
  for (size_t begin = 0; begin < 16; ++begin) {
    for (size_t n = 0; begin + n <= data.size(); ++n) {
      const Bytes part = Bytes(data).substr(begin, n);
      ASSERT_EQ(crc32c(part, 77), crc32c_portable(part, 77)) << begin << " " << n;
    }
  }
}

TEST(Crc32c, ContinuesFromAPart) {
  const Bytes all = "the quick brown fox jumps";
  for (size_t cut = 0; cut <= all.size(); ++cut) {
    EXPECT_EQ(crc32c(all.substr(cut), crc32c(all.substr(0, cut))), crc32c(all));
  }
}

TEST(Crc32c, SeedsOfDifferentPlacesDiffer) {
  std::set<uint32_t> seeds;
  for (uint64_t owner = 0; owner < 40; ++owner) {
    for (uint64_t offset = 0; offset < 40; ++offset) seeds.insert(crc_seed(owner, offset * 4096));
  }
  EXPECT_EQ(seeds.size(), 1'600u);
}

}  // namespace
}  // namespace cellar
