// IoGuard: watches the operations of one file for misuse of the contract in file.h and aborts on
// it: two overlapping writes in flight, an operation submitted again before it completed, direct
// I/O that is not aligned, use after close. The in-memory body and FaultyFs keep one in every file.
#pragma once

#include <string>
#include <vector>

#include "io/disk/file.h"

namespace cellar {

class IoGuard {
 public:
  // `file` is for the messages.
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
