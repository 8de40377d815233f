// Which depth WriteDepth finds, on models of devices.
#include "engine/store/commit/write_depth.h"

#include <gtest/gtest.h>

namespace cellar::engine {
namespace {

// The depth used most in the last second of so many, in which each write takes device_us(depth).
template <class Device>
size_t depth_after(WriteDepth& depth, int64_t& now_us, int64_t seconds, Device device_us) {
  const int64_t step_us = 100;
  size_t last = 0;
  std::array<size_t, 5> used{};
  for (const int64_t end_us = now_us + seconds * 1'000'000; now_us < end_us; now_us += step_us) {
    const auto limit = static_cast<double>(depth.limit());
    const auto wrote_us = device_us(limit);
    if (end_us - now_us <= 1'000'000) ++used[depth.limit()];
    // With n writes in flight a batch is filled for the n-th part of the time of one.
    depth.note(depth.begin(), static_cast<int64_t>(wrote_us / limit),
               static_cast<int64_t>(wrote_us), now_us);
  }
  for (size_t i = 1; i < used.size(); ++i) {
    if (used[i] > used[last]) last = i;
  }
  return last;
}

TEST(WriteDepth, ADeviceThatOverlapsGetsFourAndOneThatDoesNotGetsOne) {
  WriteDepth depth;
  int64_t now_us = 0;
  const auto overlaps = [](double) { return 200.0; };
  const auto serial = [](double limit) { return 200.0 * limit; };
  EXPECT_EQ(depth_after(depth, now_us, 10, overlaps), 4u);
  EXPECT_EQ(depth_after(depth, now_us, 10, serial), 1u);
  EXPECT_EQ(depth_after(depth, now_us, 10, overlaps), 4u) << "it found back";
}

TEST(WriteDepth, WritesOfABatchThatWasOpenedAtAnotherDepthDoNotCount) {
  WriteDepth depth;
  const uint32_t before = depth.begin();
  int64_t now_us = 0;
  while (depth.begin() == before) {
    now_us += 1'000;
    depth.note(depth.begin(), 0, 100, now_us);
  }
  const uint32_t trial = depth.begin();
  for (size_t i = 0; i < 10 * WriteDepth::kSamples; ++i) depth.note(before, 0, 100, now_us);
  EXPECT_EQ(depth.begin(), trial);
}

}  // namespace
}  // namespace cellar::engine
