// ReclaimReport: the backlog of reclaiming (SEMANTICS 3), from Node::reclaim_report(): figures of
// shards and tables, missed deadlines, and the reason for each file with dead data.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/gc/reclaim_reason.h"
#include "engine/node.h"
#include "engine/reclaim_figures.h"

namespace cellar::engine {

inline constexpr size_t kMaxReclaimFiles = 10'000;

// Total of all files with one reason.
struct ReclaimReasonSum {
  ReclaimReason reason = ReclaimReason::none;
  uint64_t files = 0;
  uint64_t bytes = 0;
  uint64_t dead_bytes = 0;
  uint64_t overdue_bytes = 0;
};

struct TableReclaim {
  TableId id;
  std::string name;
  int64_t reclaim_within_us = 0;
  int64_t margin_us = 0;  // removal margin, in addition
  double dead_slack = 0;
  double reclaim_share = 0;
  ReclaimFigures figures;
  int64_t missed_since_us = INT64_MAX;  // INT64_MAX: the deadline is met
};

struct ReclaimReport {
  int64_t now_us = 0;                // trusted time
  std::vector<TableReclaim> tables;  // sorted by name
  std::vector<ReclaimFigures> shards;
  std::vector<ReclaimFile> files;         // most overdue bytes first
  uint64_t files_there = 0;               // total number; `files` may be incomplete
  std::vector<ReclaimReasonSum> reasons;  // over all files, most overdue bytes first
};

struct ReclaimQuestion {
  TableId table;  // TableId{}: all
  // maximum number of files, up to kMaxReclaimFiles; 0: figures only, which is cheaper
  size_t files = 0;
};

}  // namespace cellar::engine
