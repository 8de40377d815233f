// Stage: what the actors of one simulation share. One thread, one world.
#pragma once

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "io/sim/sim_loop.h"
#include "io/sim/sim_transport.h"
#include "net/client/client.h"
#include "tests/simulation/history.h"
#include "tests/simulation/plan.h"

namespace cellar::simulation {

inline constexpr asio::use_awaitable_t<ShardExecutor> kAwaited;

// What a node may answer to any request while faults are in force, another change is under way or
// its life ends: nothing was wrong with the request.
inline bool is_transient(Errc code) {
  return code == Errc::unavailable || code == Errc::resource_exhausted ||
         code == Errc::deadline_exceeded || code == Errc::aborted || code == Errc::cancelled;
}

struct Stage {
  explicit Stage(const Plan& p)
      : plan(p),
        world(p.seed),
        fabric(world),
        loop(world.add_loop()),
        network(fabric, loop),
        history(p),
        began_us(world.clock().wall_us()) {}

  const Plan& plan;
  SimWorld world;
  SimFabric fabric;
  SimLoop& loop;  // of the clients and the operator
  SimNetwork network;
  RowHistories history;
  const int64_t began_us;
  std::optional<std::string> problem;       // the first
  std::map<std::string, uint64_t> answers;  // by verb and code
  uint64_t values = 0;

  int64_t now_us() const { return world.clock().wall_us(); }  // real time
  Random random_of(std::string_view actor, uint64_t beat) const {
    uint64_t hash = plan.seed * 1'000'003 + beat;
    for (const char c : actor) hash = hash * 131 + static_cast<unsigned char>(c);
    return Random(hash);
  }
  void complain(std::string what) {
    if (!problem) problem = std::move(what);
  }

  RowOp begin(Verb verb, std::string who) {
    RowOp op;
    op.verb = verb;
    op.who = std::move(who);
    op.call = history.tick();
    // Where the machine's clocks are right, reads are refused when trusted time lags by more than
    // ten seconds; a commit may get an older stamp from a node that cannot write an anchor
    // (SEMANTICS 3).
    const bool right = !plan.has(Feature::wall_jumps) && !plan.has(Feature::boots);
    const bool writes = plan.has(Feature::disk_errors) || plan.has(Feature::disk_hangs) ||
                        plan.has(Feature::disk_full) || plan.has(Feature::disk_slow);
    // Trusted time is never before the first start.
    op.from_us =
        right && (verb == Verb::read || !writes) ? now_us() - 11'000'000 : began_us - 1'000'000;
    return op;
  }
  void answered(RowOp& op) {
    op.ret = history.tick();
    // Trusted time may run 500 ppm fast.
    op.to_us = now_us() + (now_us() - began_us) / 2'000 + 1'000;
  }
  void unanswered(RowOp& op) {
    op.ret = UINT64_MAX;
    op.given_up = history.tick();
    op.to_us = INT64_MAX;
  }

  std::unique_ptr<client::Client> client(client::ClientOptions options, uint64_t seed) {
    options.address = fmt::format("{}:{}", "node", 7420);
    return std::make_unique<client::Client>(
        client::ClientEnv{loop.executor(), loop.timers(), network, seed}, std::move(options));
  }
};

// A value as it is written: with padding that a read checks. Counters and appended text have none.
std::string padded(const std::string& value);
std::optional<std::string> unpadded(Bytes padded);

}  // namespace cellar::simulation
