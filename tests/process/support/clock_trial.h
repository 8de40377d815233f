// ClockTrial: random steps on a real node whose machine's clocks go wrong: writes of cells with
// their own expiry, reads, steps of the wall clock, kills, stops, boots, moves, merges and splits.
// The trial knows what time it is, which the node does not, and judges every read (SEMANTICS 3,
// "Clock safety"):
//   a resurrection   a cell is read that was read dead before, or that was to die before another
//                    one of its row which has been read dead
//   an early death   a cell is not read any more, and by real time it may still live
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/base/random.h"
#include "net/client/sync_client.h"
#include "tests/cases/node_process.h"
#include "tests/process/support/reshaper.h"

namespace cellar::process {

// A node on a machine whose wall clock may be wrong.
class TrialMachine {
 public:
  virtual ~TrialMachine() = default;
  virtual int64_t real_us() const = 0;
  virtual void pass(int64_t us) = 0;
  // The wall clock is ahead of real time by so much from now on.
  virtual Result<void> set_wall_ahead(int64_t us) = 0;
  virtual Result<void> start() = 0;
  virtual cases::NodeProcess& node() = 0;
  // Where the machine can boot anew: the node, which does not run, will be started by another boot,
  // so much later.
  virtual bool boots() const { return false; }
  virtual void boot(int64_t /*down_us*/) {}
};

class ClockTrial {
 public:
  ClockTrial(TrialMachine& machine, uint64_t seed);

  // The table. The node runs.
  Result<void> begin();
  // An error: the trial could not go on. What the node did wrong is in wrong().
  Result<void> step();
  // All rows.
  Result<void> read_all();

  const std::vector<std::string>& wrong() const { return wrong_; }
  std::string figures() const;

 private:
  // One column; of one version.
  struct Cell {
    int64_t floor_us = 0;         // it was committed at no earlier instant
    int64_t life_us = 0;          // counted from its commit; 0: `last_us` is known
    int64_t last_us = INT64_MAX;  // the last instant at which it lives; MAX: not known yet
    bool dead = false;            // was read dead
  };
  struct Row {
    std::map<std::string, Cell> cells;
    // Tablet time was no earlier when it was answered last.
    int64_t answered_us = 0;
  };

  client::SyncClient& client();
  int64_t latest_us() const;
  void note(const std::string& row, const Cell& cell, const std::string& name, const char* what,
            int64_t by_us);
  Result<void> write();
  // A cell that lives less than that, or as long as its family lets it.
  Result<void> write(const std::string& row, int64_t most_us);
  Result<void> read(const std::string& row);
  Result<void> step_wall();
  Result<void> stop(bool kill);
  Result<void> reshape();
  Result<void> step_back_after_a_death();

  TrialMachine& machine_;
  Random random_;
  Reshaper reshaper_;
  std::unique_ptr<client::SyncClient> client_;
  std::map<std::string, Row> rows_;
  std::vector<std::string> wrong_;
  const int64_t began_us_;
  uint64_t next_cell_ = 0;
  uint64_t steps_ = 0, writes_ = 0, reads_ = 0, deaths_ = 0, wall_steps_ = 0, starts_ = 0,
           boots_ = 0;
};

}  // namespace cellar::process
