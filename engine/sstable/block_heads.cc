#include "engine/sstable/block_heads.h"

#include <algorithm>

#include "engine/sstable/data_block.h"

namespace cellar::engine {
namespace {

// Length of the common prefix of all keys, that is of the first and the last one.
bool find_shared(BlockReader& reader, uint32_t& shared) {
  Bytes first;
  if (!reader.restart_key(0, first) || !reader.seek_to_restart(reader.restarts() - 1)) return false;
  BlockReader::Move move = reader.next();
  for (; move == BlockReader::Move::ready; move = reader.next())
    shared = static_cast<uint32_t>(common_prefix(first, reader.key()));
  return move == BlockReader::Move::end;
}

// Keeps an even sample of its input without knowing the input's length.
class Thinned {
 public:
  explicit Thinned(BlockHeads& into) : into_(into) {}
  void take(size_t offset, uint32_t head) {
    if (seen_++ % stride_ != 0) return;
    if (into_.count == BlockHeads::kMost) {
      halve();
      if ((seen_ - 1) % stride_ != 0) return;
    }
    into_.offsets[into_.count] = static_cast<uint16_t>(offset);
    into_.heads[into_.count++] = head;
  }
  bool all() const { return stride_ == 1; }

 private:
  void halve() {
    stride_ *= 2;
    for (size_t i = 0; i < BlockHeads::kMost / 2; ++i) {
      into_.offsets[i] = into_.offsets[2 * i];
      into_.heads[i] = into_.heads[2 * i];
    }
    into_.count = BlockHeads::kMost / 2;
  }
  BlockHeads& into_;
  size_t stride_ = 1;
  size_t seen_ = 0;
};

// Collects every entry that takes at most the common prefix from the key before it. Keys are not
// built; only the bytes of a head are kept.
bool collect(Bytes entries, BlockHeads& made) {
  Thinned heads(made);
  const size_t begin = made.shared_bytes;
  const size_t end = begin + BlockHeads::kHeadBytes;
  char head[BlockHeads::kHeadBytes] = {};
  const char* const limit = entries.data() + entries.size();
  for (const char* at = entries.data(); at != limit;) {
    BlockEntry entry;
    const char* tail = decode_entry(at, limit, entry);
    if (tail == nullptr) return false;
    const size_t size = size_t{entry.shared} + entry.unshared;
    if (entry.shared <= end && size >= begin) {
      const size_t from = std::max<size_t>(entry.shared, begin);
      for (size_t i = from; i < end; ++i)
        head[i - begin] = i < size ? tail[i - entry.shared] : '\0';
      heads.take(static_cast<size_t>(at - entries.data()),
                 BlockHeads::head_of(Bytes(head, sizeof(head))));
    }
    at = tail + entry.unshared + entry.value;
  }
  made.all = heads.all();
  return true;
}

}  // namespace

BlockHeads make_block_heads(Bytes contents) {
  BlockHeads made;
  made.made = true;
  BlockReader reader;
  if (!reader.open(contents) || reader.entries_bytes() > BlockHeads::kMostEntriesBytes) return made;
  made.restarts = reader.restarts();
  made.entries_bytes = static_cast<uint32_t>(reader.entries_bytes());
  if (!find_shared(reader, made.shared_bytes) ||
      !collect(contents.substr(0, made.entries_bytes), made))
    made.count = 0;
  // Unused slots compare as greater than every head.
  std::fill(made.heads.begin() + made.count, made.heads.end(), UINT32_MAX);
  return made;
}

}  // namespace cellar::engine
