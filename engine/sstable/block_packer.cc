#include "engine/sstable/block_packer.h"

#include <algorithm>

namespace cellar::engine {
namespace {

constexpr uint64_t kCodecGainDivisor = 16;
constexpr uint64_t kDictionaryGainDivisor = 32;

}  // namespace

void BlockPacker::Trial::add(size_t plain, size_t other) {
  ++blocks;
  plain_bytes += plain;
  other_bytes += other;
}

BlockPacker::BlockPacker(Compression compression) : compression_(compression) {
  if (compression == Compression::zstd) zstd_ = std::make_unique<ZstdPacker>();
}

uint32_t BlockPacker::append(std::string& out, Bytes raw, BlobId blob, uint64_t offset) {
  if (zstd_ == nullptr || raw.size() > kMaxZstdBlockBytes) {
    return append_block(out, raw, compression_ != Compression::none, blob, offset);
  }
  uint32_t size = 0;
  if (codec_.blocks < kTrialBlocks) {
    size = try_zstd(out, raw, blob, offset);
  } else {
    size = append_zstd(out, raw, has_proven_, blob, offset);
    if (has_dictionary_ && !has_proven_) try_dictionary(raw, size);
  }
  if (zstd_ != nullptr) take_sample(raw);
  ++blocks_;
  return size;
}

uint32_t BlockPacker::try_zstd(std::string& out, Bytes raw, BlobId blob, uint64_t offset) {
  scratch_.clear();
  const uint32_t lz4 = append_block(scratch_, raw, true, blob, offset);
  const size_t before = out.size();
  uint32_t size = append_zstd(out, raw, false, blob, offset);
  codec_.add(lz4, size);
  if (lz4 <= size) {
    out.resize(before);
    out.append(scratch_);
    size = lz4;
  }
  if (codec_.blocks == kTrialBlocks && !codec_.ends_well(kCodecGainDivisor)) zstd_.reset();
  return size;
}

uint32_t BlockPacker::append_zstd(std::string& out, Bytes raw, bool with_dictionary, BlobId blob,
                                  uint64_t offset) {
  const size_t begin = out.size();
  // A larger result is not worth packing.
  const size_t most = raw.size() - raw.size() / kMinGainDivisor;
  out.resize(begin + most);
  const size_t packed = zstd_->pack(raw, out.data() + begin, most, with_dictionary);
  out.resize(begin + packed);
  if (packed == 0) {
    out.append(raw);
    return finish_block(out, begin, BlockType::raw, blob, offset);
  }
  const BlockType type = with_dictionary ? BlockType::zstd_dictionary : BlockType::zstd;
  return finish_block(out, begin, type, blob, offset);
}

void BlockPacker::take_sample(Bytes raw) {
  if (blocks_ != 0 && blocks_ != kSecondSample) return;
  dictionary_ += raw.substr(0, kSampleBytes);
  if (blocks_ == 0 || !can_be_dictionary(dictionary_)) return;
  zstd_->set_dictionary(dictionary_);
  has_dictionary_ = true;
}

void BlockPacker::try_dictionary(Bytes raw, size_t plain) {
  scratch_.clear();
  with_dictionary_.add(plain, append_zstd(scratch_, raw, true, BlobId{}, 0));
  if (with_dictionary_.blocks < kTrialBlocks) return;
  has_dictionary_ = has_proven_ = with_dictionary_.ends_well(kDictionaryGainDivisor);
}

}  // namespace cellar::engine
