// The blob store: immutable byte strings (SSTables), appended in parts, then sealed; read by range.
// An unsealed blob does not exist. A blob may be removed when no tablet's manifest, snapshot or
// reader refers to it; the users, not the store, count references.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/model/types.h"
#include "io/base/aligned_buffer.h"
#include "io/base/bytes.h"
#include "io/base/io_class.h"
#include "io/base/result.h"
#include "io/loop/async.h"

namespace cellar::engine {

// Used on one shard. Either seal() or abandon() must have completed before destruction.
class BlobWriter {
 public:
  virtual ~BlobWriter() = default;
  // Copies `part`; resumes when the write-behind buffer has room, not when the bytes are on disk.
  virtual Async<Result<void>> append(Bytes part) = 0;
  virtual uint64_t size() const = 0;  // bytes appended so far
  // Resumes when content and name are durable.
  virtual Async<Result<void>> seal() = 0;
  virtual Async<Result<void>> abandon() = 0;
};

// A blob that cannot be reached at present: nothing is known about its bytes, and the same call may
// succeed later. UNAVAILABLE with a retry hint, which no other failure of a read has. Not damage:
// who meets it gives up and tries again, and no table is taken out of service.
inline constexpr uint32_t kUnreachableRetryMs = 1'000;
inline Error unreachable_blob(std::string why) {
  return Error(Errc::unavailable, std::move(why)).retry_after(kUnreachableRetryMs);
}
inline bool is_unreachable(const Error& error) {
  return error.code == Errc::unavailable && error.retryable();
}

// One range read, owned by the caller; must stay in place until `done` has run, from the loop.
struct BlobRead {
  uint64_t offset = 0;
  size_t size = 0;
  IoClass io_class = IoClass::read;
  void (*done)(BlobRead& read) = nullptr;
  void* context = nullptr;

  // Results: exactly `size` bytes, a view into `buffer`; or an error:
  //   DATA_LOSS          the bytes are damaged or lost, or the range is past the end: another read
  //                      gets no more
  //   is_unreachable()   see there
  //   any other          the device failed to read them, again after retries. The next read may
  //                      succeed, but the scrubber counts it as damage (engine/scrub).
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
  // ALREADY_EXISTS if the id is in use. `expected_bytes` reserves space; 0: unknown.
  virtual Async<Result<std::unique_ptr<BlobWriter>>> create(BlobId id, uint64_t expected_bytes,
                                                            IoClass io_class) = 0;
  // NOT_FOUND naming the blob; or is_unreachable().
  virtual Async<Result<std::unique_ptr<Blob>>> open(BlobId id) = 0;
  virtual Async<Result<std::vector<BlobInfo>>> list() = 0;
  virtual Async<Result<void>> remove(BlobId id) = 0;  // OK if absent
  // A lower bound of the disk's write rate in bytes per microsecond (write_rate.h); 0: unknown.
  virtual double write_rate() const { return 0; }
};

}  // namespace cellar::engine
