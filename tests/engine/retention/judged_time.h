// JudgedTime: the instants at which a node judges, kept beside it by whoever plays a history on it
// and moves the clocks of its machine (SEMANTICS 3, "Clock safety"). It knows real time, which no
// wall clock of the machine need tell, and finds fault with a node whose tablet time
//   went back             for a row, below an instant at which it was answered or committed before,
//                         through moves, merges and splits too
//   ran ahead             of real time, but for 500 ppm and what the kernel or an operator vouched
//                         for
//   began anew too early  a start that finds itself before an answer of the node
//   stood still           though nothing was ever wrong with a clock, and the anchor was renewed
//
// Tablet time is the later of the shard's trusted clock and the tablet's last stamp. The clock of a
// shard is read only where a request to it is about to read it, since every reading raises it.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "tests/engine/retention/history.h"
#include "tests/support/test_node.h"

namespace cellar::support {

class JudgedTime {
 public:
  // The node's table is "t", and `start_us` what its machine's wall clock says, rightly.
  JudgedTime(TestNode& node, int64_t start_us);

  // Tablet time of the row: at which a request to it is judged now.
  int64_t at_us(const std::string& row);
  // The latest of the table.
  int64_t latest_us();
  void committed(const std::string& row, CommitStamp stamp);
  // In every tablet, at one stamp.
  void committed_everywhere(CommitStamp stamp);
  int64_t real_us() const { return real_at_boot_us_ + boot_us_now(); }

  // ---- what becomes of the machine; the node is open
  void step_wall(int64_t by_us);
  void set_wall_right();
  void set_synchronised(bool yes);
  void released();  // an operator has said that the wall clock is right
  void renewed();
  // ---- and while it is not
  void down_for(int64_t us);
  void boot_anew(int64_t down_us);
  // The node is open again. `report`: its own word for the time counts as an answer.
  void started(bool report);

  // The first fault.
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
  int64_t vouched_us_ = 0;  // the wall clock was ahead of real time by so much when believed in
  int64_t steady_since_us_ = 0;  // boot time; the wall clock has not stepped, the kernel calls it
                                 // synchronised
  uint64_t boots_ = 0;
  bool disturbed_ = false;
  std::optional<std::string> problem_;
};

}  // namespace cellar::support
