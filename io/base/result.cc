#include "io/base/result.h"

#include <array>
#include <cerrno>
#include <system_error>

namespace cellar {

std::string_view errc_name(Errc code) {
  static constexpr std::array<std::string_view, 17> kNames = {"OK",
                                                              "CANCELLED",
                                                              "UNKNOWN",
                                                              "INVALID_ARGUMENT",
                                                              "DEADLINE_EXCEEDED",
                                                              "NOT_FOUND",
                                                              "ALREADY_EXISTS",
                                                              "PERMISSION_DENIED",
                                                              "RESOURCE_EXHAUSTED",
                                                              "FAILED_PRECONDITION",
                                                              "ABORTED",
                                                              "OUT_OF_RANGE",
                                                              "UNIMPLEMENTED",
                                                              "INTERNAL",
                                                              "UNAVAILABLE",
                                                              "DATA_LOSS",
                                                              "UNAUTHENTICATED"};
  const auto index = static_cast<size_t>(code);
  return index < kNames.size() ? kNames[index] : kNames[2];
}

std::string Error::to_string() const { return fmt::format("{}: {}", errc_name(code), message); }

Error os_error(int err, std::string_view what) {
  Errc code = Errc::unavailable;
  switch (err) {
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      code = Errc::resource_exhausted;
      break;
    case ENOENT:
      code = Errc::not_found;
      break;
    case EEXIST:
      code = Errc::already_exists;
      break;
    case EACCES:
    case EPERM:
      code = Errc::permission_denied;
      break;
    default:
      break;
  }
  Error error(code,
              fmt::format("{}: {} (errno {})", what, std::generic_category().message(err), err));
  error.os_error = err;
  // Descriptors and memory become available again as other operations complete.
  constexpr uint32_t kShortageRetryMs = 1000;
  if (err == EMFILE || err == ENFILE || err == ENOMEM) error.retry_after(kShortageRetryMs);
  return error;
}

}  // namespace cellar
