// BlockReader: a cursor over the contents of one data block (block_writer.h).
//
// It believes nothing: every size and offset is held against the block before it is used, so bytes
// that pass their checksum and are still no block (a bug, or a collision) end in `corrupt` and
// never outside the block. Allocates only for keys over KeyBuffer::kInlineBytes.
#pragma once

#include <cstdint>

#include "engine/sstable/key_buffer.h"
#include "io/base/bytes.h"

namespace cellar::engine {

class BlockReader {
 public:
  enum class Move : uint8_t { ready, end, corrupt };

  // False when the restarts are malformed. `contents` must stay put while the cursor is used.
  bool open(Bytes contents);

  Move seek_first();
  Move seek(Bytes key);         // the first entry >= key
  Move seek_before(Bytes key);  // the last entry < key
  Move next();                  // REQUIRES: ready
  Bytes key() const { return key_.view(); }
  Bytes value() const { return value_; }
  // Where the entry after the current one begins.
  size_t position() const { return static_cast<size_t>(next_ - begin_); }

 private:
  const char* restart(uint32_t i) const;
  // The key at restart i; false when there is none.
  bool restart_key(uint32_t i, Bytes& key) const;
  // The last restart whose key is less than `key`, 0 when none is; false when corrupt.
  bool find_restart(Bytes key, uint32_t& found) const;
  void go_to_restart(uint32_t i);

  const char* begin_ = nullptr;
  const char* limit_ = nullptr;  // end of the entries, where the restarts begin
  const char* next_ = nullptr;   // the entry after the current one
  uint32_t restarts_ = 0;
  KeyBuffer key_;
  Bytes value_;
};

}  // namespace cellar::engine
