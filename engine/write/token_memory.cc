#include "engine/write/token_memory.h"

#include <xxhash.h>

#include <algorithm>

#include "io/base/time_text.h"

namespace cellar::engine {
namespace {

// Number of spans in a window: each lookup visits all of them.
constexpr int64_t kSpans = 16;
// Upper bound of the retry hint when the memory is full; the next span may end later.
constexpr int64_t kMaxTokenRetryMs = 10'000;

}  // namespace

Result<void> check_issue(const WriteToken& token, int64_t now_us, int64_t window_us) {
  if (token.issued_us > now_us && token.issued_us - now_us > kTokenAheadUs) {
    return fail(
        Errc::invalid_argument,
        "the token was issued at {}, {} ahead of the node's time {}; at most {} is accepted",
        told_time(token.issued_us), duration_text(token.issued_us - now_us), told_time(now_us),
        duration_text(kTokenAheadUs));
  }
  if (token.issued_us >= now_us - window_us) return {};
  Error error(
      Errc::failed_precondition,
      fmt::format("the token was issued at {}; at {} tokens are known back to {}, so the "
                  "write may have been applied already",
                  told_time(token.issued_us), told_time(now_us), told_time(now_us - window_us)));
  error.applied = Applied::maybe_applied;
  return std::unexpected(std::move(error));
}

uint64_t token_hash(TabletId tablet, Bytes prefix) {
  return XXH3_64bits_withSeed(prefix.data(), prefix.size(), tablet.value());
}

TokenWindow next_window(const TokenWindow& last, int64_t configured_us, int64_t now_us) {
  TokenWindow next = last;
  next.window_us = configured_us;
  if (last.window_us == 0 || configured_us <= last.window_us) return next;
  // An earlier raise matters while tokens issued before it would be known by the present window.
  const bool settled = now_us - last.raised_us > last.window_us;
  next.before_us = settled ? last.window_us : std::min(last.window_us, last.before_us);
  next.raised_us = now_us + kTokenAheadUs;
  return next;
}

TokenMemory::TokenMemory(const TokenWindow& window, size_t limit_bytes)
    : window_(window),
      span_us_(std::max<int64_t>(window.window_us / kSpans, 1)),
      limit_(limit_bytes / kTokenBytes) {}

void TokenMemory::note(uint64_t hash, int64_t until_us) {
  tokens_ += ending_[until_us / span_us_].insert(hash).second ? 1 : 0;
}

bool TokenMemory::may_hold(uint64_t hash) const {
  return std::any_of(ending_.begin(), ending_.end(),
                     [hash](const auto& span) { return span.second.contains(hash); });
}

Result<void> TokenMemory::make_room(int64_t now_us) {
  // A span has ended when its last microsecond has.
  while (!ending_.empty() && ending_.begin()->first < now_us / span_us_) {
    tokens_ -= ending_.begin()->second.size();
    ending_.erase(ending_.begin());
  }
  if (tokens_ < limit_) return {};
  int64_t wait_ms = kMaxTokenRetryMs;
  if (!ending_.empty()) {
    const int64_t over_us = (ending_.begin()->first + 1) * span_us_;
    wait_ms = std::clamp<int64_t>((over_us - now_us) / 1000 + 1, 1, kMaxTokenRetryMs);
  }
  return std::unexpected(
      Error(Errc::resource_exhausted,
            fmt::format("the shard remembers {} tokens, and has room for no more", tokens_))
          .retry_after(static_cast<uint32_t>(wait_ms)));
}

}  // namespace cellar::engine
