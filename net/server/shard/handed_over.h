// HandedOver: a request, or a part of one, that travels to the shard of its tablet.
//
// It carries the trusted time of the shard that admitted it (clock_gate.h). An anchor reaches the
// shards one after the other, so the clock of the other shard may still stand; it is raised to that
// time before the work begins. Otherwise a read could return a cell that is long dead.
#pragma once

#include <cstdint>

#include "io/loop/mailbox.h"

namespace cellar::server {

class ShardServer;

struct HandedOver : MailboxMessage {
  ShardServer* server = nullptr;  // of the tablet's shard

  // Sends it from `home` to `server`, where `arrived` is called. REQUIRES: server != &home.
  void hand_over(ShardServer& home, void (*arrived)(HandedOver& self));

 private:
  int64_t asked_us_ = 0;  // trusted time of the home shard
  void (*arrived_)(HandedOver& self) = nullptr;
};

}  // namespace cellar::server
