// RadosRequest: one operation between a RadosPort and its body, and the results of reads.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <boost/intrusive/list.hpp>

#include "io/base/aligned_buffer.h"
#include "io/remote/rados_write.h"

namespace cellar {

struct RadosBytes {
  AlignedBuffer buffer;
  Bytes data;  // a view into `buffer`
};
struct RadosStat {
  uint64_t size = 0;
};
using RadosPairs = std::vector<std::pair<std::string, std::string>>;
struct RadosOmapPage {
  RadosPairs entries;
  bool more = false;
};

struct RadosRequest : boost::intrusive::list_base_hook<> {
  enum class Kind : uint8_t {
    write = 0,
    read = 1,
    stat = 2,
    xattrs = 3,
    omap = 4,
    omap_values = 5
  };

  Kind kind = Kind::write;
  RadosObject object;
  std::vector<RadosStep> steps;   // write
  uint64_t offset = 0;            // read
  size_t size = 0;                // read: bytes; omap: entries
  bool any_replica = false;       // read
  std::string after;              // omap
  std::vector<std::string> keys;  // omap_values

  // The answer: 0, or -errno.
  int result = 0;
  RadosBytes bytes;  // read: the buffer has room for `size` bytes
  RadosStat stat;
  RadosPairs pairs;
  bool more = false;

  // For the port.
  uint64_t cost_bytes = 0;
  void* call = nullptr;  // that waits for the answer; null: it has ended
  // For the body.
  void* body = nullptr;
};

}  // namespace cellar
