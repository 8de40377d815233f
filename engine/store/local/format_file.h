// The format version of a data directory.
//
// clang-format off
//   FORMAT    text: cellar format <version> id <directory, 32 hex> <CRC-32C of the text before the blank, 8 hex>
// clang-format on
//
// A program reads and writes one version. It refuses a directory of any other version, a damaged
// file, and a directory that holds data and no such file (also one that is being filled,
// unfinished_directory.h), before it touches any file. The file is
// the first one of a new directory. A change of what is on disk that this version does not define
// takes the next number.
//
// The id is random and identifies the directory, for backups.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "io/disk/file.h"

namespace cellar::engine {

inline constexpr std::string_view kFormatPath = "FORMAT";
inline constexpr uint32_t kDirectoryFormat = 6;

struct DirectoryFormat {
  uint32_t version = kDirectoryFormat;
  std::string id;  // 32 hexadecimal digits

  bool operator==(const DirectoryFormat&) const = default;
};

std::string encode_format(const DirectoryFormat& format);
Result<DirectoryFormat> decode_format(Bytes content);  // of any version; DATA_LOSS

// Empty for a directory without data. FAILED_PRECONDITION with both versions if the file has
// another one; DATA_LOSS if it is damaged, or missing beside data.
Async<Result<std::optional<DirectoryFormat>>> read_format(FileSystem& fs);
// Also writes the file in a directory without data. REQUIRES: the directory's lock is held.
Async<Result<DirectoryFormat>> resolve_format(FileSystem& fs, std::string new_id);

// A random id of 32 hexadecimal digits.
std::string new_directory_id();

}  // namespace cellar::engine
