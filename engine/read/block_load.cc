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

Async<void> load_wants(std::vector<BlockWant*> wants) {
  if (wants.empty()) co_return;
  Countdown countdown(wants.size());
  for (BlockWant* want : wants) want->load(countdown);
  co_await countdown.waiter().wait();
}

Async<void> load_blocks(EntryIterator& it) {
  std::vector<BlockWant*> wants;
  it.collect(wants);
  return load_wants(std::move(wants));
}

}  // namespace cellar::engine
