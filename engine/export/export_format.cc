#include "engine/export/export_format.h"

#include "io/base/coding.h"
#include "io/base/crc32c.h"

namespace cellar::engine {

std::string encode_export_head() {
  std::string head(kExportMagic);
  put_u32(head, kExportVersion);
  put_u32(head, crc32c(head));
  return head;
}

Result<uint32_t> check_export_head(Bytes head) {
  if (head.size() < kExportHeadBytes || !head.starts_with(kExportMagic)) {
    return fail(Errc::invalid_argument, "not an export file: it does not begin with '{}'",
                kExportMagic);
  }
  const uint32_t checksum = load_le<uint32_t>(head.data() + 12);
  if (crc32c(head.substr(0, 12)) != checksum) {
    return fail(Errc::data_loss, "the head of the file is damaged");
  }
  const uint32_t version = load_le<uint32_t>(head.data() + 8);
  if (version != kExportVersion) {
    return fail(Errc::failed_precondition, "export format {}; this program reads format {} only",
                version, kExportVersion);
  }
  return checksum;
}

Result<FrameHead> decode_frame_head(Bytes head) {
  FrameHead out;
  out.checksum = load_le<uint32_t>(head.data());
  out.payload_bytes = load_le<uint32_t>(head.data() + 4);
  out.kind = static_cast<uint8_t>(head[8]);
  if (out.payload_bytes > kMaxFramePayloadBytes) {
    return fail(Errc::data_loss, "a frame of {} bytes, of {} at most", out.payload_bytes,
                kMaxFramePayloadBytes);
  }
  return out;
}

std::string encode_frame(FrameKind kind, Bytes payload, uint32_t& chain) {
  std::string frame;
  frame.reserve(kFrameHeadBytes + payload.size());
  put_u32(frame, 0);
  put_u32(frame, static_cast<uint32_t>(payload.size()));
  put_u32(frame, static_cast<uint32_t>(kind));
  frame.append(payload);
  chain = crc32c(Bytes(frame).substr(4), chain);
  store_le(frame.data(), chain);
  return frame;
}

}  // namespace cellar::engine
