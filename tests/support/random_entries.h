// Random well-formed entries over a small key space, so that rows, columns and bytes often collide.
#pragma once

#include <string>

#include "engine/model/key.h"
#include "io/base/random.h"

namespace cellar::engine {

// Up to max_bytes bytes, mostly from an alphabet with the bytes that the encoding escapes.
inline std::string random_segment(Random& random, size_t max_bytes, size_t min_bytes = 0) {
  static constexpr char kAlphabet[] = {'\x00', '\x01', '\x02', 'a', 'b', '\xfe', '\xff'};
  std::string out;
  const size_t n = min_bytes + random.below(max_bytes - min_bytes + 1);
  for (size_t i = 0; i < n; ++i) out.push_back(kAlphabet[random.below(sizeof kAlphabet)]);
  return out;
}

// A key of any kind; `stamp` makes it unique.
inline std::string random_key(Random& random, CommitStamp stamp) {
  const std::string row = random_segment(random, 4, 1);
  const std::string family(1, static_cast<char>('f' + random.below(2)));
  const std::string qualifier = random_segment(random, 2);
  const auto timestamp = static_cast<int64_t>(random.below(5)) * 1000;
  std::string key;
  switch (random.below(10)) {
    case 0:
      append_row_delete(key, row, stamp);
      break;
    case 1:
      append_family_delete(key, row, family, stamp);
      break;
    case 2:
      append_column_delete(key, row, family, qualifier, stamp, timestamp, timestamp + 1000);
      break;
    default:
      append_cell(key, row, family, qualifier, timestamp, stamp);
  }
  return key;
}

// A value for the key: a cell value or nothing.
inline std::string random_value(Random& random, Bytes key) {
  ParsedKey parsed;
  std::string value;
  if (parse_key(key, parsed) && parsed.kind == EntryKind::cell) {
    const int64_t expiry =
        random.one_in(4) ? static_cast<int64_t>(random.below(1'000'000)) : kNoExpiry;
    append_cell_value(value, random_segment(random, 20), expiry);
  }
  return value;
}

}  // namespace cellar::engine
