// The blob store: immutable runs of bytes (SSTables), written in parts, then sealed; read by range.
// A blob that was not sealed does not exist. A blob is removed only when no tablet's manifest,
// snapshot or reader names it; the store does not count, its users do.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/model/types.h"
#include "io/base/aligned_buffer.h"
#include "io/base/bytes.h"
#include "io/base/io_class.h"
#include "io/base/result.h"
#include "io/loop/async.h"

namespace cellar::engine {

// Used on one shard. Exactly one of seal() and abandon() must have completed before it is
// destroyed.
class BlobWriter {
 public:
  virtual ~BlobWriter() = default;
  // Copies; resumes when there is room for more (bounded write-behind), not when the bytes are on
  // disk.
  virtual Async<Result<void>> append(Bytes part) = 0;
  virtual uint64_t size() const = 0;  // appended so far
  // Resumes when content and name are durable.
  virtual Async<Result<void>> seal() = 0;
  virtual Async<Result<void>> abandon() = 0;
};

// One range read, owned by whoever waits; stays put until `done` has run, from the loop.
struct BlobRead {
  uint64_t offset = 0;
  size_t size = 0;
  IoClass io_class = IoClass::read;
  void (*done)(BlobRead& read) = nullptr;
  void* context = nullptr;

  // Results: exactly `size` bytes, a view into `buffer`; or the error (a range past the end is
  // DATA_LOSS).
  AlignedBuffer buffer;
  Bytes data;
  std::optional<Error> error;
};

// An open, sealed blob. Used on one shard. REQUIRES: no read in flight when destroyed.
class Blob {
 public:
  virtual ~Blob() = default;
  virtual BlobId id() const = 0;
  virtual uint64_t size() const = 0;
  virtual void submit(BlobRead& read) = 0;
};

struct BlobInfo {
  BlobId id;
  uint64_t size = 0;
  bool sealed = false;
};

class BlobStore {
 public:
  virtual ~BlobStore() = default;
  // ALREADY_EXISTS when the id is in use. expected_bytes reserves space; 0 when unknown.
  virtual Async<Result<std::unique_ptr<BlobWriter>>> create(BlobId id, uint64_t expected_bytes,
                                                            IoClass io_class) = 0;
  virtual Async<Result<std::unique_ptr<Blob>>> open(BlobId id) = 0;  // NOT_FOUND naming the blob
  virtual Async<Result<std::vector<BlobInfo>>> list() = 0;
  virtual Async<Result<void>> remove(BlobId id) = 0;  // OK when absent
  // What the disk takes at least, in bytes a microsecond (write_rate.h); 0: not known.
  virtual double write_rate() const { return 0; }
};

}  // namespace cellar::engine
