#include "io/sim/io_guard.h"

#include <algorithm>

#include "io/base/check.h"

namespace cellar {

void IoGuard::begin(const IoOp& op, size_t alignment, const std::string& file) {
  check_open(file);
  CHECK(op.done != nullptr, "an operation on '{}' has no completion", file);
  if (op.kind != IoOp::Kind::sync && alignment > 1) {
    CHECK(reinterpret_cast<uintptr_t>(op.data) % alignment == 0 && op.offset % alignment == 0 &&
              op.size % alignment == 0,
          "direct operation on '{}' at {}+{} is not aligned to {}", file, op.offset, op.size,
          alignment);
  }
  for (const IoOp* other : in_flight_) {
    CHECK(other != &op, "an operation on '{}' was submitted again before it completed", file);
    const bool writes = other->kind == IoOp::Kind::write && op.kind == IoOp::Kind::write;
    const bool apart = op.offset + op.size <= other->offset ||  //
                       other->offset + other->size <= op.offset;
    CHECK(!writes || apart, "writes in flight on '{}' overlap: {}+{} and {}+{}", file, op.offset,
          op.size, other->offset, other->size);
  }
  in_flight_.push_back(&op);
}

void IoGuard::end(const IoOp& op) {
  const auto it = std::find(in_flight_.begin(), in_flight_.end(), &op);
  CHECK(it != in_flight_.end(), "an operation completed twice");
  in_flight_.erase(it);
}

void IoGuard::check_open(const std::string& file) const {
  CHECK(!closed_, "'{}' is used after close", file);
}

void IoGuard::close(const std::string& file) {
  check_open(file);
  CHECK(idle(), "'{}' is closed with {} operations in flight", file, in_flight_.size());
  closed_ = true;
}

}  // namespace cellar
