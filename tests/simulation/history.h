// RowHistories: what the clients of a simulation asked and got, by row, and its check.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/plan.h"
#include "tests/simulation/row_machine.h"

namespace cellar::simulation {

struct Checked {
  std::optional<std::string> problem;  // the history of the first row that no order explains
  uint64_t rows = 0, operations = 0, unanswered = 0, steps = 0;
  uint64_t undecided = 0;  // rows whose search was ended by its bound
};

class RowHistories {
 public:
  explicit RowHistories(const Plan& plan);

  uint64_t tick() { return ++ticks_; }
  const std::vector<std::string>& rows() const { return rows_; }      // sorted
  const std::vector<std::string>& tables() const { return tables_; }  // "t", "u"

  void add(const std::string& table, const std::string& row, RowOp op);
  void add_to_all(const std::string& table, const RowOp& op);  // to every row of the table
  void add_crash();

  Checked check() const;

 private:
  std::vector<FamilyPlan> families_;
  Granularity granularity_;
  uint64_t ticks_ = 0;
  std::vector<std::string> rows_, tables_;
  std::map<std::pair<std::string, std::string>, std::vector<RowOp>> ops_;
};

}  // namespace cellar::simulation
