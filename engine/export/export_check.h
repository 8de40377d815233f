// Walks over an export file frame by frame and detects all damage. It does no I/O: the caller reads
// heads and payloads and passes them in order.
#pragma once

#include <string>

#include "engine/export/export_format.h"

namespace cellar::engine {

class ExportCheck {
 public:
  // `head` is the first kExportHeadBytes bytes. Errors as in check_export_head.
  Result<void> file_head(Bytes head);
  // The next complete frame. DATA_LOSS describes the fault and leaves this object unchanged: the
  // file is valid up to bytes().
  Result<FrameKind> frame(Bytes head, Bytes payload);

  bool ended() const { return ended_; }  // the end was reached; nothing may follow
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
