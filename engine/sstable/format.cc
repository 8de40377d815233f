#include "engine/sstable/format.h"

#include <lz4.h>

#include <optional>

#include "engine/sstable/zstd_codec.h"
#include "io/base/check.h"
#include "io/base/coding.h"
#include "io/base/crc32c.h"

namespace cellar::engine {
namespace {

constexpr size_t kRawSizeBytes = 4;  // before an LZ4 block
// The maximum expansion of an LZ4 block, which bounds the size in a block before memory is
// allocated for it.
constexpr size_t kMaxLz4Ratio = 255;

// Offsets in the footer, which starts with four handles of 12 bytes each.
constexpr size_t kFooterBlob = 48;
constexpr size_t kFooterIndexKind = 56;
constexpr size_t kFooterVersion = 60;  // 16 bytes before the end in every format
constexpr size_t kFooterCrc = 64;
constexpr size_t kFooterMagic = 68;

uint32_t block_crc(Bytes payload_and_type, BlobId blob, uint64_t offset) {
  return crc32c(payload_and_type, crc_seed(blob.value(), offset));
}

// Appends the compressed bytes to `out`; returns false and leaves `out` unchanged if that does not
// pay.
bool append_lz4(std::string& out, Bytes raw) {
  const size_t before = out.size();
  const int bound = LZ4_compressBound(static_cast<int>(raw.size()));
  out.resize(before + kRawSizeBytes + static_cast<size_t>(bound));
  store_le(out.data() + before, static_cast<uint32_t>(raw.size()));
  const int packed = LZ4_compress_default(raw.data(), out.data() + before + kRawSizeBytes,
                                          static_cast<int>(raw.size()), bound);
  const size_t size = kRawSizeBytes + static_cast<size_t>(packed);
  const bool pays = packed > 0 && size <= raw.size() - raw.size() / kMinGainDivisor;
  out.resize(pays ? before + size : before);
  return pays;
}

void put_handle(std::string& out, const BlockHandle& handle) {
  put_u64(out, handle.offset);
  put_u32(out, handle.size);
}

BlockHandle get_handle(Reader& in) {
  BlockHandle handle;
  handle.offset = in.u64();
  handle.size = in.u32();
  return handle;
}

bool is_zstd(BlockType type) {
  return type == BlockType::zstd || type == BlockType::zstd_dictionary;
}

Result<void> check_version(uint32_t version, BlobId blob) {
  if (version != kTableFormatVersion) {
    return fail(Errc::failed_precondition,
                "blob {:016x} has table format {}; this program reads format {} only", blob.value(),
                version, kTableFormatVersion);
  }
  return {};
}

std::unexpected<Error> damaged(Bytes what, BlobId blob, uint64_t offset, Bytes why) {
  return fail(Errc::data_loss, "{} of {} is damaged: {}", what, block_name(blob, offset), why);
}

}  // namespace

std::string block_name(BlobId blob, uint64_t offset) {
  return fmt::format("blob {:016x} at {}", blob.value(), offset);
}

uint32_t append_block(std::string& out, Bytes raw, bool compress, BlobId blob, uint64_t offset) {
  CHECK(raw.size() <= kMaxBlockBytes, "block of {} bytes, at most {}", raw.size(), kMaxBlockBytes);
  const size_t begin = out.size();
  const bool packed = compress && !raw.empty() && append_lz4(out, raw);
  if (!packed) out.append(raw);
  return finish_block(out, begin, packed ? BlockType::lz4 : BlockType::raw, blob, offset);
}

uint32_t finish_block(std::string& out, size_t begin, BlockType type, BlobId blob,
                      uint64_t offset) {
  put_u8(out, static_cast<uint8_t>(type));
  put_u32(out, block_crc(Bytes(out).substr(begin), blob, offset));
  return static_cast<uint32_t>(out.size() - begin);
}

RawBlockAppender::RawBlockAppender(std::string& out, size_t raw_bytes, BlobId blob, uint64_t offset)
    : out_(out), begin_(out.size()), raw_bytes_(raw_bytes), crc_(crc_seed(blob.value(), offset)) {
  CHECK(raw_bytes <= kMaxBlockBytes, "block of {} bytes, at most {}", raw_bytes, kMaxBlockBytes);
  out_.reserve(begin_ + raw_bytes + kBlockTrailerBytes + kTableFooterBytes);
}

void RawBlockAppender::add(Bytes piece) {
  out_.append(piece);
  crc_ = crc32c(piece, crc_);
}

uint32_t RawBlockAppender::finish() {
  CHECK(out_.size() == begin_ + raw_bytes_, "{} bytes of {}", out_.size() - begin_, raw_bytes_);
  put_u8(out_, static_cast<uint8_t>(BlockType::raw));
  crc_ = crc32c(Bytes(out_).substr(out_.size() - 1), crc_);
  put_u32(out_, crc_);
  return static_cast<uint32_t>(out_.size() - begin_);
}

RawBlockChecker::RawBlockChecker(Bytes stored, BlobId blob, uint64_t offset)
    : stored_(stored), blob_(blob), offset_(offset), crc_(crc_seed(blob.value(), offset)) {}

bool RawBlockChecker::is_packed() const {
  return stored_.size() < kBlockTrailerBytes ||
         static_cast<BlockType>(stored_[stored_.size() - kBlockTrailerBytes]) != BlockType::raw;
}

bool RawBlockChecker::step() {
  const size_t covered = stored_.size() - sizeof(uint32_t);
  const Bytes piece =
      stored_.substr(done_, std::min(covered - done_, RawBlockAppender::kPieceBytes));
  crc_ = crc32c(piece, crc_);
  done_ += piece.size();
  return done_ == covered;
}

Result<Bytes> RawBlockChecker::contents() const {
  if (load_le<uint32_t>(stored_.data() + stored_.size() - sizeof(uint32_t)) != crc_) {
    return damaged("the block", blob_, offset_, "its checksum is wrong");
  }
  return stored_.substr(0, stored_.size() - kBlockTrailerBytes);
}

Result<CheckedBlock> check_block(Bytes stored, BlobId blob, uint64_t offset) {
  if (stored.size() < kBlockTrailerBytes) {
    return damaged("the block", blob, offset, "it is shorter than its trailer");
  }
  const Bytes covered = stored.substr(0, stored.size() - sizeof(uint32_t));
  if (load_le<uint32_t>(covered.data() + covered.size()) != block_crc(covered, blob, offset)) {
    return damaged("the block", blob, offset, "its checksum is wrong");
  }
  CheckedBlock block;
  block.type = static_cast<BlockType>(covered.back());
  block.payload = covered.substr(0, covered.size() - 1);
  block.raw_bytes = block.payload.size();
  if (block.type == BlockType::raw) return block;
  if (is_zstd(block.type)) {
    if (ZstdUnpacker::raw_bytes(block.payload, block.raw_bytes)) return block;
    return damaged("the block", blob, offset, "its size is out of bounds");
  }
  if (block.type != BlockType::lz4 || block.payload.size() < kRawSizeBytes) {
    return damaged("the block", blob, offset, "its type is unknown");
  }
  block.raw_bytes = load_le<uint32_t>(block.payload.data());
  block.payload.remove_prefix(kRawSizeBytes);
  if (block.raw_bytes > kMaxBlockBytes || block.raw_bytes / kMaxLz4Ratio > block.payload.size()) {
    return damaged("the block", blob, offset, "its size is out of bounds");
  }
  return block;
}

Result<void> unpack_block(const CheckedBlock& block, char* into, BlobId blob, uint64_t offset,
                          Bytes dictionary, ZstdUnpacker* zstd) {
  if (block.type == BlockType::raw) {
    if (!block.payload.empty()) std::memcpy(into, block.payload.data(), block.payload.size());
    return {};
  }
  if (is_zstd(block.type)) {
    if (block.type == BlockType::zstd) dictionary = {};
    std::optional<ZstdUnpacker> own;
    if (zstd == nullptr) zstd = &own.emplace();
    if (zstd->unpack(block.payload, dictionary, into, block.raw_bytes)) return {};
    return damaged("the block", blob, offset, "it does not decompress");
  }
  const int n =
      LZ4_decompress_safe(block.payload.data(), into, static_cast<int>(block.payload.size()),
                          static_cast<int>(block.raw_bytes));
  if (n < 0 || static_cast<size_t>(n) != block.raw_bytes) {
    return damaged("the block", blob, offset, "it does not decompress");
  }
  return {};
}

Result<std::string> read_block(Bytes stored, BlobId blob, uint64_t offset, Bytes dictionary) {
  TRY(const CheckedBlock block, check_block(stored, blob, offset));
  std::string raw(block.raw_bytes, '\0');
  TRY_VOID(unpack_block(block, raw.data(), blob, offset, dictionary));
  return raw;
}

std::string encode_table_header(BlobId blob) {
  std::string rest;
  put_u64(rest, blob.value());
  std::string out(kTableMagic);
  put_u32(out, kTableFormatVersion);
  put_u32(out, crc32c(rest, crc32c(out)));
  return out + rest;
}

Result<void> check_table_header(Bytes header, BlobId blob) {
  if (header.size() != kTableHeaderBytes || header.substr(0, 8) != kTableMagic) {
    return damaged("the header", blob, 0, "it is no table");
  }
  TRY_VOID(check_version(load_le<uint32_t>(header.data() + 8), blob));
  if (header != encode_table_header(blob)) {
    return damaged("the header", blob, 0, "its checksum or blob id is wrong");
  }
  return {};
}

std::string encode_table_footer(const TableFooter& footer, uint64_t offset) {
  std::string out;
  put_handle(out, footer.filter);
  put_handle(out, footer.ranges);
  put_handle(out, footer.meta);
  put_handle(out, footer.index);
  put_u64(out, footer.blob.value());
  put_u32(out, footer.index_in_parts ? 1 : 0);
  put_u32(out, kTableFormatVersion);
  put_u32(out, block_crc(out, footer.blob, offset));
  out.append(kTableMagic);
  return out;
}

Result<TableFooter> decode_table_footer(Bytes bytes, BlobId blob, uint64_t blob_bytes) {
  const uint64_t offset = blob_bytes - kTableFooterBytes;
  if (bytes.size() != kTableFooterBytes || bytes.substr(kFooterMagic) != kTableMagic) {
    return damaged("the footer", blob, offset, "it is no table");
  }
  TRY_VOID(check_version(load_le<uint32_t>(bytes.data() + kFooterVersion), blob));
  const uint32_t crc = block_crc(bytes.substr(0, kFooterCrc), blob, offset);
  if (load_le<uint32_t>(bytes.data() + kFooterCrc) != crc ||
      load_le<uint64_t>(bytes.data() + kFooterBlob) != blob.value()) {
    return damaged("the footer", blob, offset, "its checksum or blob id is wrong");
  }
  const auto index_kind = load_le<uint32_t>(bytes.data() + kFooterIndexKind);
  if (index_kind > 1) return damaged("the footer", blob, offset, "its kind of index is unknown");
  Reader in(bytes);
  TableFooter footer;
  footer.index_in_parts = index_kind == 1;
  footer.filter = get_handle(in);
  footer.ranges = get_handle(in);
  footer.meta = get_handle(in);
  footer.index = get_handle(in);
  footer.blob = blob;
  uint64_t place = kTableHeaderBytes;
  for (const BlockHandle* h : {&footer.filter, &footer.ranges, &footer.meta, &footer.index}) {
    if (h->size == 0) continue;
    if (h->offset < place || h->offset > offset || h->size > offset - h->offset) {
      return damaged("the footer", blob, offset, "its blocks are out of order");
    }
    place = h->end();
  }
  if (footer.meta.size == 0 || footer.index.size == 0 || place != offset) {
    return damaged("the footer", blob, offset, "it names no meta or index block");
  }
  return footer;
}

}  // namespace cellar::engine
