// The format of a data directory, as one number, and the ratchet that moves it.
//
//   FORMAT    text: cellar format <version> id <directory, 32 hex> <CRC-32C of what is before the
//             blank, 8 hex>
//
// The version says: whoever writes here knows at least this much. A program reads a range of
// versions. It refuses a directory of a newer one before it has touched any file. In an older one
// it writes as that version does, so that the program before it can take over again; only
// upgrade_format(), which an operator asks for, moves the number up, and never down. The file is
// the first of a new directory; one that has a manifest and no such file has lost it.
//
// The id is drawn once and tells directories apart, for backups.
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
// What this program reads. Whatever it would write that `newest` less one does not know raises it.
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

// What the directory says; nothing where it says nothing. Only reads. FAILED_PRECONDITION naming
// the versions when it is outside of `range`.
Async<Result<std::optional<DirectoryFormat>>> read_format(FileSystem& fs,
                                                          FormatRange range = kFormats);
// As above, and writes the file in a new directory, of the newest version. DATA_LOSS where it is
// missing and there is a manifest. REQUIRES: the directory's lock is held.
Async<Result<DirectoryFormat>> settle_format(FileSystem& fs, std::string new_id,
                                             FormatRange range = kFormats);
// Moves the directory to the newest version; the version before. From then on older programs refuse
// it. REQUIRES: the lock.
Async<Result<uint32_t>> upgrade_format(FileSystem& fs, FormatRange range = kFormats);

// 32 hexadecimal digits that no other directory has.
std::string new_directory_id();

}  // namespace cellar::engine
