// Decodes a filter from the wire into the model's tree.
#pragma once

#include "engine/model/filter_spec.h"
#include "io/base/result.h"
#include "net/wire/body.h"

namespace cellar::wire {

// Decodes into `out`, which owns its bytes. `nodes` may be null: pass all. INVALID_ARGUMENT gives
// the index of the node. All constraints are checked except the syntax of regular expressions.
Result<void> decode_filter(const flatbuffers::Vector<const fb::FilterNode*>* nodes, Bytes arena,
                           FilterSpec& out);

}  // namespace cellar::wire
