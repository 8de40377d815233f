#include "net/wire/chunk_builder.h"

#include "io/base/check.h"
#include "net/wire/point_codec.h"

namespace cellar::wire {

uint32_t ChunkBuilder::put(Bytes b) {
  const auto at = static_cast<uint32_t>(arena_.size());
  arena_.append(b);
  bytes_ += b.size();
  return at;
}

void ChunkBuilder::begin_row(Bytes row) {
  if (rows_.empty()) arena_.clear();
  row_at_ = put(row);
  row_size_ = static_cast<uint32_t>(row.size());
  row_cells_ = 0;
  row_begun_ = true;
  if (!in_row_) {
    in_row_ = true;
    continued_ = false;
    row_bytes_ = 0;
  }
  bytes_ += sizeof(fb::RowRec);
}

CellSink::Flow ChunkBuilder::cell(const CellView& cell) {
  if (!row_begun_) begin_row(cell.row);
  const bool same_family =
      !cells_.empty() && Bytes(arena_.data() + family_at_, family_size_) == cell.family;
  if (!same_family) {
    family_at_ = put(cell.family);
    family_size_ = static_cast<uint32_t>(cell.family.size());
  }
  const bool same_qualifier =
      !cells_.empty() && Bytes(arena_.data() + qualifier_at_, qualifier_size_) == cell.qualifier;
  if (!same_qualifier) {
    qualifier_at_ = put(cell.qualifier);
    qualifier_size_ = static_cast<uint32_t>(cell.qualifier.size());
  }
  const uint32_t value_at = put(cell.value);
  cells_.emplace_back(cell.timestamp_us, family_at_, qualifier_at_, value_at,
                      static_cast<uint32_t>(cell.value.size()),
                      static_cast<uint16_t>(qualifier_size_), static_cast<uint8_t>(family_size_), 0,
                      cell.label.empty() ? uint16_t{0} : label_set(cell.label), 0);
  bytes_ += sizeof(fb::CellRec);
  if (cell.note != nullptr) add_note(*cell.note);
  row_bytes_ += sizeof(fb::CellRec) + cell.qualifier.size() + cell.value.size();
  ++row_cells_;
  ++cells_seen_;
  return full() ? Flow::pause : Flow::more;
}

void ChunkBuilder::add_note(const CellNote& note) {
  if (tells_expiry_) {
    expiries_.push_back(note.expire_at_us);
    bytes_ += sizeof(int64_t);
  }
  if (tells_explanation_) {
    explanations_.emplace_back(note.dies_at_us, static_cast<uint8_t>(note.cause), note.dead,
                               note.clause, 0);
    bytes_ += sizeof(fb::ExplainRec);
  }
}

// Returns the number of the label's set in this chunk; usually it is the last one's.
uint16_t ChunkBuilder::label_set(Bytes label) {
  if (last_label_ != 0 && label_sets_[last_label_ - 1u] == label) return last_label_;
  auto known = label_numbers_.find(label);
  if (known == label_numbers_.end()) {
    CHECK(label_sets_.size() < UINT16_MAX, "a filter has fewer labels");
    label_sets_.emplace_back(label);
    bytes_ += label.size() + sizeof(uint32_t);
    known = label_numbers_.emplace(label, static_cast<uint16_t>(label_sets_.size())).first;
  }
  return last_label_ = known->second;
}

CellSink::Flow ChunkBuilder::end_row(Bytes row) {
  if (!row_begun_) begin_row(row);
  const uint16_t flags = static_cast<uint16_t>(fb::RowFlag::Complete) |
                         (continued_ ? static_cast<uint16_t>(fb::RowFlag::Continued) : 0);
  rows_.emplace_back(fb::Span(row_at_, row_size_), row_cells_, flags, 0);
  row_begun_ = in_row_ = continued_ = false;
  ++rows_ended_;
  return full() ? Flow::pause : Flow::more;
}

// Ends the part of an open row that is in this chunk.
void ChunkBuilder::close_part() {
  if (!row_begun_) return;
  rows_.emplace_back(fb::Span(row_at_, row_size_), row_cells_,
                     continued_ ? static_cast<uint16_t>(fb::RowFlag::Continued) : uint16_t{0}, 0);
  open_row_.assign(arena_, row_at_, row_size_);
  row_begun_ = false;
  continued_ = true;
}

BodyParts ChunkBuilder::finish_fixed() {
  fixed_.clear();
  GotBuilder body(fixed_, SIZE_MAX);
  const Bytes arena(arena_);
  for (const fb::CellRec& cell : cells_) {
    body.cell({.row = {},
               .family = arena.substr(cell.family_at(), cell.family_size()),
               .qualifier = arena.substr(cell.qualifier_at(), cell.qualifier_size()),
               .timestamp_us = cell.timestamp(),
               .value = arena.substr(cell.value_at(), cell.value_size())});
  }
  body.finish();
  clear();
  return Bytes(fixed_);
}

BodyParts ChunkBuilder::finish() {
  close_part();
  if (layout_ == Layout::fixed) return finish_fixed();
  builder_.Clear();
  // What is created first lies at the end of the body. The space stays unwritten: the arena itself
  // is sent in its place.
  uint8_t* space = nullptr;
  const auto arena = builder_.CreateUninitializedVector<uint8_t>(arena_.size(), &space);
  const auto cells = builder_.CreateVectorOfStructs(cells_);
  const auto rows = builder_.CreateVectorOfStructs(rows_);
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>> labels;
  if (!label_sets_.empty()) labels = builder_.CreateVectorOfStrings(label_sets_);
  flatbuffers::Offset<flatbuffers::Vector<int64_t>> expiries;
  if (tells_expiry_) expiries = builder_.CreateVector(expiries_);
  flatbuffers::Offset<flatbuffers::Vector<const fb::ExplainRec*>> explanations;
  if (tells_explanation_) explanations = builder_.CreateVectorOfStructs(explanations_);
  flatbuffers::Offset<flatbuffers::Vector<uint8_t>> position;
  if (!position_.empty()) position = byte_vector(builder_, position_);
  fb::ReadChunkBuilder chunk(builder_);
  chunk.add_rows(rows);
  chunk.add_cells(cells);
  chunk.add_arena(arena);
  if (!label_sets_.empty()) chunk.add_label_sets(labels);
  if (tells_expiry_) chunk.add_expiry(expiries);
  if (tells_explanation_) chunk.add_explain(explanations);
  chunk.add_repeated(repeated_);
  chunk.add_answer_not_kept(answer_not_kept_);
  chunk.add_commit_stamp(commit_stamp_ns_);
  chunk.add_runs(runs_);
  chunk.add_runs_opened(runs_opened_);
  if (!position_.empty()) chunk.add_position(position);
  const Bytes body = finish_body(builder_, chunk.Finish());
  const size_t arena_at = body.size() - arena.o + sizeof(flatbuffers::uoffset_t);
  arena_.resize(body.size() - arena_at, '\0');  // with what pads it in the body
  clear();
  return {body.substr(0, arena_at), arena_};
}

void ChunkBuilder::clear() {
  rows_.clear();
  cells_.clear();
  expiries_.clear();
  explanations_.clear();
  label_sets_.clear();
  label_numbers_.clear();
  last_label_ = 0;
  repeated_ = answer_not_kept_ = false;
  commit_stamp_ns_ = 0;
  position_.clear();
  runs_ = runs_opened_ = 0;
  bytes_ = 0;
}

void ChunkBuilder::trim(size_t keep) {
  if (arena_.capacity() > keep) std::string().swap(arena_);
  if (fixed_.capacity() > keep) std::string().swap(fixed_);
  if (cells_.capacity() * sizeof(fb::CellRec) > keep) std::vector<fb::CellRec>().swap(cells_);
  if (expiries_.capacity() * sizeof(int64_t) > keep) std::vector<int64_t>().swap(expiries_);
  if (explanations_.capacity() * sizeof(fb::ExplainRec) > keep)
    std::vector<fb::ExplainRec>().swap(explanations_);
  if (rows_.capacity() * sizeof(fb::RowRec) > keep) std::vector<fb::RowRec>().swap(rows_);
  if (builder_.GetSize() > keep) builder_.Reset();
}

void ChunkBuilder::reset() {
  clear();
  arena_.clear();
  layout_ = Layout::chunk;
  row_begun_ = in_row_ = continued_ = false;
  open_row_.clear();
  rows_ended_ = cells_seen_ = 0;
}

}  // namespace cellar::wire
