#include "engine/write/range_tokens.h"

#include <algorithm>
#include <utility>

#include "engine/write/token_memory.h"
#include "io/base/check.h"

namespace cellar::engine {
namespace {

// Upper bound of the retry hint when the room is full; the next token may end later.
constexpr int64_t kMaxRangeRetryMs = 10'000;

int64_t us_of(CommitStamp stamp) { return static_cast<int64_t>(stamp.value() / 1000); }

}  // namespace

Result<void> RangeTokenRoom::make_room(size_t bytes, int64_t now_us) {
  if (bytes_ + bytes <= kMaxRangeTokenBytes) return {};
  int64_t first_end_us = INT64_MAX;
  for (RangeTokens* tablet : tablets_) {
    tablet->forget_ended(now_us);
    first_end_us = std::min(first_end_us, tablet->first_end_us());
  }
  if (bytes_ + bytes <= kMaxRangeTokenBytes) return {};
  int64_t wait_ms = kMaxRangeRetryMs;
  if (first_end_us != INT64_MAX) {
    wait_ms = std::clamp<int64_t>((first_end_us - now_us) / 1000 + 1, 1, kMaxRangeRetryMs);
  }
  return std::unexpected(
      Error(Errc::resource_exhausted,
            fmt::format("the shard remembers {} tokens of DropRowRange, in {} bytes of at most {}; "
                        "{} more have no room",
                        tokens_, bytes_, kMaxRangeTokenBytes, bytes))
          .retry_after(static_cast<uint32_t>(wait_ms)));
}

RangeTokens::RangeTokens(RangeTokenRoom& room, const std::vector<RangeToken>& flushed)
    : room_(room) {
  room_.tablets_.insert(this);
  for (const RangeToken& token : flushed) {
    Known known{token.until_us, token.content, CommitStamp{}, {}};
    for (const KeyRange& rows : token.done) known.rows.push_back({rows, CommitStamp{}});
    const auto [place, is_new] = known_.try_emplace(token.id, std::move(known));
    if (!is_new) continue;
    room_.bytes_ += bytes_of(token.id, place->second);
    ++room_.tokens_;
  }
}

RangeTokens::~RangeTokens() {
  while (!known_.empty()) erase(known_.begin());
  room_.tablets_.erase(this);
}

RangeToken RangeTokens::token_of(const std::string& id, const Known& known, CommitStamp last) {
  RangeToken token{id, known.until_us, known.content, {}};
  for (const Rows& rows : known.rows) {
    if (rows.stamp <= last) add_rows(token.done, rows.range);
  }
  return token;
}

size_t RangeTokens::bytes_of(const std::string& id, const Known& known) {
  return token_of(id, known, kMaxStamp).bytes();
}

RangeTokens::ById::iterator RangeTokens::erase(ById::iterator place) {
  room_.bytes_ -= bytes_of(place->first, place->second);
  --room_.tokens_;
  return known_.erase(place);
}

Result<std::vector<KeyRange>> RangeTokens::rows_to_delete(const WriteToken& token, KeyRange rows,
                                                          const TokenWindow& window,
                                                          int64_t now_us) {
  TRY_VOID(validate_token(token));
  TRY_VOID(check_issue(token, now_us, window.for_issue(token.issued_us)));
  const std::string id = token_id(token.client, token.token);
  auto place = known_.find(id);
  if (place != known_.end() && place->second.until_us < now_us) {
    erase(place);
    place = known_.end();
  }
  RangeToken known{id, 0, token.content, {}};
  if (place != known_.end()) known = token_of(id, place->second, kMaxStamp);
  if (known.content != token.content) {
    return fail(Errc::invalid_argument,
                "the token came with a DropRowRange of another range before");
  }
  std::vector<KeyRange> left = rows.empty() ? std::vector<KeyRange>() : rows_left(rows, known.done);
  const size_t before = place == known_.end() ? 0 : known.bytes();
  for (const KeyRange& one : left) add_rows(known.done, one);
  const size_t after = known.bytes();
  if (after > before) TRY_VOID(room_.make_room(after - before, now_us));
  return left;
}

bool RangeTokens::knows(const WriteToken& token) const {
  const auto place = known_.find(token_id(token.client, token.token));
  return place != known_.end() && place->second.content == token.content;
}

void RangeTokens::note(const TokenEntry& token, std::span<const RangeDelete> deleted,
                       CommitStamp stamp) {
  TokenRecord record;
  CHECK(parse_token_record(token.record, record), "visit_commit() has read it");
  const std::string id(token.id);
  auto place = known_.find(id);
  // A token that ended before this commit was another one with the same id.
  if (place != known_.end() &&
      (place->second.content != record.content || place->second.until_us < us_of(stamp))) {
    erase(place);
    place = known_.end();
  }
  if (place == known_.end()) {
    Known known{record.until_us, record.content, stamp, {}};
    place = known_.emplace(id, std::move(known)).first;
    ++room_.tokens_;
  } else {
    room_.bytes_ -= bytes_of(id, place->second);
  }
  for (const RangeDelete& range : deleted) {
    place->second.rows.push_back({{std::string(range.start), std::string(range.end)}, stamp});
  }
  room_.bytes_ += bytes_of(id, place->second);
}

std::vector<RangeToken> RangeTokens::up_to(CommitStamp last, int64_t now_us) const {
  std::vector<RangeToken> tokens;
  for (const auto& [id, known] : known_) {
    if (known.since <= last && known.until_us >= now_us) {
      tokens.push_back(token_of(id, known, last));
    }
  }
  return tokens;
}

void RangeTokens::forget_ended(int64_t now_us) {
  for (auto it = known_.begin(); it != known_.end();) {
    it = it->second.until_us < now_us ? erase(it) : std::next(it);
  }
}

int64_t RangeTokens::first_end_us() const {
  int64_t first_us = INT64_MAX;
  for (const auto& [id, known] : known_) first_us = std::min(first_us, known.until_us);
  return first_us;
}

}  // namespace cellar::engine
