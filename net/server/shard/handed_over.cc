#include "net/server/shard/handed_over.h"

#include "net/server/shard/shard_server.h"

namespace cellar::server {

void HandedOver::hand_over(ShardServer& home, void (*arrived)(HandedOver& self)) {
  home.count_handed_over();
  asked_us_ = home.clock().now_us();
  arrived_ = arrived;
  run = [](MailboxMessage& message) {
    auto& self = static_cast<HandedOver&>(message);
    self.server->clock().raise(self.asked_us_);
    self.arrived_(self);
  };
  home.mailbox().send(server->id(), *this);
}

}  // namespace cellar::server
