#include "net/server/limits/node_memory.h"

#include "io/base/check.h"
#include "net/server/limits/admission.h"

namespace cellar::server {

Result<void> NodeMemory::admit_answer() const {
  const size_t bound = kAnswersRefused * answers_bound_;
  if (answers() < bound) return {};
  Error error(Errc::resource_exhausted,
              fmt::format("{} bytes of answers wait for slow clients of the node, its bound is {}",
                          answers(), bound));
  return std::unexpected(std::move(error).retry_after(kRetryAfterMs));
}

NodeMemory::Room NodeMemory::grow(Claim& claim, size_t bytes, Turn turn) {
  if (bytes <= claim.bytes) return Room::given;
  const Kind kind = kind_of(bytes);
  if (turn == Turn::newcomer && waiting(kind) != 0) return Room::full;
  const size_t more = bytes - claim.bytes;
  const size_t bound = kind == Kind::large_frames ? large_bound() : requests_bound_;
  size_t held = requests_.load();
  while (held + more <= bound || held == claim.bytes) {
    std::atomic<size_t>& party = parties_[claim.party];
    const size_t before = party.fetch_add(more);
    const bool beyond = before != claim.bytes && before + more > bound / 2;
    if (beyond && turn == Turn::queued) {
      party.fetch_sub(more);
      return Room::party_full;
    }
    if (requests_.compare_exchange_strong(held, held + more)) {
      claim.bytes = bytes;
      return Room::given;
    }
    party.fetch_sub(more);
  }
  return Room::full;
}

void NodeMemory::move(Claim& claim, uint64_t hash) {
  parties_[claim.party].fetch_sub(claim.bytes);
  claim.party = static_cast<uint32_t>(hash % kParties);
  parties_[claim.party].fetch_add(claim.bytes);
}

void NodeMemory::shrink(Claim& claim, size_t bytes) {
  CHECK(bytes <= claim.bytes, "a claim of {} bytes is shrunk to {}", claim.bytes, bytes);
  const size_t less = claim.bytes - bytes;
  parties_[claim.party].fetch_sub(less);
  requests_.fetch_sub(less);
  claim.bytes = bytes;
}

bool NodeMemory::take_wide(size_t bytes) {
  if (wide_.fetch_add(bytes) + bytes <= wide_bound_) return true;
  wide_.fetch_sub(bytes);
  return false;
}

}  // namespace cellar::server
