// StopRecord: whether reads of every column that open runs one after another have lately stopped
// before the last (newest_read.h). Where they do not, because the columns of a row were written at
// different times, such a read evaluates the row several times and waits for one block after
// another: a merge of all runs is cheaper. Then one read of kTryEvery tries.
//
// One tablet. Only the cost of a read depends on it.
#pragma once

#include <algorithm>
#include <cstdint>

namespace cellar::engine {

class StopRecord {
 public:
  static constexpr int kMost = 8;
  static constexpr uint32_t kTryEvery = 32;

  bool is_worth_trying() { return score_ >= 0 || ++passed_over_ % kTryEvery == 0; }
  void note(bool stopped) { score_ = std::clamp(score_ + (stopped ? 1 : -1), -kMost, kMost); }

 private:
  int score_ = 0;
  uint32_t passed_over_ = 0;
};

}  // namespace cellar::engine
