#include "engine/sstable/block_heads.h"

#include "engine/iter/key_head.h"
#include "engine/sstable/block_reader.h"

namespace cellar::engine {

BlockHeads make_block_heads(Bytes contents) {
  BlockReader reader;
  Bytes first;
  Bytes last;
  if (!reader.open(contents) || !reader.restart_key(0, first) ||
      !reader.restart_key(reader.restarts() - 1, last))
    return {};
  BlockHeads made;
  made.restarts = reader.restarts();
  made.entries_bytes = static_cast<uint32_t>(reader.entries_bytes());
  made.shared_bytes = static_cast<uint32_t>(common_prefix(first, last));
  made.stride = (made.restarts + BlockHeads::kMost - 1) / BlockHeads::kMost;
  for (uint32_t i = 0; i < made.restarts; i += made.stride) {
    Bytes key;
    if (!reader.restart_key(i, key) || key.size() < made.shared_bytes) return {};
    made.offsets[made.count] = static_cast<uint32_t>(reader.restart(i) - contents.data());
    made.heads[made.count++] = key_head(key.substr(made.shared_bytes));
  }
  return made;
}

}  // namespace cellar::engine
