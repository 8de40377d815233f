// ClockTrial: random steps on a real node whose machine has wrong clocks: writes of cells with
// their own expiry, reads, steps of the wall clock, kills, stops, reboots, moves, merges and
// splits. The trial knows real time, which the node does not, and judges every read (SEMANTICS 3,
// "Clock safety"):
//   a resurrection   a cell is read that was read dead before, or that had to die before another
//                    cell of its row that has been read dead
//   an early death   a cell is absent that by real time may still be live
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
  // From now on the wall clock is ahead of real time by this much.
  virtual Result<void> set_wall_ahead(int64_t us) = 0;
  virtual Result<void> start() = 0;
  virtual cases::NodeProcess& node() = 0;
  // Whether the machine can reboot. boot(): the node, which does not run, will be started in
  // another boot, this much later.
  virtual bool boots() const { return false; }
  virtual void boot(int64_t /*down_us*/) {}
};

class ClockTrial {
 public:
  ClockTrial(TrialMachine& machine, uint64_t seed);

  // Creates the table. The node runs.
  Result<void> begin();
  // An error: the trial cannot continue. Violations by the node are in wrong().
  Result<void> step();
  // Reads all rows.
  Result<void> read_all();

  const std::vector<std::string>& wrong() const { return wrong_; }
  std::string figures() const;

 private:
  // One column with one version.
  struct Cell {
    int64_t floor_us = 0;         // a lower bound of its commit's instant
    int64_t life_us = 0;          // counted from its commit; 0: `last_us` is known
    int64_t last_us = INT64_MAX;  // the last instant at which it is live; MAX: not known yet
    bool dead = false;            // was read dead
  };
  struct Row {
    std::map<std::string, Cell> cells;
    // A lower bound of tablet time at its last answer.
    int64_t answered_us = 0;
  };

  client::SyncClient& client();
  int64_t latest_us() const;
  void note(const std::string& row, const Cell& cell, const std::string& name, const char* what,
            int64_t by_us);
  Result<void> write();
  // A cell that lives at most this long, or as long as its family allows.
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
