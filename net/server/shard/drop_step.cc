#include "net/server/shard/drop_step.h"

#include "engine/model/content_hash.h"
#include "io/loop/event.h"
#include "net/server/shard/session.h"
#include "net/server/shard/shard_server.h"

namespace cellar::server {
namespace {

Async<void> submit(engine::Engine& engine, engine::Write& write) {
  Event done;
  write.context = &done;
  write.done = [](engine::Write& w) { static_cast<Event*>(w.context)->set(); };
  engine.submit(write);
  co_await done.wait();
}

Async<void> run(ShardServer& shard, std::shared_ptr<DropStep> step, ShardId owner) {
  // As HandedOver does.
  auto there = [&peer = shard.peer(owner), asked_us = shard.clock().now_us(),
                &write = step->write] {
    peer.clock().raise(asked_us);
    return submit(peer.engine(), write);
  };
  if (owner != shard.id()) shard.count_handed_over();
  co_await shard.mailbox().call_on(owner, there);
  step->error = std::move(step->write.error);
  step->over = true;
  if (step->session != nullptr) step->session->step_over();
}

}  // namespace

void start(ShardServer& shard, std::shared_ptr<DropStep> step,
           const engine::TabletDescriptor& tablet) {
  engine::Write& write = step->write;
  write.range = RangeDelete{step->start, step->end};
  step->token.client = step->client;
  step->token.token = step->token_text;
  step->token.content = hash_of_range(*write.range);
  write.range_token = &step->token;
  write.tablet = tablet.id;
  write.epoch = tablet.epoch;
  spawn(shard.executor(), run(shard, std::move(step), tablet.shard));
}

}  // namespace cellar::server
