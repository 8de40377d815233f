// IoGuard: checks the operations of one file and aborts on misuse of the contract in file.h: two
// overlapping writes in flight, an operation submitted again before completion, unaligned direct
// I/O, use after close. The in-memory file system and FaultyFs have one per file.
#pragma once

#include <string>
#include <vector>

#include "io/disk/file.h"

namespace cellar {

class IoGuard {
 public:
  // `file` appears in messages.
  void begin(const IoOp& op, size_t alignment, const std::string& file);
  void end(const IoOp& op);
  void check_open(const std::string& file) const;
  void close(const std::string& file);
  bool idle() const { return in_flight_.empty(); }

 private:
  std::vector<const IoOp*> in_flight_;
  bool closed_ = false;
};

}  // namespace cellar
