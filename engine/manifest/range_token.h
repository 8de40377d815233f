// RangeToken: what a tablet remembers of the token of a DropRowRange (SEMANTICS 2): in which of its
// rows the delete was committed. A repetition deletes in the others alone. Kept by key range, so
// that it is cut where the tablet is split and put together where tablets are merged.
//
// The first tablet of a table remembers every token, though the range touches none of its rows: it
// is asked first, and knows when a token comes with another range (token_memory.h).
#pragma once

#include <string>
#include <vector>

#include "engine/model/read_spec.h"
#include "engine/model/token.h"
#include "io/base/coding.h"

namespace cellar::engine {

struct RangeToken {
  std::string id;              // token_id() of client and token
  int64_t until_us = 0;        // the last moment at which it counts
  ContentHash content;         // of the range that was asked for, in all tablets the same
  std::vector<KeyRange> done;  // rows of the tablet: sorted, disjoint, none empty; perhaps none

  // What it takes of kMaxRangeTokenBytes.
  size_t bytes() const;
  bool operator==(const RangeToken&) const = default;
};

// Adds rows to such a list.
void add_rows(std::vector<KeyRange>& done, KeyRange rows);
// The parts of `rows` that are not done.
std::vector<KeyRange> rows_left(KeyRange rows, const std::vector<KeyRange>& done);

// What the tablet of `rows` has from those whose rows it takes over, of which `last` is the last
// commit; without what has ended by then.
std::vector<RangeToken> inherit_tokens(const std::vector<const std::vector<RangeToken>*>& parents,
                                       const KeyRange& rows, CommitStamp last);

// See "Manifest" in FORMATS.md. decode answers false for bytes that are none.
void encode_range_tokens(std::string& out, const std::vector<RangeToken>& tokens);
bool decode_range_tokens(Reader& in, std::vector<RangeToken>& out);

}  // namespace cellar::engine
