// ChunkBuilder: a read's answer, gathered into the body of a reply or chunk frame.
//
//   ChunkBuilder chunk(64 * 1024);
//   cursor.run(chunk);                  // until it says pause
//   send(chunk.finish());               // goes on where it stopped: a row may span chunks
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/model/read_spec.h"
#include "net/wire/body.h"

namespace cellar::wire {

// Reusable: memory is kept from chunk to chunk, up to kKeepBytes. One shard.
class ChunkBuilder final : public CellSink {
 public:
  static constexpr size_t kDefaultChunkBytes = 128 * 1024;
  static constexpr size_t kKeepBytes = 256 * 1024;

  // A cell or row end that brings the chunk to `target_bytes` answers pause.
  explicit ChunkBuilder(size_t target_bytes = kDefaultChunkBytes) : target_bytes_(target_bytes) {}

  // What of a cell's note goes with it; nothing unless it is asked for. Until the next call.
  void tell(bool expiry, bool explanation) {
    tells_expiry_ = expiry;
    tells_explanation_ = explanation;
  }
  Flow cell(const CellView& cell) override;
  Flow end_row(Bytes row) override;

  // This chunk is the first answer again, to a write whose token was known.
  void set_repeated(bool answer_not_kept) {
    repeated_ = true;
    answer_not_kept_ = answer_not_kept;
  }

  bool empty() const { return rows_.empty(); }
  bool full() const { return bytes_ >= target_bytes_; }
  size_t bytes() const { return bytes_; }  // gathered since the last chunk
  // A row was begun whose end has not come; the next chunk carries it on.
  bool in_row() const { return in_row_; }
  // The row that was begun and not ended: its key, and its bytes in this and earlier chunks.
  Bytes open_row() const { return open_row_; }
  uint64_t open_row_bytes() const { return in_row_ ? row_bytes_ : 0; }
  // Of all chunks since reset().
  uint64_t rows() const { return rows_ended_; }
  uint64_t cells() const { return cells_seen_; }

  // The body; viewed until the next call. The builder is then empty and remembers the open row.
  Bytes finish();
  // Forgets everything.
  void reset();
  // Gives memory back: all beyond `keep` bytes. REQUIRES: empty().
  void trim(size_t keep = kKeepBytes);
  void set_target_bytes(size_t n) { target_bytes_ = n; }

 private:
  void begin_row(Bytes row);
  void add_note(const CellNote& note);
  uint16_t label_set(Bytes label);
  uint32_t put(Bytes b);
  void clear();

  size_t target_bytes_;
  size_t bytes_ = 0;
  std::vector<fb::RowRec> rows_;
  std::vector<fb::CellRec> cells_;
  bool tells_expiry_ = false;
  bool tells_explanation_ = false;
  std::vector<int64_t> expiries_;             // one a cell, if they are told
  std::vector<fb::ExplainRec> explanations_;  // likewise
  std::string arena_;
  std::vector<std::string> label_sets_;                         // of this chunk
  std::map<std::string, uint16_t, std::less<>> label_numbers_;  // 1 is label_sets_[0]
  uint16_t last_label_ = 0;
  bool repeated_ = false;
  bool answer_not_kept_ = false;
  flatbuffers::FlatBufferBuilder builder_;

  bool in_row_ = false;
  bool continued_ = false;  // the open row has cells in an earlier chunk
  uint32_t row_at_ = 0;     // of the row that is being gathered in this chunk
  uint32_t row_size_ = 0;
  uint32_t row_cells_ = 0;
  uint64_t row_bytes_ = 0;  // of the open row, in all chunks
  std::string open_row_;    // set when a chunk ends inside a row
  bool row_begun_ = false;  // in this chunk

  uint32_t family_at_ = 0;  // the last cell's, to be shared with the next
  uint32_t family_size_ = 0;
  uint32_t qualifier_at_ = 0;
  uint32_t qualifier_size_ = 0;

  uint64_t rows_ended_ = 0;
  uint64_t cells_seen_ = 0;
};

}  // namespace cellar::wire
