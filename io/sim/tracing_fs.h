// TracingFs: wraps a FileSystem and records every operation in starting order as lines of text.
// Golden traces check the order of syncs.
//
//   create wal/1.log
//   write wal/1.log 0+4096 dsync
//   rename a -> b
//   sync_dir wal
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/disk/file.h"

namespace cellar {

struct Trace {
  static constexpr size_t kMaxLines = 1'000'000;  // later lines are dropped

  bool with_reads = false;  // also records read, size and list, which change nothing
  std::vector<std::string> lines;

  void add(std::string line) {
    if (lines.size() < kMaxLines) lines.push_back(std::move(line));
  }
  std::string text() const;  // each line ended by '\n'
};

class TracingFs final : public FileSystem {
 public:
  // `trace` must outlive it; it may serve several file systems of one thread.
  TracingFs(std::unique_ptr<FileSystem> base, Trace& trace)
      : base_(std::move(base)), trace_(trace) {}

  Async<Result<std::unique_ptr<File>>> open(std::string path, OpenOptions options) override;
  Async<Result<void>> remove(std::string path) override;
  Async<Result<void>> rename(std::string from, std::string to) override;
  Async<Result<void>> create_dir(std::string path) override;
  Async<Result<void>> sync_dir(std::string path) override;
  Async<Result<std::vector<DirEntry>>> list(std::string path) override;
  Async<Result<uint64_t>> free_bytes() override { return base_->free_bytes(); }
  Async<Result<std::unique_ptr<FileLock>>> lock(std::string path) override;
  Result<void> hold_lock(const FileLock& lock) override { return base_->hold_lock(lock); }
  int64_t oldest_io_us(int64_t now_us) override { return base_->oldest_io_us(now_us); }
  std::string_view name() const override { return base_->name(); }

 private:
  const std::unique_ptr<FileSystem> base_;
  Trace& trace_;
};

}  // namespace cellar
