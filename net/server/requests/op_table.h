// The operations of the protocol by number, those of common.fbs and of operate.fbs.
#pragma once

#include <array>

#include "net/server/access/op_spec.h"
#include "net/wire/op.h"

namespace cellar::server {

extern const std::array<OpSpec, wire::kOps> kOpTable;  // the index is the number

// Null if there is no such operation.
inline const OpSpec* find_op(uint16_t op) {
  return op < kOpTable.size() && kOpTable[op].handler != nullptr ? &kOpTable[op] : nullptr;
}
inline const OpSpec& spec_of(wire::fb::Op op) { return kOpTable[static_cast<size_t>(op)]; }

}  // namespace cellar::server
