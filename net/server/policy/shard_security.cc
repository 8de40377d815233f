#include "net/server/policy/shard_security.h"

#include <utility>

namespace cellar::server {

void ShardSecurity::audit(security::AuditEvent event) {
  if (log_ == nullptr) return;
  mailbox_.post_on(ShardId{0}, [log = log_, event = std::move(event)]() mutable {
    log->record(std::move(event));
  });
}

void ShardSecurity::audit_flood(security::AuditEvent event) {
  const int64_t second = timers_.now_us() / 1'000'000;
  if (second != flood_second_) {
    flood_second_ = second;
    flood_lines_ = 0;
    if (const uint64_t count = std::exchange(flood_left_out_, 0); count > 0) {
      security::AuditEvent left_out;
      left_out.event = "left_out";
      left_out.detail = "failed logins and denials, too many in a second";
      left_out.count = count;
      audit(std::move(left_out));
    }
  }
  if (++flood_lines_ <= kFloodPerS) {
    audit(std::move(event));
  } else {
    ++flood_left_out_;
  }
}

}  // namespace cellar::server
