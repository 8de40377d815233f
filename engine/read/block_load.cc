#include "engine/read/block_load.h"

#include <utility>

#include "io/loop/waiter.h"

namespace cellar::engine {
namespace {

class Countdown final : public BlockWaiter {
 public:
  explicit Countdown(size_t left) : left_(left) {}
  void block_done() override {
    if (--left_ == 0) waiter_.resume();
  }
  size_t left() const { return left_; }
  Waiter& waiter() { return waiter_; }

 private:
  size_t left_;
  Waiter waiter_;
};

}  // namespace

Async<void> load_blocks(std::vector<BlockRequest*> requests) {
  if (requests.empty()) co_return;
  Countdown countdown(requests.size());
  for (BlockRequest* request : requests) request->load(countdown);
  co_await countdown.waiter().wait();
}

Async<void> load_blocks(EntryIterator& it) {
  std::vector<BlockRequest*> requests;
  it.collect(requests);
  return load_blocks(std::move(requests));
}

}  // namespace cellar::engine
