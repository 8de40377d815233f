#include "engine/read/row_cache.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "io/base/check.h"
#include "io/base/coding.h"

namespace cellar::engine {
namespace {

// Of one set and its results, about.
constexpr size_t kBytesPerSet = 512;
constexpr size_t kLeastBytes = 64 << 10;  // less holds nothing
constexpr size_t kLineBytes = 64;
constexpr size_t kExpectedBytes = 4 * kLineBytes;  // of a result that is loaded early

// The fixed part of a recorded cell.
struct CellHead {
  uint32_t family_bytes;
  uint32_t qualifier_bytes;
  uint32_t value_bytes;
  int64_t timestamp_us;
};

}  // namespace

// ---- results

CellSink::Flow RowRecorder::cell(const CellView& cell) {
  const size_t bytes =
      sizeof(CellHead) + cell.family.size() + cell.qualifier.size() + cell.value.size();
  // A filter that names columns sets no label, and no notes were asked for.
  too_long_ = too_long_ || cells_.size() + bytes > kMostBytes || !cell.label.empty() ||
              cell.note != nullptr;
  if (!too_long_) {
    const CellHead head{static_cast<uint32_t>(cell.family.size()),
                        static_cast<uint32_t>(cell.qualifier.size()),
                        static_cast<uint32_t>(cell.value.size()), cell.timestamp_us};
    cells_.append(reinterpret_cast<const char*>(&head), sizeof head);
    cells_.append(cell.family).append(cell.qualifier).append(cell.value);
    ++count_;
  }
  return to_.cell(cell);
}

bool CachedRow::give(CellSink& sink, uint64_t& cells) const {
  const char* at = this->cells().data();
  for (cells = 0; cells < count_;) {
    CellHead head;
    std::memcpy(&head, at, sizeof head);
    const char* const family = at + sizeof head;
    const char* const qualifier = family + head.family_bytes;
    const char* const value = qualifier + head.qualifier_bytes;
    at = value + head.value_bytes;
    const CellView cell{row(), Bytes(family, head.family_bytes),
                        Bytes(qualifier, head.qualifier_bytes), head.timestamp_us,
                        Bytes(value, head.value_bytes)};
    const bool pause = sink.cell(cell) == CellSink::Flow::pause;
    if (pause && ++cells < count_) return false;
    if (!pause) ++cells;
  }
  if (count_ != 0) sink.end_row(row());
  return true;
}

// ---- the cache

RowCache::RowCache(size_t bytes) : most_bytes_(bytes < kLeastBytes ? 0 : bytes) {
  static_assert(sizeof(Set) == 64);
  if (most_bytes_ != 0) set_count_ = std::bit_floor(bytes / kBytesPerSet);
}

RowCache::~RowCache() {
  for (size_t i = 0; sets_ != nullptr && i < set_count_; ++i) {
    for (size_t way = 0; way < kWays; ++way) drop(sets_[i], way);
  }
}

uint64_t RowCache::hash_of(uint64_t owner, Bytes row) {
  return XXH3_64bits_withSeed(row.data(), row.size(), owner);
}

void RowCache::note(uint64_t owner, Bytes row, CommitStamp stamp) {
  Set& set = set_of(hash_of(owner, row));
  set.newest = std::max(set.newest, stamp);
}

// Reads of a shard often ask for the same of every row.
void RowCache::remember_asked(const RowQuery& query) {
  const bool all = query.columns == nullptr;
  if (all && asked_all_ && asked_versions_ == query.versions) return;
  asked_all_ = all;
  asked_versions_ = query.versions;
  asked_.clear();
  put_varint(asked_, query.versions);
  put_varint(asked_, all ? 0 : query.columns->size() + 1);
  if (!all) {
    for (const ColumnName& column : *query.columns) {
      put_bytes(asked_, column.family);
      put_bytes(asked_, column.qualifier);
    }
  }
  asked_hash_ = XXH3_64bits(asked_.data(), asked_.size());
}

uint64_t RowCache::expect(uint64_t owner, Bytes row) const {
  if (sets_ == nullptr) return 0;
  const uint64_t hash = hash_of(owner, row);
  __builtin_prefetch(&set_of(hash));
  return hash;
}

bool RowCache::expect_result(uint64_t row_hash) const {
  if (sets_ == nullptr) return false;
  bool found = false;
  const Set& set = set_of(row_hash);
  const uint16_t tag = tag_of(row_hash);
  for (size_t way = 0; way < kWays; ++way) {
    if (set.tags[way] != tag || set.rows[way] == nullptr) continue;
    const char* const at = reinterpret_cast<const char*>(set.rows[way]);
    for (size_t line = 0; line < kExpectedBytes; line += kLineBytes) __builtin_prefetch(at + line);
    found = true;
  }
  return found;
}

const CachedRow* RowCache::find(const RowQuery& query, CommitStamp since, int64_t now_us) {
  wants_last_ = false;
  if (set_count_ == 0) return nullptr;
  if (sets_ == nullptr) {
    sets_ = std::make_unique<Set[]>(set_count_);
    figures_.bytes = set_count_ * sizeof(Set);
  }
  remember_asked(query);
  const uint64_t hash = hash_of(query.owner, query.row);
  Set& set = set_of(hash);
  const uint16_t tag = tag_of(hash);
  last_ = {&set, tag};
  for (size_t way = 0; way < kWays; ++way) {
    CachedRow* const row = set.rows[way];
    if (set.tags[way] != tag || row == nullptr) continue;
    if (row->owner_ != query.owner || row->row() != query.row || row->asked() != Bytes(asked_))
      continue;
    if (row->stamp_ >= std::max(set.newest, since) && now_us <= row->alive_until_us_) {
      set.used |= static_cast<uint8_t>(1U << way);
      ++figures_.hits;
      return row;
    }
    // A row that is written as often as it is read is not worth recording.
    wants_last_ = (set.used & 1U << way) != 0;
    drop(set, way);
  }
  ++figures_.misses;
  const auto missed = std::find(set.missed.begin(), set.missed.end(), tag);
  if (missed != set.missed.end()) {
    *missed = 0;
    wants_last_ = true;
  } else if (!wants_last_) {
    set.missed[set.next_missed++ % kWays] = tag;
  }
  return nullptr;
}

void RowCache::keep(const RowQuery& query, const RowRecorder& recorder, CommitStamp stamp,
                    int64_t alive_until_us) {
  DCHECK(wants_last_, "a result that was not wanted");
  Set& set = *last_.set;
  if (recorder.too_long_ || stamp < std::max(set.newest, unnoted_)) return;
  const size_t bytes =
      sizeof(CachedRow) + asked_.size() + query.row.size() + recorder.cells_.size();
  if (!make_room(bytes)) return;
  const size_t way = free_way(set);
  auto* row = new (::operator new(bytes)) CachedRow;
  row->owner_ = query.owner;
  row->stamp_ = stamp;
  row->alive_until_us_ = alive_until_us;
  row->asked_bytes_ = static_cast<uint32_t>(asked_.size());
  row->row_bytes_ = static_cast<uint32_t>(query.row.size());
  row->cell_bytes_ = static_cast<uint32_t>(recorder.cells_.size());
  row->count_ = recorder.count_;
  char* at = row->data();
  for (const Bytes part : {Bytes(asked_), query.row, Bytes(recorder.cells_)}) {
    at = std::copy(part.begin(), part.end(), at);
  }
  set.rows[way] = row;
  set.tags[way] = last_.tag;
  figures_.bytes += bytes;
  ++figures_.rows;
}

void RowCache::drop(Set& set, size_t way) {
  CachedRow* const row = std::exchange(set.rows[way], nullptr);
  if (row == nullptr) return;
  figures_.bytes -= row->bytes();
  --figures_.rows;
  set.used &= static_cast<uint8_t>(~(1U << way));
  row->~CachedRow();
  ::operator delete(row);
}

// A free one, or that of a result which was not given since the hand passed it.
size_t RowCache::free_way(Set& set) {
  for (size_t way = 0; way < kWays; ++way) {
    if (set.rows[way] == nullptr) return way;
  }
  while (true) {
    const size_t way = set.hand++ % kWays;
    const auto bit = static_cast<uint8_t>(1U << way);
    if ((set.used & bit) == 0) {
      drop(set, way);
      return way;
    }
    set.used &= static_cast<uint8_t>(~bit);
  }
}

bool RowCache::make_room(size_t bytes) {
  for (int examined = 0; figures_.bytes + bytes > most_bytes_; ++examined) {
    if (examined == kMostEvictions) return false;
    Set& set = sets_[evict_at_++ & (set_count_ - 1)];
    for (size_t way = 0; way < kWays; ++way) {
      const auto bit = static_cast<uint8_t>(1U << way);
      if ((set.used & bit) == 0) drop(set, way);
      set.used &= static_cast<uint8_t>(~bit);
    }
  }
  return true;
}

}  // namespace cellar::engine
