// BlockPacker: compresses the data blocks of one table, block by block.
//
// If Zstandard is requested, trials decide whether it and a dictionary pay:
//   blocks 0 to 15    are packed by LZ4 and by Zstandard, and the smaller result is used. Unless
//                     Zstandard saves a sixteenth of LZ4's bytes, the rest of the table is LZ4.
//   blocks 0 and 64   contribute 2 KiB each to a dictionary, unchanged: neighbours in key order are
//                     similar, so no training is needed.
//   blocks 65 to 80   are packed without and with it. It is dropped unless it saves 1/32.
// A block on trial is packed twice, which takes some 25 us. Every block records its compression, so
// one table may contain all of them.
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
  static constexpr size_t kSecondSample = 64;  // number of the block
  static constexpr size_t kSampleBytes = 2048;

  explicit BlockPacker(Compression compression);

  // Appends `raw` as the next block, to be stored at `offset`; returns its size with trailer.
  uint32_t append(std::string& out, Bytes raw, BlobId blob, uint64_t offset);
  // The dictionary of the blocks; empty: none needs it.
  Bytes dictionary() const { return has_proven_ ? Bytes(dictionary_) : Bytes(); }

 private:
  // A comparison of two methods.
  struct Trial {
    size_t blocks = 0;
    uint64_t plain_bytes = 0;
    uint64_t other_bytes = 0;
    void add(size_t plain, size_t other);
    bool ends_well(uint64_t gain_divisor) const {
      return other_bytes <= plain_bytes - plain_bytes / gain_divisor;
    }
  };

  uint32_t try_zstd(std::string& out, Bytes raw, BlobId blob, uint64_t offset);
  uint32_t append_zstd(std::string& out, Bytes raw, bool with_dictionary, BlobId blob,
                       uint64_t offset);
  void take_sample(Bytes raw);
  void try_dictionary(Bytes raw, size_t plain);

  const Compression compression_;
  std::unique_ptr<ZstdPacker> zstd_;  // null: LZ4 or nothing from here on
  size_t blocks_ = 0;
  Trial codec_;
  Trial with_dictionary_;
  std::string dictionary_;
  bool has_dictionary_ = false;  // complete: on trial or accepted
  bool has_proven_ = false;
  std::string scratch_;
};

}  // namespace cellar::engine
