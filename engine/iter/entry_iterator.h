// EntryIterator: the interface of every ordered source of entries (memtable, table, merge). It is
// restartable, so that a source on disk never waits inside a call.
//
// A move returns the state of the iterator:
// clang-format off
//   ready    key() and value() are valid until the next move
//   end      there is no entry
//   blocked  the move needs blocks that are not in memory. collect() names them; once they are loaded call resume(),
//            which finishes the interrupted move (and may block again)
//   failed   error() has the reason; the iterator stays failed
//
// Only the driver that owns the outermost iterator awaits:
//
//   Step s = it.seek(key);
//   while (s == Step::blocked) { requests.clear(); it.collect(requests); co_await load_blocks(requests); s = it.resume(); }
// clang-format on
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model/key.h"
#include "io/base/result.h"

namespace cellar::engine {

enum class Step : uint8_t { ready, end, blocked, failed };

// Called once from the loop for each started request, when its block is in memory or its load has
// failed (resume() reports the failure).
class BlockWaiter {
 public:
  virtual ~BlockWaiter() = default;
  virtual void block_done() = 0;
};

// A block that an iterator waits for. load() starts the read; many may be started before any
// completes.
class BlockRequest {
 public:
  virtual ~BlockRequest() = default;
  virtual void load(BlockWaiter& waiter) = 0;
};

class EntryIterator {
 public:
  virtual ~EntryIterator() = default;
  virtual Step seek(Bytes key) = 0;         // the first entry >= key
  virtual Step seek_before(Bytes key) = 0;  // the last entry < key; next() is allowed from there
  virtual Step next() = 0;                  // REQUIRES: ready
  virtual Step resume() = 0;                // REQUIRES: blocked
  // REQUIRES: blocked. Appends; the requests are borrowed until resume().
  virtual void collect(std::vector<BlockRequest*>& requests) = 0;
  virtual Bytes key() const = 0;           // REQUIRES: ready
  virtual Bytes value() const = 0;         // REQUIRES: ready
  virtual const Error& error() const = 0;  // REQUIRES: failed
};

}  // namespace cellar::engine
