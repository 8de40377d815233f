#include "engine/sstable/data_block.h"

#include <algorithm>
#include <bit>

#include "engine/iter/begins_with.h"
#include "io/base/coding.h"

namespace cellar::engine {

// A large entry is the only one of its block. Without this the buffer would double to append the
// last bytes.
void BlockWriter::make_room(size_t entry_bytes) {
  constexpr size_t kLargeEntryBytes = 256 * 1024;
  const size_t bytes = entry_bytes + kMostEntryHeadBytes + 2 * sizeof(uint32_t);
  if (entry_bytes < kLargeEntryBytes || !out_.empty() || out_.capacity() >= bytes) return;
  std::string().swap(out_);
  out_.reserve(bytes);
}

void BlockWriter::add(Bytes key, Bytes value) {
  make_room(key.size() + value.size());
  size_t shared = 0;
  if (entries_ % kRestartInterval == 0) {
    restarts_.push_back(static_cast<uint32_t>(out_.size()));
  } else {
    shared = common_prefix(last_key_, key);
  }
  put_varint(out_, shared);
  put_varint(out_, key.size() - shared);
  put_varint(out_, value.size());
  out_.append(key.substr(shared));
  out_.append(value);
  last_key_.resize(shared);
  last_key_.append(key.substr(shared));
  ++entries_;
}

Bytes BlockWriter::finish() {
  for (uint32_t restart : restarts_) put_u32(out_, restart);
  put_u32(out_, static_cast<uint32_t>(restarts_.size()));
  return out_;
}

void BlockWriter::reset() {
  out_.clear();
  last_key_.clear();
  restarts_.clear();
  entries_ = 0;
}

namespace {

constexpr ptrdiff_t kCacheLineBytes = 64;  // cache line of the CPU
constexpr ptrdiff_t kExpectedLines = 3;    // of the entry where a search begins

}  // namespace

void expect_entry(Bytes contents, const BlockHeads& heads, Bytes prefix) {
  if (heads.count == 0 || prefix.size() < heads.shared_bytes) return;
  const uint32_t head = BlockHeads::head_of(prefix.substr(heads.shared_bytes));
  const size_t less = heads.less_than(head);
  const bool equal = heads.all && less < heads.count && heads.heads[less] == head;
  const size_t from = equal || less == 0 ? less : less - 1;
  const char* const at = contents.data() + heads.offsets[from];
  for (ptrdiff_t line = 0; line < kExpectedLines; ++line)
    __builtin_prefetch(at + line * kCacheLineBytes);
}

bool BlockReader::open(Bytes contents, const BlockHeads* heads) {
  begin_ = limit_ = next_ = contents.data();
  restarts_ = 0;
  key_.clear();
  heads_ = heads != nullptr && heads->count != 0 ? heads : nullptr;
  if (heads_ != nullptr) {
    limit_ = begin_ + heads_->entries_bytes;
    restarts_ = heads_->restarts;
    return true;
  }
  if (contents.size() < sizeof(uint32_t)) return false;
  const uint32_t count = load_le<uint32_t>(contents.data() + contents.size() - sizeof(uint32_t));
  const uint64_t tail = (uint64_t{count} + 1) * sizeof(uint32_t);
  if (count == 0 || tail > contents.size()) return false;
  limit_ = begin_ + (contents.size() - tail);
  restarts_ = count;
  return true;
}

const char* BlockReader::restart(uint32_t i) const {
  const auto offset = load_le<uint32_t>(limit_ + size_t{i} * sizeof(uint32_t));
  return offset < static_cast<size_t>(limit_ - begin_) ? begin_ + offset : nullptr;
}

bool BlockReader::restart_key(uint32_t i, Bytes& key) const {
  const char* p = restart(i);
  if (p == nullptr) return false;
  BlockEntry head;
  p = decode_entry(p, limit_, head);
  if (p == nullptr || head.shared != 0) return false;
  key = Bytes(p, head.unshared);
  return true;
}

bool BlockReader::find_restart(Bytes key, uint32_t& found) const {
  uint32_t low = 0;
  uint32_t high = restarts_;
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    Bytes at;
    if (!restart_key(middle, at)) return false;
    if (at < key) {
      low = middle;
    } else {
      high = middle;
    }
  }
  found = low;
  return true;
}

void BlockReader::go_to_restart(uint32_t i) {
  next_ = restart(i);
  key_.clear();
}

BlockReader::Move BlockReader::next_slowly() {
  BlockEntry head;
  const char* p = decode_entry(next_, limit_, head);
  if (p == nullptr || head.shared > key_.size()) return Move::corrupt;
  stand_on(p, head.shared, head.unshared, head.value);
  return Move::ready;
}

BlockReader::Move BlockReader::seek_first() {
  go_to_restart(0);
  return next();
}

bool BlockReader::start_at_restart(Bytes key, Start& start) const {
  uint32_t from = 0;
  if (!find_restart(key, from)) return false;
  start = {restart(from), 0, 0};
  return start.at != nullptr;
}

// Returns `end` if every entry is less.
BlockReader::Move BlockReader::start_at_head(Bytes key, Start& start) const {
  start = {begin_, 0, 0};
  BlockEntry entry;
  const char* p = decode_entry(begin_, limit_, entry);
  if (p == nullptr || entry.shared != 0 || entry.unshared < heads_->shared_bytes)
    return Move::corrupt;
  const Bytes shared(p, heads_->shared_bytes);
  if (!begins_with(key, shared)) return key < shared ? Move::ready : Move::end;
  const uint32_t head = BlockHeads::head_of(key.substr(shared.size()));
  const size_t less = heads_->less_than(head);
  if (heads_->all && less < heads_->count && heads_->heads[less] == head) {
    // The first entry with that head: the part taken from the previous key is the same.
    const char* at = begin_ + heads_->offsets[less];
    __builtin_prefetch(at + kCacheLineBytes);
    __builtin_prefetch(at + 2 * kCacheLineBytes);
    if (decode_entry(at, limit_, entry) == nullptr ||
        entry.shared > shared.size() + BlockHeads::kHeadBytes)
      return Move::corrupt;
    if (entry.shared <= key.size()) {
      start = {at, entry.shared, entry.shared};
      return Move::ready;
    }
  }
  if (less == 0) return Move::ready;
  p = decode_entry(begin_ + heads_->offsets[less - 1], limit_, entry);
  if (p == nullptr) return Move::corrupt;
  const auto equal = static_cast<size_t>(std::countl_zero(heads_->heads[less - 1] ^ head)) / 8;
  const size_t size = size_t{entry.shared} + entry.unshared;
  start = {p + entry.unshared + entry.value, std::min(size, shared.size() + equal), size};
  return Move::ready;
}

// Keys are not built on the way. An entry is compared through its difference from the previous key,
// which is less than `key` and shares `same` leading bytes with it: an entry that shares more with
// its predecessor differs from `key` at the same byte, and is less too.
BlockReader::Move BlockReader::seek(Bytes key) {
  Start start;
  if (heads_ == nullptr) {
    if (!start_at_restart(key, start)) return Move::corrupt;
  } else if (const Move move = start_at_head(key, start); move != Move::ready) {
    next_ = limit_;
    return move;
  }
  auto [at, same, size] = start;
  while (at != limit_) {
    BlockEntry head;
    const char* p = decode_entry(at, limit_, head);
    if (p == nullptr || head.shared > size) return Move::corrupt;
    size = size_t{head.shared} + head.unshared;
    if (head.shared <= same) {
      const Bytes tail(p, head.unshared);
      const Bytes wanted = key.substr(head.shared);
      const size_t common = common_prefix(tail, wanted);
      const bool less = common == tail.size()
                            ? common < wanted.size()
                            : common < wanted.size() && static_cast<uint8_t>(tail[common]) <
                                                            static_cast<uint8_t>(wanted[common]);
      if (!less) {
        key_.assign(key.substr(0, head.shared));
        stand_on(p, head.shared, head.unshared, head.value);
        return Move::ready;
      }
      same = head.shared + common;
    }
    at = p + head.unshared + head.value;
  }
  next_ = limit_;
  return Move::end;
}

BlockReader::Move BlockReader::seek_before(Bytes key) {
  uint32_t from = 0;
  if (!find_restart(key, from)) return Move::corrupt;
  // Keys can only be built forwards: counts the entries up to the last lesser one, then goes there.
  size_t lesser = 0;
  go_to_restart(from);
  Move move = next();
  while (move == Move::ready && key_.view() < key) {
    ++lesser;
    move = next();
  }
  if (move == Move::corrupt) return move;
  if (lesser == 0) return Move::end;
  go_to_restart(from);
  for (; lesser > 0; --lesser) move = next();
  return move;
}

}  // namespace cellar::engine
