// A filter from the wire: checked for form, then reduced to what a ReadSpec can do.
#pragma once

#include <string_view>

#include "engine/model/read_spec.h"
#include "io/base/result.h"
#include "net/wire/body.h"

namespace cellar::wire {

inline constexpr size_t kMaxFilterDepth = 20;
inline constexpr size_t kMaxFilterBytes = 20 * 1024;  // nodes and the bytes they name
inline constexpr size_t kMaxLabelBytes = 15;

struct DecodedFilter {
  TimeRange time_range;
  uint32_t versions = 0;           // 0: all
  std::string_view unimplemented;  // names the first part that this node does not have
  bool has_time_range = false;     // its bounds are still to be held against the granularity
};

// `nodes` may be null: pass all. INVALID_ARGUMENT names the node by its index.
Result<void> decode_filter(const flatbuffers::Vector<const fb::FilterNode*>* nodes, Bytes arena,
                           DecodedFilter& out);

// INVALID_ARGUMENT where a bound of the time range is no multiple of the table's granularity.
Result<void> check_granularity(const DecodedFilter& filter, Granularity granularity);

}  // namespace cellar::wire
