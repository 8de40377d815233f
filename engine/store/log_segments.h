// LogSegments: the files of one open log. Keeps a spare ready ahead of the writer and removes what
// was trimmed, both in one background coroutine. A trimmed segment becomes the next spare where
// there is one, so a log that goes on for long is filled with zeros only at its beginning. Those
// that are too many, and those that hold something to be erased, are renamed, so that they are
// nothing of the log any more, and then removed in steps (file_removal.h), beside the background
// coroutine.
//
// Preparing a segment may fail without harm, because nothing was lost: the log then goes on in what
// is ready, failure() says why there is no more, and preparing is tried again every kPrepareRetryUs
// until it succeeds.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "engine/record/file_header.h"
#include "engine/store/file_removal.h"
#include "engine/store/log_files.h"
#include "engine/store/log_options.h"
#include "engine/store/start_spare.h"
#include "io/disk/file.h"
#include "io/loop/event.h"
#include "io/loop/runtime.h"

namespace cellar::engine {

// One shard. REQUIRES before it is destroyed: start() was not called or has failed, or stop() has
// returned, or the loop runs no more.
class LogSegments {
 public:
  LogSegments(FileSystem& fs, Runtime& runtime, FileRemovalRef removal, LogId log,
              const LogOptions& options);

  // Prepares segment 0 and starts the background work.
  Async<Result<void>> start();
  // Ends the background work and closes the files. REQUIRES: no operation in flight.
  Async<void> stop();

  // Null while it is not ready.
  File* ready(uint64_t segment) const;
  // The writer has come to `segment`: earlier ones are complete, later ones shall be prepared.
  void enter(uint64_t segment);
  // Segments before `segment` may go.
  void trim(uint64_t segment);
  // Segments with something before `position` are not kept and not used again once they are
  // trimmed.
  void erase_before(uint64_t position) {
    erase_before_ = std::max(erase_before_, position);
    work_.set();
  }
  // The file of a segment that is ready holds, where nothing was written over it, what lay before
  // `position`.
  bool holds_former(uint64_t segment, uint64_t position) const;
  // Called from the loop whenever a segment has become ready.
  void on_ready(void (*callback)(void* context), void* context);

  // Positions below this are in segments that are ready.
  uint64_t ready_end() const { return next_ * options_.segment_bytes; }
  // Why no further segment is ready; null while all is well.
  const Error* failure() const { return failure_ ? &*failure_ : nullptr; }
  // Of what is not trimmed.
  uint64_t needed_bytes() const { return (next_ - first_ - disposable()) * options_.segment_bytes; }
  // Of all that is there.
  uint64_t bytes_on_disk() const { return (next_ - first_ + removing_) * options_.segment_bytes; }
  uint64_t segment_bytes() const { return options_.segment_bytes; }

 private:
  struct Segment {
    std::unique_ptr<File> file;
    std::optional<uint64_t> former;  // the segment that the file was before
  };

  Async<void> background();
  Async<Result<void>> prepare_next();
  Async<Result<Segment>> make_segment(FileHeader header, std::string path);
  Async<void> dispose_of_first();
  Async<Result<void>> put_aside(std::string path, std::string aside);
  Async<void> remove(std::string path);
  // Segments that are trimmed and still there.
  uint64_t disposable() const {
    const uint64_t end = std::min(trimmed_, in_use_);
    return end > first_ ? end - first_ : 0;
  }
  bool erases_first() const {
    return disposable() > 0 && first_ * options_.segment_bytes < erase_before_;
  }
  Async<void> keep_start_spare();
  bool wants_spare() const { return !retry_.armed() && next_ <= in_use_ + kSpareSegments; }

  FileSystem& fs_;
  const FileRemovalRef removal_;
  const LogId log_;
  const LogOptions options_;
  ShardExecutor executor_;
  std::map<uint64_t, Segment> files_;
  uint64_t first_ = 0;    // oldest segment that exists
  uint64_t in_use_ = 0;   // the writer is here
  uint64_t next_ = 0;     // to be prepared
  uint64_t trimmed_ = 0;  // segments before it may go
  uint64_t erase_before_ = 0;
  std::optional<Error> failure_;
  size_t removing_ = 0;
  Event work_;
  Event stopped_;
  Notify removed_;
  Timer retry_;
  StartSpare start_spare_;
  bool start_spare_due_ = true;
  Timer start_spare_retry_;
  bool stopping_ = false;
  void (*ready_callback_)(void*) = nullptr;
  void* ready_context_ = nullptr;
};

}  // namespace cellar::engine
