// RangeToken: what a tablet remembers of the token of a DropRowRange (SEMANTICS 2): the rows of the
// tablet in which the delete was committed. A repetition deletes only in the others. The rows are
// key ranges, so that splits can cut and merges can join them.
//
// The first tablet of a table remembers every token, even if the range has none of its rows: it is
// asked first and detects a token reused with another range (token_memory.h).
#pragma once

#include <string>
#include <vector>

#include "engine/model/read_spec.h"
#include "engine/model/token.h"
#include "io/base/coding.h"

namespace cellar::engine {

struct RangeToken {
  std::string id;              // token_id() of client and token
  int64_t until_us = 0;        // last time at which it counts
  ContentHash content;         // hash of the requested range; the same in all tablets
  std::vector<KeyRange> done;  // rows of the tablet: sorted, disjoint, none empty; may be no range

  // Size counted against kMaxRangeTokenBytes.
  size_t bytes() const;
  bool operator==(const RangeToken&) const = default;
};

// Adds rows to such a list.
void add_rows(std::vector<KeyRange>& done, KeyRange rows);
// The parts of `rows` that are not done.
std::vector<KeyRange> rows_left(KeyRange rows, const std::vector<KeyRange>& done);

// The tokens of a tablet with `rows` inherited from the tablets it replaces, whose last commit is
// `last`; without those expired by then.
std::vector<RangeToken> inherit_tokens(const std::vector<const std::vector<RangeToken>*>& parents,
                                       const KeyRange& rows, CommitStamp last);

// See "Manifest" in FORMATS.md. decode returns false for invalid bytes.
void encode_range_tokens(std::string& out, const std::vector<RangeToken>& tokens);
bool decode_range_tokens(Reader& in, std::vector<RangeToken>& out);

}  // namespace cellar::engine
