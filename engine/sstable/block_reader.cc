#include "engine/sstable/block_reader.h"

#include <algorithm>

#include "engine/iter/begins_with.h"
#include "engine/iter/key_head.h"
#include "io/base/coding.h"

namespace cellar::engine {
namespace {

struct EntryHead {
  uint32_t shared;
  uint32_t unshared;
  uint32_t value;
};

// Null when there is no such number before `limit`.
const char* get_varint32(const char* p, const char* limit, uint32_t& v) {
  if (p < limit && static_cast<uint8_t>(*p) < 0x80) {
    v = static_cast<uint8_t>(*p);
    return p + 1;
  }
  v = 0;
  for (unsigned shift = 0; shift < 35 && p < limit; shift += 7) {
    const auto byte = static_cast<uint8_t>(*p++);
    if (shift == 28 && byte > 0x0f) return nullptr;
    v |= static_cast<uint32_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return p;
  }
  return nullptr;
}

// The place of the key's unshared bytes; null when the entry does not lie before `limit`.
const char* decode_head(const char* p, const char* limit, EntryHead& head) {
  // As in next(): nearly always three bytes.
  if (limit - p >= 3 && ((p[0] | p[1] | p[2]) & 0x80) == 0) {
    head = {static_cast<uint8_t>(p[0]), static_cast<uint8_t>(p[1]), static_cast<uint8_t>(p[2])};
    p += 3;
    return size_t{head.unshared} + head.value <= static_cast<size_t>(limit - p) ? p : nullptr;
  }
  if ((p = get_varint32(p, limit, head.shared)) == nullptr) return nullptr;
  if ((p = get_varint32(p, limit, head.unshared)) == nullptr) return nullptr;
  if ((p = get_varint32(p, limit, head.value)) == nullptr) return nullptr;
  const uint64_t wanted = uint64_t{head.unshared} + head.value;
  return wanted <= static_cast<uint64_t>(limit - p) ? p : nullptr;
}

}  // namespace

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
  if (heads_ != nullptr && i % heads_->stride == 0)
    return begin_ + heads_->offsets[i / heads_->stride];
  const auto offset = load_le<uint32_t>(limit_ + size_t{i} * sizeof(uint32_t));
  return offset < static_cast<size_t>(limit_ - begin_) ? begin_ + offset : nullptr;
}

bool BlockReader::restart_key(uint32_t i, Bytes& key) const {
  const char* p = restart(i);
  if (p == nullptr) return false;
  EntryHead head;
  p = decode_head(p, limit_, head);
  if (p == nullptr || head.shared != 0) return false;
  key = Bytes(p, head.unshared);
  return true;
}

// By heads: the restart sought is at or behind `low`, and before `high`.
bool BlockReader::narrow(Bytes key, uint32_t& low, uint32_t& high) const {
  Bytes first;
  if (!restart_key(0, first) || first.size() < heads_->shared_bytes) return false;
  const Bytes shared = first.substr(0, heads_->shared_bytes);
  if (!begins_with(key, shared)) {  // it lies on one side of all of them
    (key < shared ? high : low) = key < shared ? 1 : restarts_ - 1;
    return true;
  }
  const uint64_t head = key_head(key.substr(heads_->shared_bytes));
  uint32_t less = 0;
  uint32_t not_greater = 0;
  for (uint32_t i = 0; i < heads_->count; ++i) {
    less += heads_->heads[i] < head;
    not_greater += heads_->heads[i] <= head;
  }
  if (less > 0) low = (less - 1) * heads_->stride;
  high = std::max(1u, std::min(high, not_greater * heads_->stride));
  return true;
}

bool BlockReader::find_restart(Bytes key, uint32_t& found) const {
  uint32_t low = 0;
  uint32_t high = restarts_;
  if (heads_ != nullptr && !narrow(key, low, high)) return false;
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
  EntryHead head;
  const char* p = decode_head(next_, limit_, head);
  if (p == nullptr || head.shared > key_.size()) return Move::corrupt;
  stand_on(p, head.shared, head.unshared, head.value);
  return Move::ready;
}

BlockReader::Move BlockReader::seek_first() {
  go_to_restart(0);
  return next();
}

// Keys on the way are not built. What decides about an entry is how its key differs from the one
// before, which is less than `key` and has `same` leading bytes with it: an entry that shares more
// differs from `key` where its predecessor did, and is less too.
BlockReader::Move BlockReader::seek(Bytes key) {
  uint32_t from = 0;
  if (!find_restart(key, from)) return Move::corrupt;
  const char* at = restart(from);
  if (at == nullptr) return Move::corrupt;
  size_t same = 0;
  size_t size = 0;  // of the key before
  while (at != limit_) {
    EntryHead head;
    const char* p = decode_head(at, limit_, head);
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
  // Keys are built forwards only: count how far the last lesser entry is, then go there.
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
