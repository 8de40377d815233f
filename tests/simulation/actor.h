// Actor: a client of the node that makes random requests, several in each beat, and keeps scans
// open beside them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/simulation/stage.h"

namespace cellar::simulation {

class Actor {
 public:
  Actor(Stage& stage, uint32_t number);

  // The requests of one beat.
  Async<void> beat(uint32_t number);
  // A scan whose reader is slow.
  Async<void> scan(uint32_t number);
  // Reads every row of every table; each must be answered.
  Async<void> read_everything();
  // Reads a row of a table that was restored from `table` under another name.
  Async<void> read_restored(std::string name, std::string table, uint32_t branch, std::string row);
  void close() { client_->close(); }

 private:
  Async<void> request(Random& random);
  Async<void> read(Random& random);
  // `name`: of the table that is read; `table`: that it is, or was when it was backed up.
  struct RowName {
    std::string name, table, row;
    uint32_t branch = 0;
  };
  Async<void> read_row(RowName where, bool newest_only, bool must);
  Async<void> mutate(Random& random);
  Async<void> mutate_rows(Random& random);
  Async<void> check(Random& random);
  Async<void> modify(Random& random);
  Async<void> drop_rows(Random& random);

  std::string draw_row(Random& random) const;
  std::string draw_table(Random& random) const;
  std::string value() { return fmt::format("{}.{}", name_, ++values_); }
  std::vector<OwnedMutation> draw_ops(Random& random);
  OwnedMutation draw_set(Random& random);
  OwnedMutation draw_mixed_set(Random& random);
  client::CallOptions draw_options(Random& random, RowOp& op) const;
  // Completes and records a write by its outcome.
  void finish(const std::string& table, const std::string& row, RowOp op, const Error* error);
  void note_stamp(RowOp& op, uint64_t stamp_ns, int64_t timestamp_us);
  bool keep(RowOp& op, const Error* error);
  std::vector<SeenCell> seen(std::span<const client::Cell> cells);
  void pass_rows(const std::string& table, const RowOp& read, std::vector<std::string>& left,
                 Bytes up_to, bool found, std::span<const client::Cell> cells);

  Stage& stage_;
  const std::string name_;
  std::unique_ptr<client::Client> client_;
  uint64_t values_ = 0;
  std::map<std::string, std::string> newest_;  // by row: of column a:e, as last read
};

}  // namespace cellar::simulation
