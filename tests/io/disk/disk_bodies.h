// The implementations of FileSystem under the conformance tests, each with its own loop.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "io/base/random.h"
#include "io/disk/backend.h"
#include "io/loop/shard_loop.h"
#include "io/sim/faulty_fs.h"
#include "io/sim/mem_fs.h"
#include "io/sim/tracing_fs.h"

namespace cellar::test {

// A temporary directory, removed by the destructor.
class TempDir {
 public:
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "disk_test_XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string random_text(Random& random, size_t size) {
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>('a' + random.below(26));
  return text;
}

inline OpenOptions creating(bool direct = false) {
  OpenOptions options;
  options.mode = OpenOptions::Mode::create_new;
  options.direct = direct;
  return options;
}
inline OpenOptions writing() {
  OpenOptions options;
  options.mode = OpenOptions::Mode::read_write;
  return options;
}

// One loop and one file system on it, chosen by the name of the implementation.
class Machine {
 public:
  explicit Machine(const std::string& body) : body_(body) {
    if (body.ends_with("io_uring")) {
      base_ = real(IoBackend::io_uring);
    } else if (body.ends_with("threads")) {
      base_ = real(IoBackend::threads);
    } else {
      base_ = memory();
    }
    decorate();
  }

  static bool available(const std::string& body, std::string& why) {
    if (!body.ends_with("io_uring")) return true;
    const auto choice = probe_io_backend(IoBackend::io_uring);
    if (!choice) why = choice.error().to_string();
    return choice.has_value();
  }

  template <class T>
  T run(Async<T> work) {
    return block_on(loop_, std::move(work));
  }
  FileSystem& fs() { return *base_; }
  ShardLoop& loop() { return loop_; }
  const std::string& root() const { return dir_.path(); }
  bool real_files() const { return body_.find("memory") == std::string::npos; }

  std::unique_ptr<File> open(const std::string& path, OpenOptions options) {
    auto file = run(fs().open(path, options));
    EXPECT_TRUE(file) << file.error().to_string();
    return file ? std::move(*file) : nullptr;
  }
  Result<void> write(File& file, uint64_t offset, std::string_view text, bool dsync = false) {
    return run(write_at(file, offset, as_byte_span(text), IoClass::log, dsync));
  }
  Result<std::string> read(File& file, uint64_t offset, size_t size) {
    std::string text(size, '?');
    auto into = std::as_writable_bytes(std::span(text.data(), text.size()));
    TRY(const size_t got, run(read_at(file, offset, into, IoClass::read)));
    text.resize(got);
    return text;
  }
  void close(File& file) {
    const auto closed = run(file.close());
    EXPECT_TRUE(closed) << closed.error().to_string();
  }

 private:
  std::unique_ptr<FileSystem> real(IoBackend backend) {
    auto fs = make_file_system(backend, loop_, dir_.path(), pool_);
    EXPECT_TRUE(fs) << fs.error().to_string();
    return std::move(*fs);
  }

  std::unique_ptr<FileSystem> memory() {
    MemFsOptions options;
    if (body_.find("shuffled") != std::string::npos) options.random = &random_;
    if (body_.find("slow") != std::string::npos) {
      options.random = &random_;
      options.timers = &loop_.timers();
      options.max_latency_us = 3000;
    }
    return std::make_unique<MemFs>(loop_.executor(), disk_, options);
  }

  void decorate() {
    if (body_.starts_with("traced_")) base_ = std::make_unique<TracingFs>(std::move(base_), trace_);
    if (body_.starts_with("short_")) {
      EXPECT_TRUE(rules_.add("read p=0.5 seed=3 short"));
      EXPECT_TRUE(rules_.add("write p=0.5 seed=4 short"));
    }
    if (body_.starts_with("short_") || body_.starts_with("checked_")) {
      base_ = std::make_unique<FaultyFs>(loop_.executor(), std::move(base_), rules_);
    }
  }

  const std::string body_;
  TempDir dir_;
  ShardLoop loop_;
  BlockingPool pool_{2};
  Random random_{42};
  MemDisk disk_;
  Trace trace_;
  FaultRules rules_;
  std::unique_ptr<FileSystem> base_;
};

}  // namespace cellar::test
