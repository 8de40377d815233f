// BlockPacker: how the data blocks of one table are packed, block by block.
//
// Where Zstandard is asked for, it must show that it pays, and so must a dictionary:
//   blocks 0 to 15    by LZ4 and by Zstandard, and the smaller one is taken. Unless Zstandard
//                     saves a sixteenth of LZ4's bytes, it is LZ4 for the rest of the table.
//   blocks 0 and 64   give 2 KiB each to a dictionary, as they are: neighbours in the order of keys
//                     look alike, and nothing is trained.
//   blocks 65 to 80   without it and with it. Unless it saves a thirty-second, it is dropped.
// A block on trial is packed twice, some 25 us, so the trials need no turn of their own. Every
// block says how it was packed, so one table may hold all of them.
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
  static constexpr size_t kSecondSample = 64;  // the block
  static constexpr size_t kSampleBytes = 2048;

  explicit BlockPacker(Compression compression);

  // Appends `raw` as the next block, which will lie at `offset`; answers its size with trailer.
  uint32_t append(std::string& out, Bytes raw, BlobId blob, uint64_t offset);
  // What blocks were packed with; empty: none of them needs it.
  Bytes dictionary() const { return has_proven_ ? Bytes(dictionary_) : Bytes(); }

 private:
  // A trial of one way against another.
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
  bool has_dictionary_ = false;  // complete, on trial or proven
  bool has_proven_ = false;
  std::string scratch_;
};

}  // namespace cellar::engine
