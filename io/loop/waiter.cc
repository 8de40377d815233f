#include "io/loop/waiter.h"

#include <boost/asio/post.hpp>

#include "io/base/check.h"

namespace cellar {

// Tracks every parked waiter of one io_context and drops them when it is destroyed.
class ParkingLot final : public asio::execution_context::service {
 public:
  using key_type = ParkingLot;
  static inline asio::execution_context::id id;

  explicit ParkingLot(asio::execution_context& context) : service(context) {}
  void add(Waiter& waiter) { parked_.push_back(waiter); }

 private:
  // Dropping the handler destroys the coroutine (Asio posts that, and the scheduler, which shuts
  // down last, runs it), so the waiter must be unlinked first.
  void shutdown() override {
    while (!parked_.empty()) {
      Waiter& waiter = parked_.front();
      parked_.pop_front();
      const std::optional<Waiter::Handler> dropped = std::exchange(waiter.handler_, std::nullopt);
    }
  }

  boost::intrusive::list<Waiter, boost::intrusive::constant_time_size<false>> parked_;
};

Async<void> Waiter::wait() {
  return asio::async_initiate<const Token&, void()>(
      [this](Handler handler) { park(std::move(handler)); }, Token());
}

void Waiter::park(Handler handler) {
  CHECK(!handler_, "two coroutines wait on one Waiter");
  if (std::exchange(resumed_, false)) {
    asio::post(std::move(handler));
    return;
  }
  auto& context = handler.get_executor().context();
  handler_.emplace(std::move(handler));
  asio::use_service<ParkingLot>(context).add(*this);
}

void Waiter::resume() {
  if (!handler_) {
    resumed_ = true;
    return;
  }
  unlink();
  Handler handler = std::move(*handler_);
  handler_.reset();
  asio::post(std::move(handler));
}

}  // namespace cellar
