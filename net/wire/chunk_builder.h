// ChunkBuilder: collects a read's result in the body of a reply or chunk frame.
//
//   ChunkBuilder chunk(64 * 1024);
//   cursor.run(chunk);                  // until it returns pause
//   send(chunk.finish());               // the next chunk continues there: a row may span chunks
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/model/read_spec.h"
#include "net/wire/body.h"

namespace cellar::wire {

// Reusable: up to kKeepBytes of memory are kept between chunks. One shard.
class ChunkBuilder final : public CellSink {
 public:
  static constexpr size_t kDefaultChunkBytes = 64 * 1024;
  static constexpr size_t kKeepBytes = 256 * 1024;

  // The form of finish(): a ReadChunk, or the cells in the layout of Get (GotRec in data.fbs).
  enum class Layout : uint8_t { chunk, fixed };

  // The cell or row end that brings the chunk to `target_bytes` returns pause.
  explicit ChunkBuilder(size_t target_bytes = kDefaultChunkBytes) : target_bytes_(target_bytes) {}

  // Selects which notes are sent with the cells (default: none). Valid until the next call.
  void tell(bool expiry, bool explanation) {
    tells_expiry_ = expiry;
    tells_explanation_ = explanation;
  }
  // Valid until reset().
  void set_layout(Layout layout) { layout_ = layout; }
  Layout layout() const { return layout_; }
  Flow cell(const CellView& cell) override;
  Flow end_row(Bytes row) override;

  // Marks the chunk as the repeated first reply to a write with a known token.
  void set_repeated(bool answer_not_kept) {
    repeated_ = true;
    answer_not_kept_ = answer_not_kept;
  }

  // Sent with the next chunk.
  void set_runs(uint32_t all, uint32_t opened) {
    runs_ = all;
    runs_opened_ = opened;
  }

  // Sent with the next chunk: of its last complete hit of an index.
  void set_position(Bytes position) { position_.assign(position); }

  // Of the commit that the next chunk answers.
  void set_commit_stamp(uint64_t stamp_ns) { commit_stamp_ns_ = stamp_ns; }

  bool empty() const { return rows_.empty(); }
  bool full() const { return bytes_ >= target_bytes_; }
  size_t bytes() const { return bytes_; }  // collected since the last chunk
  // True inside a row; the next chunk continues it.
  bool in_row() const { return in_row_; }
  // The row that is not complete: its key, and its bytes in this and earlier chunks.
  Bytes open_row() const { return open_row_; }
  uint64_t open_row_bytes() const { return in_row_ ? row_bytes_ : 0; }
  // Totals of all chunks since reset().
  uint64_t rows() const { return rows_ended_; }
  uint64_t cells() const { return cells_seen_; }

  // Returns the body, valid until the next call. The builder is then empty and remembers the open
  // row. The values are not copied again: the tail of a ReadChunk is what cell() wrote.
  BodyParts finish();
  // Clears all state.
  void reset();
  // Frees memory beyond `keep` bytes. REQUIRES: empty().
  void trim(size_t keep = kKeepBytes);

 private:
  void begin_row(Bytes row);
  void close_part();
  BodyParts finish_fixed();
  void add_note(const CellNote& note);
  uint16_t label_set(Bytes label);
  uint32_t put(Bytes b);
  void clear();

  size_t target_bytes_;
  Layout layout_ = Layout::chunk;
  size_t bytes_ = 0;
  std::vector<fb::RowRec> rows_;
  std::vector<fb::CellRec> cells_;
  bool tells_expiry_ = false;
  bool tells_explanation_ = false;
  std::vector<int64_t> expiries_;             // one per cell, if requested
  std::vector<fb::ExplainRec> explanations_;  // one per cell, if requested
  std::string arena_;                         // of the last chunk until the next one begins
  std::vector<std::string> label_sets_;       // in this chunk
  std::map<std::string, uint16_t, std::less<>> label_numbers_;  // 1 is label_sets_[0]
  uint16_t last_label_ = 0;
  bool repeated_ = false;
  bool answer_not_kept_ = false;
  uint64_t commit_stamp_ns_ = 0;
  std::string position_;
  uint32_t runs_ = 0;
  uint32_t runs_opened_ = 0;
  flatbuffers::FlatBufferBuilder builder_;
  std::string fixed_;  // the body in the fixed layout

  bool in_row_ = false;
  bool continued_ = false;  // an earlier chunk has cells of the open row
  uint32_t row_at_ = 0;     // of the current row in this chunk
  uint32_t row_size_ = 0;
  uint32_t row_cells_ = 0;
  uint64_t row_bytes_ = 0;  // of the open row, over all chunks
  std::string open_row_;    // set when a chunk ends inside a row
  bool row_begun_ = false;  // in this chunk

  uint32_t family_at_ = 0;  // of the last cell, shared with the next cell if equal
  uint32_t family_size_ = 0;
  uint32_t qualifier_at_ = 0;
  uint32_t qualifier_size_ = 0;

  uint64_t rows_ended_ = 0;
  uint64_t cells_seen_ = 0;
};

}  // namespace cellar::wire
