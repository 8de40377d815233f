// The fixed parts of an export file (EXPORT_FORMAT.md): a file head, then frames. Each frame's
// checksum continues from the previous one, so missing, repeated or foreign frames are detected as
// reliably as flipped bits.
#pragma once

#include <cstdint>
#include <optional>

#include "io/base/bytes.h"
#include "io/base/result.h"

namespace cellar::engine {

inline constexpr Bytes kExportMagic = "CELLREXP";
inline constexpr uint32_t kExportVersion = 1;
inline constexpr size_t kExportHeadBytes = 16;
inline constexpr size_t kFrameHeadBytes = 12;
// A row as read is at most 256 MiB; larger lengths are rejected before allocation.
inline constexpr uint32_t kMaxFramePayloadBytes = 512u << 20;
// Size at which a block of rows is closed.
inline constexpr size_t kExportBlockBytes = 1u << 20;

enum class FrameKind : uint8_t { description = 1, rows = 2, end = 3 };

struct ExportCell {
  Bytes family;
  Bytes qualifier;
  int64_t timestamp_us = 0;
  std::optional<int64_t> expire_at_us;
  Bytes value;
};

struct ExportCounts {
  uint64_t rows = 0;
  uint64_t cells = 0;
  uint64_t value_bytes = 0;
  bool operator==(const ExportCounts&) const = default;
};

std::string encode_export_head();
// Returns the initial checksum for the first frame. INVALID_ARGUMENT: not an export file;
// FAILED_PRECONDITION: of another format; DATA_LOSS: damaged.
Result<uint32_t> check_export_head(Bytes head);

struct FrameHead {
  uint32_t checksum = 0;
  uint32_t payload_bytes = 0;
  uint8_t kind = 0;
};
// DATA_LOSS for a length past the bound. REQUIRES: kFrameHeadBytes bytes.
Result<FrameHead> decode_frame_head(Bytes head);
// `chain` is the checksum of the previous frame, and becomes this one's.
std::string encode_frame(FrameKind kind, Bytes payload, uint32_t& chain);

}  // namespace cellar::engine
