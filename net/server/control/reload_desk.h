// ReloadDesk: where a reload is asked for on a shard. Only the program's main thread may do one (it
// reads files and stops every shard for a moment); it looks here between two signals and leaves on
// the home shard what came of it. Several who ask before it looks share one reload.
//
// Of the home shard, but for wanted(), which any thread may ask.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "io/base/result.h"
#include "io/loop/event.h"
#include "net/server/control/reload.h"

namespace cellar::server {

class ReloadDesk {
 public:
  // ---- who asks ----
  // Returns when it is done. FAILED_PRECONDITION: something is wrong with the configuration, and
  // nothing of it is in force; UNAVAILABLE: the node starts or ends.
  Async<Result<ReloadPlan>> reload();

  // ---- the main thread, by way of the home shard ----
  void open();   // from now on wishes are taken
  void close();  // no longer; those that wait are told that the node ends
  // What came of the wishes up to this one.
  void settle(uint64_t wish, Result<ReloadPlan> what);
  // The newest wish that nothing came of yet.
  std::optional<uint64_t> wanted() const;

 private:
  bool open_ = false;
  std::atomic<uint64_t> asked_ = 0;
  std::atomic<uint64_t> settled_ = 0;
  Result<ReloadPlan> last_;  // of the wish settled_
  Notify told_;
};

}  // namespace cellar::server
