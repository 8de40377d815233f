// WaitingWrite: a write that waits for a row, for the end of a change of rules (row_lock_table.h)
// or for the log (write_turns.h). A plain write is kept with a copy of what it views, a conditional
// write as it is, since what that views is valid until it is done.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace cellar::engine {

struct WaitingWrite {
  // One of the two.
  Write* write = nullptr;
  ConditionalWrite* conditional = nullptr;

  std::string bytes;
  std::vector<Mutation> mutations;
  std::string start;
  std::string end;

  // Of the copy.
  size_t size() const {
    return bytes.size() + start.size() + end.size() + mutations.size() * sizeof(Mutation);
  }
  Bytes row() const { return conditional != nullptr ? conditional->row : write->mutation.row; }
};

// size() of the copy that copy_of() would make.
size_t copied_bytes(const Write& write);
// Makes the write view the copy.
std::unique_ptr<WaitingWrite> copy_of(Write& write);
std::unique_ptr<WaitingWrite> waiting_of(ConditionalWrite& write);

}  // namespace cellar::engine
