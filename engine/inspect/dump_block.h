// BlockDump: prints blocks of one table. What prints a part of a table derives from it.
#pragma once

#include <optional>
#include <string>

#include "engine/inspect/dump.h"
#include "engine/model/types.h"
#include "io/base/result.h"
#include "io/disk/file.h"

namespace cellar::engine {

class BlockDump {
 protected:
  BlockDump(File& file, const DumpOptions& options, Dump& dump)
      : file_(file), options_(options), dump_(dump) {}

  // Reads into `bytes_`; if the file ends before, that is a problem.
  Async<Result<void>> read(uint64_t offset, size_t size);
  // Names the block in `bytes_` and returns its contents; reports a problem and returns empty if it
  // is damaged.
  std::optional<std::string> open_block(uint64_t offset, const std::string& name);
  void show_contents(Bytes contents, Bytes label) {
    if (options_.entries) dump_.field(in_file_, contents, label);
  }
  void show_trailer(uint64_t offset);

  File& file_;
  const DumpOptions options_;
  Dump& dump_;
  BlobId blob_;
  std::string dictionary_;
  std::string bytes_;     // of the part read last
  uint64_t in_file_ = 0;  // offset of the open block's contents, 0 if unpacked
};

}  // namespace cellar::engine
