// ReadSlice: the part of a read that runs on the shard that serves the tablet. It holds the cursor,
// which is opened and destroyed there, and travels there and back as a message; on the home shard
// it is a plain call.
//
// A slice of a stream queues as deferred work of its shard, which runs for a limited share of each
// turn; a single-row read runs at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "engine/engine.h"
#include "engine/read/scan.h"
#include "net/server/shard/handed_over.h"

namespace cellar::server {

class ShardServer;
struct ReadOp;

// Deferred work: continues in a later turn of the loop that queued it.
class DeferredTask {
 public:
  virtual void go_on() = 0;

 protected:
  ~DeferredTask() = default;
};

struct ReadSlice final : HandedOver, DeferredTask {
  // Yields on another shard before the home shard is asked whether the client still waits.
  static constexpr uint32_t kYieldsAway = 16;

  enum class Task : uint8_t {
    read,
    release,  // destroy the cursor if no row is open; sets `last_row`
    abandon,  // destroy the cursor
  };

  ReadOp* op = nullptr;
  TabletId tablet;
  Epoch epoch;
  Task task = Task::read;
  size_t unread_bytes = 0;  // of the connection's answers when the task was sent

  // Results.
  std::unique_ptr<engine::ScanCursor> cursor;
  engine::ScanStep step = engine::ScanStep::done;
  engine::RunCount runs;       // if step is ScanStep::done
  std::optional<Error> error;  // if step is ScanStep::failed
  // If failed: no cursor was opened; the tablet is not there, or held by a change of rules.
  bool gone = false;
  std::string last_row;    // for release and `reopened`: see ScanCursor::last_row()
  bool reopened = false;   // nothing was read: the cursor was destroyed, its table was altered
  bool no_memory = false;  // nothing was read: the memory for answers is exhausted

  // Runs the task on the tablet's shard, then calls slice_done() on the home shard.
  void send();
  void go_on() override;  // runs on the tablet's shard

 private:
  void arrive();
  // The first run; false: no cursor was opened and the slice has ended.
  bool start(engine::ScanStep& how);
  void read();
  void refuse(Error why);
  void release();
  void reopen();
  void leave_cursor();
  void end(engine::ScanStep how);
  static Async<void> load_and_go_on(ReadSlice& slice);

  uint32_t yields_ = 0;
};

}  // namespace cellar::server
