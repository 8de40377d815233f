// ReadWindow: what a cursor over several ranges of rows wants of its sources at this moment: the
// entries of one range. A cursor owns it, its iterators look at it.
//
// An iterator may answer `end` where nothing more lies inside, without looking for its next entry:
// the end of a row that ends its block is then known from the index, and a table whose filter does
// not know the row is not read. It says so with leave(), and stands nowhere from then on: who wants
// what lies outside gives the window another range and seeks.
#pragma once

#include "io/base/bytes.h"

namespace cellar::engine {

class RowProbe;

class ReadWindow {
 public:
  // Entries from `upper` on are not wanted; nor, where there is a `row`, any that it does not ask
  // for. Both stay valid as long as they are set.
  void set(Bytes upper, const RowProbe* row) {
    upper_ = upper;
    row_ = row;
    left_ = false;
  }
  // Nothing from `key` on is wanted.
  bool ends_before(Bytes key) const { return key >= upper_; }
  const RowProbe* row() const { return row_; }

  void leave() { left_ = true; }
  // Before a seek of all sources.
  void enter() { left_ = false; }
  // Some source has ended for the window's sake, so that the places of the others say nothing
  // about what lies outside.
  bool was_left() const { return left_; }

 private:
  Bytes upper_;
  const RowProbe* row_ = nullptr;
  bool left_ = false;
};

}  // namespace cellar::engine
