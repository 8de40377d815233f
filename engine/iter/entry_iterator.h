// EntryIterator: the contract of every ordered source of entries (memtable, table, merge),
// restartable so that a source on disk never waits inside a call.
//
// A move answers where the iterator stands:
//   ready    key() and value() are valid until the next move
//   end      nothing there
//   blocked  the move needs blocks that are not in memory. collect() names them; once they are
//   loaded call resume(), which
//            finishes the interrupted move (and may block again)
//   failed   error() says why; the iterator stays failed
//
// The driver that owns the outermost iterator is the only one that awaits:
//
//   Step s = it.seek(key);
//   while (s == Step::blocked) { wants.clear(); it.collect(wants); co_await load_blocks(wants); s =
//   it.resume(); }
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model/key.h"
#include "io/base/result.h"

namespace cellar::engine {

enum class Step : uint8_t { ready, end, blocked, failed };

// Told once for each want that was started, from the loop, when its block is in memory or its load
// has failed (the failure shows in resume()).
class BlockWaiter {
 public:
  virtual ~BlockWaiter() = default;
  virtual void block_done() = 0;
};

// A block some iterator waits for. load() starts reading it; many may be started before any is
// done.
class BlockWant {
 public:
  virtual ~BlockWant() = default;
  virtual void load(BlockWaiter& waiter) = 0;
};

class EntryIterator {
 public:
  virtual ~EntryIterator() = default;
  virtual Step seek(Bytes key) = 0;         // the first entry >= key
  virtual Step seek_before(Bytes key) = 0;  // the last entry < key; next() from there is allowed
  virtual Step next() = 0;                  // REQUIRES: ready
  virtual Step resume() = 0;                // REQUIRES: blocked
  virtual void collect(
      std::vector<BlockWant*>& wants) = 0;  // REQUIRES: blocked; appends, borrowed until resume()
  virtual Bytes key() const = 0;            // REQUIRES: ready
  virtual Bytes value() const = 0;          // REQUIRES: ready
  virtual const Error& error() const = 0;   // REQUIRES: failed
};

}  // namespace cellar::engine
