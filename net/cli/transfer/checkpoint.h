// The checkpoint of an import: a small file beside the input that tells up to where everything was
// acknowledged. Replaced whole and synced, so it is never half.
#pragma once

#include <optional>
#include <string>

#include "net/cli/transfer/importer.h"

namespace cellar::cli {

// Which input it belongs to. An import only goes on from a checkpoint of the very same one.
struct ImportIdentity {
  std::string table;
  std::string format;
  uint64_t file_bytes = 0;
  int64_t file_time_ns = 0;  // of its last change
};

struct Checkpoint {
  Position at;
  ImportStats stats;             // elapsed_us is not kept
  std::optional<int64_t> at_us;  // timestamp of cells that have none
};

std::string checkpoint_path(const std::string& input, const std::string& table);

// UNAVAILABLE: the file cannot be written, with the reason.
Result<void> write_checkpoint(const std::string& path, const ImportIdentity& identity,
                              const Checkpoint& checkpoint);
// Nothing when there is none. FAILED_PRECONDITION: it is of another input, table or format, or is
// no checkpoint; says which.
Result<std::optional<Checkpoint>> read_checkpoint(const std::string& path,
                                                  const ImportIdentity& identity);
void remove_checkpoint(const std::string& path);

}  // namespace cellar::cli
