// IndexTablet: the part of a read through an index that runs on the shard of a tablet. It holds the
// tablet's cursor, which is opened, advanced and destroyed there, and travels there and back as a
// message. What it does queues as deferred work of that shard.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "engine/index_scan.h"
#include "io/loop/async.h"
#include "net/server/shard/handed_over.h"
#include "net/server/shard/index_merge.h"
#include "net/server/shard/read_slice.h"

namespace cellar::server {

class IndexRead;
class ShardServer;

struct IndexTablet final : IndexSource, HandedOver, DeferredTask {
  IndexRead* read = nullptr;
  TabletId tablet;
  Epoch epoch;
  uint64_t map_version = 0;  // that names the tablet so
  size_t held_bytes = 0;     // by the batch, as the read counts them

  // Results of fetch().
  std::unique_ptr<engine::IndexScan> cursor;  // null: not opened, failed, or at its end
  std::optional<Error> error;
  bool opened = false;  // at some time

  // ---- on the home shard; each ends with IndexRead::came_back() there ----
  // Fills the next batch. After the read's deadline it may stay empty.
  void fetch(engine::IndexBatchLimits most);
  // Destroys the cursor.
  void leave();

  void go_on() override;  // runs on the tablet's shard

 private:
  enum class Task : uint8_t { fetch, leave };

  void send(Task what);
  Async<void> fill();
  Async<Result<void>> advance();
  void end();

  Task task_ = Task::fetch;
  engine::IndexBatchLimits limits_;
};

}  // namespace cellar::server
