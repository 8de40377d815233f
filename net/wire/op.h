// Operation numbers of both schemas, common.fbs and operate.fbs. They share one range.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "net/wire/operate.h"
#include "schema/common_generated.h"

namespace cellar::wire {

// Every declared number is below this.
inline constexpr size_t kOps =
    std::max(static_cast<size_t>(fb::Op::MAX), static_cast<size_t>(fb::OperateOp::MAX)) + 1;

// "ReadRow"; empty if no schema declares the number.
inline std::string_view op_name(uint16_t op) {
  const std::string_view name = fb::EnumNameOp(static_cast<fb::Op>(op));
  return name.empty() ? fb::EnumNameOperateOp(static_cast<fb::OperateOp>(op)) : name;
}

}  // namespace cellar::wire
