// EntrySorter: sorts index entries that come in the order of rows, in memory.
//
//   for (...) sorter.add(key, value);
//   sorter.sort();
//   while (sorter.next()) use(sorter.key(), sorter.value());
//
// Entries are collected in chunks of kChunkBytes, each sorted when it is full, and merged when they
// are taken; so no call takes longer than sorting one chunk, some 100 us. Entries with equal keys
// are one cell that was written several times, the latest first: that one is given.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/iter/key_head.h"
#include "io/base/bytes.h"

namespace cellar::engine {

class EntrySorter {
 public:
  static constexpr size_t kChunkBytes = 32 * 1024;

  void add(Bytes key, Bytes value);
  // Approximate size of its memory.
  size_t bytes() const { return bytes_; }
  uint64_t added() const { return added_; }

  // Ends the additions.
  void sort();
  // The next entry; false: there is none. REQUIRES: sort() was called.
  bool next();
  // Valid until the next call.
  Bytes key() const { return key_; }
  Bytes value() const { return value_; }

 private:
  struct Chunk {
    std::string entries;  // key size: u32, value size: u8, key, value
    std::vector<uint32_t> order;
    size_t next = 0;  // in `order`
  };
  struct Node {
    uint64_t head;
    Bytes key;
    uint32_t chunk;
  };
  // Of equal keys the one added first is first.
  static bool after(const Node& a, const Node& b);
  void close_chunk();
  void push(uint32_t chunk);
  void pop();

  std::vector<Chunk> chunks_;
  std::vector<Node> heap_;  // least key first
  size_t bytes_ = 0;
  uint64_t added_ = 0;
  std::string key_;
  std::string value_;
};

}  // namespace cellar::engine
