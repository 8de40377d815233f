// How far the indexes of a table are built, and what they take on disk.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/index_schema.h"

namespace cellar::engine {

struct IndexState {
  uint64_t id = 0;           // IndexSchema::id
  uint64_t total_bytes = 0;  // of the table's files and memtables
  uint64_t done_bytes = 0;   // of these, the part with the index's entries
  bool ready = true;         // everything has: reads are answered
  // In memory and on disk, those of dead and replaced cells included; a cell in memory that was
  // written again counts each time until a read has made the entries.
  uint64_t entries = 0;
  uint64_t bytes = 0;    // stored on disk
  uint64_t skipped = 0;  // cells on disk whose value is not 8 bytes, of an int64 index

  double share_done() const {
    return ready              ? 1.0
           : total_bytes == 0 ? 0.0
                              : static_cast<double>(done_bytes) / static_cast<double>(total_bytes);
  }
  void add(const IndexState& other);
};

struct IndexStates {
  std::vector<IndexSchema> indexes;  // by name
  std::vector<IndexState> states;    // of these
};

}  // namespace cellar::engine
