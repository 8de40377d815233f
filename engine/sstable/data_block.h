// The contents of one data block: BlockWriter builds them, BlockReader is a cursor over them.
//
//   entry*     shared: varint, unshared: varint, value size: varint, the unshared bytes of the key,
//              value. A key takes its first `shared` bytes from the previous key.
//   restart*   u32: offsets of the entries with shared = 0, every kRestartInterval-th, for binary
//              search
//   count      u32, number of restarts; at least 1
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/sstable/block_heads.h"
#include "engine/sstable/key_buffer.h"
#include "io/base/bytes.h"
#include "io/base/coding.h"

namespace cellar::engine {

inline constexpr size_t kRestartInterval = 16;

class BlockWriter {
 public:
  // REQUIRES: key greater than the last one (checked by the caller).
  void add(Bytes key, Bytes value);
  // Closes the block; the view is valid until reset().
  Bytes finish();
  void reset();

  bool empty() const { return entries_ == 0; }
  size_t entries() const { return entries_; }
  // Size of the block that finish() would return now.
  size_t bytes() const { return out_.size() + (restarts_.size() + 1) * sizeof(uint32_t); }
  Bytes last_key() const { return last_key_; }

 private:
  static constexpr size_t kMostEntryHeadBytes = 30;  // three numbers
  void make_room(size_t entry_bytes);

  std::string out_;
  std::string last_key_;
  std::vector<uint32_t> restarts_;
  size_t entries_ = 0;
};

// The numbers before an entry of a data block.
struct BlockEntry {
  uint32_t shared;
  uint32_t unshared;
  uint32_t value;
};

// Null if there is no such number before `limit`.
inline const char* get_varint32(const char* p, const char* limit, uint32_t& v) {
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

// Returns the position of the key's unshared bytes; null if the entry exceeds `limit`.
inline const char* decode_entry(const char* p, const char* limit, BlockEntry& entry) {
  // The common case: three bytes.
  if (limit - p >= 3 && ((p[0] | p[1] | p[2]) & 0x80) == 0) {
    entry = {static_cast<uint8_t>(p[0]), static_cast<uint8_t>(p[1]), static_cast<uint8_t>(p[2])};
    p += 3;
    return size_t{entry.unshared} + entry.value <= static_cast<size_t>(limit - p) ? p : nullptr;
  }
  if ((p = get_varint32(p, limit, entry.shared)) == nullptr) return nullptr;
  if ((p = get_varint32(p, limit, entry.unshared)) == nullptr) return nullptr;
  if ((p = get_varint32(p, limit, entry.value)) == nullptr) return nullptr;
  const uint64_t wanted = uint64_t{entry.unshared} + entry.value;
  return wanted <= static_cast<uint64_t>(limit - p) ? p : nullptr;
}

// A search for keys with that prefix follows soon: loads the entry where it will begin into the
// processor's cache, as far as the heads tell.
void expect_entry(Bytes contents, const BlockHeads& heads, Bytes prefix);

// BlockReader: a cursor over the contents of one data block.
//
// It checks every size and offset against the block before use, so bytes with a valid checksum that
// are not a valid block (a bug or a collision) yield `corrupt` and no access outside the block.
// Allocates only for keys over KeyBuffer::kInlineBytes.
class BlockReader {
 public:
  enum class Move : uint8_t { ready, end, corrupt };

  // False if the restarts are malformed. `contents` and `heads` must stay valid while the cursor is
  // used. `heads` belong to the contents; null: none.
  bool open(Bytes contents, const BlockHeads* heads = nullptr);

  Move seek_first();
  // Positions before the entry at restart i, which next() moves to; false if there is none.
  // REQUIRES: i < restarts().
  bool seek_to_restart(uint32_t i) {
    go_to_restart(i);
    return next_ != nullptr;
  }
  Move seek(Bytes key);         // the first entry >= key
  Move seek_before(Bytes key);  // the last entry < key
  Move next() {                 // REQUIRES: ready
    // The first two numbers usually take one byte each and the third one or two. These bytes are
    // readable, because restarts follow the entries.
    if (next_ == limit_) return Move::end;
    if (next_ == nullptr) return Move::corrupt;
    const auto word = load_le<uint32_t>(next_);
    if ((word & 0x8080) != 0 || (word & 0x80800000) == 0x80800000) return next_slowly();
    const bool longer = (word & 0x800000) != 0;
    const size_t shared = word & 0x7f;
    const size_t unshared = word >> 8 & 0x7f;
    const size_t value = (word >> 16 & 0x7f) | (longer ? word >> 17 & 0x3f80 : 0);
    const char* p = next_ + 3 + longer;
    if (p + unshared + value > limit_ || shared > key_.size()) return Move::corrupt;
    stand_on(p, shared, unshared, value);
    return Move::ready;
  }
  Bytes key() const { return key_.view(); }
  Bytes value() const { return value_; }
  // Offset of the entry after the current one.
  size_t position() const { return static_cast<size_t>(next_ - begin_); }
  uint32_t restarts() const { return restarts_; }
  size_t entries_bytes() const { return static_cast<size_t>(limit_ - begin_); }
  // Position of the entry at restart i; null if invalid. REQUIRES: i < restarts().
  const char* restart(uint32_t i) const;
  // The key at restart i; false if invalid.
  bool restart_key(uint32_t i, Bytes& key) const;

 private:
  // The start of a search: an entry whose predecessors are all less than the target.
  struct Start {
    const char* at;
    size_t same;  // common prefix of the previous key and the target
    size_t size;  // size of the previous key
  };
  Move next_slowly();
  bool start_at_restart(Bytes key, Start& start) const;
  Move start_at_head(Bytes key, Start& start) const;
  // The last restart whose key is less than `key`, 0 if there is none; false if corrupt.
  bool find_restart(Bytes key, uint32_t& found) const;
  void go_to_restart(uint32_t i);
  // `p` points to the unshared bytes of the entry's key, followed by its value.
  void stand_on(const char* p, size_t shared, size_t unshared, size_t value) {
    key_.replace_tail(shared, Bytes(p, unshared), static_cast<size_t>(limit_ - p));
    value_ = Bytes(p + unshared, value);
    next_ = p + unshared + value;
  }

  const char* begin_ = nullptr;
  const char* limit_ = nullptr;  // end of the entries and start of the restarts
  const char* next_ = nullptr;   // the entry after the current one
  uint32_t restarts_ = 0;
  const BlockHeads* heads_ = nullptr;  // null: none
  KeyBuffer key_;
  Bytes value_;
};

}  // namespace cellar::engine
