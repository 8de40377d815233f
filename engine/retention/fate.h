// Fate: what becomes of an entry, and since when.
#pragma once

#include <cstdint>

namespace cellar::engine {

enum class Fate : uint8_t {
  visible,      // a cell that a reader sees
  unseen,       // committed after the reader's stamp
  overwritten,  // a cell; a later commit wrote the same column and timestamp
  deleted,      // a cell under a row, family, column or range delete
  expired,      // a cell past its own expiry, or one whose value a merge has dropped
  ruled_out,    // a cell that its family's rule has condemned
  orphaned,     // a cell of a family that does not exist, or no longer the same one
  marker,       // a delete marker that may still cover something
  redundant,    // a delete marker that newer ones cover wholly
  token,      // what is remembered of an idempotency token: no reader sees it, no delete covers it
  malformed,  // no entry key, or no cell value: DATA_LOSS
};

}  // namespace cellar::engine
