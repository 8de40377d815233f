// Common checks at the start and end of every decoder of this component.
#pragma once

#include <string_view>

#include "io/base/coding.h"
#include "io/base/result.h"

namespace cellar::engine {

inline Result<void> check_version(Reader& in, uint8_t known, std::string_view what) {
  const uint8_t version = in.u8();
  if (!in.ok() || version == 0) return fail(Errc::data_loss, "{} has no version", what);
  if (version != known) {
    return fail(Errc::failed_precondition,
                "{} has format version {}; this program reads version {} only", what, version,
                known);
  }
  return {};
}

inline Result<void> check_consumed(const Reader& in, std::string_view what) {
  if (!in.ok()) return fail(Errc::data_loss, "{} is cut short", what);
  if (!in.at_end()) return fail(Errc::data_loss, "{} has {} bytes too many", what, in.remaining());
  return {};
}

}  // namespace cellar::engine
