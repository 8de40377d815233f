// The format version of a data directory.
//
// clang-format off
//   FORMAT    text: cellar format <version> id <directory, 32 hex> <CRC-32C of the text before the blank, 8 hex>
// clang-format on
//
// The version says: programs that write here know at least this format. A program reads a range of
// versions and refuses a directory of a newer one before it touches any file. In a directory of an
// older version it writes that version, so that the older program can take over again. Only
// upgrade_format(), on an operator's request, raises the number, and nothing lowers it. The file is
// the first one of a new directory; a directory that has a manifest but no such file has lost it.
//
// The id is random and identifies the directory, for backups.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "io/disk/file.h"

namespace cellar::engine {

inline constexpr std::string_view kFormatPath = "FORMAT";

struct FormatRange {
  uint32_t oldest = 1;
  uint32_t newest = 4;
};
// Versions that this program reads. Anything written that version `newest` - 1 does not know raises
// `newest`.
//   1   the first
//   2   tables of format 2 (sstable/format.h), backups of format 2, the option bottom_compression
//   3   tables of format 3
//   4   range deletes with a token in logs, tablet states of version 2
inline constexpr FormatRange kFormats{1, 4};

struct DirectoryFormat {
  uint32_t version = 1;
  std::string id;  // 32 hexadecimal digits

  bool operator==(const DirectoryFormat&) const = default;
};

std::string encode_format(const DirectoryFormat& format);
Result<DirectoryFormat> decode_format(Bytes content);  // DATA_LOSS

// Reads the file; empty if there is none. FAILED_PRECONDITION with the versions if it is outside
// `range`.
Async<Result<std::optional<DirectoryFormat>>> read_format(FileSystem& fs,
                                                          FormatRange range = kFormats);
// Also writes the file, with the newest version, in a new directory. DATA_LOSS if it is missing and
// there is a manifest. REQUIRES: the directory's lock is held.
Async<Result<DirectoryFormat>> settle_format(FileSystem& fs, std::string new_id,
                                             FormatRange range = kFormats);
// Raises the directory to the newest version and returns the previous one. Older programs then
// refuse it. REQUIRES: the directory's lock is held.
Async<Result<uint32_t>> upgrade_format(FileSystem& fs, FormatRange range = kFormats);

// A random id of 32 hexadecimal digits.
std::string new_directory_id();

}  // namespace cellar::engine
