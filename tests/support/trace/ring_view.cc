#include "tests/support/trace/ring_view.h"

#include <cstring>

namespace cellar::test {

uint32_t RingView::word(uint64_t address) const {
  uint32_t value = 0;
  const std::string bytes = read_memory(process_, address, sizeof value);
  if (bytes.size() == sizeof value) std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

void RingView::set_up(int ring, uint64_t params_address) {
  Ring made;
  const std::string bytes = read_memory(process_, params_address, sizeof made.params);
  if (bytes.size() == sizeof made.params) std::memcpy(&made.params, bytes.data(), bytes.size());
  constexpr uint32_t kUnknown = IORING_SETUP_SQPOLL | IORING_SETUP_SQE128 | IORING_SETUP_CQE32;
  if ((made.params.flags & kUnknown) != 0 || (made.params.features & IORING_FEAT_SINGLE_MMAP) == 0)
    lost_ = "a ring with set-up flags that the trace cannot follow";
  rings_[ring] = made;  // replaces a ring that was closed
}

void RingView::mapped(int ring, uint64_t address, uint64_t offset) {
  const auto found = rings_.find(ring);
  if (found == rings_.end()) return;
  if (offset == IORING_OFF_SQES) {
    found->second.sqes = address;
  } else {  // with IORING_FEAT_SINGLE_MMAP both queues lie in one mapping
    found->second.sq = address;
    found->second.cq = address;
  }
}

void RingView::unmapped(uint64_t address) {
  std::erase_if(rings_, [&](const auto& ring) {
    return ring.second.sqes == address || ring.second.sq == address || ring.second.cq == address;
  });
}

std::vector<RingView::Submission> RingView::submissions(int ring, uint64_t to_submit) {
  std::vector<Submission> result;
  const auto found = rings_.find(ring);
  if (found == rings_.end() || found->second.sq == 0 || found->second.sqes == 0) return result;
  const Ring& r = found->second;
  const uint32_t head = word(r.sq + r.params.sq_off.head);
  const uint32_t tail = word(r.sq + r.params.sq_off.tail);
  for (uint32_t at = head; at != tail && result.size() < to_submit; ++at) {
    const uint32_t slot = at & (r.params.sq_entries - 1);
    const uint32_t index = word(r.sq + r.params.sq_off.array + slot * sizeof(uint32_t));
    io_uring_sqe sqe;
    const std::string bytes = read_memory(process_, r.sqes + index * sizeof sqe, sizeof sqe);
    if (bytes.size() != sizeof sqe) break;
    std::memcpy(&sqe, bytes.data(), sizeof sqe);
    if ((sqe.flags & IOSQE_FIXED_FILE) != 0) lost_ = "an operation on a registered file";
    result.push_back({ring, sqe.opcode, sqe.fd, sqe.off, sqe.addr, sqe.len,
                      static_cast<uint32_t>(sqe.rw_flags), sqe.user_data});
  }
  return result;
}

std::vector<RingView::Completion> RingView::completions() {
  std::vector<Completion> result;
  for (auto& [fd, ring] : rings_) {
    if (ring.cq == 0) continue;
    const uint32_t tail = word(ring.cq + ring.params.cq_off.tail);
    if (tail - ring.seen > ring.params.cq_entries) {
      lost_ = "a completion queue went round unseen";
      ring.seen = tail;
    }
    for (; ring.seen != tail; ++ring.seen) {
      const uint32_t slot = ring.seen & (ring.params.cq_entries - 1);
      io_uring_cqe cqe;
      const uint64_t address = ring.cq + ring.params.cq_off.cqes + slot * sizeof cqe;
      const std::string bytes = read_memory(process_, address, sizeof cqe);
      if (bytes.size() != sizeof cqe) break;
      std::memcpy(&cqe, bytes.data(), sizeof cqe);
      result.push_back({fd, cqe.user_data, cqe.res});
    }
  }
  return result;
}

}  // namespace cellar::test
