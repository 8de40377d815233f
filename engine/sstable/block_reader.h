// BlockReader: a cursor over the contents of one data block (block_writer.h).
//
// It believes nothing: every size and offset is held against the block before it is used, so bytes
// that pass their checksum and are still no block (a bug, or a collision) end in `corrupt` and
// never outside the block. Allocates only for keys over KeyBuffer::kInlineBytes.
#pragma once

#include <cstdint>

#include "engine/sstable/block_heads.h"
#include "engine/sstable/key_buffer.h"
#include "io/base/bytes.h"
#include "io/base/coding.h"

namespace cellar::engine {

class BlockReader {
 public:
  enum class Move : uint8_t { ready, end, corrupt };

  // False when the restarts are malformed. `contents` must stay put while the cursor is used.
  // `heads`, which stay put as well, are made of them; null: there are none.
  bool open(Bytes contents, const BlockHeads* heads = nullptr);

  Move seek_first();
  // Before the entry there, which next() goes to; false when there is none. REQUIRES: i <
  // restarts().
  bool seek_to_restart(uint32_t i) {
    go_to_restart(i);
    return next_ != nullptr;
  }
  Move seek(Bytes key);         // the first entry >= key
  Move seek_before(Bytes key);  // the last entry < key
  Move next() {                 // REQUIRES: ready
    // Nearly always the first two numbers take a byte each and the third one or two; so many
    // bytes there are, for restarts follow the entries.
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
  // Where the entry after the current one begins.
  size_t position() const { return static_cast<size_t>(next_ - begin_); }
  uint32_t restarts() const { return restarts_; }
  size_t entries_bytes() const { return static_cast<size_t>(limit_ - begin_); }
  // Where the entry at restart i begins; null when there is none. REQUIRES: i < restarts().
  const char* restart(uint32_t i) const;
  // Its key; false when there is none.
  bool restart_key(uint32_t i, Bytes& key) const;

 private:
  // Where a search begins: at an entry, all before which are less than what is sought.
  struct Start {
    const char* at;
    size_t same;  // leading bytes that the key before it has in common with what is sought
    size_t size;  // of the key before it
  };
  Move next_slowly();
  bool start_at_restart(Bytes key, Start& start) const;
  Move start_at_head(Bytes key, Start& start) const;
  // The last restart whose key is less than `key`, 0 when none is; false when corrupt.
  bool find_restart(Bytes key, uint32_t& found) const;
  void go_to_restart(uint32_t i);
  // The unshared bytes of the entry's key are at `p`, its value behind them.
  void stand_on(const char* p, size_t shared, size_t unshared, size_t value) {
    key_.replace_tail(shared, Bytes(p, unshared), static_cast<size_t>(limit_ - p));
    value_ = Bytes(p + unshared, value);
    next_ = p + unshared + value;
  }

  const char* begin_ = nullptr;
  const char* limit_ = nullptr;  // end of the entries, where the restarts begin
  const char* next_ = nullptr;   // the entry after the current one
  uint32_t restarts_ = 0;
  const BlockHeads* heads_ = nullptr;  // null: none
  KeyBuffer key_;
  Bytes value_;
};

}  // namespace cellar::engine
