// The header of a record file, checked before anything else is read. It takes the first 4 KiB
// block; its first 48 bytes keep this layout in every format version, so that a program can
// name a version that it does not read.
//
// clang-format off
//   offset  size
//        0     8  magic: "CELLRLOG" or "CELLRMAN"
//        8     4  format version
//       12     4  crc32c over bytes 0 .. 12 and 16 .. 48, seed 0
//       16     8  id: of the log, or the manifest's number
//       24     8  number: of the segment within its log; 0 for a manifest
//       32     8  size of the whole file in bytes; a file of any other size is damaged
//       40     8  0: the file was filled with zeros; n: the file was segment n - 1 of the same log
//                 and still has its records where newer ones have not overwritten them
// clang-format on
#pragma once

#include <optional>

#include "engine/record/record.h"

namespace cellar::engine {

inline constexpr size_t kFileHeaderBytes = 48;
// Offset of the first record.
inline constexpr uint64_t kFileHeaderBlockBytes = kIoAlignment;

struct FileHeader {
  RecordFileKind kind = RecordFileKind::log;
  uint64_t id = 0;
  uint64_t number = 0;
  uint64_t file_bytes = 0;
  std::optional<uint64_t> former;  // the segment of the same log previously in this file
  bool operator==(const FileHeader&) const = default;
};

// Returns the 4 KiB block.
AlignedBuffer encode_file_header(const FileHeader& header);

// DATA_LOSS, naming `path`, if the header is damaged, of another kind or inconsistent;
// FAILED_PRECONDITION if the file has another format.
Result<FileHeader> decode_file_header(Bytes block, RecordFileKind kind, std::string_view path);

}  // namespace cellar::engine
