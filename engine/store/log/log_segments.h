// LogSegments: the files of one open log. A background coroutine prepares a spare ahead of the
// writer and removes trimmed segments. A trimmed segment becomes the next spare if possible, so a
// long-lived log is filled with zeros only at its beginning. Surplus segments, and segments with
// data to be erased, are renamed out of the log's namespace and then removed in steps
// (file_removal.h), beside the background coroutine.
//
// A failure to prepare a segment does no harm: the log continues in the prepared ones, failure()
// has the reason, and preparation is retried every kPrepareRetryUs.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/record/file_header.h"
#include "engine/store/commit/log_sink.h"
#include "engine/store/file/file_removal.h"
#include "engine/store/file/full_write.h"
#include "engine/store/log/log_files.h"
#include "engine/store/log/start_spare.h"
#include "engine/store/log_options.h"
#include "io/disk/file.h"
#include "io/loop/event.h"
#include "io/loop/runtime.h"

namespace cellar::engine {

// One shard. REQUIRES for destruction: start() was not called or has failed, stop() has returned,
// or the loop has ended.
class LogSegments final : public LogSink {
 public:
  // What could not be removed is tried again.
  static constexpr int64_t kRemoveRetryUs = 10'000'000;

  LogSegments(FileSystem& fs, Runtime& runtime, FileRemovalRef removal, LogId log,
              const LogOptions& options);

  // Prepares segment 0 and starts the background work.
  Async<Result<void>> start();
  // Stops the background work and closes the files. REQUIRES: no operation in flight.
  Async<void> stop();

  uint64_t segment_bytes() const override { return options_.segment_bytes; }
  uint64_t segment_head_bytes() const override { return kFileHeaderBlockBytes; }
  bool is_ready(uint64_t segment) const override { return files_.contains(segment); }
  uint64_t ready_end() const override { return next_ * options_.segment_bytes; }
  const Error* failure() const override { return failure_ ? &*failure_ : nullptr; }
  void on_ready(void (*callback)(void* context), void* context) override;
  // A batch in a segment tells that earlier segments are complete, and that later ones are to be
  // prepared.
  void submit(SinkWrite& write) override;

  // Segments before `segment` may be removed.
  void trim(uint64_t segment);
  // Segments with data before `position` are not reused once they are trimmed.
  void erase_before(uint64_t position) {
    erase_before_ = std::max(erase_before_, position);
    work_.set();
  }
  // Whether the file of a ready segment still has data from before `position` where it was not
  // overwritten.
  bool holds_former(uint64_t segment, uint64_t position) const;
  // Bytes of segments not trimmed.
  uint64_t needed_bytes() const { return (next_ - first_ - disposable()) * options_.segment_bytes; }
  // Bytes of all segments.
  uint64_t bytes_on_disk() const {
    return (next_ - first_ + removing_ + stuck_.size()) * options_.segment_bytes;
  }

 private:
  struct Segment {
    std::unique_ptr<File> file;
    std::optional<uint64_t> former;  // the previous segment in this file
  };
  // A batch on its way to its file.
  struct FileWrite : FullWrite {
    SinkWrite* batch = nullptr;  // null: free
  };

  static void on_write(FullWrite& finished);

  Async<void> background();
  Async<Result<void>> prepare_next();
  Async<Result<Segment>> make_segment(FileHeader header, std::string path);
  Async<void> dispose_of_first();
  Async<void> set_aside(std::string path);
  void keep_stuck(std::string path, const Error& why);
  Async<void> free_stuck();
  Async<Result<void>> put_aside(std::string path);
  Async<void> remove(std::string path);
  // Number of trimmed segments that still exist.
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
  std::array<FileWrite, kWritesInFlight> writes_;
  uint64_t first_ = 0;    // oldest segment that exists
  uint64_t in_use_ = 0;   // segment of the writer
  uint64_t next_ = 0;     // next to be prepared
  uint64_t trimmed_ = 0;  // earlier segments may be removed
  uint64_t erase_before_ = 0;
  std::optional<Error> failure_;
  size_t removing_ = 0;
  // Paths of trimmed segments that could not be renamed yet; the next attempt is due.
  std::vector<std::string> stuck_;
  bool stuck_due_ = false;
  Event work_;
  Event stopped_;
  ConditionVariable removed_;
  Timer retry_;
  StartSpare start_spare_;
  bool start_spare_due_ = true;
  Timer start_spare_retry_;
  Timer stuck_retry_;
  bool stopping_ = false;
  void (*ready_callback_)(void*) = nullptr;
  void* ready_context_ = nullptr;
};

}  // namespace cellar::engine
