#include "net/server/shard/read_slice.h"

#include "net/server/shard/read_op.h"
#include "net/server/shard/shard_server.h"

namespace cellar::server {

using engine::ScanStep;

// Call on the home shard.
void ReadSlice::send() {
  yields_ = 0;
  if (server == op->home) return arrive();
  hand_over(*op->home, [](HandedOver& self) { static_cast<ReadSlice&>(self).arrive(); });
}

void ReadSlice::arrive() {
  if (task == Task::read && !op->single()) return server->defer(*this);
  go_on();
}

void ReadSlice::go_on() {
  switch (task) {
    case Task::read:
      return read();
    case Task::release:
      return release();
    case Task::abandon:
      return end(ScanStep::done);
  }
}

bool ReadSlice::start(ScanStep& how) {
  auto started =
      server->engine().start_read(tablet, epoch, op->read.spec, op->builder, &server->wall());
  if (started) {
    how = started->step;
    runs = started->runs;
    cursor = std::move(started->cursor);
    return true;
  }
  error = std::move(started).error();
  gone = error->code == Errc::aborted;
  end(ScanStep::failed);
  return false;
}

void ReadSlice::read() {
  if (op->is_overdue(server->timers().now_us())) return end(ScanStep::yielded);
  no_memory = !op->single() && op->builder.empty() && server->memory().answers_full(unread_bytes);
  if (no_memory) return end(ScanStep::yielded);
  // Many single rows may have been admitted before the first of them took memory.
  if (op->single() && op->builder.empty() && !op->chunk_sent()) {
    if (auto room = server->memory().admit_answer(); !room) return refuse(std::move(room).error());
  }
  ScanStep how = ScanStep::done;
  if (cursor && cursor->must_reopen()) return reopen();
  if (cursor) {
    how = cursor->run(op->builder);
    runs = cursor->runs();
  } else if (!start(how)) {
    return;
  }
  server->count_slice();
  op->count_memory(*server);
  switch (how) {
    case ScanStep::blocked:
      return spawn(server->executor(), load_and_go_on(*this));
    case ScanStep::yielded:
      if (server != op->home && ++yields_ < kYieldsAway) return server->defer(*this);
      break;
    case ScanStep::failed:
      error = cursor->error();
      break;
    default:
      break;
  }
  end(how);
}

void ReadSlice::refuse(Error why) {
  error = std::move(why);
  end(ScanStep::failed);
}

void ReadSlice::release() {
  if (cursor && cursor->between_rows()) leave_cursor();
  end(ScanStep::yielded);
}

// The table was altered: the next slice begins behind the last row with a cursor of its own.
void ReadSlice::reopen() {
  leave_cursor();
  reopened = true;
  end(ScanStep::yielded);
}

void ReadSlice::leave_cursor() {
  last_row.assign(cursor->last_row());
  cursor.reset();
}

Async<void> ReadSlice::load_and_go_on(ReadSlice& slice) {
  co_await slice.cursor->load();
  slice.go_on();
}

void ReadSlice::end(ScanStep how) {
  step = how;
  if (how == ScanStep::done || how == ScanStep::failed) cursor.reset();
  if (server == op->home) return op->slice_done();
  run = [](MailboxMessage& self) { static_cast<ReadSlice&>(self).op->slice_done(); };
  server->mailbox().send(op->home->id(), *this);
}

}  // namespace cellar::server
