// Zstandard for data blocks: contexts that are made once and used for many blocks, and raw
// dictionaries, which are bytes that look like what is packed. A dictionary is never trained: what
// reads it refers to it where it lies, so it costs its own bytes and nothing else.
//
// A packed block is one frame that tells its size, without a checksum of its own.
#pragma once

#include <memory>

#include "io/base/bytes.h"

struct ZSTD_CCtx_s;
struct ZSTD_CDict_s;
struct ZSTD_DCtx_s;

namespace cellar::engine {

// Larger blocks are packed by LZ4, for this takes four times as long: 0.2 ms for one of that size.
inline constexpr size_t kMaxZstdBlockBytes = 64u << 10;
inline constexpr size_t kMaxDictionaryBytes = 16u << 10;

// Bytes that Zstandard would not take as they are: they begin like a dictionary that was trained.
bool can_be_dictionary(Bytes dictionary);

// Packs at level 1. The context takes some 75 KiB, and a dictionary 85 KiB more.
class ZstdPacker {
 public:
  ZstdPacker();
  ~ZstdPacker();
  ZstdPacker(const ZstdPacker&) = delete;
  ZstdPacker& operator=(const ZstdPacker&) = delete;

  // REQUIRES: can_be_dictionary(). Some 20 us.
  void set_dictionary(Bytes dictionary);
  // Into `room` bytes at `into`, with the dictionary or without; the size, 0 where it does not fit.
  // REQUIRES: at most kMaxZstdBlockBytes.
  size_t pack(Bytes raw, char* into, size_t room, bool with_dictionary);

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const;
    void operator()(ZSTD_CDict_s* dictionary) const;
  };
  std::unique_ptr<ZSTD_CCtx_s, Free> context_;
  std::unique_ptr<ZSTD_CDict_s, Free> dictionary_;
};

class ZstdUnpacker {
 public:
  ZstdUnpacker();
  ~ZstdUnpacker();
  ZstdUnpacker(const ZstdUnpacker&) = delete;
  ZstdUnpacker& operator=(const ZstdUnpacker&) = delete;

  // What the packed bytes say that they unpack to: nothing is believed of it above
  // kMaxZstdBlockBytes. False when they are no frame that a packer makes.
  static bool raw_bytes(Bytes packed, size_t& bytes);
  // Into exactly `raw_bytes` bytes at `into`; false when the bytes are malformed or give another
  // number. Never writes more, whatever the bytes say.
  bool unpack(Bytes packed, Bytes dictionary, char* into, size_t raw_bytes);
  size_t memory_bytes() const;

 private:
  struct Free {
    void operator()(ZSTD_DCtx_s* context) const;
  };
  std::unique_ptr<ZSTD_DCtx_s, Free> context_;
};

}  // namespace cellar::engine
