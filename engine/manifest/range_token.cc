#include "engine/manifest/range_token.h"

#include <algorithm>
#include <map>
#include <utility>

namespace cellar::engine {
namespace {

// An entry of a map or vector, and the numbers beside the bytes.
constexpr size_t kTokenOverhead = 160;
constexpr size_t kRangeOverhead = 80;

}  // namespace

size_t RangeToken::bytes() const {
  size_t size = kTokenOverhead + id.size();
  for (const KeyRange& rows : done) size += kRangeOverhead + rows.start.size() + rows.end.size();
  return size;
}

void add_rows(std::vector<KeyRange>& done, KeyRange rows) {
  RowSet all;
  for (KeyRange& one : done) all.add(std::move(one));
  if (!rows.empty()) all.add(std::move(rows));
  all.normalize();
  done = all.ranges();
}

std::vector<KeyRange> rows_left(KeyRange rows, const std::vector<KeyRange>& done) {
  std::vector<KeyRange> left;
  for (const KeyRange& one : done) {
    if (rows.empty()) return left;
    if (intersect(one, rows).empty()) continue;
    if (rows.start < one.start) left.push_back({rows.start, one.start});
    if (one.end.empty()) return left;
    rows.start = one.end;
  }
  if (!rows.empty()) left.push_back(std::move(rows));
  return left;
}

std::vector<RangeToken> inherit_tokens(const std::vector<const std::vector<RangeToken>*>& parents,
                                       const KeyRange& rows, CommitStamp last) {
  std::map<std::string, RangeToken> all;
  for (const std::vector<RangeToken>* tokens : parents) {
    for (const RangeToken& token : *tokens) {
      if (token.until_us < static_cast<int64_t>(last.value() / 1000)) continue;
      RangeToken part = token;
      part.done.clear();
      for (const KeyRange& one : token.done) {
        if (KeyRange here = intersect(one, rows); !here.empty()) part.done.push_back(here);
      }
      const auto [place, is_new] = all.try_emplace(token.id, part);
      if (is_new) continue;
      RangeToken& known = place->second;
      // The id had expired and was reused for another range: the later one counts.
      if (known.content != token.content) {
        if (known.until_us < token.until_us) known = std::move(part);
        continue;
      }
      known.until_us = std::max(known.until_us, token.until_us);
      for (KeyRange& one : part.done) add_rows(known.done, std::move(one));
    }
  }
  std::vector<RangeToken> inherited;
  for (auto& [id, token] : all) {
    if (rows.start.empty() || !token.done.empty()) inherited.push_back(std::move(token));
  }
  return inherited;
}

void encode_range_tokens(std::string& out, const std::vector<RangeToken>& tokens) {
  put_varint(out, tokens.size());
  for (const RangeToken& token : tokens) {
    put_bytes(out, token.id);
    put_varint(out, zigzag(token.until_us));
    put_u64(out, token.content.low);
    put_u64(out, token.content.high);
    put_varint(out, token.done.size());
    for (const KeyRange& rows : token.done) {
      put_bytes(out, rows.start);
      put_bytes(out, rows.end);
    }
  }
}

bool decode_range_tokens(Reader& in, std::vector<RangeToken>& out) {
  for (uint64_t count = in.varint(); count > 0 && in.ok(); --count) {
    RangeToken& token = out.emplace_back();
    token.id = in.bytes();
    token.until_us = in.signed_varint();
    token.content.low = in.u64();
    token.content.high = in.u64();
    for (uint64_t ranges = in.varint(); ranges > 0 && in.ok(); --ranges) {
      KeyRange rows;
      rows.start = in.bytes();
      rows.end = in.bytes();
      const bool behind = token.done.empty() ||
                          (!token.done.back().end.empty() && token.done.back().end < rows.start);
      if (rows.empty() || !behind) return false;
      token.done.push_back(std::move(rows));
    }
    if (token.id.empty()) return false;
  }
  return in.ok();
}

}  // namespace cellar::engine
