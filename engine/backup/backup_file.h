// BackupFile: what one backup is made of: the manifest's entries of its tables as they were at one
// instant, without spans of logs, and the blobs that they name with size and checksum. Written
// last: a backup whose file is there is complete. The bytes stand in FORMATS.md, "Backups".
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
  uint32_t crc = 0;  // CRC-32C of all of it

  bool operator==(const BackupBlob&) const = default;
};

struct BackupFile {
  static constexpr uint32_t kVersion = 4;

  // Of the data directory that it was taken of: one that it becomes again is of no older format.
  uint32_t format = kVersion;
  std::string source;         // id of the data directory
  std::string program;        // version of the program that wrote it
  int64_t wall_us = 0;        // of the instant
  int64_t trusted_us = 0;     // trusted time then: no answer of the data was given later
  uint64_t copied_bytes = 0;  // what this backup added to what was there
  std::map<Subject, SubjectState> subjects;
  std::vector<BackupBlob> blobs;  // by id

  uint64_t bytes() const;
};

std::string encode_backup(const BackupFile& file);
// DATA_LOSS naming the file when it is damaged; FAILED_PRECONDITION when a newer program wrote it.
Result<BackupFile> decode_backup(Bytes content, std::string_view name);
// The entries, decoded and checked against themselves and the blobs.
Result<ManifestContents> contents_of(const BackupFile& file, std::string_view name);

}  // namespace cellar::engine
