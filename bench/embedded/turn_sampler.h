// TurnSampler: finds the causes of long turns of a shard's loop. It measures the processor time of
// every turn; a turn longer than a limit is sampled once per limit, and the report lists the stacks
// of these samples.
//
// Processor time, because on a shared machine most turns that are long by the wall clock are caused
// by other programs. Costs two system calls a turn.
#pragma once

#include <signal.h>
#include <time.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "io/base/histogram.h"
#include "io/loop/loop.h"

namespace cellar::bench {

// Created and destroyed on the loop's thread, one per thread.
class TurnSampler final : public LoopHook {
 public:
  TurnSampler(Loop& loop, int64_t limit_us);
  ~TurnSampler() override;

  bool on_turn() override;
  bool may_sleep() override;

  // Processor time of turns, in microseconds.
  const Histogram& turns() const { return turns_; }
  // The stacks of the samples, one per line: the functions, innermost first. Runs addr2line.
  std::vector<std::string> stacks() const;

 private:
  static constexpr size_t kMostFrames = 48;
  static constexpr size_t kMostSamples = 4096;
  struct Sample {
    std::array<void*, kMostFrames> frames;
    int count = 0;
  };

  static void on_signal(int);
  void arm();

  Loop& loop_;
  const int64_t limit_us_;
  timer_t timer_{};
  int64_t turn_began_us_ = 0;
  std::vector<Sample> samples_;
  std::atomic<size_t> taken_ = 0;
  Histogram turns_;
};

}  // namespace cellar::bench
