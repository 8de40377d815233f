// AuditLog: the node's security log: who came in and who did not, what was refused, and what was
// changed in schemas, retention and the node. Files of JSON lines under security/ in the data
// directory, chained by hashes (net/security/audit_chain.h), each named by its first line's number.
//
// Lines are written in the order of record() and synced in the background, a batch at a time: an
// answer does not wait for its line, and a crash may lose the last few. At most kMaxQueued events
// wait; more are dropped, and a line tells how many. A batch that could not be written is written
// again, the same bytes at the same place, until the disk takes it; each failure is an error in the
// node's log.
//
// Lives on one shard, the one whose file system it was given.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "io/base/clock.h"
#include "io/disk/file.h"
#include "io/loop/event.h"
#include "io/loop/timers.h"
#include "net/security/audit_chain.h"

namespace cellar::server {

struct AuditOptions {
  uint64_t file_bytes = 64u << 20;  // then another file is begun
  uint32_t files = 16;              // that are kept; 1 at least
};

class AuditLog : public std::enable_shared_from_this<AuditLog> {
 public:
  static constexpr size_t kMaxQueued = 10'000;
  static constexpr std::string_view kDirectory = "security";
  static constexpr int64_t kRetryUs = 1'000'000;  // after a batch that could not be written

  // Goes on behind what is there. Errors: of the disk; DATA_LOSS when the newest file holds no line
  // to go on from.
  static Async<Result<std::shared_ptr<AuditLog>>> open(ShardExecutor executor, Timers& timers,
                                                       FileSystem& fs, const Clock& wall,
                                                       AuditOptions options);
  // Adds a line, sooner or later. After close() nothing happens.
  void record(security::AuditEvent event);
  // Writes what waits, and the last line.
  Async<void> close();

  const security::ChainEnd& end() const { return end_; }  // of what was given to the disk
  uint64_t dropped() const { return dropped_; }

 private:
  AuditLog(ShardExecutor executor, Timers& timers, FileSystem& fs, const Clock& wall,
           AuditOptions options)
      : executor_(executor), timers_(timers), fs_(fs), wall_(wall), options_(options) {}
  Async<Result<void>> go_on();
  Async<Result<void>> continue_file(std::string name);
  Async<Result<void>> begin_file();
  Async<Result<void>> make_name_durable();
  Async<void> remove_old();
  Async<void> run(std::shared_ptr<AuditLog> self);
  Async<Result<void>> write_batch();
  std::string take_batch();
  void line(std::string& batch, const security::AuditEvent& event);

  ShardExecutor executor_;
  Timers& timers_;
  FileSystem& fs_;
  const Clock& wall_;
  const AuditOptions options_;
  std::unique_ptr<File> file_;
  bool name_is_durable_ = true;  // of file_
  uint64_t offset_ = 0;          // where batch_ goes
  std::string batch_;            // lines on their way, until they are durable
  security::ChainEnd end_;
  std::deque<security::AuditEvent> queue_;
  uint64_t dropped_ = 0;
  uint64_t dropped_told_ = 0;
  Notify wake_;
  Event ended_;
  bool closing_ = false;
};

}  // namespace cellar::server
