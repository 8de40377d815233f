// Shard: one core's loop, mailbox, clocks and random numbers.
#pragma once

#include "io/base/random.h"
#include "io/base/trusted_clock.h"
#include "io/loop/loop.h"
#include "io/loop/mailbox.h"
#include "io/loop/runtime.h"

namespace cellar {

// Lives as long as its loop. Used on that loop's thread only.
class Shard {
 public:
  // All references must outlive the shard.
  Shard(ShardId id, Loop& loop, Mailbox& mailbox, const Clock& clock, uint64_t seed)
      : id_(id), loop_(loop), mailbox_(mailbox), trusted_(clock), random_(seed) {}
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  ShardId id() const { return id_; }
  Loop& loop() { return loop_; }
  Mailbox& mailbox() { return mailbox_; }
  ShardExecutor executor() { return loop_.executor(); }
  Timers& timers() { return loop_.timers(); }
  TrustedClock& clock() { return trusted_; }
  Random& random() { return random_; }
  // The above as one bundle.
  Runtime runtime() { return Runtime{loop_.executor(), loop_.timers(), trusted_, random_}; }

 private:
  ShardId id_;
  Loop& loop_;
  Mailbox& mailbox_;
  TrustedClock trusted_;
  Random random_;
};

}  // namespace cellar
