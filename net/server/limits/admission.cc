#include "net/server/limits/admission.h"

namespace cellar::server {
namespace {

std::unexpected<Error> not_now(std::string sentence) {
  return std::unexpected(
      Error(Errc::resource_exhausted, std::move(sentence)).retry_after(kRetryAfterMs));
}

}  // namespace

Result<void> Admission::begin_scan() {
  if (scans_ >= kMaxScans) {
    return not_now(fmt::format("{} scans run on this shard, which is the most", kMaxScans));
  }
  ++scans_;
  return {};
}

Result<void> Admission::hold_bytes(size_t n) {
  // A single request larger than the bound is still accepted.
  if (held_bytes_ != 0 && held_bytes_ + n > kMaxHeldBytes) {
    return not_now(fmt::format("requests that wait hold {} bytes; {} more are over the bound of {}",
                               held_bytes_, n, kMaxHeldBytes));
  }
  held_bytes_ += n;
  return {};
}

Result<void> Admission::check_replies() const {
  if (pending_reply_bytes_ > kMaxPendingReplyBytesTotal) {
    return not_now(fmt::format("{} bytes of answers wait for slow clients, over the bound of {}",
                               pending_reply_bytes_, kMaxPendingReplyBytesTotal));
  }
  return {};
}

}  // namespace cellar::server
