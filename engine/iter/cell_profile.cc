#include "engine/iter/cell_profile.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "engine/iter/row_order.h"

namespace cellar::engine {
namespace {

constexpr uint8_t kVersion = 1;

}  // namespace

size_t rank_class(uint64_t rank) {
  if (rank < kExactRanks) return static_cast<size_t>(rank);
  const auto above = static_cast<size_t>(std::bit_width(rank / kExactRanks)) - 1;
  return std::min<size_t>(kExactRanks + above, kRankClasses - 1);
}

uint64_t least_rank(size_t rank_class) {
  return rank_class < kExactRanks ? rank_class : kExactRanks << (rank_class - kExactRanks);
}

uint64_t CellProfile::Family::bytes() const {
  return std::accumulate(by_rank.begin(), by_rank.end(), uint64_t{0});
}

uint64_t CellProfile::Family::bytes_from_rank(uint64_t rank) const {
  uint64_t sum = 0;
  for (size_t i = 0; i < kRankClasses; ++i) sum += least_rank(i) >= rank ? by_rank[i] : 0;
  return sum;
}

void CellProfileBuilder::add_row(uint64_t row_hash) {
  const std::pair<uint64_t, uint64_t> row{row_order(row_hash), row_hash};
  if (sample_.size() >= CellProfile::kRowSample) {
    if (row >= sample_.front()) return;
    std::pop_heap(sample_.begin(), sample_.end());
    sample_.pop_back();
  }
  sample_.push_back(row);
  std::push_heap(sample_.begin(), sample_.end());
}

bool CellProfileBuilder::enter(Bytes family) {
  if (at_ < families_.size() && families_[at_].name == family) return true;
  const auto found = std::find_if(families_.begin(), families_.end(),
                                  [family](const Family& f) { return f.name == family; });
  at_ = static_cast<size_t>(found - families_.begin());
  if (found != families_.end()) return true;
  known_ = known_ && families_.size() < CellProfile::kMaxFamilies;
  if (!known_) return false;
  families_.emplace_back().name.assign(family);
  return true;
}

void CellProfileBuilder::add_cell(const ParsedKey& key, Bytes value, size_t bytes) {
  CellValue cell;
  if (!known_ || !parse_cell_value(value, cell)) {
    known_ = false;
    return;
  }
  if (!enter(key.family)) return;
  if (column_ == key.column_prefix) {
    ++rank_;
  } else {
    column_.assign(key.column_prefix);
    rank_ = 0;
  }
  if (cell.tombstone) return;
  Family& family = families_[at_];
  family.by_rank[rank_class(rank_)] += bytes;
  if (cell.expire_at_us == kNoExpiry) {
    family.times.add(key.timestamp_us, bytes);
  } else {
    expiries_.add(cell.expire_at_us, bytes);
  }
}

CellProfile CellProfileBuilder::finish() {
  CellProfile profile;
  profile.known = known_;
  if (known_) {
    for (Family& family : families_) {
      profile.families.push_back({std::move(family.name), family.times.finish(), family.by_rank});
    }
    std::sort(profile.families.begin(), profile.families.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    profile.expiries = expiries_.finish();
    std::sort_heap(sample_.begin(), sample_.end());
    for (const auto& [order, hash] : sample_) profile.row_sample.push_back(hash);
  }
  *this = CellProfileBuilder();
  return profile;
}

void encode_cell_profile(std::string& out, const CellProfile& profile) {
  put_u8(out, kVersion);
  put_varint(out, profile.families.size());
  for (const CellProfile::Family& family : profile.families) {
    put_bytes(out, family.name);
    encode_time_histogram(out, family.times);
    const auto last = std::find_if(family.by_rank.rbegin(), family.by_rank.rend(),
                                   [](uint64_t bytes) { return bytes != 0; });
    const auto classes = static_cast<size_t>(family.by_rank.rend() - last);
    put_varint(out, classes);
    for (size_t i = 0; i < classes; ++i) put_varint(out, family.by_rank[i]);
  }
  encode_time_histogram(out, profile.expiries);
  put_varint(out, profile.row_sample.size());
  for (const uint64_t hash : profile.row_sample) put_u64(out, hash);
}

// A newer version is not damage: the profile is unknown.
bool decode_cell_profile(Reader& in, CellProfile& out) {
  out = CellProfile();
  const uint8_t version = in.u8();
  if (!in.ok() || version == 0) return false;
  if (version > kVersion) return true;
  const uint64_t families = in.varint();
  if (families > CellProfile::kMaxFamilies) return false;
  for (uint64_t i = 0; in.ok() && i < families; ++i) {
    CellProfile::Family& family = out.families.emplace_back();
    family.name = in.bytes();
    if (!decode_time_histogram(in, family.times)) return false;
    const uint64_t classes = in.varint();
    if (!in.ok() || classes > kRankClasses) return false;
    for (uint64_t c = 0; c < classes; ++c) family.by_rank[c] = in.varint();
  }
  if (!decode_time_histogram(in, out.expiries)) return false;
  const uint64_t rows = in.varint();
  if (!in.ok() || rows > CellProfile::kRowSample) return false;
  for (uint64_t i = 0; i < rows; ++i) out.row_sample.push_back(in.u64());
  out.known = in.ok() && in.at_end();
  return out.known;
}

}  // namespace cellar::engine
