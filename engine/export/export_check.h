// A walk over an export file, frame by frame, that finds all damage. It holds no file: the caller
// reads heads and payloads and hands them over in order.
#pragma once

#include <string>

#include "engine/export/export_format.h"

namespace cellar::engine {

class ExportCheck {
 public:
  // The first kExportHeadBytes bytes. Errors as of check_export_head.
  Result<void> file_head(Bytes head);
  // The next frame, which was complete. DATA_LOSS tells what is wrong, and nothing of this class
  // has changed: the file is whole up to bytes().
  Result<FrameKind> frame(Bytes head, Bytes payload);

  bool ended() const { return ended_; }  // the end was met; nothing may follow
  uint64_t bytes() const { return bytes_; }
  uint64_t frames() const { return frames_; }
  uint32_t chain() const { return chain_; }
  const ExportCounts& counts() const { return counts_; }
  const std::string& description() const { return description_; }
  const std::string& last_key() const { return last_key_; }  // empty: no row yet

 private:
  Result<void> rows(Bytes payload, ExportCounts& counts, std::string& last_key) const;
  Result<void> end(Bytes payload) const;

  uint32_t chain_ = 0;
  uint64_t bytes_ = 0;
  uint64_t frames_ = 0;
  bool ended_ = false;
  ExportCounts counts_;
  std::string description_;
  std::string last_key_;
};

}  // namespace cellar::engine
