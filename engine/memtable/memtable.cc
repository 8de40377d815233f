#include "engine/memtable/memtable.h"

#include <algorithm>

#include "io/base/check.h"

namespace cellar::engine {
namespace {

// Size of a node of range_places_.
constexpr size_t kPlaceBytes = 64;

}  // namespace

Memtable::Memtable(IndexSetRef indexes) : tree_(arena_), index_maker_(std::move(indexes)) {
  if (index_maker_.indexes() == nullptr) return;
  for (size_t i = 0; i < index_maker_.indexes()->size(); ++i) {
    index_trees_.push_back(std::make_unique<EntryTree>(arena_));
  }
}

bool Memtable::add(Bytes key, Bytes value) {
  CHECK(!frozen_, "add to a frozen memtable");
  ParsedKey parsed;
  CHECK(parse_key(key, parsed), "malformed key {}", escape_bytes(key));
  const EntryTree::Place place = tree_.find(key);
  if (place.holds(key)) return false;

  if (parsed.kind == EntryKind::cell) {
    note_cell(value);
    overwrites_ += tree_.next_differs_in_tail(place, key, sizeof(uint64_t));
    if (!index_trees_.empty()) add_index_entries(parsed, value);
  }
  tree_.insert(place, key, value);
  content_bytes_ += key.size() + value.size();
  deletes_ += parsed.kind != EntryKind::cell && parsed.kind != EntryKind::token;
  bounds_.add_entry(parsed, value);
  columns_.add_entry(parsed);
  note_stamp(parsed.stamp);
  return true;
}

// A cell that is written again has its entry already, whose expiry may be another one.
void Memtable::add_index_entries(const ParsedKey& cell, Bytes value) {
  const auto give = [this](size_t index, Bytes key, Bytes /*expiry*/) {
    const EntryTree::Place place = index_trees_[index]->find(key);
    if (!place.holds(key)) index_trees_[index]->insert(place, key, kExpiryNotKnown);
  };
  index_maker_.make(cell, value, give, [](size_t) {});
}

const EntryTree* Memtable::index_entries(uint64_t index) const {
  if (index_trees_.empty()) return nullptr;
  const size_t at = index_maker_.indexes()->find(index);
  return at == index_trees_.size() ? nullptr : index_trees_[at].get();
}

void Memtable::note_cell(Bytes value) {
  CellValue cell;
  if (parse_cell_value(value, cell) && cell.expire_at_us != kNoExpiry)
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
