#include "engine/model/index_read_spec.h"

#include <compare>

#include "engine/model/key.h"
#include "io/base/coding.h"
#include "io/base/time_text.h"

namespace cellar {
namespace {

constexpr size_t kInt64Bytes = 8;
// The longest position has a row and a qualifier of their greatest size, each byte escaped as two,
// and less than this beside them.
constexpr size_t kMostPositionBytes =
    2 * (kMaxRowKeyBytes + kMaxQualifierBytes + kIndexedValueBytes) + 64;

std::strong_ordering compare(Bytes a, Bytes b, IndexType type) {
  if (type == IndexType::bytes) return a <=> b;
  return static_cast<int64_t>(load_be64(a.data())) <=> static_cast<int64_t>(load_be64(b.data()));
}

std::string text_of(Bytes value, IndexType type) {
  if (type == IndexType::bytes) return "'" + escape_bytes(value) + "'";
  return std::to_string(static_cast<int64_t>(load_be64(value.data())));
}

Result<void> check_part(const IndexSchema& index, IndexPart part, const char* name) {
  if (index.has(part)) return {};
  return fail(Errc::invalid_argument,
              "a condition on the {} of index '{}', which has no such key part", name, index.name);
}

Result<void> check_range(const KeyPartRange& range, const IndexSchema& index, IndexType type,
                         const char* name) {
  for (const auto* bound : {&range.start, &range.end}) {
    if (!*bound || type == IndexType::bytes || (*bound)->size() == kInt64Bytes) continue;
    return fail(Errc::invalid_argument,
                "index '{}': a value of {} bytes; an int64 index has values of {} bytes",
                index.name, (*bound)->size(), kInt64Bytes);
  }
  if (!range.start || !range.end || compare(*range.start, *range.end, type) <= 0) return {};
  return fail(Errc::invalid_argument,
              "index '{}': the range of {}s from {} to {} ends before it starts", index.name, name,
              text_of(*range.start, type), text_of(*range.end, type));
}

Result<void> check_time(const TimeRange& time, const IndexSchema& index, Granularity granularity) {
  if (time.start_us < 0 || time.end_us < 0)
    return fail(Errc::invalid_argument, "index '{}': a time range with a negative bound",
                index.name);
  if (time.start_us >= time.end_us && time.end_us != kMaxTimestampUs)
    return fail(Errc::invalid_argument, "index '{}': the time range [{}, {}) is empty", index.name,
                time.start_us, time.end_us);
  const int64_t granule = granule_us(granularity);
  for (const int64_t bound : {time.start_us, time.end_us}) {
    if (bound % granule == 0 || bound == kMaxTimestampUs) continue;
    return fail(Errc::invalid_argument,
                "index '{}': the time range's bound {} is not a multiple of {}, the granularity of "
                "the table",
                index.name, bound, duration_text(granule));
  }
  return {};
}

// Cells are returned as they are.
Result<void> check_row(const IndexReadSpec& spec) {
  const ReadSpec& row = spec.row;
  const bool narrowed = row.filter != nullptr || row.versions != 0 ||
                        row.time_range.start_us != 0 || row.time_range.end_us != kMaxTimestampUs;
  if (spec.whole_rows || !narrowed) return {};
  return fail(Errc::invalid_argument, "index '{}': a filter is for whole rows only", spec.index);
}

}  // namespace

Result<void> validate_index_read(const IndexReadSpec& spec, const IndexSchema& index,
                                 Granularity granularity) {
  if (spec.values) {
    TRY_VOID(check_part(index, IndexPart::value, "value"));
    TRY_VOID(check_range(*spec.values, index, index.type, "value"));
  }
  if (spec.qualifiers) {
    TRY_VOID(check_part(index, IndexPart::qualifier, "qualifier"));
    TRY_VOID(check_range(*spec.qualifiers, index, IndexType::bytes, "qualifier"));
  }
  if (spec.time) {
    TRY_VOID(check_part(index, IndexPart::time, "time"));
    TRY_VOID(check_time(*spec.time, index, granularity));
  }
  TRY_VOID(check_row(spec));
  if (spec.after.size() > kMostPositionBytes)
    return fail(Errc::invalid_argument,
                "a position of {} bytes is none of index '{}'; the longest has {}",
                spec.after.size(), index.name, kMostPositionBytes);
  return {};
}

}  // namespace cellar
