// ReadSlice: the part of a read that runs on the shard that serves the tablet. It holds the cursor,
// which is opened and destroyed there, and goes there and back as a message; on the home shard it
// is a plain call.
//
// A slice of a stream waits its turn in the shard's queue of later work, which gives way to
// everything else after a share of time; a read of one row runs at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "engine/engine.h"
#include "engine/read/scan.h"
#include "io/loop/mailbox.h"

namespace cellar::server {

class ShardServer;
struct ReadOp;

// Something that goes on in a later turn of the loop it is queued on.
class LaterWork {
 public:
  virtual void go_on() = 0;

 protected:
  ~LaterWork() = default;
};

struct ReadSlice final : MailboxMessage, LaterWork {
  // Yields on another shard until the op at home is asked whether anybody still listens.
  static constexpr uint32_t kYieldsAway = 16;

  enum class Task : uint8_t {
    read,
    release,  // destroy the cursor where no row is open; `last_row` tells where it stood
    abandon,  // destroy it
  };

  ReadOp* op = nullptr;
  ShardServer* server = nullptr;  // of the shard that serves the tablet
  TabletId tablet;
  Epoch epoch;
  Task task = Task::read;

  // Results.
  std::unique_ptr<engine::ScanCursor> cursor;
  engine::ScanStep step = engine::ScanStep::done;
  std::optional<Error> error;  // with ScanStep::failed
  bool gone = false;           // likewise: the tablet is not there, no cursor was opened
  std::string last_row;        // of release: see ScanCursor::last_row()
  bool no_memory = false;      // nothing was read: the node's answers take what they may

  // Runs the task where the tablet is; the op's slice_done() follows, at home.
  void send();
  void go_on() override;  // on the tablet's shard

 private:
  void arrive();
  // The first run; false: there is no cursor, and it has ended.
  bool start(engine::ScanStep& how);
  void read();
  void release();
  void end(engine::ScanStep how);
  static Async<void> load_and_go_on(ReadSlice& slice);

  uint32_t yields_ = 0;
};

}  // namespace cellar::server
