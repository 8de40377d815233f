// Prints and verifies the section of an index in a table.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <string>
#include <vector>

#include "engine/index/index_set.h"
#include "engine/inspect/dump.h"
#include "engine/sstable/table_meta.h"
#include "io/base/result.h"
#include "io/disk/file.h"

namespace cellar::engine {

// The entries that the cells of a table have in its sections, as hashes: some 30 bytes for each.
class WantedIndexEntries {
 public:
  // Of the sections whose definition is known.
  WantedIndexEntries(const std::vector<IndexSection>& sections,
                     const std::vector<IndexSchema>& indexes);

  // Null: not known.
  const IndexSchema* definition(uint64_t index) const;
  // An entry of data block number `block`; in the order of the table.
  void add(const ParsedKey& key, Bytes value, size_t block);
  // False: no cell has the entry, or its expiry is another one. REQUIRES: the definition is known.
  bool take(uint64_t index, Bytes entry_key, Bytes entry_value);
  // What was not taken, and the first data block that has one.
  size_t left(uint64_t index, size_t& block) const;
  uint64_t skipped(uint64_t index) const { return wanted_[set_.find(index)].skipped; }

 private:
  struct Entry {
    int64_t expire_at_us;
    size_t block;
  };
  struct Wanted {
    int64_t omitted_to_us = INT64_MIN;
    absl::flat_hash_map<uint64_t, Entry> entries;  // by the hash of the key
    uint64_t skipped = 0;
  };
  IndexSet set_;
  EntryMaker maker_;
  std::vector<Wanted> wanted_;
};

// `wanted`: null if the definition of the index is not known, or not all cells were found.
Async<Result<void>> dump_section(File& file, BlobId blob, const IndexSection& section,
                                 const IndexSchema* index, WantedIndexEntries* wanted,
                                 const DumpOptions& options, Dump& dump);

}  // namespace cellar::engine
