// RingView: the operations that a traced process passes to its io_urings, read from its memory at
// the system calls that make, map and enter a ring.
#pragma once

#include <linux/io_uring.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/support/trace/traced_process.h"

namespace cellar::test {

class RingView {
 public:
  struct Submission {
    int ring = -1;
    uint8_t opcode = 0;
    int fd = -1;
    uint64_t offset = 0;
    uint64_t address = 0;
    uint64_t size = 0;
    uint32_t rw_flags = 0;
    uint64_t user_data = 0;
  };
  struct Completion {
    int ring = -1;
    uint64_t user_data = 0;
    int64_t result = 0;
  };

  void set_process(pid_t process) { process_ = process; }
  void set_up(int ring, uint64_t params_address);            // io_uring_setup returned
  void mapped(int ring, uint64_t address, uint64_t offset);  // mmap returned
  // At munmap: a ring whose memory goes is over; the process may use the address for other data.
  void unmapped(uint64_t address);
  std::vector<Submission> submissions(int ring, uint64_t to_submit);  // at io_uring_enter
  // All that the kernel has posted since the last call, on any ring.
  std::vector<Completion> completions();
  // What this class cannot follow; empty: nothing.
  const std::string& lost() const { return lost_; }

 private:
  struct Ring {
    io_uring_params params = {};
    uint64_t sq = 0;  // addresses in the process; 0: not mapped
    uint64_t cq = 0;
    uint64_t sqes = 0;
    uint32_t seen = 0;  // completions
  };
  uint32_t word(uint64_t address) const;

  pid_t process_ = -1;
  std::map<int, Ring> rings_;
  std::string lost_;
};

}  // namespace cellar::test
