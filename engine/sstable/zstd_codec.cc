#include "engine/sstable/zstd_codec.h"

#include <zstd.h>

#include "io/base/check.h"
#include "io/base/coding.h"

namespace cellar::engine {
namespace {

// Level 3 takes a sixth longer and saves less than another twentieth (bench/NOTES.md).
constexpr int kLevel = 1;

}  // namespace

bool can_be_dictionary(Bytes dictionary) {
  return !dictionary.empty() && dictionary.size() <= kMaxDictionaryBytes &&
         (dictionary.size() < sizeof(uint32_t) ||
          load_le<uint32_t>(dictionary.data()) != ZSTD_MAGIC_DICTIONARY);
}

void ZstdPacker::Free::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }
void ZstdPacker::Free::operator()(ZSTD_CDict_s* dictionary) const { ZSTD_freeCDict(dictionary); }

ZstdPacker::ZstdPacker() : context_(ZSTD_createCCtx()) {
  CHECK(context_ != nullptr, "no memory for a context of Zstandard");
}
ZstdPacker::~ZstdPacker() = default;

void ZstdPacker::set_dictionary(Bytes dictionary) {
  CHECK(can_be_dictionary(dictionary), "{} bytes are no dictionary", dictionary.size());
  dictionary_.reset(ZSTD_createCDict(dictionary.data(), dictionary.size(), kLevel));
  CHECK(dictionary_ != nullptr, "no memory for a dictionary of Zstandard");
}

size_t ZstdPacker::pack(Bytes raw, char* into, size_t room, bool with_dictionary) {
  CHECK(raw.size() <= kMaxZstdBlockBytes, "{} bytes", raw.size());
  const size_t packed =
      with_dictionary
          ? ZSTD_compress_usingCDict(context_.get(), into, room, raw.data(), raw.size(),
                                     dictionary_.get())
          : ZSTD_compressCCtx(context_.get(), into, room, raw.data(), raw.size(), kLevel);
  return ZSTD_isError(packed) != 0 ? 0 : packed;
}

void ZstdUnpacker::Free::operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }

ZstdUnpacker::ZstdUnpacker() : context_(ZSTD_createDCtx()) {
  CHECK(context_ != nullptr, "no memory for a context of Zstandard");
}
ZstdUnpacker::~ZstdUnpacker() = default;

bool ZstdUnpacker::raw_bytes(Bytes packed, size_t& bytes) {
  const unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR ||
      size > kMaxZstdBlockBytes) {
    return false;
  }
  bytes = size;
  return true;
}

bool ZstdUnpacker::unpack(Bytes packed, Bytes dictionary, char* into, size_t raw_bytes) {
  const size_t unpacked =
      ZSTD_decompress_usingDict(context_.get(), into, raw_bytes, packed.data(), packed.size(),
                                dictionary.data(), dictionary.size());
  return ZSTD_isError(unpacked) == 0 && unpacked == raw_bytes;
}

size_t ZstdUnpacker::memory_bytes() const { return ZSTD_sizeof_DCtx(context_.get()); }

}  // namespace cellar::engine
