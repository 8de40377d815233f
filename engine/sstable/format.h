// The file format of a table, shared by writer, reader and inspector. See "SSTable" in FORMATS.md.
//
//   header         kTableHeaderBytes
//   data block*    entries in order (data_block.h)
//   part block*    index and filters of neighbouring data blocks (index_parts.h); optional
//   filter block   filter of the rows (filter.h); optional
//   range block    range deletes (engine/iter/range_delete.h); optional
//   dictionary     for data blocks packed by Zstandard; optional
//   meta block     facts about the table (table_meta.h)
//   index block    positions of the data blocks (table_index.h) or of the parts
//                  (index_parts.h)
//   footer         kTableFooterBytes, the last bytes of the blob
//
// Every block ends with a trailer of its type and a checksum seeded with the blob's id and the
// block's offset, so that a valid block at the wrong place or in the wrong file is detected.
#pragma once

#include <cstdint>
#include <string>

#include "engine/model/types.h"
#include "io/base/bytes.h"
#include "io/base/result.h"

namespace cellar::engine {

inline constexpr uint32_t kTableFormatVersion = 4;
inline constexpr Bytes kTableMagic = "CELLRTAB";
inline constexpr size_t kTableHeaderBytes = 24;
inline constexpr size_t kTableFooterBytes = 76;
inline constexpr size_t kBlockTrailerBytes = 5;  // type: u8, crc: u32
// A block has at least one entry, and an entry may be as large as its value (100 MiB at most).
inline constexpr size_t kMaxBlockBytes = 256u << 20;
// A compression that saves less than 1/8 (12 %) is not worth the time of every read.
inline constexpr size_t kMinGainDivisor = 8;

class ZstdUnpacker;  // zstd_codec.h

struct BlockHandle {
  uint64_t offset = 0;
  uint32_t size = 0;  // including the trailer; 0: no such block
  uint64_t end() const { return offset + size; }
  bool operator==(const BlockHandle&) const = default;
};

// Numbers are on disk.
enum class BlockType : uint8_t {
  raw = 0,
  lz4 = 1,              // uncompressed size: u32, then one LZ4 block
  zstd = 2,             // one Zstandard frame with its size; data blocks only
  zstd_dictionary = 3,  // the same, packed with the table's dictionary
};

// "blob 000000000400001a at 4096": the place in every error.
std::string block_name(BlobId blob, uint64_t offset);

// Appends `raw` as a stored block at `offset`; returns its size with trailer.
uint32_t append_block(std::string& out, Bytes raw, bool compress, BlobId blob, uint64_t offset);

// Appends the trailer to a block of `type` whose payload is in `out` from `begin` on and will be
// stored at `offset`; returns the size with trailer.
uint32_t finish_block(std::string& out, size_t begin, BlockType type, BlobId blob, uint64_t offset);

// A stored block with a valid checksum. `payload` points into the stored bytes.
struct CheckedBlock {
  BlockType type = BlockType::raw;
  Bytes payload;
  size_t raw_bytes = 0;
};
// DATA_LOSS with blob and offset if the checksum is wrong.
Result<CheckedBlock> check_block(Bytes stored, BlobId blob, uint64_t offset);
// Unpacks into `into`, of block.raw_bytes bytes. DATA_LOSS if the compressed bytes are malformed.
// Blocks packed by Zstandard use `zstd` or a temporary context; the dictionary is the table's.
Result<void> unpack_block(const CheckedBlock& block, char* into, BlobId blob, uint64_t offset,
                          Bytes dictionary = {}, ZstdUnpacker* zstd = nullptr);
// Checks and unpacks into a string.
Result<std::string> read_block(Bytes stored, BlobId blob, uint64_t offset, Bytes dictionary = {});

// append_block() without compression, in pieces, for long blocks:
//   RawBlockAppender block(out, raw.size(), blob, offset);
//   for (each piece) block.add(piece);
//   size = block.finish();
class RawBlockAppender {
 public:
  static constexpr size_t kPieceBytes = 64 * 1024;  // takes some 20 us

  // Reserves room in `out`, which must outlive it and not be changed meanwhile.
  RawBlockAppender(std::string& out, size_t raw_bytes, BlobId blob, uint64_t offset);
  void add(Bytes piece);
  // REQUIRES: raw_bytes were added. Returns the size of the block.
  uint32_t finish();

 private:
  std::string& out_;
  const size_t begin_;
  const size_t raw_bytes_;
  uint32_t crc_;
};

// Verifies the checksum of an uncompressed block in pieces of kPieceBytes; returns its contents.
class RawBlockChecker {
 public:
  // `stored` must outlive it.
  RawBlockChecker(Bytes stored, BlobId blob, uint64_t offset);
  // Compressed, so it must be checked by check_block().
  bool is_packed() const;
  // True when everything is checked.
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
std::string encode_table_header(BlobId blob);
// DATA_LOSS if damaged or of another blob; FAILED_PRECONDITION if of another format.
Result<void> check_table_header(Bytes header, BlobId blob);

struct TableFooter {
  BlockHandle filter;
  BlockHandle ranges;
  BlockHandle meta;
  BlockHandle index;
  BlobId blob;
  // `index` is the top-level index of an index in parts (index_parts.h), or all of the index.
  bool index_in_parts = false;
};
// `offset` is the position of the footer.
std::string encode_table_footer(const TableFooter& footer, uint64_t offset);
// The errors of check_table_header; DATA_LOSS also if the handles are not in order between header
// and footer or the kind of index is unknown. `footer` is the last kTableFooterBytes of a blob of
// `blob_bytes`.
Result<TableFooter> decode_table_footer(Bytes footer, BlobId blob, uint64_t blob_bytes);

}  // namespace cellar::engine
