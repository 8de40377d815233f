// Record files on disk: made ready ahead of their first use, and read back. Segments of a log and
// manifests are record files; engine/record has their bytes.
//
// A record file is prepared under a temporary name (space reserved, zeros written, synced, header
// written) and only then gets its name. So whoever sees the name sees a file of its full size with
// a valid header; anything else is damage, never a torn preparation.
#pragma once

#include <memory>
#include <string>

#include "engine/record/file_header.h"
#include "engine/record/record.h"
#include "io/disk/file.h"

namespace cellar::engine {

inline constexpr std::string_view kTemporarySuffix = ".tmp";
inline constexpr size_t kZeroPieceBytes = 256 * 1024;

// Prepares `path` (direct I/O, zero-filled, header.file_bytes long) and makes its name durable.
// On failure nothing of it is left. REQUIRES: header.file_bytes is a multiple of kIoAlignment.
Async<Result<std::unique_ptr<File>>> prepare_record_file(FileSystem& fs, std::string path,
                                                         FileHeader header, IoClass io_class);

// The same in the space of the file at `spare`, which nobody needs any more: it is renamed, cut or
// extended to header.file_bytes, and filled with zeros. Where it is long enough no space is needed
// but its own. REQUIRES: nothing of the spare is open.
Async<Result<std::unique_ptr<File>>> prepare_record_file_in(FileSystem& fs, std::string spare,
                                                            std::string path, FileHeader header,
                                                            IoClass io_class);

// The same with the file at `old_path`, of the same log and size, which nobody needs any more: it
// is renamed and gets the header, and nothing else is written. What it holds was written under
// other positions and validates nowhere now. REQUIRES: header.former is set; nothing of the old
// file is open or will be read again.
Async<Result<std::unique_ptr<File>>> reuse_record_file(FileSystem& fs, std::string old_path,
                                                       std::string path, FileHeader header,
                                                       IoClass io_class);

// Closes `file` and answers `result`, or the error of the closing when `result` was a success.
Async<Result<void>> close_after(std::unique_ptr<File> file, Result<void> result);

struct OpenedRecordFile {
  std::unique_ptr<File> file;
  FileHeader header;
};
// Opens for reading and checks header and size. DATA_LOSS and FAILED_PRECONDITION as in
// decode_file_header.
Async<Result<OpenedRecordFile>> open_record_file(FileSystem& fs, std::string path,
                                                 RecordFileKind kind);

// Walks the records of one file in large reads.
//
//   for (;;) switch (scan.next(record)) {
//     case Step::record: ...; continue;                  // `record` is valid until the next call
//     case Step::fill: CO_TRY_VOID(co_await scan.fill()); continue;
//     case Step::end_of_file: case Step::zeros: case Step::bad: ...
//   }
class RecordFileScan {
 public:
  static constexpr size_t kChunkBytes = 2u << 20;

  enum class Step : uint8_t {
    record,
    fill,         // await fill(), then ask again
    end_of_file,  // the records fill the file to its last byte
    zeros,        // a header of zeros at position(): nothing was written here, or it is gone
    bad,          // neither record nor zeros at position()
  };

  // `base`: the position of the file's first byte, for the checksums. `file` must outlive this.
  RecordFileScan(File& file, const FileHeader& header, uint64_t base);

  Step next(RecordView& record);
  Async<Result<void>> fill();
  uint64_t position() const { return base_ + start_at_; }  // of the next record
  uint64_t offset() const { return start_at_; }            // the same, in the file
  const std::string& path() const { return file_.path(); }

  // What lies behind the place where next() stopped for good.
  struct Rest {
    uint64_t greatest_mark = 0;  // of whole records, of batches that begin whole
    // Position after the last byte that is not zero (by block); of a file that was another segment
    // before, after the last record, or the block in which the records stopped.
    uint64_t used_end = 0;
  };
  Async<Result<Rest>> scan_rest();

 private:
  Bytes available() const { return {buffer_.chars() + start_, end_ - start_}; }
  void advance(size_t n) { start_ += n, start_at_ += n; }
  Step next_of_rest(Rest& rest);

  File& file_;
  const uint64_t owner_;
  const uint64_t base_;
  const uint64_t file_bytes_;
  const bool reused_;
  AlignedBuffer buffer_;  // room for the part of a record that is carried over, then a chunk
  size_t start_ = 0;      // of what is not parsed yet, in buffer_
  size_t end_ = 0;
  uint64_t start_at_ = 0;  // offset in the file of buffer_[start_]
  bool in_batch_ = false;  // scan_rest: the record before this place was whole
};

}  // namespace cellar::engine
