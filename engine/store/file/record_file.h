// Record files on disk: preparation before first use, and reading. Log segments and manifests are
// record files; engine/record defines their bytes.
//
// A record file is prepared under a temporary name (space reserved, zeros written, synced, header
// written) and renamed only then. A named file therefore has its full size and a valid header;
// anything else is damage, never an interrupted preparation.
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
// Leaves nothing on failure. REQUIRES: header.file_bytes is a multiple of kIoAlignment.
Async<Result<std::unique_ptr<File>>> prepare_record_file(FileSystem& fs, std::string path,
                                                         FileHeader header, IoClass io_class);

// Prepares the file in the space of the unused file at `spare`: it is renamed, truncated or
// extended to header.file_bytes and filled with zeros. If it is long enough, no free space is
// needed. REQUIRES: the spare is not open.
Async<Result<std::unique_ptr<File>>> prepare_record_file_in(FileSystem& fs, std::string spare,
                                                            std::string path, FileHeader header,
                                                            IoClass io_class);

// Prepares the file from the unused file at `old_path`, of the same log and size: it is renamed and
// gets the header; nothing else is written. Its old records have other positions, so their
// checksums do not validate. REQUIRES: header.former is set; the old file is not open and will not
// be read again.
Async<Result<std::unique_ptr<File>>> reuse_record_file(FileSystem& fs, std::string old_path,
                                                       std::string path, FileHeader header,
                                                       IoClass io_class);

// Closes `file` and returns `result`, or the error of closing if `result` was a success.
Async<Result<void>> close_after(std::unique_ptr<File> file, Result<void> result);

struct OpenedRecordFile {
  std::unique_ptr<File> file;
  FileHeader header;
};
// Opens for reading and checks header and size. DATA_LOSS and FAILED_PRECONDITION as in
// decode_file_header.
Async<Result<OpenedRecordFile>> open_record_file(FileSystem& fs, std::string path,
                                                 RecordFileKind kind);

// Iterates over the records of one file in large reads.
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
    fill,         // await fill(), then call next() again
    end_of_file,  // the records end at the end of the file
    zeros,        // a header of zeros at position(): nothing was written here, or it is lost
    bad,          // neither a record nor zeros at position()
  };

  // `base`: position of the file's first byte, for the checksums. `file` must outlive this.
  RecordFileScan(File& file, const FileHeader& header, uint64_t base);

  Step next(RecordView& record);
  // Reads at most so much more, a multiple of kIoAlignment. After an error nothing has changed.
  Async<Result<void>> fill(size_t most_bytes = kChunkBytes);
  // After zeros or bad: continues at the next block boundary, the only place where a batch can
  // start. False: fill() is needed before another call.
  bool skip_block();
  // Continues at this offset of the file, a block boundary behind what has been read; fill() is
  // needed.
  void skip_to(uint64_t offset);
  uint64_t read_to() const { return start_at_ + (end_ - start_); }  // offset of the next fill()
  uint64_t position() const { return base_ + start_at_; }           // of the next record
  uint64_t offset() const { return start_at_; }                     // the same, in the file
  const std::string& path() const { return file_.path(); }

  // The data after the place where next() stopped.
  struct Rest {
    uint64_t greatest_mark = 0;  // of whole records, of batches whose start is whole
    // Position after the last nonzero byte (by block); in a reused file after the last record or
    // the block in which the records stopped.
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
  // Room for what is carried over and for a chunk; no more than the file has, for a small file is
  // read often.
  const size_t carry_bytes_;
  AlignedBuffer buffer_;  // the carried-over part of a record, then a chunk
  size_t start_ = 0;      // of the unparsed data in buffer_
  size_t end_ = 0;
  uint64_t start_at_ = 0;  // offset in the file of buffer_[start_]
  bool in_batch_ = false;  // scan_rest: the record before this place was whole
};

}  // namespace cellar::engine
