// The checkpoint of an import: a small file beside the input with the position up to which
// everything is acknowledged. It is replaced atomically and synced.
#pragma once

#include <optional>
#include <string>

#include "net/cli/transfer/importer.h"

namespace cellar::cli {

// Identifies the input. An import resumes only from a checkpoint of the same input.
struct ImportIdentity {
  std::string table;
  std::string format;
  uint64_t file_bytes = 0;
  int64_t file_time_ns = 0;  // modification time
};

struct Checkpoint {
  Position at;
  ImportStats stats;             // elapsed_us is not stored
  std::optional<int64_t> at_us;  // timestamp for cells without one; absent: the node's
  // From which relative times in the input count; absent in older checkpoints.
  std::optional<int64_t> now_us = std::nullopt;
};

std::string checkpoint_path(const std::string& input, const std::string& table);

// UNAVAILABLE with the reason if the file cannot be written.
Result<void> write_checkpoint(const std::string& path, const ImportIdentity& identity,
                              const Checkpoint& checkpoint);
// Empty if there is no file. FAILED_PRECONDITION if it belongs to another input, table or format,
// or is not a checkpoint; the error says which.
Result<std::optional<Checkpoint>> read_checkpoint(const std::string& path,
                                                  const ImportIdentity& identity);
// The same for the content of the file.
Result<Checkpoint> parse_checkpoint(std::string_view content, const std::string& path,
                                    const ImportIdentity& identity);
void remove_checkpoint(const std::string& path);

}  // namespace cellar::cli
