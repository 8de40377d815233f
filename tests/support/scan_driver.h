// Runs a cursor to its end and collects its cells; pauses and slices at random on request.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "engine/read/scan.h"
#include "io/base/random.h"
#include "tests/support/row_model.h"

namespace cellar::support {

class CollectingSink final : public CellSink {
 public:
  // With `random` one call in `pause_one_in` pauses.
  explicit CollectingSink(Random* random = nullptr, uint64_t pause_one_in = 3)
      : random_(random), pause_one_in_(pause_one_in) {}

  Flow cell(const CellView& cell) override {
    pending_.push_back({std::string(cell.row), std::string(cell.family),
                        std::string(cell.qualifier), cell.timestamp_us, std::string(cell.value),
                        std::string(cell.label)});
    return flow();
  }
  Flow end_row(Bytes row) override {
    EXPECT_FALSE(pending_.empty()) << "a row without cells was ended";
    for (OwnedCell& cell : pending_) {
      EXPECT_EQ(cell.row, row);
      cells.push_back(std::move(cell));
    }
    pending_.clear();
    ++rows;
    return flow();
  }
  bool in_row() const { return !pending_.empty(); }

  std::vector<OwnedCell> cells;  // of complete rows
  uint64_t rows = 0;

 private:
  Flow flow() {
    return random_ != nullptr && random_->one_in(pause_one_in_) ? Flow::pause : Flow::more;
  }

  Random* random_;
  uint64_t pause_one_in_;
  std::vector<OwnedCell> pending_;
};

// Loads every block that a blocked cursor requests, synchronously: no implementation here needs a
// loop.
inline void load_now(engine::ScanCursor& cursor) {
  struct Waiter final : engine::BlockWaiter {
    void block_done() override { ++done; }
    size_t done = 0;
  } waiter;
  std::vector<engine::BlockRequest*> requests;
  cursor.collect(requests);
  for (engine::BlockRequest* request : requests) request->load(waiter);
  EXPECT_EQ(waiter.done, requests.size());
}

// `between` runs whenever the cursor has returned, for any reason.
template <class Between>
std::vector<OwnedCell> scan_all(engine::ScanCursor& cursor, CollectingSink& sink, uint32_t slice,
                                Between between) {
  while (true) {
    const engine::ScanStep step = cursor.run(sink, slice);
    if (step == engine::ScanStep::done) break;
    if (step == engine::ScanStep::failed) {
      ADD_FAILURE() << cursor.error().to_string();
      break;
    }
    between();
    if (step == engine::ScanStep::blocked) load_now(cursor);
  }
  EXPECT_FALSE(sink.in_row()) << "the last row was not ended";
  return sink.cells;
}

}  // namespace cellar::support
