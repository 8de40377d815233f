#include "io/base/bytes.h"

#include <gtest/gtest.h>

namespace cellar {
namespace {

TEST(Bytes, CompareAsUnsigned) {
  EXPECT_LT(Bytes("\x7f"), Bytes("\x80"));
  EXPECT_LT(Bytes("a"), Bytes("a\0", 2));
}

TEST(Bytes, CommonPrefixStopsAtTheFirstDifferenceOrTheShorterEnd) {
  EXPECT_EQ(common_prefix("", "abc"), 0u);
  EXPECT_EQ(common_prefix("abc", "abd"), 2u);
  EXPECT_EQ(common_prefix("ab", "abd"), 2u);
}

TEST(Bytes, PrefixSuccessorCarriesOverBytesOfAllOnes) {
  EXPECT_EQ(prefix_successor("ab"), "ac");
  EXPECT_EQ(prefix_successor("a\xff\xff"), "b");
  EXPECT_EQ(prefix_successor("\xff\xff"), "");
  EXPECT_EQ(prefix_successor(""), "");
}

TEST(Bytes, EscapingNamesControlsAndCutsLongInput) {
  EXPECT_EQ(escape_bytes(Bytes("a\n\t\\\"\0\xff", 7)), R"(a\n\t\\\"\x00\xff)");
  EXPECT_EQ(escape_bytes("abcdef", 3), "abc...");
  EXPECT_EQ(escape_bytes("abc", 3), "abc");
}

}  // namespace
}  // namespace cellar
