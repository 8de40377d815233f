// The bytes of a table that writer, reader and inspector share. See "SSTable" in FORMATS.md.
//
//   header         kTableHeaderBytes
//   data block*    entries in order (block_writer.h)
//   part block*    index and filters of neighbouring data blocks (index_part.h); format 3 only
//   filter block   which rows there are (filter.h); may be missing
//   range block    range deletes (engine/iter/range_delete.h); may be missing
//   dictionary     what data blocks of Zstandard may need; may be missing
//   meta block     facts about the table (table_meta.h)
//   index block    where the data blocks are (table_index.h), or where the parts are
//                  (table_outline.h)
//   footer         kTableFooterBytes, the last bytes of the blob
//
// Every block ends with a trailer of its type and a checksum that is seeded with the blob's id and
// the block's offset, so a right block in the wrong place or the wrong file is found.
#pragma once

#include <cstdint>
#include <string>

#include "engine/model/types.h"
#include "io/base/bytes.h"
#include "io/base/result.h"

namespace cellar::engine {

// Of tables whose data blocks are packed by LZ4 or not at all; of those in which some may be packed
// by Zstandard; of those whose index is in parts, packed by whatever. Directories of an older
// format than that hold none (store/format_file.h).
inline constexpr uint32_t kFirstTableFormat = 1;
inline constexpr uint32_t kZstdTableFormat = 2;
inline constexpr uint32_t kPartsTableFormat = 3;
inline constexpr uint32_t kTableFormatVersion = kPartsTableFormat;
inline constexpr Bytes kTableMagic = "CELLRTAB";
inline constexpr size_t kTableHeaderBytes = 24;
inline constexpr size_t kTableFooterBytes = 72;
inline constexpr size_t kBlockTrailerBytes = 5;  // type: u8, crc: u32
// A block holds at least one entry, and an entry may be as large as its value (100 MiB at most).
inline constexpr size_t kMaxBlockBytes = 256u << 20;
// Compression that saves less than 1/8 (12 %) is not worth the time of every read.
inline constexpr size_t kMinGainDivisor = 8;

class ZstdUnpacker;  // zstd_codec.h

struct BlockHandle {
  uint64_t offset = 0;
  uint32_t size = 0;  // trailer included; 0: there is no such block
  uint64_t end() const { return offset + size; }
  bool operator==(const BlockHandle&) const = default;
};

// Numbers are on disk.
enum class BlockType : uint8_t {
  raw = 0,
  lz4 = 1,              // size before compression: u32, then one LZ4 block
  zstd = 2,             // one frame of Zstandard that tells its size; data blocks only
  zstd_dictionary = 3,  // likewise, packed with the table's dictionary
};

// "blob 000000000400001a at 4096": how every error names its place.
std::string block_name(BlobId blob, uint64_t offset);

// Appends `raw` as a stored block that will lie at `offset`; answers its size with trailer.
uint32_t append_block(std::string& out, Bytes raw, bool compress, BlobId blob, uint64_t offset);

// The payload of a block of `type` lies in `out` from `begin` on and will lie at `offset`: appends
// the trailer; the size with it.
uint32_t finish_block(std::string& out, size_t begin, BlockType type, BlobId blob, uint64_t offset);

// A stored block whose checksum was right. `payload` is borrowed from the stored bytes.
struct CheckedBlock {
  BlockType type = BlockType::raw;
  Bytes payload;
  size_t raw_bytes = 0;
};
// DATA_LOSS naming blob and offset unless the checksum is right.
Result<CheckedBlock> check_block(Bytes stored, BlobId blob, uint64_t offset);
// Into `into`, of block.raw_bytes bytes. DATA_LOSS when the compressed bytes are malformed. Blocks
// of Zstandard take `zstd`, or a context of their own; the dictionary is the table's.
Result<void> unpack_block(const CheckedBlock& block, char* into, BlobId blob, uint64_t offset,
                          Bytes dictionary = {}, ZstdUnpacker* zstd = nullptr);
// Both, into a string.
Result<std::string> read_block(Bytes stored, BlobId blob, uint64_t offset, Bytes dictionary = {});

// append_block() without compression and in pieces, for what is long:
//   RawBlockAppender block(out, raw.size(), blob, offset);
//   for (each piece) block.add(piece);
//   size = block.finish();
class RawBlockAppender {
 public:
  static constexpr size_t kPieceBytes = 64 * 1024;  // some 20 us

  // Makes room behind `out`, which must outlive it and be left alone.
  RawBlockAppender(std::string& out, size_t raw_bytes, BlobId blob, uint64_t offset);
  void add(Bytes piece);
  // REQUIRES: raw_bytes were added. Answers the size of the block.
  uint32_t finish();

 private:
  std::string& out_;
  const size_t begin_;
  const size_t raw_bytes_;
  uint32_t crc_;
};

// The checksum of a block that lies raw, in pieces of kPieceBytes; its contents.
class RawBlockChecker {
 public:
  // `stored` outlives it.
  RawBlockChecker(Bytes stored, BlobId blob, uint64_t offset);
  // Not what this can check: check_block() can.
  bool is_packed() const;
  // True when all is looked at.
  bool step();
  Result<Bytes> contents() const;

 private:
  Bytes stored_;
  BlobId blob_;
  uint64_t offset_;
  size_t done_ = 0;
  uint32_t crc_;
};

// ---- header and footer ----
std::string encode_table_header(BlobId blob, uint32_t version = kFirstTableFormat);
// DATA_LOSS when damaged or of another blob; FAILED_PRECONDITION when of a newer format.
Result<void> check_table_header(Bytes header, BlobId blob);

struct TableFooter {
  BlockHandle filter;
  BlockHandle ranges;
  BlockHandle meta;
  BlockHandle index;
  BlobId blob;
  uint32_t version = kFirstTableFormat;
};
// `offset` is where the footer lies.
std::string encode_table_footer(const TableFooter& footer, uint64_t offset);
// The errors of check_table_header; DATA_LOSS also when the handles do not lie in order between
// header and footer. `footer` are the last kTableFooterBytes of a blob of `blob_bytes`.
Result<TableFooter> decode_table_footer(Bytes footer, BlobId blob, uint64_t blob_bytes);

}  // namespace cellar::engine
