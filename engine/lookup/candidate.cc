#include "engine/lookup/candidate.h"

#include <algorithm>

#include "engine/model/key.h"
#include "io/base/saturating.h"

namespace cellar::engine {
namespace {

// Ranges are sorted and disjoint.
bool has_row(const RowSet& rows, Bytes row) {
  const auto& ranges = rows.ranges();
  const auto after =
      std::ranges::upper_bound(ranges, row, {}, [](const KeyRange& r) { return Bytes(r.start); });
  return after != ranges.begin() && std::prev(after)->contains(row);
}

}  // namespace

bool CandidateTest::decode(Bytes key, Candidate& out) {
  IndexKey parsed;
  if (!parse_index_key(key, index_, parsed)) return false;
  out.key.assign(key);
  out.row.assign(decode_row_prefix(parsed.row, scratch_));
  if (index_.qualifier) {
    out.qualifier = *index_.qualifier;
  } else {
    out.qualifier.assign(decode_row_prefix(parsed.qualifier, scratch_));
  }
  out.timestamp_us = parsed.timestamp_us;
  return true;
}

bool CandidateTest::meets(Bytes qualifier, int64_t timestamp_us) const {
  if (spec_.time && !spec_.time->contains(timestamp_us)) return false;
  return !spec_.qualifiers || contains(*spec_.qualifiers, qualifier);
}

bool CandidateTest::may_pass(const Candidate& candidate) const {
  return meets(candidate.qualifier, candidate.timestamp_us) && has_row(spec_.rows, candidate.row);
}

bool CandidateTest::is_young(int64_t timestamp_us, int64_t now_us) const {
  return !index_.max_age_us || saturating_sub(now_us, timestamp_us) <= *index_.max_age_us;
}

bool CandidateTest::passes(Bytes row, Bytes qualifier, int64_t timestamp_us, Bytes value,
                           int64_t now_us, std::string& key) {
  if (!meets(qualifier, timestamp_us) || !is_young(timestamp_us, now_us)) return false;
  key.clear();
  row_segment_.clear();
  qualifier_segment_.clear();
  append_row_prefix(row_segment_, row);
  append_row_prefix(qualifier_segment_, qualifier);
  if (!append_index_key(key, index_, row_segment_, qualifier_segment_, timestamp_us, value)) {
    return false;
  }
  return !spec_.values || contains(*spec_.values, value, index_.type);
}

}  // namespace cellar::engine
