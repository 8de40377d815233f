// Zstandard for data blocks: reusable contexts, and raw dictionaries: bytes similar to the packed
// data. A dictionary is not trained: a reader uses it in place, so it costs only its own bytes.
//
// A packed block is one frame that contains its size and no checksum.
#pragma once

#include <memory>

#include "io/base/bytes.h"

struct ZSTD_CCtx_s;
struct ZSTD_CDict_s;
struct ZSTD_DCtx_s;

namespace cellar::engine {

// Larger blocks are packed by LZ4, because Zstandard takes four times as long: 0.2 ms at this size.
inline constexpr size_t kMaxZstdBlockBytes = 64u << 10;
inline constexpr size_t kMaxDictionaryBytes = 16u << 10;

// False for bytes that Zstandard would mistake for a trained dictionary.
bool can_be_dictionary(Bytes dictionary);

// Packs at level 1. The context takes some 75 KiB, a dictionary 85 KiB more.
class ZstdPacker {
 public:
  ZstdPacker();
  ~ZstdPacker();
  ZstdPacker(const ZstdPacker&) = delete;
  ZstdPacker& operator=(const ZstdPacker&) = delete;

  // REQUIRES: can_be_dictionary(). Takes some 20 us.
  void set_dictionary(Bytes dictionary);
  // Packs into `room` bytes at `into`, with or without the dictionary; returns the size, 0 if it
  // does not fit. REQUIRES: at most kMaxZstdBlockBytes.
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

  // The unpacked size according to the frame; at most kMaxZstdBlockBytes is accepted. False if the
  // bytes are not a frame that a packer makes.
  static bool raw_bytes(Bytes packed, size_t& bytes);
  // Unpacks into exactly `raw_bytes` bytes at `into`; false if the bytes are malformed or have
  // another size. Never writes more.
  bool unpack(Bytes packed, Bytes dictionary, char* into, size_t raw_bytes);
  size_t memory_bytes() const;

 private:
  struct Free {
    void operator()(ZSTD_DCtx_s* context) const;
  };
  std::unique_ptr<ZSTD_DCtx_s, Free> context_;
};

}  // namespace cellar::engine
