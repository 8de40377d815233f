// Candidates of a read through an index: entries, and what a read demands of their cells.
#pragma once

#include <cstdint>
#include <string>

#include "engine/index/index_key.h"
#include "engine/model/index_read_spec.h"
#include "engine/model/index_schema.h"

namespace cellar::engine {

// An entry, decoded.
struct Candidate {
  std::string key;
  std::string row;
  std::string qualifier;  // of the indexed cell
  int64_t timestamp_us = 0;
};

// The conditions of one read. Immutable; views `spec` and `index`, which must outlive it.
class CandidateTest {
 public:
  CandidateTest(const IndexReadSpec& spec, const IndexSchema& index) : spec_(spec), index_(index) {}

  // False: the bytes are no key of the index.
  bool decode(Bytes key, Candidate& out);
  // The conditions on row, qualifier and time. Those on values need the cell: its entry has only
  // the beginning.
  bool may_pass(const Candidate& candidate) const;
  // Not past the index's own age.
  bool is_young(int64_t timestamp_us, int64_t now_us) const;
  // A living cell of the indexed columns is a hit, as far as it is the right version: sets `key` to
  // its entry's.
  bool passes(Bytes row, Bytes qualifier, int64_t timestamp_us, Bytes value, int64_t now_us,
              std::string& key);

 private:
  bool meets(Bytes qualifier, int64_t timestamp_us) const;

  const IndexReadSpec& spec_;
  const IndexSchema& index_;
  std::string scratch_;
  std::string row_segment_;
  std::string qualifier_segment_;
};

}  // namespace cellar::engine
