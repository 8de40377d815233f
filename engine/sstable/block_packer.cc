#include "engine/sstable/block_packer.h"

namespace cellar::engine {
namespace {

constexpr uint64_t kZstdGainDivisor = 16;
constexpr uint64_t kDictionaryGainDivisor = 32;

bool saves(uint64_t bytes, uint64_t of, uint64_t divisor) { return bytes <= of - of / divisor; }

}  // namespace

BlockPacker::BlockPacker(Compression compression) : compression_(compression) {
  if (compression == Compression::zstd) zstd_ = std::make_unique<ZstdPacker>();
}

uint32_t BlockPacker::append(std::string& out, Bytes raw, BlobId blob, uint64_t offset) {
  if (zstd_ == nullptr || raw.size() > kMaxZstdBlockBytes) {
    return append_block(out, raw, compression_ != Compression::none, blob, offset);
  }
  uint32_t size = 0;
  if (is_on_trial()) {
    size = append_on_trial(out, raw, blob, offset);
  } else if (chosen_ == BlockType::lz4) {
    size = append_block(out, raw, true, blob, offset);
  } else {
    needs_dictionary_ |= chosen_ == BlockType::zstd_dictionary;
    size = append_zstd(out, raw, chosen_, blob, offset);
  }
  take_sample(raw);
  ++blocks_;
  return size;
}

bool BlockPacker::is_on_trial() const {
  const size_t since_dictionary = blocks_ - kSecondSample - 1;  // wraps before it
  return blocks_ % kTrialPeriod < kTrialBlocks || since_dictionary < kTrialBlocks;
}

uint32_t BlockPacker::append_on_trial(std::string& out, Bytes raw, BlobId blob, uint64_t offset) {
  scratch_.clear();
  ++trial_.blocks;
  if (has_dictionary_) {
    trial_.dictionary_bytes += append_zstd(scratch_, raw, BlockType::zstd_dictionary, blob, offset);
    scratch_.clear();
  }
  const uint32_t lz4 = append_block(scratch_, raw, true, blob, offset);
  const size_t before = out.size();
  uint32_t size = append_zstd(out, raw, BlockType::zstd, blob, offset);
  trial_.lz4_bytes += lz4;
  trial_.zstd_bytes += size;
  if (lz4 <= size) {
    out.resize(before);
    out.append(scratch_);
    size = lz4;
  }
  if (trial_.blocks == kTrialBlocks) {
    if (!saves(trial_.zstd_bytes, trial_.lz4_bytes, kZstdGainDivisor)) {
      chosen_ = BlockType::lz4;
    } else if (has_dictionary_ &&
               saves(trial_.dictionary_bytes, trial_.zstd_bytes, kDictionaryGainDivisor)) {
      chosen_ = BlockType::zstd_dictionary;
    } else {
      chosen_ = BlockType::zstd;
    }
    trial_ = Trial();
  }
  return size;
}

uint32_t BlockPacker::append_zstd(std::string& out, Bytes raw, BlockType type, BlobId blob,
                                  uint64_t offset) {
  const size_t begin = out.size();
  // A larger result is not worth packing.
  const size_t most = raw.size() - raw.size() / kMinGainDivisor;
  out.resize(begin + most);
  const size_t packed =
      zstd_->pack(raw, out.data() + begin, most, type == BlockType::zstd_dictionary);
  out.resize(begin + packed);
  if (packed == 0) {
    out.append(raw);
    type = BlockType::raw;
  }
  return finish_block(out, begin, type, blob, offset);
}

void BlockPacker::take_sample(Bytes raw) {
  if (blocks_ != 0 && blocks_ != kSecondSample) return;
  dictionary_ += raw.substr(0, kSampleBytes);
  if (blocks_ == 0 || !can_be_dictionary(dictionary_)) return;
  zstd_->set_dictionary(dictionary_);
  has_dictionary_ = true;
}

}  // namespace cellar::engine
