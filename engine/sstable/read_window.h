// ReadWindow: the range of entries that a cursor over several row ranges currently wants from its
// sources. The cursor owns it; its iterators read it.
//
// An iterator may return `end` without searching for its next entry if nothing more lies inside:
// the index shows that a row ends with its block, and a table whose filter excludes the row is not
// read. It then calls leave() and has no position: to read outside, set another range and seek.
#pragma once

#include "io/base/bytes.h"

namespace cellar::engine {

class RowProbe;

class ReadWindow {
 public:
  // Entries at or after `upper` are not wanted; with a `row`, neither are those it does not ask
  // for. Both must stay valid while they are set.
  void set(Bytes upper, const RowProbe* row) {
    upper_ = upper;
    row_ = row;
    left_ = false;
  }
  // Nothing at or after `key` is wanted.
  bool ends_before(Bytes key) const { return key >= upper_; }
  const RowProbe* row() const { return row_; }

  void leave() { left_ = true; }
  // Call before a seek of all sources.
  void enter() { left_ = false; }
  // A source has ended at the window, so the positions of the others say nothing about entries
  // outside.
  bool was_left() const { return left_; }

 private:
  Bytes upper_;
  const RowProbe* row_ = nullptr;
  bool left_ = false;
};

}  // namespace cellar::engine
