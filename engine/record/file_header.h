// The header of a record file: what it is, before anything in it is believed. It takes the first
// 4 KiB block; its first 48 bytes keep this layout in every format version, so that an older
// program can say that a file is newer than itself.
//
//   offset  size
//        0     8  magic: "CELLRLOG" or "CELLRMAN"
//        8     4  format version
//       12     4  crc32c over bytes 0 .. 12 and 16 .. 48, seed 0
//       16     8  id: of the log, or the manifest's number
//       24     8  number: of the segment within its log; 0
//       32     8  size of the whole file in bytes; a file of any other size is damaged
//       40     8  0: the file was filled with zeros; else it was segment n - 1 of the same log
//       before
//                 and still holds that one's records where no newer ones are
#pragma once

#include <optional>

#include "engine/record/record.h"

namespace cellar::engine {

inline constexpr size_t kFileHeaderBytes = 48;
// Where records begin.
inline constexpr uint64_t kFileHeaderBlockBytes = kIoAlignment;

struct FileHeader {
  RecordFileKind kind = RecordFileKind::log;
  uint64_t id = 0;
  uint64_t number = 0;
  uint64_t file_bytes = 0;
  std::optional<uint64_t> former;  // the segment of the same log that the file was before
  bool operator==(const FileHeader&) const = default;
};

// The 4 KiB block.
AlignedBuffer encode_file_header(const FileHeader& header);

// DATA_LOSS naming `path` when the header is damaged, of another kind or says what no writer says;
// FAILED_PRECONDITION when the file is of a newer format.
Result<FileHeader> decode_file_header(Bytes block, RecordFileKind kind, std::string_view path);

}  // namespace cellar::engine
