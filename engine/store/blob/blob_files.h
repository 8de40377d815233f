// Names of blob files.
#pragma once

#include <optional>
#include <string>

#include "engine/model/types.h"

namespace cellar::engine {

inline constexpr std::string_view kBlobDirectory = "blob";

std::string blob_path(BlobId id);
std::string unsealed_blob_path(BlobId id);

struct BlobFileName {
  BlobId id;
  bool sealed = false;
};
// `name` is relative to kBlobDirectory; empty if it is not a blob file.
std::optional<BlobFileName> parse_blob_file(std::string_view name);

}  // namespace cellar::engine
