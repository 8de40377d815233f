// What an import reads: records of a file, each as a mutation of one row.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/base/result.h"
#include "net/client/mutation.h"

namespace cellar::cli {

// Lines of a file, without their ends; counts lines and bytes. Does not own the file.
class LineReader {
 public:
  static constexpr size_t kMaxLineBytes = 64u << 20;

  explicit LineReader(std::FILE* file) : file_(file) {}
  // Nothing at the end. RESOURCE_EXHAUSTED: the line was longer than kMaxLineBytes; it is skipped.
  Result<std::optional<std::string_view>> next();
  uint64_t line() const { return line_; }  // of the one read last, from 1
  uint64_t bytes() const { return bytes_; }

 private:
  std::FILE* file_;
  std::string buffer_;
  uint64_t line_ = 0;
  uint64_t bytes_ = 0;
};

enum class Format : uint8_t { csv, jsonl, dpkg_log, package_list };
Result<Format> parse_format(std::string_view name);
// By the file's name; INVALID_ARGUMENT where that says nothing.
Result<Format> guess_format(std::string_view file);

struct SourceOptions {
  std::optional<int64_t> at_us;  // of cells that have no timestamp
  int64_t now_us = 0;            // for relative times
  bool utc = false;              // dpkg-log: times are UTC, not local
};

class RecordSource {
 public:
  virtual ~RecordSource() = default;
  // The next row's mutation; nothing at the end. An error is one rejected record: it says why, and
  // the next call goes on after it. FAILED_PRECONDITION: the whole file is not usable.
  virtual Result<std::optional<client::Mutation>> next() = 0;
  virtual uint64_t line() const = 0;   // at which the last record began
  virtual uint64_t bytes() const = 0;  // read so far
};

std::unique_ptr<RecordSource> open_source(Format format, std::FILE* file,
                                          const SourceOptions& options);

}  // namespace cellar::cli
