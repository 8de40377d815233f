// RowModify: applies the rules of a ReadModifyWriteRow to a row. As a sink it collects the newest
// live cell of each column named by a rule; make() then applies the rules.
//
// The new cell of a column is written at the server's time, or, if the newest cell is ahead of
// that, at that cell's timestamp, which it replaces (SEMANTICS 2). It has no expiry of its own.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/model/modify.h"
#include "engine/model/read_spec.h"

namespace cellar::engine {

class RowModify final : public CellSink {
 public:
  // `rules` are viewed.
  // `most_bytes`: of the columns' values together; with more make() fails with INVALID_ARGUMENT.
  RowModify(std::span<const ModifyRule> rules, size_t most_bytes);

  Flow cell(const CellView& cell) override;
  Flow end_row(Bytes row) override;

  // Applies the rules in the order of the request; the first rule that fails determines the error.
  // mutations() has one cell per column, sorted by column. FAILED_PRECONDITION: a value to
  // increment that is not 8 bytes; OUT_OF_RANGE: an increment that overflows; INVALID_ARGUMENT: a
  // value that grows over its limit.
  Result<void> make(int64_t server_us, const MutationLimits& limits);
  // The result of make(); views this.
  const std::vector<Mutation>& mutations() const { return mutations_; }

 private:
  struct Column {
    Bytes family;
    Bytes qualifier;
    bool has_cell = false;   // the row holds one
    bool has_value = false;  // has_cell, or made by a rule; the value may be empty
    int64_t timestamp_us = 0;
    std::string value;
  };
  Result<void> apply(const ModifyRule& rule, Column& column, const MutationLimits& limits) const;

  std::span<const ModifyRule> rules_;
  const size_t most_bytes_;
  size_t bytes_ = 0;               // of the values of columns_, as collected
  std::vector<Column> columns_;    // sorted
  std::vector<size_t> column_of_;  // index into columns_ for each rule
  size_t next_ = 0;                // index into columns_: columns before it cannot follow
  std::vector<Mutation> mutations_;
};

}  // namespace cellar::engine
