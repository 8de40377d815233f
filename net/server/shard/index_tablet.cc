#include "net/server/shard/index_tablet.h"

#include "net/server/shard/index_read.h"
#include "net/server/shard/shard_server.h"

namespace cellar::server {

void IndexTablet::fetch(engine::IndexBatchLimits most) {
  limits_ = most;
  send(Task::fetch);
}

void IndexTablet::leave() { send(Task::leave); }

void IndexTablet::send(Task what) {
  task_ = what;
  ShardServer& home = read->home();
  if (server == &home) return server->defer(*this);
  hand_over(home, [](HandedOver& self) {
    auto& there = static_cast<IndexTablet&>(self);
    there.server->defer(there);
  });
}

void IndexTablet::go_on() {
  if (task_ == Task::fetch) return spawn(server->executor(), fill());
  cursor.reset();
  end();
}

Async<void> IndexTablet::fill() {
  begin_batch();
  Result<void> filled = co_await advance();
  if (!filled) {
    error = std::move(filled).error();
    batch.clear();
  }
  if (error || batch.done) cursor.reset();
  server->count_slice();
  end();
}

Async<Result<void>> IndexTablet::advance() {
  if (read->is_overdue(server->timers().now_us())) co_return Result<void>();
  if (!cursor) {
    IndexReadSpec spec = read->spec();
    spec.rows = rows;
    spec.after = after;
    CO_TRY(cursor, server->engine().open_index(tablet, epoch, spec));
    opened = true;
  }
  co_return co_await cursor->next(batch, limits_);
}

void IndexTablet::end() {
  if (server == &read->home()) return read->came_back();
  run = [](MailboxMessage& self) { static_cast<IndexTablet&>(self).read->came_back(); };
  server->mailbox().send(read->home().id(), *this);
}

}  // namespace cellar::server
