// ReclaimReport: how far behind reclaiming is (SEMANTICS 3): figures of shards and tables, whether
// a deadline is missed and for how long, and why each file with something dead in it is still
// there.
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

// Of all files with one reason.
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
  int64_t margin_us = 0;  // of removal, beside it
  double dead_slack = 0;
  double reclaim_share = 0;
  ReclaimFigures figures;
  int64_t missed_since_us = INT64_MAX;  // INT64_MAX: the deadline is met
};

struct ReclaimReport {
  int64_t now_us = 0;                // trusted
  std::vector<TableReclaim> tables;  // by name
  std::vector<ReclaimFigures> shards;
  std::vector<ReclaimFile> files;         // what is overdue most first
  uint64_t files_there = 0;               // of which `files` may be only some
  std::vector<ReclaimReasonSum> reasons;  // of all of them, what is overdue most first
};

struct ReclaimQuestion {
  TableId table;     // TableId{}: all
  size_t files = 0;  // at most so many, up to kMaxReclaimFiles; 0: figures alone, which costs less
};

// NOT_FOUND. Resumes on `from`.
Async<Result<ReclaimReport>> reclaim_report(Node& node, ShardId from, ReclaimQuestion question);

}  // namespace cellar::engine
