// MemNode: one file or directory of a MemDisk, in the layers that a power failure distinguishes.
//
// A file has the readers' state (`now`, `size`), the durable state (`durable`, `durable_size`) and
// the 512-byte units written since (`dirty`). A sync copies the dirty units over and clears them.
// Contents are copy-on-write chunks, so that images of a large disk are cheap.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cellar {

// Bytes that read as zero until written. Copies share chunks.
class SparseBytes {
 public:
  static constexpr size_t kUnitBytes = 512;    // the device's atomic unit
  static constexpr size_t kChunkBytes = 4096;  // eight units: one bit each in a byte
  static constexpr size_t kUnitsPerChunk = kChunkBytes / kUnitBytes;

  void read(uint64_t offset, char* into, size_t size) const;
  void write(uint64_t offset, const char* from, size_t size);
  void zero(uint64_t offset, uint64_t size);
  // Copies the units of chunk number `chunk` whose bits are set in `units`.
  void copy_units(const SparseBytes& from, uint64_t chunk, uint8_t units);

 private:
  using Chunk = std::array<char, kChunkBytes>;
  Chunk& writable(uint64_t chunk);

  std::vector<std::shared_ptr<Chunk>> chunks_;  // null reads as zeros
};

struct MemNode {
  using DirtyUnits = std::map<uint64_t, uint8_t>;  // chunk number -> units
  using Entries = std::map<std::string, std::shared_ptr<MemNode>, std::less<>>;

  explicit MemNode(bool directory) : is_dir(directory) {}

  void write(uint64_t offset, const char* from, size_t size);
  void resize(uint64_t to);
  // A sync: the given units in their present state, and the size, become durable.
  void make_durable(const DirtyUnits& units, uint64_t to_size);
  void make_range_durable(uint64_t offset, uint64_t length);
  // A failed sync: the page cache still returns the data, but it is never written.
  void drop_unsynced() { dirty.clear(); }
  bool unsynced() const { return !dirty.empty() || size != durable_size; }

  const bool is_dir;
  uint64_t size = 0;
  uint64_t durable_size = 0;
  SparseBytes now;
  SparseBytes durable;
  DirtyUnits dirty;
  Entries entries;  // of a directory: as seen, and as durable
  Entries durable_entries;

 private:
  void mark_dirty(uint64_t offset, uint64_t length);
};

}  // namespace cellar
