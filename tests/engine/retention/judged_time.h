// JudgedTime: the instants at which a node judges, tracked by the player of a history, which moves
// the clocks of the machine (SEMANTICS 3, "Clock safety"). It knows real time, which no wall clock
// of the machine need show, and reports a node whose tablet time
//   went back             for a row, below an instant of an earlier answer or commit of that row,
//                         also through moves, merges and splits
//   ran ahead             of real time by more than 500 ppm and what the kernel or an operator
//                         vouched for
//   began anew too early  at a start, before an answer of the node
//   stood still           although no clock was ever wrong and the anchor was renewed
//
// Tablet time is the later of the shard's trusted clock and the tablet's last stamp. The clock of a
// shard is read only just before a request to the shard reads it, because every reading raises it.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "io/sim/manual_clock.h"
#include "tests/engine/retention/history.h"
#include "tests/support/test_node.h"

namespace cellar::support {

class JudgedTime {
 public:
  // The table of the node is "t"; `start_us` is the machine's wall clock, which is right.
  JudgedTime(TestNode& node, int64_t start_us);

  // Tablet time of the row: the instant at which a request to it is judged now.
  int64_t at_us(const std::string& row);
  // The latest tablet time of the table.
  int64_t latest_us();
  void committed(const std::string& row, CommitStamp stamp);
  // A change of the table at one stamp, which is later than every commit before it.
  void committed_everywhere(CommitStamp stamp);
  int64_t real_us() const { return real_at_boot_us_ + boot_us_now(); }

  // ---- events of the machine while the node is open
  void step_wall(int64_t by_us);
  void set_wall_right();
  void set_synchronised(bool yes);
  void released();  // an operator has confirmed the wall clock
  void renewed();
  // ---- events of the machine while the node is closed
  void down_for(int64_t us);
  void boot_anew(int64_t down_us);
  // The node is open again. `report`: the time in its own report counts as an answer.
  void started(bool report);

  // The first violation.
  const std::optional<std::string>& problem() const { return problem_; }

 private:
  struct Place {
    uint64_t stamp_ns = 0;   // of the last commit or change of a rule
    uint64_t commit_ns = 0;  // of the last commit
    int64_t answered_us = 0;
  };
  ManualClock& clock();
  int64_t boot_us_now() const;
  int64_t bound_us() const;
  void may_believe_wall();
  void look_at_steadiness();
  void judge(const std::string& what, int64_t at_us, int64_t not_before_us);
  std::vector<Place*> places_of(const engine::TabletDescriptor& tablet);
  int64_t judge_tablet(const engine::TabletDescriptor& tablet);

  TestNode& node_;
  std::array<Place, std::size(kHistoryPlaces)> places_;
  const int64_t start_us_;
  int64_t real_at_boot_us_ = 0;
  int64_t vouched_us_ = 0;  // how far the wall clock was ahead of real time when it was trusted
  // boot time since which the wall clock has not stepped and the kernel calls it synchronised
  int64_t steady_since_us_ = 0;
  uint64_t boots_ = 0;
  bool disturbed_ = false;
  std::optional<std::string> problem_;
};

}  // namespace cellar::support
