#include "engine/memtable/memtable.h"

#include <algorithm>

#include "io/base/check.h"

namespace cellar::engine {
namespace {

// Size of a node of range_places_.
constexpr size_t kPlaceBytes = 64;

}  // namespace

bool Memtable::add(Bytes key, Bytes value) {
  CHECK(!frozen_, "add to a frozen memtable");
  ParsedKey parsed;
  CHECK(parse_key(key, parsed), "malformed key {}", escape_bytes(key));
  share(key);
  const Probe probe(key, shared_.size());
  const auto place = tree_.lower_bound(probe);
  if (place != tree_.end() && place->head == probe.head && place->key() == key) return false;

  if (parsed.kind == EntryKind::cell) {
    note_cell(value);
    overwrites_ += overwrites_at(place, probe.head, key);
  }
  char* record = arena_.allocate(8 + key.size() + value.size());
  store_le(record, static_cast<uint32_t>(key.size()));
  store_le(record + 4, static_cast<uint32_t>(value.size()));
  std::memcpy(record + 8, key.data(), key.size());
  if (!value.empty()) std::memcpy(record + 8 + key.size(), value.data(), value.size());
  tree_.insert(place, Slot{probe.head, record});

  ++inserts_;
  content_bytes_ += key.size() + value.size();
  deletes_ += parsed.kind != EntryKind::cell && parsed.kind != EntryKind::token;
  bounds_.add_entry(parsed, value);
  columns_.add_entry(parsed);
  note_stamp(parsed.stamp);
  return true;
}

void Memtable::note_cell(Bytes value) {
  CellValue cell;
  if (parse_cell_value(value, cell) && cell.expire_at_us != kNoExpiry)
    earliest_expiry_us_ = std::min(earliest_expiry_us_, cell.expire_at_us);
}

// If the stamp lies after the part covered by a head, unequal heads decide without reading the key.
bool Memtable::overwrites_at(Tree::const_iterator place, uint64_t head, Bytes key) const {
  if (place == tree_.end()) return false;
  const size_t unstamped = key.size() - sizeof(uint64_t);
  if (place->head != head && unstamped >= shared_.size() + sizeof head) return false;
  return place->key().size() == key.size() &&
         place->key().substr(0, unstamped) == key.substr(0, unstamped);
}

void Memtable::share(Bytes key) {
  if (tree_.empty()) shared_.assign(key);
  size_t common = common_prefix(key, shared_);
  if (common == shared_.size()) return;
  const bool cheap = entries() < kCheapCutEntries || entries() >= 2 * entries_at_cut_;
  if (!cheap) common = std::min(common, shared_.size() / 2);
  shared_.resize(common);
  entries_at_cut_ = entries();
  for (const Slot& slot : tree_) slot.head = key_head(slot.key().substr(common));
}

Memtable::Tree::const_iterator Memtable::lower_bound(Bytes key) const {
  if (key.starts_with(shared_)) return tree_.lower_bound(Probe(key, shared_.size()));
  // The key then sorts before or after all others.
  return key < shared_ ? tree_.begin() : tree_.end();
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

Step Memtable::Iterator::stand() {
  inserts_seen_ = memtable_->inserts_;
  if (place_ == memtable_->tree_.end()) return Step::end;
  slot_ = *place_;
  return Step::ready;
}

Step Memtable::Iterator::seek(Bytes key) {
  place_ = memtable_->lower_bound(key);
  return stand();
}

Step Memtable::Iterator::seek_before(Bytes key) {
  place_ = memtable_->lower_bound(key);
  if (place_ == memtable_->tree_.begin()) return Step::end;
  --place_;
  return stand();
}

Step Memtable::Iterator::next() {
  if (inserts_seen_ != memtable_->inserts_) {
    place_ = memtable_->tree_.upper_bound(Probe(slot_.key(), memtable_->shared_.size()));
  } else {
    ++place_;
  }
  return stand();
}

Step Memtable::Iterator::resume() { UNREACHABLE("a memtable never blocks"); }
void Memtable::Iterator::collect(std::vector<BlockRequest*>& /*requests*/) {
  UNREACHABLE("a memtable never blocks");
}
const Error& Memtable::Iterator::error() const { UNREACHABLE("a memtable never fails"); }

}  // namespace cellar::engine
