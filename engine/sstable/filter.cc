#include "engine/sstable/filter.h"

#include <xxhash.h>

#include <algorithm>
#include <optional>

#include "io/base/check.h"
#include "io/base/coding.h"

namespace cellar::engine {
namespace {

constexpr uint8_t kBlockedBloom = 1;
constexpr size_t kHeaderBytes = 8;
constexpr size_t kLineBits = Filter::kLineBytes * 8;
constexpr uint32_t kMaxProbes = 16;
constexpr uint32_t kMix = 0x9e3779b9;  // distributes the lower half over the probes

size_t line_of(uint64_t hash, size_t lines) {
  return static_cast<size_t>((hash >> 32) * lines >> 32);
}

// Calls f(bit) for each probe until it returns false.
template <class F>
bool for_each_bit(uint64_t hash, uint32_t probes, F f) {
  auto h = static_cast<uint32_t>(hash);
  for (uint32_t i = 0; i < probes; ++i) {
    h = h * kMix + i;
    if (!f(h >> 23)) return false;  // 9 bits: 0 to 511
  }
  return true;
}
static_assert(kLineBits == 512);

struct Header {
  uint8_t probes = 0;
  uint32_t lines = 0;
};

// Empty if the contents are not a filter.
std::optional<Header> header_of(Bytes contents) {
  Reader in(contents);
  const uint8_t kind = in.u8();
  const uint8_t probes = in.u8();
  const uint16_t zero = in.u16();
  const uint32_t lines = in.u32();
  if (!in.ok() || kind != kBlockedBloom || probes == 0 || probes > kMaxProbes || zero != 0 ||
      in.remaining() != size_t{lines} * Filter::kLineBytes) {
    return std::nullopt;
  }
  return Header{probes, lines};
}

}  // namespace

uint64_t row_hash(Bytes row_prefix) { return XXH3_64bits(row_prefix.data(), row_prefix.size()); }

void FilterBuilder::begin(uint32_t bits_per_row) {
  CHECK(bits_per_row >= 1 && bits_per_row <= 64, "{} bits a row", bits_per_row);
  lines_ = (hashes_.size() * bits_per_row + kLineBits - 1) / kLineBits;
  // ln 2 bits per row is optimal for a plain filter; a blocked one needs slightly fewer.
  probes_ = std::clamp(bits_per_row * 6 / 10, 1u, kMaxProbes);
  bytes_ = kHeaderBytes + lines_ * Filter::kLineBytes;
  out_.clear();
  out_.reserve(bytes_);
  put_u8(out_, kBlockedBloom);
  put_u8(out_, static_cast<uint8_t>(probes_));
  put_u16(out_, 0);
  put_u32(out_, static_cast<uint32_t>(lines_));
}

bool FilterBuilder::step() {
  if (out_.size() < bytes_) {
    out_.resize(std::min(out_.size() + kBytesAStep, bytes_), '\0');
    return out_.size() == bytes_ && hashes_.empty();
  }
  for (size_t rows = 0; rows < kRowsAStep && !hashes_.empty(); ++rows) {
    const uint64_t hash = hashes_.front();
    hashes_.pop_front();
    char* line = out_.data() + kHeaderBytes + line_of(hash, lines_) * Filter::kLineBytes;
    for_each_bit(hash, probes_, [line](uint32_t bit) {
      line[bit / 8] = static_cast<char>(line[bit / 8] | 1 << bit % 8);
      return true;
    });
  }
  return hashes_.empty();
}

bool Filter::open(Bytes contents) {
  if (!begin(contents)) return false;
  while (!step()) {
  }
  return true;
}

bool Filter::begin(Bytes contents) {
  const auto header = header_of(contents);
  if (!header) return false;
  lines_.reserve(header->lines);
  left_ = contents.substr(kHeaderBytes);
  probes_ = header->probes;
  return true;
}

bool Filter::step() {
  const size_t lines = std::min(left_.size() / kLineBytes, kLinesAStep);
  const size_t before = lines_.size();
  lines_.resize(before + lines);
  if (lines > 0) std::memcpy(lines_.data() + before, left_.data(), lines * kLineBytes);
  left_.remove_prefix(lines * kLineBytes);
  open_ = left_.empty();
  return open_;
}

bool filter_may_contain(Bytes contents, uint64_t hash) {
  const auto header = header_of(contents);
  if (!header) return true;
  if (header->lines == 0) return false;
  const char* line =
      contents.data() + kHeaderBytes + line_of(hash, header->lines) * Filter::kLineBytes;
  return for_each_bit(hash, header->probes,
                      [line](uint32_t bit) { return (line[bit / 8] >> bit % 8 & 1) != 0; });
}

void Filter::expect(uint64_t hash) const {
  if (!lines_.empty()) __builtin_prefetch(&lines_[line_of(hash, lines_.size())]);
}

bool Filter::may_contain(uint64_t hash) const {
  if (!open_) return true;
  if (lines_.empty()) return false;
  const Line& line = lines_[line_of(hash, lines_.size())];
  return for_each_bit(
      hash, probes_, [&line](uint32_t bit) { return (line.words[bit / 64] >> bit % 64 & 1) != 0; });
}

}  // namespace cellar::engine
