// A filter from the wire, as the model's tree.
#pragma once

#include "engine/model/filter_spec.h"
#include "io/base/result.h"
#include "net/wire/body.h"

namespace cellar::wire {

// Into `out`, which owns its bytes. `nodes` may be null: pass all. INVALID_ARGUMENT names the node
// by its index; the form is checked wholly, but for the regular expressions.
Result<void> decode_filter(const flatbuffers::Vector<const fb::FilterNode*>* nodes, Bytes arena,
                           FilterSpec& out);

}  // namespace cellar::wire
