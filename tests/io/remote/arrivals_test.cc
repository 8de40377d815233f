#include "io/remote/rados/arrivals.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "io/loop/shard_loop.h"

namespace cellar {
namespace {

struct Parcel : Arrival {
  size_t thread = 0;
  int number = 0;
  std::vector<int>* last = nullptr;  // by thread
  int* out_of_order = nullptr;
  size_t* arrived = nullptr;
};

void take(Arrival& self) {
  auto& parcel = static_cast<Parcel&>(self);
  int& last = (*parcel.last)[parcel.thread];
  if (parcel.number != last + 1) ++*parcel.out_of_order;
  last = parcel.number;
  ++*parcel.arrived;
}

TEST(Arrivals, EachComesOnceInItsThreadsOrderAndWakesALoopThatSleeps) {
  constexpr size_t kThreads = 4;
  constexpr int kEach = 20'000;
  ShardLoop loop(0);
  Arrivals arrivals(loop);
  std::vector<int> last(kThreads, -1);
  int out_of_order = 0;
  size_t arrived = 0;
  std::vector<std::vector<Parcel>> parcels(kThreads);
  for (size_t t = 0; t < kThreads; ++t) {
    parcels[t].resize(kEach);
    for (int i = 0; i < kEach; ++i) {
      Parcel& parcel = parcels[t][static_cast<size_t>(i)];
      parcel.on_arrival = &take;
      parcel.thread = t;
      parcel.number = i;
      parcel.last = &last;
      parcel.out_of_order = &out_of_order;
      parcel.arrived = &arrived;
    }
  }
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (Parcel& parcel : parcels[t]) {
        arrivals.push(parcel);
        if (parcel.number % 1000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
  }
  // A lost wake-up would leave the loop asleep for ever: no timer is armed.
  while (arrived < kThreads * kEach) loop.turn(true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(out_of_order, 0);
  EXPECT_GT(arrivals.wakes(), 0u);
  EXPECT_LT(arrivals.wakes(), kThreads * kEach);
}

}  // namespace
}  // namespace cellar
