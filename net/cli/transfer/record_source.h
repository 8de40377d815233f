// The input of an import: records of a file, each as a mutation of one row.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "io/base/result.h"
#include "net/client/api/mutation.h"

namespace cellar::cli {

// A position in a file.
struct Position {
  uint64_t offset = 0;
  uint64_t line = 0;  // lines before it; in the binary form: rows
};

// Reads the lines of a file without their ends; counts lines and bytes. Does not own the file.
class LineReader {
 public:
  static constexpr size_t kMaxLineBytes = 64u << 20;
  // CSV with one line per cell. More than export writes: a value of 100 MiB, where a byte is at
  // most four, with its row and qualifier.
  static constexpr size_t kMaxCellLineBytes = size_t{512} << 20;
  // More than export writes: a row of 256 MiB in JSON, where a byte is at most six.
  static constexpr size_t kMaxJsonLineBytes = size_t{2} << 30;

  explicit LineReader(std::FILE* file, size_t max_line_bytes = kMaxLineBytes)
      : file_(file), max_line_bytes_(max_line_bytes) {}
  // Changes the bound of the lines that follow.
  void allow(size_t max_line_bytes) { max_line_bytes_ = max_line_bytes; }
  // Empty at the end. RESOURCE_EXHAUSTED: the line was longer than allowed and is skipped.
  // DATA_LOSS: the file cannot be read on.
  // The view is valid until the next call.
  Result<std::optional<std::string_view>> next();
  bool ended() const { return ended_; }                      // the last line had an end
  bool carriage_return() const { return carriage_return_; }  // and one before it, left out
  uint64_t line() const { return at_.line; }                 // number of the last line, from 1
  uint64_t bytes() const { return at_.offset; }
  Position position() const { return at_; }
  // INVALID_ARGUMENT: the file is not seekable (a pipe).
  Result<void> seek(Position to);

 private:
  static constexpr size_t kPieceBytes = 256 * 1024;
  bool fill();

  std::FILE* file_;
  size_t max_line_bytes_;
  std::string piece_;  // a line or a part of one; unread from next_ on
  size_t next_ = 0;
  std::string line_;  // a line that spans pieces
  bool ended_ = false;
  bool carriage_return_ = false;
  int why_ = 0;  // errno of a failed read
  Position at_;
};

// Rewinds the file. INVALID_ARGUMENT: it is not seekable (a pipe).
Result<void> go_to_start(std::FILE* file);

enum class Format : uint8_t { csv, jsonl, dpkg_log, package_list, cellar };
Result<Format> parse_format(std::string_view name);
// From the file's name; INVALID_ARGUMENT if that is ambiguous.
Result<Format> guess_format(std::string_view file);
std::string_view format_name(Format format);

struct SourceOptions {
  std::optional<int64_t> at_us;  // for cells without a timestamp
  int64_t now_us = 0;            // for relative times
  bool utc = false;              // dpkg-log: times are UTC, not local
  std::string family;            // csv: for columns without a family; empty: an error
};

class RecordSource {
 public:
  virtual ~RecordSource() = default;
  // The description with which the file begins; empty: its format has none. Call before the first
  // next().
  virtual Result<std::string> description() { return std::string(); }
  // Returns the mutation of the next row; empty at the end. An error rejects one record, and the
  // next call continues after it. FAILED_PRECONDITION, DATA_LOSS: the rest of the file is unusable.
  virtual Result<std::optional<client::Mutation>> next() = 0;
  virtual uint64_t line() const = 0;  // start of the last record; in the binary form: row
  // Lines of the cells of the last record, if they have lines of their own; otherwise empty.
  virtual std::span<const uint64_t> lines() const { return {}; }
  virtual uint64_t bytes() const = 0;  // read so far
  // Reading from here returns every record after the last one, possibly preceded by unchanged
  // earlier ones.
  virtual Position position() const = 0;
  // Moves to a position of an earlier source of the same file. Call before the first next().
  virtual Result<void> seek(Position to) = 0;
};

// Common base of line-based sources.
class LineSource : public RecordSource {
 public:
  LineSource(LineReader lines, const SourceOptions& options)
      : lines_(std::move(lines)), options_(options) {}
  uint64_t line() const override { return lines_.line(); }
  uint64_t bytes() const override { return lines_.bytes(); }
  Position position() const override { return lines_.position(); }
  Result<void> seek(Position to) override { return lines_.seek(to); }

 protected:
  // The next line that is not blank; empty at the end.
  Result<std::optional<std::string_view>> next_line();

  LineReader lines_;
  const SourceOptions options_;
};

std::unique_ptr<RecordSource> open_source(Format format, std::FILE* file,
                                          const SourceOptions& options);

}  // namespace cellar::cli
