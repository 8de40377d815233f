#include "bench/series/table_blocks.h"

#include <filesystem>
#include <fstream>

#include "engine/sstable/format.h"
#include "engine/sstable/table_meta.h"
#include "engine/store/blob/blob_files.h"
#include "io/base/check.h"

namespace cellar::bench {
namespace {

std::string read_at(std::ifstream& file, uint64_t offset, size_t size) {
  std::string bytes(size, '\0');
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(bytes.data(), static_cast<std::streamsize>(size));
  CHECK(file.good(), "could not read {} bytes at {}", size, offset);
  return bytes;
}

TableBlocks blocks_of_table(const std::filesystem::path& path, BlobId blob) {
  std::ifstream file(path, std::ios::binary);
  const uint64_t size = std::filesystem::file_size(path);
  const std::string end =
      read_at(file, size - engine::kTableFooterBytes, engine::kTableFooterBytes);
  auto footer = engine::decode_table_footer(end, blob, size);
  CHECK(footer.has_value(), "{}", footer.error().to_string());
  const engine::BlockHandle& at = footer->meta;
  auto encoded = engine::read_block(read_at(file, at.offset, at.size), blob, at.offset);
  CHECK(encoded.has_value(), "{}", encoded.error().to_string());
  auto meta = engine::decode_table_meta(*encoded);
  CHECK(meta.has_value(), "{}", meta.error().to_string());
  return {meta->blocks, meta->data_bytes};
}

}  // namespace

TableBlocks count_table_blocks(const std::string& directory) {
  TableBlocks all;
  const std::filesystem::path blobs = std::filesystem::path(directory) / engine::kBlobDirectory;
  for (const auto& entry : std::filesystem::directory_iterator(blobs)) {
    const auto name = engine::parse_blob_file(entry.path().filename().string());
    if (!name || !name->sealed) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    if (read_at(file, 0, engine::kTableMagic.size()) != engine::kTableMagic) continue;
    const TableBlocks one = blocks_of_table(entry.path(), name->id);
    all.blocks += one.blocks;
    all.bytes += one.bytes;
  }
  return all;
}

}  // namespace cellar::bench
