#include "net/server/control/io_watch.h"

#include "io/base/log.h"

namespace cellar::server {

void IoWatch::look(int64_t now_us) {
  oldest_us_ = fs_.oldest_io_us(now_us);
  const bool hangs = oldest_us_ >= kHungUs;
  if (hangs == hung_) return;
  hung_ = hangs;
  if (hung_) {
    hung_since_us_ = now_us - oldest_us_;
    log_error("disk", "the disk does not answer shard={} oldest_io_us={}", shard_, oldest_us_);
  } else {
    log_warn("disk", "the disk answers again shard={} hung_us={}", shard_, now_us - hung_since_us_);
  }
}

}  // namespace cellar::server
