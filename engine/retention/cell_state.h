// CellState: the state of an entry.
#pragma once

#include <cstdint>

namespace cellar::engine {

enum class CellState : uint8_t {
  visible,      // a cell that a reader sees
  unseen,       // committed after the reader's stamp
  overwritten,  // a cell; a later commit wrote the same column and timestamp
  deleted,      // a cell under a row, family, column or range delete
  expired,      // a cell past its own expiry, or one whose value a merge has dropped
  ruled_out,    // a cell killed by its family's rule
  orphaned,     // a cell of a family that does not exist or was recreated
  marker,       // a delete marker that may still cover something
  redundant,    // a delete marker completely covered by newer ones
  token,        // the record of an idempotency token: invisible to readers, not covered by deletes
  malformed,    // not an entry key or not a cell value: DATA_LOSS
};

}  // namespace cellar::engine
