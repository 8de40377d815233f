#include "engine/store/blob/directory_sync.h"

#include <utility>

namespace cellar::engine {

Async<Result<void>> DirectorySync::run() {
  Request mine;
  waiting_.push_back(&mine);
  if (running_ || waiting_.size() > 1) co_await mine.turn.wait();
  if (mine.outcome) co_return std::move(*mine.outcome);
  running_ = true;
  const std::vector<Request*> served = std::exchange(waiting_, {});
  const std::string directory = directory_;
  Result<void> outcome = co_await fs_.sync_dir(directory);
  running_ = false;
  for (Request* request : served) {
    if (request == &mine) continue;
    request->outcome = outcome;
    request->turn.resume();
  }
  if (!waiting_.empty()) waiting_.front()->turn.resume();
  co_return outcome;
}

}  // namespace cellar::engine
