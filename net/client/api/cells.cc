#include "net/client/api/cells.h"

#include <cstring>

#include "net/wire/body.h"
#include "net/wire/point_codec.h"

namespace cellar::client {

namespace fb = wire::fb;

namespace {

bool inside(Bytes arena, uint32_t at, uint32_t size, Bytes& out) {
  return wire::view(fb::Span(at, size), arena, out);
}

// Valid if there is one item per cell or none at all.
template <class T>
bool beside(const flatbuffers::Vector<T>* v, size_t cells) {
  return v == nullptr || (v->size() == cells && wire::well_aligned(v));
}

}  // namespace

Result<CellBlock> CellBlock::decode(Bytes body) {
  CellBlock block;
  if (body.empty()) return block;
  block.bytes_ = body.size();
  block.buffer_ = std::make_unique_for_overwrite<uint64_t[]>((body.size() + 7) / 8);
  char* copy = reinterpret_cast<char*>(block.buffer_.get());
  std::memcpy(copy, body.data(), body.size());
  const auto* chunk = wire::verified<fb::ReadChunk>(Bytes(copy, body.size()));
  if (!chunk || !wire::well_aligned(chunk->cells())) {
    return fail(Errc::internal, "the server sent a chunk of cells that cannot be read");
  }
  const Bytes arena = wire::bytes_of(chunk->arena());
  block.answer_not_kept_ = chunk->answer_not_kept();
  block.repeated_ = chunk->repeated();
  block.commit_stamp_ns_ = chunk->commit_stamp();
  block.runs_ = {.all = chunk->runs(), .opened = chunk->runs_opened()};
  block.position_ = wire::bytes_of(chunk->position());

  const size_t cell_count = chunk->cells() ? chunk->cells()->size() : 0;
  const size_t label_sets = chunk->label_sets() ? chunk->label_sets()->size() : 0;
  block.cells_.resize(cell_count);
  bool ok = beside(chunk->expiry(), cell_count) && beside(chunk->explain(), cell_count);
  block.tells_expiry_ = chunk->expiry() != nullptr;
  if (ok) block.add_notes(*chunk);
  for (size_t i = 0; i < cell_count; ++i) {
    const fb::CellRec& from = *chunk->cells()->Get(static_cast<uint32_t>(i));
    Cell& to = block.cells_[i];
    ok &= inside(arena, from.family_at(), from.family_size(), to.family);
    ok &= inside(arena, from.qualifier_at(), from.qualifier_size(), to.qualifier);
    ok &= inside(arena, from.value_at(), from.value_size(), to.value);
    to.timestamp_us = from.timestamp();
    if (from.label_set() == 0) continue;
    ok &= from.label_set() <= label_sets;
    if (ok) to.labels = wire::text(chunk->label_sets()->Get(from.label_set() - 1u));
  }
  size_t next = 0;
  const size_t row_count = chunk->rows() ? chunk->rows()->size() : 0;
  block.rows_.reserve(row_count);
  for (size_t i = 0; i < row_count && ok; ++i) {
    const fb::RowRec& from = *chunk->rows()->Get(static_cast<uint32_t>(i));
    RowPart part;
    ok &= wire::view(from.key(), arena, part.key) && from.cell_count() <= cell_count - next;
    if (!ok) break;
    part.cells = std::span<const Cell>(block.cells_).subspan(next, from.cell_count());
    part.continued = (from.flags() & static_cast<uint16_t>(fb::RowFlag::Continued)) != 0;
    part.complete = (from.flags() & static_cast<uint16_t>(fb::RowFlag::Complete)) != 0;
    next += from.cell_count();
    block.rows_.push_back(part);
  }
  if (!ok || next != cell_count) {
    return fail(Errc::internal, "the server sent a chunk whose cells point outside of it");
  }
  return block;
}

Result<CellBlock> CellBlock::decode_got(Bytes row, Bytes body, bool continued, bool complete) {
  CellBlock block;
  block.bytes_ = row.size() + body.size();
  block.buffer_ = std::make_unique_for_overwrite<uint64_t[]>((block.bytes_ + 7) / 8);
  char* copy = reinterpret_cast<char*>(block.buffer_.get());
  std::memcpy(copy, body.data(), body.size());
  std::memcpy(copy + body.size(), row.data(), row.size());
  wire::GotReader reader(Bytes(copy, body.size()));
  block.cells_.reserve(reader.most_cells());
  for (wire::GotCell cell; reader.next(cell);) {
    Cell& to = block.cells_.emplace_back();
    to.family = cell.family;
    to.qualifier = cell.qualifier;
    to.timestamp_us = cell.timestamp_us;
    to.value = cell.value;
  }
  if (!reader.intact()) {
    return fail(Errc::internal, "the server sent cells of a row that cannot be read");
  }
  RowPart part;
  part.key = Bytes(copy + body.size(), row.size());
  part.cells = block.cells_;
  part.continued = continued;
  part.complete = complete;
  block.rows_.push_back(part);
  return block;
}

// REQUIRES: the notes, if present, match the number of cells.
template <class Chunk>
void CellBlock::add_notes(const Chunk& chunk) {
  for (uint32_t i = 0; chunk.expiry() && i < cells_.size(); ++i)
    cells_[i].expire_at_us = chunk.expiry()->Get(i);
  if (chunk.explain() == nullptr) return;
  explanations_ = std::make_unique<Explanation[]>(cells_.size());
  for (uint32_t i = 0; i < cells_.size(); ++i) {
    const fb::ExplainRec& from = *chunk.explain()->Get(i);
    explanations_[i] = {from.dies_at_us(), static_cast<DeathCause>(from.cause()), from.dead(),
                        from.clause()};
    cells_[i].explained = &explanations_[i];
  }
}

CellBlock CellBlock::split_last() {
  CellBlock last;
  last.buffer_ = buffer_;
  last.explanations_ = explanations_;
  last.tells_expiry_ = tells_expiry_;
  last.bytes_ = bytes_;
  RowPart part = rows_.back();
  rows_.pop_back();
  last.cells_.assign(part.cells.begin(), part.cells.end());
  part.cells = last.cells_;
  last.rows_.push_back(part);
  cells_.resize(cells_.size() - last.cells_.size());
  return last;
}

Row::Row(std::vector<CellBlock> blocks) : blocks_(std::move(blocks)) {
  size_t cells = 0;
  for (const CellBlock& block : blocks_) {
    if (key_.empty() && !block.empty()) key_ = block.rows().front().key;
    cells += block.cells().size();
  }
  if (blocks_.size() == 1) {
    cells_ = blocks_.front().cells();
    return;
  }
  joined_.reserve(cells);
  for (const CellBlock& block : blocks_) {
    joined_.insert(joined_.end(), block.cells().begin(), block.cells().end());
  }
  cells_ = joined_;
}

const Cell* Row::find(Bytes family, Bytes qualifier) const {
  for (const Cell& cell : cells()) {
    if (cell.family == family && cell.qualifier == qualifier) return &cell;
  }
  return nullptr;
}

}  // namespace cellar::client
