// A client on the program's own io_context:
//
//   asio::io_context context;
//   client::Client cellar(client::context_env(context), {.address = "127.0.0.1:7420"});
//   asio::co_spawn(context.get_executor(), session(cellar), asio::detached);
//   context.run();     // returns some time after cellar.close()
//
// One thread runs the context.
#pragma once

#include <memory>

#include "io/base/random.h"
#include "io/loop/context_timers.h"
#include "io/net/tcp_transport.h"
#include "net/client/connections/connection.h"

namespace cellar::client {

// The returned services live as long as a connection uses them.
inline ClientEnv context_env(asio::io_context& context) {
  struct Parts {
    explicit Parts(asio::io_context& c) : timers(c), network(c.get_executor(), timers) {}
    ContextTimers timers;
    TcpNetwork network;
  };
  auto parts = std::make_shared<Parts>(context);
  return ClientEnv{context.get_executor(), parts->timers, parts->network, entropy_seed(), parts};
}

}  // namespace cellar::client
