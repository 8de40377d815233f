#include "engine/memtable/memtable.h"

#include <algorithm>

#include "io/base/check.h"

namespace cellar::engine {
namespace {

// Size of a node of range_places_.
constexpr size_t kPlaceBytes = 64;
// Of an index entry, besides its key: the record's sizes and value, a slot of a tree that is three
// quarters full, the cell's place among those that wait.
constexpr size_t kIndexEntryBytes = 9 + 22 + 8;

size_t index_entry_bytes(const IndexSchema& index, const ParsedKey& cell, Bytes value) {
  size_t bytes =
      kIndexEntryBytes + cell.row_prefix.size() + cell.escaped_qualifier.size() + sizeof(int64_t);
  if (!index.has(IndexPart::value)) return bytes;
  const Bytes indexed = value.substr(0, kIndexedValueBytes);
  bytes += indexed.size();
  // Of a segment each 00 takes two.
  if (index.type == IndexType::bytes) bytes += static_cast<size_t>(std::ranges::count(indexed, 0));
  return bytes;
}

}  // namespace

Memtable::Memtable(IndexSetRef indexes, BlockPool* blocks)
    : arena_(blocks), tree_(arena_), index_maker_(std::move(indexes)) {
  if (index_maker_.indexes() == nullptr) return;
  for (size_t i = 0; i < index_maker_.indexes()->size(); ++i) {
    index_trees_.push_back(std::make_unique<IndexEntries>(arena_));
  }
}

bool Memtable::add(Bytes key, Bytes value) {
  CHECK(!frozen_, "add to a frozen memtable");
  ParsedKey parsed;
  CHECK(parse_key(key, parsed), "malformed key {}", escape_bytes(key));
  const EntryTree::Place place = tree_.find(key);
  if (place.holds(key)) return false;

  CellValue cell;
  const bool is_cell = parsed.kind == EntryKind::cell && parse_cell_value(value, cell);
  if (parsed.kind == EntryKind::cell)
    overwrites_ += tree_.next_differs_in_tail(place, key, sizeof(uint64_t));
  const EntryTree::Record record = tree_.insert(place, key, value);
  if (is_cell) {
    note_cell(cell);
    if (!index_trees_.empty()) add_unmade(parsed, cell, record);
  }
  content_bytes_ += key.size() + value.size();
  deletes_ += parsed.kind != EntryKind::cell && parsed.kind != EntryKind::token;
  bounds_.add_entry(parsed, value);
  columns_.add_entry(parsed);
  note_stamp(parsed.stamp);
  return true;
}

void Memtable::add_unmade(const ParsedKey& cell, const CellValue& value, EntryTree::Record record) {
  bool any = false;
  for (size_t i = 0; i < index_trees_.size(); ++i) {
    if (!index_maker_.makes(i, cell, value)) continue;
    ++index_trees_[i]->unmade;
    unmade_bytes_ += index_entry_bytes((*index_maker_.indexes())[i], cell, value.value);
    any = true;
  }
  if (!any) return;
  unmade_.push_back(record);
  if (unmade_.size() > kMostUnmade) make_entries_of_oldest();
}

bool Memtable::make_index_entries(uint64_t cells, size_t& most) {
  while (made_cells_ < cells) {
    if (most == 0) return false;
    most -= std::min(most, make_entries_of_oldest());
  }
  return true;
}

// Returns their number. A cell that is written again has its entry already, whose expiry may be
// another one.
size_t Memtable::make_entries_of_oldest() {
  const EntryTree::Record record = unmade_.front();
  unmade_.pop_front();
  ++made_cells_;
  ParsedKey cell;
  CellValue value;
  CHECK(parse_key(record.key(), cell) && parse_cell_value(record.value(), value),
        "malformed cell {}", escape_bytes(record.key()));
  size_t made = 0;
  const auto give = [&](size_t i, Bytes key, Bytes /*expiry*/) {
    ++made;
    --index_trees_[i]->unmade;
    unmade_bytes_ -= index_entry_bytes((*index_maker_.indexes())[i], cell, value.value);
    EntryTree& tree = index_trees_[i]->tree;
    const EntryTree::Place place = tree.find(key);
    if (!place.holds(key)) tree.insert(place, key, kExpiryNotKnown);
  };
  index_maker_.make(cell, record.value(), give, [](size_t) {});
  return made;
}

size_t Memtable::index_of(uint64_t id) const {
  return index_trees_.empty() ? 0 : index_maker_.indexes()->find(id);
}

size_t Memtable::index_entry_count(uint64_t id) const {
  const IndexEntries& entries = *index_trees_[index_of(id)];
  return entries.tree.size() + entries.unmade;
}

const EntryTree* Memtable::index_entries(uint64_t id) const {
  return has_index(id) ? &index_trees_[index_of(id)]->tree : nullptr;
}

void Memtable::note_cell(const CellValue& cell) {
  if (cell.expire_at_us != kNoExpiry)
    earliest_expiry_us_ = std::min(earliest_expiry_us_, cell.expire_at_us);
}

void Memtable::add_range_delete(const RangeDelete& range, CommitStamp stamp) {
  CHECK(!frozen_, "range delete into a frozen memtable");
  RangeTombstone owned{std::string(range.start), std::string(range.end), stamp};
  // Replaying a log twice must not add it twice.
  const auto [same, last] = range_places_.equal_range(stamp);
  for (auto it = same; it != last; ++it) {
    if (ranges_[it->second] == owned) return;
  }
  range_places_.emplace_hint(last, stamp, ranges_.size());
  range_bytes_ += sizeof owned + owned.start.size() + owned.end.size() + kPlaceBytes;
  ranges_.push_back(std::move(owned));
  bounds_.add_delete_of_everything();
  note_stamp(stamp);
}

void Memtable::note_stamp(CommitStamp stamp) {
  min_stamp_ = std::min(min_stamp_, stamp);
  max_stamp_ = std::max(max_stamp_, stamp);
}

}  // namespace cellar::engine
