#include "io/remote/rados/arrivals.h"

#include <boost/asio/post.hpp>

#include "io/base/check.h"

namespace cellar {

Arrivals::~Arrivals() {
  CHECK(newest_.load() == nullptr, "arrivals were not taken");
  loop_.remove_hook(*this);
  while (pushing_.load() != 0) {
  }
}

void Arrivals::push(Arrival& arrival) {
  pushing_.fetch_add(1);
  // From the exchange on the loop may destroy the arrival.
  Arrival* newest = newest_.load(std::memory_order_relaxed);
  do arrival.next_arrival = newest;
  while (!newest_.compare_exchange_weak(newest, &arrival));
  if (asleep_.load() && asleep_.exchange(false)) {
    wakes_.fetch_add(1, std::memory_order_relaxed);
    asio::post(loop_.context(), [] {});
  }
  pushing_.fetch_sub(1);
}

bool Arrivals::on_turn() {
  if (asleep_.load(std::memory_order_relaxed)) asleep_.store(false);
  if (newest_.load(std::memory_order_relaxed) == nullptr) return false;
  Arrival* newest = newest_.exchange(nullptr);
  Arrival* oldest = nullptr;
  while (newest != nullptr) {
    Arrival* const next = newest->next_arrival;
    newest->next_arrival = oldest;
    oldest = newest;
    newest = next;
  }
  while (oldest != nullptr) {
    Arrival& arrival = *oldest;
    oldest = arrival.next_arrival;
    arrival.on_arrival(arrival);
  }
  return true;
}

bool Arrivals::may_sleep() {
  asleep_.store(true);
  if (newest_.load() == nullptr) return true;
  asleep_.store(false);
  return false;
}

}  // namespace cellar
