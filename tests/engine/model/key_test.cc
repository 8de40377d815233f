#include "engine/model/key.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "io/base/random.h"
#include "tests/support/random_entries.h"

namespace cellar {
namespace {

using engine::random_segment;

// A decoded entry. rank() is the order that SEMANTICS 1 and key.h define.
struct Plain {
  EntryKind kind = EntryKind::cell;
  std::string row, family, qualifier;
  int64_t timestamp = 0;
  uint64_t stamp = 0;
  int64_t start = 0, end = 0;

  // Row, then markers of the row, families, tokens; in a family its markers, then columns; in a
  // column its markers, then cells.
  auto rank() const {
    const int in_row = kind == EntryKind::row_delete ? 0 : kind == EntryKind::token ? 2 : 1;
    const int in_family = kind == EntryKind::family_delete ? 0 : 1;
    const int in_column = kind == EntryKind::column_delete ? 0 : 1;
    const bool is_cell = kind == EntryKind::cell;
    return std::tuple(row, in_row, family, in_family, qualifier, in_column,
                      is_cell ? -timestamp : 0, UINT64_MAX - stamp, start, end);
  }
  std::string encode() const {
    std::string out;
    switch (kind) {
      case EntryKind::row_delete:
        append_row_delete(out, row, CommitStamp{stamp});
        break;
      case EntryKind::family_delete:
        append_family_delete(out, row, family, CommitStamp{stamp});
        break;
      case EntryKind::column_delete:
        append_column_delete(out, row, family, qualifier, CommitStamp{stamp}, start, end);
        break;
      case EntryKind::cell:
        append_cell(out, row, family, qualifier, timestamp, CommitStamp{stamp});
        break;
      case EntryKind::token:
        append_token(out, row, qualifier, CommitStamp{stamp});
    }
    return out;
  }
};

Plain random_plain(Random& random) {
  Plain p;
  p.kind = static_cast<EntryKind>(random.below(5));
  p.row = random_segment(random, 3, 1);
  p.stamp = random.one_in(4) ? random.next() : random.below(3);
  if (p.kind == EntryKind::row_delete) return p;
  if (p.kind == EntryKind::token) {
    p.qualifier = random_segment(random, 3);
    return p;
  }
  p.family = random.one_in(2) ? "f" : "ff";
  if (p.kind == EntryKind::family_delete) return p;
  p.qualifier = random_segment(random, 3);
  const auto time = [&] {
    return static_cast<int64_t>(random.one_in(4) ? random.next() >> 1 : random.below(3));
  };
  if (p.kind == EntryKind::cell) {
    p.timestamp = time();
  } else {
    p.start = time();
    p.end = time();
  }
  return p;
}

TEST(Key, BytesOrderAsTheTuples) {
  Random random(1);
  std::vector<Plain> entries;
  for (int i = 0; i < 700; ++i) entries.push_back(random_plain(random));
  for (const Plain& a : entries) {
    const std::string ka = a.encode();
    for (const Plain& b : entries) {
      const std::string kb = b.encode();
      ASSERT_EQ(ka < kb, a.rank() < b.rank()) << escape_bytes(ka) << " | " << escape_bytes(kb);
      ASSERT_EQ(ka == kb, a.rank() == b.rank());
    }
  }
}

TEST(Key, TakenApartGivesWhatWasPutIn) {
  Random random(2);
  for (int i = 0; i < 20000; ++i) {
    const Plain p = random_plain(random);
    const std::string key = p.encode();
    ParsedKey parsed;
    ASSERT_TRUE(parse_key(key, parsed)) << escape_bytes(key);
    std::string scratch;
    ASSERT_EQ(parsed.kind, p.kind);
    ASSERT_EQ(decode_segment(parsed.escaped_row, scratch), p.row);
    ASSERT_EQ(parsed.family, p.family);
    ASSERT_EQ(decode_segment(parsed.escaped_qualifier, scratch), p.qualifier);
    ASSERT_EQ(parsed.stamp.value(), p.stamp);
    ASSERT_EQ(parsed.row_prefix, row_prefix(p.row));
    ASSERT_EQ(row_prefix_size(key), parsed.row_prefix.size());
    if (p.kind == EntryKind::cell) ASSERT_EQ(parsed.timestamp_us, p.timestamp);
    if (p.kind == EntryKind::column_delete) {
      ASSERT_EQ(parsed.start_us, p.start);
      ASSERT_EQ(parsed.end_us, p.end);
    }
    std::string column;
    if (p.kind == EntryKind::cell || p.kind == EntryKind::column_delete) {
      append_column_prefix(column, p.row, p.family, p.qualifier);
      ASSERT_EQ(parsed.column_prefix, column);
    }
    if (p.kind == EntryKind::row_delete) ASSERT_TRUE(parsed.column_prefix.empty());
    if (p.kind == EntryKind::family_delete) {
      ASSERT_EQ(parsed.column_prefix, row_prefix(p.row) + '\x02' + p.family + '\0');
    }
  }
}

TEST(Key, ARowsEntriesLieBetweenItsPrefixAndTheEndOfIt) {
  Random random(3);
  for (int i = 0; i < 5000; ++i) {
    const Plain p = random_plain(random);
    const std::string key = p.encode();
    const std::string other = random_segment(random, 4, 1);
    const std::string begin = row_prefix(other);
    const std::string end = row_prefix_end(begin);
    ASSERT_EQ(key >= begin && key < end, p.row == other)
        << escape_bytes(key) << " in " << escape_bytes(other);
  }
}

TEST(Key, TheExampleOfTheFormat) {
  std::string key;
  append_cell(key, Bytes("a\0b", 3), "f", "", 1000, CommitStamp{1});
  EXPECT_EQ(key, std::string("a\0\xff"
                             "b\0\x01\x02"
                             "f\0\x02\0\x01\x02"
                             "\xff\xff\xff\xff\xff\xff\xfc\x17"
                             "\xff\xff\xff\xff\xff\xff\xff\xfe",
                             6 + 1 + 2 + 1 + 2 + 1 + 16));
}

TEST(Key, NoTruncationOfAKeyIsAKey) {
  Random random(4);
  for (int i = 0; i < 500; ++i) {
    const std::string key = random_plain(random).encode();
    ParsedKey parsed;
    for (size_t n = 0; n < key.size(); ++n) {
      ASSERT_FALSE(parse_key(Bytes(key).substr(0, n), parsed)) << escape_bytes(key) << " to " << n;
    }
    ASSERT_FALSE(parse_key(key + "x", parsed));
  }
}

TEST(Key, RandomBytesAreTakenApartOrRefusedAndNeverMisread) {
  Random random(5);
  size_t accepted = 0;
  for (int i = 0; i < 200000; ++i) {
    std::string key = random_segment(random, 40);
    if (random.one_in(2)) {
      key = random_plain(random).encode();
      if (!key.empty()) key[random.below(key.size())] = static_cast<char>(random.next());
    }
    ParsedKey parsed;
    if (!parse_key(key, parsed)) continue;
    ++accepted;
    // Every accepted key encodes back to the same bytes.
    Plain p;
    std::string row, qualifier;
    p.kind = parsed.kind;
    p.row = decode_segment(parsed.escaped_row, row);
    p.family = parsed.family;
    p.qualifier = decode_segment(parsed.escaped_qualifier, qualifier);
    p.timestamp = parsed.timestamp_us;
    p.stamp = parsed.stamp.value();
    p.start = parsed.start_us;
    p.end = parsed.end_us;
    ASSERT_EQ(p.encode(), key);
  }
  EXPECT_GT(accepted, 1000u);
}

TEST(Key, ANegativeTimestampIsNoKey) {
  std::string key;
  append_cell(key, "r", "f", "q", -1, CommitStamp{1});
  ParsedKey parsed;
  EXPECT_FALSE(parse_key(key, parsed));
}

TEST(CellValueCoding, RoundTripsWithAndWithoutExpiry) {
  for (const int64_t expiry : {int64_t{0}, int64_t{1}, int64_t{-5}, kNoExpiry - 1, kNoExpiry}) {
    for (const Bytes value : {Bytes(""), Bytes("v"), Bytes("\0\xff", 2)}) {
      std::string encoded;
      append_cell_value(encoded, value, expiry);
      CellValue out;
      ASSERT_TRUE(parse_cell_value(encoded, out));
      EXPECT_EQ(out.expire_at_us, expiry);
      EXPECT_EQ(out.value, value);
    }
  }
}

TEST(CellValueCoding, ATombstoneHasAnExpiryPerhapsAndNoValue) {
  for (const int64_t expire_at_us : {kNoExpiry, int64_t{9000}}) {
    std::string encoded;
    append_tombstone(encoded, expire_at_us);
    CellValue out;
    ASSERT_TRUE(parse_cell_value(encoded, out));
    EXPECT_TRUE(out.tombstone);
    EXPECT_EQ(out.expire_at_us, expire_at_us);
  }
}

TEST(CellValueCoding, RefusesUnknownFlagsAndCutExpiries) {
  CellValue out;
  EXPECT_FALSE(parse_cell_value("", out));
  EXPECT_FALSE(parse_cell_value("\x04", out));
  EXPECT_FALSE(parse_cell_value("\x02value", out));
  EXPECT_FALSE(parse_cell_value("\x01", out));
  EXPECT_FALSE(parse_cell_value("\x01\x80", out));
}

}  // namespace
}  // namespace cellar
