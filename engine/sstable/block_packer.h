// BlockPacker: compresses the data blocks of one table, block by block.
//
// If Zstandard is requested, trials decide whether it and a dictionary pay: blocks 0 to 15, the 16
// after the dictionary is complete, and 16 of every kTrialPeriod. A block on trial is packed by LZ4
// and by Zstandard, and the smaller result is stored; its size with the dictionary is measured too.
// The blocks up to the next trial use
//
//   LZ4                           unless Zstandard saves a sixteenth of its bytes,
//   Zstandard                     unless the dictionary saves 1/32 of that,
//   Zstandard with a dictionary   otherwise.
//
// Trials repeat because a table is sorted: its first rows may be unlike the others. The dictionary
// is 2 KiB each of blocks 0 and 64, unchanged: neighbours in key order are similar, so no training
// is needed. A block on trial takes some 35 us. Every block records its compression, so one table
// may contain all of them.
//
//   BlockPacker packer(Compression::zstd);
//   for (each block) size = packer.append(out, raw, blob, offset);
//   if (!packer.dictionary().empty()) ...   // some blocks need it
#pragma once

#include <memory>
#include <string>

#include "engine/model/schema.h"
#include "engine/sstable/format.h"
#include "engine/sstable/zstd_codec.h"

namespace cellar::engine {

class BlockPacker {
 public:
  static constexpr size_t kTrialBlocks = 16;
  static constexpr size_t kTrialPeriod = 2048;  // trials take at most 4 % of a merge's time
  static constexpr size_t kSecondSample = 64;   // number of the block
  static constexpr size_t kSampleBytes = 2048;

  explicit BlockPacker(Compression compression);

  // Appends `raw` as the next block, to be stored at `offset`; returns its size with trailer.
  uint32_t append(std::string& out, Bytes raw, BlobId blob, uint64_t offset);
  // The dictionary of the blocks; empty: none needs it.
  Bytes dictionary() const { return needs_dictionary_ ? Bytes(dictionary_) : Bytes(); }

 private:
  // The sizes of the blocks of one trial.
  struct Trial {
    size_t blocks = 0;
    uint64_t lz4_bytes = 0;
    uint64_t zstd_bytes = 0;
    uint64_t dictionary_bytes = 0;
  };

  bool is_on_trial() const;
  uint32_t append_on_trial(std::string& out, Bytes raw, BlobId blob, uint64_t offset);
  uint32_t append_zstd(std::string& out, Bytes raw, BlockType type, BlobId blob, uint64_t offset);
  void take_sample(Bytes raw);

  const Compression compression_;
  std::unique_ptr<ZstdPacker> zstd_;  // null: never Zstandard
  size_t blocks_ = 0;                 // of those that Zstandard may pack
  Trial trial_;
  BlockType chosen_ = BlockType::lz4;  // by the last trial
  std::string dictionary_;
  bool has_dictionary_ = false;  // complete
  bool needs_dictionary_ = false;
  std::string scratch_;
};

}  // namespace cellar::engine
