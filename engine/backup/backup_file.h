// BackupFile: the contents of one backup: the manifest's entries of its tables at one instant,
// without log spans, and the blobs that they name with size and checksum. Written last: a backup
// with a file is complete. FORMATS.md, "Backups", has the layout.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/catalog/catalog.h"
#include "engine/store/manifest_store.h"

namespace cellar::engine {

struct BackupBlob {
  BlobId id;
  uint64_t bytes = 0;
  uint32_t crc = 0;  // CRC-32C of the whole blob

  bool operator==(const BackupBlob&) const = default;
};

struct BackupFile {
  static constexpr uint32_t kVersion = 6;

  std::string source;         // id of the data directory
  std::string program;        // version of the writing program
  int64_t wall_us = 0;        // wall clock at the instant
  int64_t trusted_us = 0;     // trusted time then: no answer of the data is later
  uint64_t copied_bytes = 0;  // bytes that this backup added to the store
  std::map<ManifestKey, ManifestEntry> entries;
  std::vector<BackupBlob> blobs;  // sorted by id

  uint64_t bytes() const;
};

std::string encode_backup(const BackupFile& file);
// DATA_LOSS with the file if it is damaged; FAILED_PRECONDITION for another format.
Result<BackupFile> decode_backup(Bytes content, std::string_view name);
// The entries, decoded and checked for consistency with each other and the blobs.
Result<ManifestContents> contents_of(const BackupFile& file, std::string_view name);

}  // namespace cellar::engine
