#include "io/base/coding.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <vector>

#include "io/base/random.h"

namespace cellar {
namespace {

std::vector<uint64_t> interesting_numbers() {
  std::vector<uint64_t> numbers = {0, UINT64_MAX};
  for (unsigned bit = 0; bit < 64; ++bit) {
    const uint64_t power = uint64_t{1} << bit;
    numbers.insert(numbers.end(), {power - 1, power, power + 1});
  }
  return numbers;
}

TEST(Coding, FixedNumbersReadBackAsWritten) {
  std::string out;
  put_u8(out, 0xfe);
  put_u16(out, 0x1234);
  put_u32(out, 0x89abcdef);
  put_u64(out, 0x0123456789abcdef);
  put_be64(out, 0x0123456789abcdef);
  EXPECT_EQ(out.substr(1, 2), "\x34\x12");
  EXPECT_EQ(out.substr(15, 2), "\x01\x23");
  Reader in(out);
  EXPECT_EQ(in.u8(), 0xfe);
  EXPECT_EQ(in.u16(), 0x1234);
  EXPECT_EQ(in.u32(), 0x89abcdef);
  EXPECT_EQ(in.u64(), 0x0123456789abcdefu);
  EXPECT_EQ(in.be64(), 0x0123456789abcdefu);
  EXPECT_TRUE(in.ok());
  EXPECT_TRUE(in.at_end());
}

TEST(Coding, VarintsReadBackAtEveryPowerOfTwoAndTakeAByteForEverySevenBits) {
  for (const uint64_t v : interesting_numbers()) {
    std::string out;
    put_varint(out, v);
    EXPECT_EQ(out.size(), v == 0 ? 1 : (static_cast<size_t>(std::bit_width(v)) + 6) / 7) << v;
    Reader in(out);
    EXPECT_EQ(in.varint(), v);
    EXPECT_TRUE(in.ok() && in.at_end()) << v;
  }
}

// The decoder loads several bytes at once where possible; the bytes after the varint must not
// matter.
TEST(Coding, VarintsReadTheSameWhateverFollows) {
  for (int bit = 0; bit < 64; ++bit) {
    for (const uint64_t v : {uint64_t{1} << bit, (uint64_t{1} << bit) - 1, ~uint64_t{0} >> bit}) {
      for (const char filler : {'\0', '\x7f', '\x80', '\xff'}) {
        for (size_t behind = 0; behind < 10; ++behind) {
          std::string bytes;
          put_varint(bytes, v);
          bytes.append(behind, filler);
          Reader in(bytes);
          ASSERT_EQ(in.varint(), v);
          ASSERT_EQ(in.remaining(), behind);
        }
      }
    }
  }
}

TEST(Coding, ZigzagKeepsSmallMagnitudesSmallAndLosesNothing) {
  EXPECT_EQ(zigzag(0), 0u);
  EXPECT_EQ(zigzag(-1), 1u);
  EXPECT_EQ(zigzag(1), 2u);
  for (const uint64_t v : interesting_numbers()) {
    const auto s = static_cast<int64_t>(v);
    EXPECT_EQ(unzigzag(zigzag(s)), s);
  }
}

TEST(Coding, BigEndianNumbersSortAsBytes) {
  Random random(7);
  for (int i = 0; i < 1'000; ++i) {
    const uint64_t a = random.next() >> random.below(64);
    const uint64_t b = random.next() >> random.below(64);
    std::string x, y;
    put_be64(x, a);
    put_be64(y, b);
    EXPECT_EQ(a < b, x < y) << a << " " << b;
  }
}

TEST(Reader, ShortInputOfAnyLengthEndsWithNotOk) {
  std::string whole;
  put_u32(whole, 7);
  put_bytes(whole, "hello");
  put_varint(whole, 300);
  for (size_t length = 0; length < whole.size(); ++length) {
    Reader in(Bytes(whole).substr(0, length));
    in.u32();
    in.bytes();
    in.varint();
    EXPECT_FALSE(in.ok()) << length;
    EXPECT_EQ(in.u64(), 0u);
    EXPECT_EQ(in.bytes(), "");
  }
}

TEST(Reader, VarintOfMoreThan64BitsIsRefused) {
  Reader too_large(Bytes("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10));
  too_large.varint();
  EXPECT_FALSE(too_large.ok());
  Reader too_long(Bytes("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11));
  too_long.varint();
  EXPECT_FALSE(too_long.ok());
  Reader largest(Bytes("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10));
  EXPECT_EQ(largest.varint(), UINT64_MAX);
  EXPECT_TRUE(largest.ok());
}

TEST(Reader, LengthBeyondTheInputIsRefusedWithoutOverflow) {
  std::string in;
  put_varint(in, UINT64_MAX);
  in += "abc";
  Reader reader(in);
  EXPECT_EQ(reader.bytes(), "");
  EXPECT_FALSE(reader.ok());
}

}  // namespace
}  // namespace cellar
