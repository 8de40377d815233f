// LocalLog: a Log in segment files. group_commit.h makes appends durable; log_segments.h manages
// the files.
#pragma once

#include <optional>

#include "engine/store/commit/group_commit.h"
#include "engine/store/log/log_segments.h"
#include "engine/store/log_store.h"

namespace cellar::engine {

// One shard. REQUIRES for destruction: seal() has returned, or the loop has ended.
class LocalLog final : public Log {
 public:
  // `fs` and `runtime` must outlive it; `removal` hurries once the log is sealed.
  LocalLog(FileSystem& fs, Runtime& runtime, FileRemovalRef removal, LogId id,
           const LogOptions& options);

  // Prepares the first segment.
  Async<Result<void>> start();

  LogId id() const override { return id_; }
  Result<void> append(const LogEntry& entry, LogAppend& append) override;
  LogPosition end() const override { return LogPosition{commits_.end()}; }
  LogPosition durable_end() const override { return LogPosition{commits_.durable_end()}; }
  Async<Result<void>> sync() override { return commits_.flush(); }
  void trim(LogPosition position) override;
  Async<Result<LogPosition>> erase(LogPosition position) override;
  void give_up_erasing() override { erases_ = false; }
  void give_up_waiting_for_space() override { commits_.give_up_waiting_for_space(); }
  // Stops the log's background work even if it fails.
  Async<Result<LogPosition>> seal() override;
  const Error* failure() const override { return commits_.failure(); }
  uint64_t needed_bytes() const override { return segments_.needed_bytes(); }
  uint64_t bytes_on_disk() const override { return segments_.bytes_on_disk(); }

 private:
  void write_trim();
  void trim_written();
  Async<void> fill_piece();

  const LogId id_;
  Timers& timers_;
  LogSegments segments_;
  GroupCommit commits_;
  bool sealed_ = false;
  bool erases_ = true;

  // A trim is a record too: files are removed only after the log durably records that they may be
  // missing.
  uint64_t trim_wanted_ = 0;  // earlier segments may be removed
  uint64_t trim_writing_ = 0;
  bool trim_in_flight_ = false;
  LogAppend trim_append_;
};

// The layout of an entry in records: these bytes, then its payload.
inline constexpr size_t kLogEntryHeadBytes = 24;
std::array<char, kLogEntryHeadBytes> encode_entry_head(const LogEntry& entry);
// DATA_LOSS if too short. The payload points into `bytes`.
Result<LogEntry> decode_entry(Bytes bytes);

}  // namespace cellar::engine
