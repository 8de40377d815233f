// Bodies of Get and Put: one row in the fixed layout that data.fbs describes ("Get and Put"). No
// verifier and no offsets: a body is read from front to back, and every size is checked against the
// bytes that are left.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "engine/model/read_spec.h"
#include "net/wire/frame.h"
#include "net/wire/write_codec.h"

namespace cellar::wire {

// Views into the body.
struct DecodedGet {
  struct Column {
    Bytes family;
    Bytes qualifier;
  };
  Bytes row;
  uint32_t versions = 0;        // 0: all
  std::vector<Column> columns;  // none: every column
};

// INVALID_ARGUMENT for a size past the end of the body, bytes after its end, a reserved field that
// is not 0, or an empty or overlong row key.
Result<void> decode_get(Bytes body, DecodedGet& out);
// The same for a Put. `out` has one row. Cells are validated by the engine.
Result<void> decode_put(Bytes body, DecodedWrites& out);
// The row of a body that has not been checked; empty if it has none that is valid.
Bytes row_of_get(Bytes body);
Bytes row_of_put(Bytes body);

void append_get(std::string& out, const DecodedGet& get);
// One SetCell for each mutation. REQUIRES: at least one, at most UINT16_MAX of them, no other kind.
void append_put(std::string& out, const RowMutation& row, std::optional<Durability> level);

// One cell of an answer; views into the body.
struct GotCell {
  Bytes family;
  Bytes qualifier;
  int64_t timestamp_us = 0;
  Bytes value;
};
// Reads the cells of an answer one by one.
class GotReader {
 public:
  // `body` must outlive it.
  explicit GotReader(Bytes body);
  // False at the end, or if the body is damaged.
  bool next(GotCell& cell);
  // An upper bound of the cells to come, which a damaged body cannot raise above its size.
  size_t most_cells() const {
    return std::min<size_t>(cells_left_, left_.size() / sizeof(fb::GotCellRec));
  }
  // Whether the body was well-formed up to its end. Call after next() has returned false.
  bool intact() const { return intact_; }

 private:
  Bytes left_;
  uint32_t cells_left_ = 0;
  bool intact_ = false;
  GotCell last_;
};

Bytes put_reply(const fb::PutReply& reply);  // a view of `reply`
bool parse_put_reply(Bytes body, fb::PutReply& out);

// Writes the cells of one row as the body of an answer at the end of a string.
class GotBuilder final : public CellSink {
 public:
  // Appends to `out`, which must outlive it and not change otherwise. The cell that brings the body
  // to `target_bytes` returns pause.
  GotBuilder(std::string& out, size_t target_bytes)
      : out_(out), at_(out.size()), target_bytes_(target_bytes) {
    out_.append(sizeof(fb::GotRec), '\0');
  }
  Flow cell(const CellView& cell) override;
  Flow end_row(Bytes /*row*/) override { return Flow::more; }
  // Completes and pads the body.
  void finish();

 private:
  std::string& out_;
  const size_t at_;
  const size_t target_bytes_;
  uint32_t cells_ = 0;
  // Positions in out_ of the last cell's names.
  size_t family_at_ = 0;
  size_t family_size_ = 0;
  size_t qualifier_at_ = 0;
  size_t qualifier_size_ = 0;
};

}  // namespace cellar::wire
