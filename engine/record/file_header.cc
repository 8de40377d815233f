#include "engine/record/file_header.h"

#include <cstring>

#include "io/base/coding.h"
#include "io/base/crc32c.h"

namespace cellar::engine {
namespace {

constexpr size_t kMagicBytes = 8;
constexpr size_t kHeaderVersionAt = 8;
constexpr size_t kCrcAt = 12;
constexpr size_t kRestAt = 16;
constexpr uint64_t kIdBound = 1ull << 56;  // upper bound for record_owner()

Bytes magic_of(RecordFileKind kind) {
  return kind == RecordFileKind::log ? Bytes("CELLRLOG") : Bytes("CELLRMAN");
}

uint32_t header_crc(Bytes block) {
  const uint32_t first = crc32c(block.substr(0, kCrcAt));
  return crc32c(block.substr(kRestAt, kFileHeaderBytes - kRestAt), first);
}

}  // namespace

AlignedBuffer encode_file_header(const FileHeader& header) {
  AlignedBuffer block(kFileHeaderBlockBytes);
  char* p = block.chars();
  std::memset(p, 0, block.size());
  std::memcpy(p, magic_of(header.kind).data(), kMagicBytes);
  store_le(p + kHeaderVersionAt, static_cast<uint32_t>(kRecordFormatVersion));
  store_le(p + 16, header.id);
  store_le(p + 24, header.number);
  store_le(p + 32, header.file_bytes);
  store_le(p + 40, header.former ? *header.former + 1 : uint64_t{0});
  store_le(p + kCrcAt, header_crc(block.bytes(0, kFileHeaderBytes)));
  return block;
}

Result<FileHeader> decode_file_header(Bytes block, RecordFileKind kind, std::string_view path) {
  if (block.size() < kFileHeaderBytes) {
    return fail(Errc::data_loss, "{} is too short for its header ({} bytes)", path, block.size());
  }
  if (block.substr(0, kMagicBytes) != magic_of(kind)) {
    return fail(Errc::data_loss, "{} does not begin with {}", path, magic_of(kind));
  }
  const char* p = block.data();
  if (load_le<uint32_t>(p + kCrcAt) != header_crc(block)) {
    return fail(Errc::data_loss, "the header of {} is damaged", path);
  }
  const auto version = load_le<uint32_t>(p + kHeaderVersionAt);
  if (version != kRecordFormatVersion) {
    return fail(Errc::failed_precondition,
                "{} has format version {}; this program reads version {} only", path, version,
                kRecordFormatVersion);
  }
  FileHeader header;
  header.kind = kind;
  header.id = load_le<uint64_t>(p + 16);
  header.number = load_le<uint64_t>(p + 24);
  header.file_bytes = load_le<uint64_t>(p + 32);
  if (const auto former = load_le<uint64_t>(p + 40); former != 0) header.former = former - 1;
  // The reader counts in blocks up to the end.
  if (header.id >= kIdBound || header.file_bytes < kFileHeaderBlockBytes ||
      header.file_bytes % kIoAlignment != 0) {
    return fail(Errc::data_loss, "the header of {} says what none says: id {:x}, {} bytes", path,
                header.id, header.file_bytes);
  }
  return header;
}

}  // namespace cellar::engine
