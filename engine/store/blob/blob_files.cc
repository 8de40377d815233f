#include "engine/store/blob/blob_files.h"

#include <fmt/format.h>

#include "engine/store/file/hex_name.h"

namespace cellar::engine {
namespace {

constexpr size_t kBlobDigits = 16;

}  // namespace

std::string blob_path(BlobId id) {
  return fmt::format("{}/{:016x}.sst", kBlobDirectory, id.value());
}

std::string unsealed_blob_path(BlobId id) { return blob_path(id) + ".tmp"; }

std::optional<BlobFileName> parse_blob_file(std::string_view name) {
  const auto id = parse_hex(name.substr(0, kBlobDigits), kBlobDigits);
  if (!id) return std::nullopt;
  name.remove_prefix(kBlobDigits);
  if (name != ".sst" && name != ".sst.tmp") return std::nullopt;
  return BlobFileName{BlobId{*id}, name == ".sst"};
}

}  // namespace cellar::engine
