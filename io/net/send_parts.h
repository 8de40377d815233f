// send_parts: the writing half of a TCP stream, without waiting.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "io/base/bytes.h"
#include "io/base/result.h"

namespace cellar {

// Sends until all is sent (true) or the non-blocking socket `fd` is full (false). Removes sent
// elements from `parts`; `skip` counts the sent bytes of the first remaining one. Errors: as
// ByteStream::try_write(); `peer` is named in them.
Result<bool> send_parts(int fd, std::span<const Bytes>& parts, size_t& skip,
                        const std::string& peer);
// The same for ByteStream::try_write(): the number of bytes sent.
Result<size_t> send_what_fits(int fd, std::span<const Bytes> parts, const std::string& peer);

}  // namespace cellar
