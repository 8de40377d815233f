// What an import reads: records of a file, each as a mutation of one row.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/base/result.h"
#include "net/client/api/mutation.h"

namespace cellar::cli {

// A place in a file.
struct Position {
  uint64_t offset = 0;
  uint64_t line = 0;  // lines before it; of the binary form: rows
};

// Lines of a file, without their ends; counts lines and bytes. Does not own the file.
class LineReader {
 public:
  static constexpr size_t kMaxLineBytes = 64u << 20;

  explicit LineReader(std::FILE* file) : file_(file) {}
  // Nothing at the end. RESOURCE_EXHAUSTED: the line was longer than kMaxLineBytes; it is skipped.
  // The view holds until the next call.
  Result<std::optional<std::string_view>> next();
  bool ended() const { return ended_; }       // the line read last had an end
  uint64_t line() const { return at_.line; }  // of the one read last, from 1
  uint64_t bytes() const { return at_.offset; }
  Position position() const { return at_; }
  // INVALID_ARGUMENT: the file has no places (a pipe).
  Result<void> seek(Position to);

 private:
  static constexpr size_t kPieceBytes = 256 * 1024;
  bool fill();

  std::FILE* file_;
  std::string piece_;  // read from the file, not yet handed out from next_ on
  size_t next_ = 0;
  std::string line_;  // one that lies across pieces
  bool ended_ = false;
  Position at_;
};

// So that the file is read once more. INVALID_ARGUMENT: it has no places (a pipe).
Result<void> go_to_start(std::FILE* file);

enum class Format : uint8_t { csv, jsonl, dpkg_log, package_list, cellar };
Result<Format> parse_format(std::string_view name);
// By the file's name; INVALID_ARGUMENT where that says nothing.
Result<Format> guess_format(std::string_view file);
std::string_view format_name(Format format);

struct SourceOptions {
  std::optional<int64_t> at_us;  // of cells that have no timestamp
  int64_t now_us = 0;            // for relative times
  bool utc = false;              // dpkg-log: times are UTC, not local
  std::string family;            // csv: of columns whose name has none; empty: that is an error
};

class RecordSource {
 public:
  virtual ~RecordSource() = default;
  // The next row's mutation; nothing at the end. An error is one rejected record: it says why, and
  // the next call goes on after it. FAILED_PRECONDITION, DATA_LOSS: the rest of the file is not
  // usable.
  virtual Result<std::optional<client::Mutation>> next() = 0;
  virtual uint64_t line() const = 0;   // at which the last record began; in the binary form: row
  virtual uint64_t bytes() const = 0;  // read so far
  // Reading on from here gives every record behind the last one, and perhaps some before it again,
  // the same as they were.
  virtual Position position() const = 0;
  // To a position of an earlier source of the same file, before the first next().
  virtual Result<void> seek(Position to) = 0;
};

// What the sources of lines have in common.
class LineSource : public RecordSource {
 public:
  LineSource(LineReader lines, const SourceOptions& options)
      : lines_(std::move(lines)), options_(options) {}
  uint64_t line() const override { return lines_.line(); }
  uint64_t bytes() const override { return lines_.bytes(); }
  Position position() const override { return lines_.position(); }
  Result<void> seek(Position to) override { return lines_.seek(to); }

 protected:
  // The next line that is not blank; nothing at the end.
  Result<std::optional<std::string_view>> next_line();

  LineReader lines_;
  const SourceOptions options_;
};

std::unique_ptr<RecordSource> open_source(Format format, std::FILE* file,
                                          const SourceOptions& options);

}  // namespace cellar::cli
