// AuditLog: the node's security log: logins and failures, refusals, and changes of schemas,
// retention and the node. Files of JSON lines under security/ in the data directory, chained by
// hashes (net/security/audit_chain.h) and named by the number of their first line.
//
// Lines are written in the order of record() and synced in the background, in batches: a reply does
// not wait for its line, and a crash may lose the last few. At most kMaxQueued events wait; more
// are dropped, and a line records their number. A failed batch is written again, the same bytes at
// the same offset, until it succeeds; each failure is an error in the node's log.
//
// Belongs to the shard whose file system it uses.
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
  uint64_t file_bytes = 64u << 20;  // size at which the next file is started
  uint32_t files = 16;              // number kept; at least 1
};

class AuditLog : public std::enable_shared_from_this<AuditLog> {
 public:
  static constexpr size_t kMaxQueued = 10'000;
  static constexpr std::string_view kDirectory = "security";
  static constexpr int64_t kRetryUs = 1'000'000;  // after a failed batch

  // Continues after the existing lines. Errors: those of the disk; DATA_LOSS if the newest file has
  // no valid line.
  static Async<Result<std::shared_ptr<AuditLog>>> open(ShardExecutor executor, Timers& timers,
                                                       FileSystem& fs, const Clock& wall,
                                                       AuditOptions options);
  // Queues a line. Ignored after close().
  void record(security::AuditEvent event);
  // Writes all queued lines.
  Async<void> close();

  const security::ChainEnd& end() const { return end_; }  // of the lines passed to the disk
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
  uint64_t offset_ = 0;          // of batch_
  std::string batch_;            // lines being written, until durable
  security::ChainEnd end_;
  std::deque<security::AuditEvent> queue_;
  uint64_t dropped_ = 0;
  uint64_t dropped_told_ = 0;
  ConditionVariable wake_;
  Event ended_;
  bool closing_ = false;
};

}  // namespace cellar::server
