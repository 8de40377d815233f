// TableCheck: verifies every byte of one table on disk, in pieces. The caller reads them from the
// device, at its own pace.
//
//   TableCheck check(blob);
//   while (const auto piece = check.next(reader)) {
//     read it; check.take(bytes) or check.failed(error)
//   }
//
// Order: the header; the data blocks, each index part before the blocks that it names; the sections
// of indexes, each as a whole by its checksum; filters, range deletes, dictionary, meta and index;
// the footer. Neighbouring blocks are one piece.
//
// Places of blocks come from the index and the footer that the reader has in memory, which were
// verified when it was opened. The same bytes on the device are verified too: the next start needs
// them.
//
// Invariants
//   1. A piece has 1 to kPieceBytes bytes. A larger block comes in several pieces.
//   2. Nothing of the reader is kept between two calls, except copies: the table may be closed and
//      opened again meanwhile. The reader must be of the same blob.
//   3. Memory: one piece, held by the caller, and one index part.
//   4. Damage does not end the check: the other blocks are verified too. Blocks that a damaged part
//      names cannot be found and are left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/sstable/index_parts.h"
#include "engine/sstable/stored_checksum.h"
#include "engine/sstable/table_reader.h"

namespace cellar::engine {

// What is wrong with a table.
struct TableDamage {
  uint64_t blocks = 0;        // damaged; a section counts as one
  uint64_t sections = 0;      // of these
  uint64_t failed_reads = 0;  // pieces that the device could not read
  // The first one in a data block or an index part: reads of rows meet it. Damage of other parts is
  // met by the next start, which then does not serve the table at all; of sections, by reads of
  // indexes.
  std::optional<Error> met;
  // The first damage or failed read: where, and what it is.
  uint64_t offset = 0;
  std::optional<Error> first;

  bool any() const { return blocks > 0 || failed_reads > 0; }
};

class TableCheck {
 public:
  static constexpr size_t kPieceBytes = 256 * 1024;

  // REQUIRES: the reader of the blob is not lost.
  explicit TableCheck(BlobId blob) : blob_(blob) {}
  TableCheck(const TableCheck&) = delete;
  TableCheck& operator=(const TableCheck&) = delete;

  struct Piece {
    uint64_t offset = 0;
    size_t bytes = 0;
  };
  // The next piece to read; none: everything has been read.
  std::optional<Piece> next(const TableReader& reader);
  // The bytes of the piece from the last next(), at most kPieceBytes. Takes one checksum of them.
  void take(Bytes bytes);
  // That piece cannot be read.
  void failed(const Error& error);

  const TableDamage& damage() const { return damage_; }
  uint64_t checked_bytes() const { return checked_bytes_; }

 private:
  enum class Kind : uint8_t { header, data, part, section, tail, footer };
  struct Unit {
    Unit(Kind kind, const BlockHandle& block)
        : kind(kind), offset(block.offset), bytes(block.size) {}
    explicit Unit(const IndexSection& section)
        : kind(Kind::section),
          offset(section.offset),
          bytes(section.bytes()),
          checksum(section.checksum) {}
    uint64_t end() const { return offset + bytes; }
    Kind kind;
    uint64_t offset;
    uint64_t bytes;
    uint32_t checksum = 0;  // of a section
  };
  enum class Stage : uint8_t { header, data, sections, tail, footer, end };

  std::optional<Unit> produce(const TableReader& reader);
  std::optional<Unit> produce_data(const TableReader& reader);
  static std::vector<BlockHandle> tail_of(const TableReader& reader);
  void begin(const Unit& unit);
  void feed(const Unit& unit, Bytes bytes);
  void finish(const Unit& unit);
  Result<void> check(const Unit& unit);
  Result<void> open_part(const Unit& unit);
  void damaged(const Unit& unit, const Error& error);

  const BlobId blob_;
  TableDamage damage_;
  uint64_t checked_bytes_ = 0;

  // The piece being read: whole units, or a part of one.
  std::vector<Unit> units_;
  uint64_t at_ = 0;  // bytes read of units_.front(), which comes in several pieces; 0: none
  Piece piece_;
  std::optional<StoredChecksum> checksum_;
  uint32_t section_crc_ = 0;
  std::string text_;  // of a header, an index part or a footer

  // The place of the next unit.
  Stage stage_ = Stage::header;
  std::optional<Unit> ahead_;  // produced, and not part of the piece
  size_t part_ = 0;            // the next part
  size_t block_ = 0;           // the next data block, of the table or of the open part
  size_t section_ = 0;
  size_t tail_ = 0;
  // Of the part that is read, by the top-level index.
  uint32_t part_blocks_ = 0;
  uint64_t part_data_offset_ = 0;
  std::string part_contents_;
  std::optional<IndexPartition> open_part_;  // views part_contents_
  std::optional<TableFooter> footer_;        // the reader's
};

}  // namespace cellar::engine
