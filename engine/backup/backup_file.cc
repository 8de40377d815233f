#include "engine/backup/backup_file.h"

#include <algorithm>

#include "engine/store/backup_store.h"
#include "engine/store/manifest/manifest_entries.h"
#include "io/base/coding.h"
#include "io/base/crc32c.h"

namespace cellar::engine {
namespace {

constexpr std::string_view kMagic = "CELLRBAK";
constexpr size_t kHeadBytes = 16;  // magic, version, checksum

Error damaged(std::string_view name) {
  return Error(Errc::data_loss, fmt::format("{} is damaged", backup_path(name)));
}

uint32_t checksum_of(Bytes content) {
  return crc32c(content.substr(kHeadBytes), crc32c(content.substr(0, kMagic.size() + 4)));
}

}  // namespace

uint64_t BackupFile::bytes() const {
  uint64_t sum = 0;
  for (const BackupBlob& blob : blobs) sum += blob.bytes;
  return sum;
}

std::string encode_backup(const BackupFile& file) {
  std::string out(kMagic);
  put_u32(out, BackupFile::kVersion);
  put_u32(out, 0);
  put_bytes(out, file.source);
  put_bytes(out, file.program);
  put_varint(out, zigzag(file.wall_us));
  put_varint(out, zigzag(file.trusted_us));
  put_varint(out, file.copied_bytes);
  ManifestState state;
  state.entries = file.entries;
  for (const auto& [key, held] : state.entries) {
    state.next_version = std::max(state.next_version, held.version + 1);
  }
  const std::vector<std::string> entries = encode_snapshot(state);
  put_varint(out, entries.size());
  for (const std::string& entry : entries) put_bytes(out, entry);
  put_varint(out, file.blobs.size());
  for (const BackupBlob& blob : file.blobs) {
    put_varint(out, blob.id.value());
    put_varint(out, blob.bytes);
    put_u32(out, blob.crc);
  }
  store_le(out.data() + kMagic.size() + 4, checksum_of(out));
  return out;
}

Result<BackupFile> decode_backup(Bytes content, std::string_view name) {
  if (content.size() < kHeadBytes || !content.starts_with(kMagic)) {
    return std::unexpected(damaged(name));
  }
  const auto version = load_le<uint32_t>(content.data() + kMagic.size());
  if (version != BackupFile::kVersion) {
    return fail(Errc::failed_precondition, "{} is of format {}; this program reads format {} only",
                backup_path(name), version, BackupFile::kVersion);
  }
  if (load_le<uint32_t>(content.data() + kMagic.size() + 4) != checksum_of(content)) {
    return std::unexpected(damaged(name));
  }
  Reader in(content.substr(kHeadBytes));
  BackupFile file;
  file.source = in.bytes();
  file.program = in.bytes();
  file.wall_us = unzigzag(in.varint());
  file.trusted_us = unzigzag(in.varint());
  file.copied_bytes = in.varint();
  ManifestState state;
  for (uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    if (!apply_entry(in.bytes(), state)) return std::unexpected(damaged(name));
  }
  for (uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    BackupBlob blob;
    blob.id = BlobId{in.varint()};
    blob.bytes = in.varint();
    blob.crc = in.u32();
    file.blobs.push_back(blob);
  }
  if (!in.ok() || !in.at_end() || !state.complete) return std::unexpected(damaged(name));
  file.entries = std::move(state.entries);
  return file;
}

Result<ManifestContents> contents_of(const BackupFile& file, std::string_view name) {
  TRY(ManifestContents contents, decode_manifest(file.entries));
  for (const TabletSeed& tablet : contents.tablets) {
    for (const TableItem& item : tablet.tables) {
      const auto at =
          std::lower_bound(file.blobs.begin(), file.blobs.end(), item.meta.blob,
                           [](const BackupBlob& blob, BlobId id) { return blob.id < id; });
      if (at == file.blobs.end() || at->id != item.meta.blob) {
        return fail(Errc::data_loss, "{} names blob {:x} and does not have it", backup_path(name),
                    item.meta.blob);
      }
    }
  }
  return contents;
}

}  // namespace cellar::engine
