// Director: the machine's fate in a simulation: lives of the node, and the faults of each beat.
#pragma once

#include <memory>
#include <vector>

#include "tests/simulation/machine.h"
#include "tests/simulation/stage.h"

namespace cellar::simulation {

class Director {
 public:
  explicit Director(Stage& stage);
  ~Director();

  // The first life; it must start.
  Async<void> begin();
  // Faults of a beat, amid its work.
  Async<void> beat(uint32_t number);
  // Ends the faults, and the life if it does not serve; returns when a life serves.
  Async<void> settle(uint32_t number);
  // An orderly stop, which must succeed.
  Async<void> end();
  // The first life of a new node, on an empty disk into which the backup is restored.
  Async<void> begin_from(std::string backup);
  // Destroys lives that have ended. Not inside a turn.
  void reap();
  bool all_ended() const { return dying_.empty() && !life_; }

  uint64_t crashes() const { return crashes_; }
  uint64_t starts() const { return starts_; }
  MemDisk& disk() { return *disk_; }

 private:
  Async<Result<void>> restore_all(FileSystem& from, FileSystem& to, std::string backup);
  Async<void> network_faults(Random& random);
  void disk_faults(Random& random);
  Async<void> crash_amid(Random& random);
  Async<void> wait_for_stop(NodeLife& life);
  Async<void> restart(Random& random, bool orderly);
  Async<void> start_until_it_serves(Random& random);
  void draw_clock(Random& random, bool reboot);
  void cut_power(Random& random);
  void kill();
  LifeOptions draw_options(Random& random);
  Async<void> pause(Random& random, int64_t most_us);

  Stage& stage_;
  MachineClock clock_;
  std::shared_ptr<MemDisk> disk_ = std::make_shared<MemDisk>();
  std::shared_ptr<MemDisk> backups_ = std::make_shared<MemDisk>();
  std::unique_ptr<NodeLife> life_;
  std::vector<std::unique_ptr<NodeLife>> dying_;
  bool clock_is_right_ = false;  // and stays so
  uint32_t shards_ = 1;
  uint64_t crashes_ = 0, starts_ = 0;
  bool faulty_ = false;  // faults of the disk are in force, or have been in this life
};

}  // namespace cellar::simulation
