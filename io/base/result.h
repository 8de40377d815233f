// Result<T>: the return type of every fallible function of Cellar.
//
// A bug in Cellar aborts (check.h). A failure caused by a caller, disk or peer is an Error value: a
// canonical status code, a sentence that names the offending item and the bound it exceeded, and
// the outcome of the request. Errors are built on cold paths only, so they may allocate.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace cellar {

// The canonical gRPC status codes. The numbers are on the wire: never renumber.
enum class Errc : uint8_t {
  ok = 0,
  cancelled = 1,
  unknown = 2,
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  already_exists = 6,
  permission_denied = 7,
  resource_exhausted = 8,
  failed_precondition = 9,
  aborted = 10,
  out_of_range = 11,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  data_loss = 15,
  unauthenticated = 16,
};

// "INVALID_ARGUMENT" and so on; "UNKNOWN" for an unknown value.
std::string_view errc_name(Errc code);

// The outcome of a request that failed (SEMANTICS 2). The numbers are on the wire.
enum class Applied : uint8_t { not_applied = 0, maybe_applied = 1, applied = 2 };

// retry_after_ms is a delay in milliseconds or kRetryNever: a retry cannot succeed.
inline constexpr uint32_t kRetryNever = UINT32_MAX;

struct [[nodiscard]] Error {
  Errc code = Errc::unknown;
  Applied applied = Applied::not_applied;
  uint32_t retry_after_ms = kRetryNever;
  int os_error = 0;  // errno if the operating system was the cause, else 0
  std::string message;

  Error() = default;
  Error(Errc c, std::string m) : code(c), message(std::move(m)) {}

  Error& retry_after(uint32_t ms) & {
    retry_after_ms = ms;
    return *this;
  }
  Error&& retry_after(uint32_t ms) && {
    retry_after_ms = ms;
    return std::move(*this);
  }
  Error&& outcome(Applied a) && {
    applied = a;
    return std::move(*this);
  }
  bool retryable() const { return retry_after_ms != kRetryNever; }
  std::string to_string() const;  // "NOT_FOUND: table 'x' does not exist"
};

template <class T>
using Result = std::expected<T, Error>;

// fail(Errc::not_found, "table '{}' does not exist", name) is the usual way to return an error.
template <class... Args>
[[nodiscard]] std::unexpected<Error> fail(Errc code, fmt::format_string<Args...> format,
                                          Args&&... args) {
  return std::unexpected<Error>(Error(code, fmt::format(format, std::forward<Args>(args)...)));
}

// Converts an errno. ENOSPC, EDQUOT, EMFILE and ENOMEM become RESOURCE_EXHAUSTED, ENOENT NOT_FOUND,
// EEXIST ALREADY_EXISTS, EACCES and EPERM PERMISSION_DENIED, all others UNAVAILABLE. `what` names
// the operation, as in "write of wal/3.log at 4096".
Error os_error(int err, std::string_view what);

}  // namespace cellar

// TRY(auto x, f()); is a statement inside braces, because it expands to several. A statement has at
// most one co_await; in a coroutine use CO_TRY(auto x, co_await f()).
#define CELLAR_CONCAT_INNER(a, b) a##b
#define CELLAR_CONCAT(a, b) CELLAR_CONCAT_INNER(a, b)
#define CELLAR_TRY_IMPL(ret, tmp, decl, expr)            \
  auto tmp = (expr);                                     \
  if (!tmp) ret std::unexpected(std::move(tmp).error()); \
  decl = *std::move(tmp)
#define CELLAR_CHECK_IMPL(ret, tmp, expr) \
  if (auto tmp = (expr); !tmp) ret std::unexpected(std::move(tmp).error())

#define TRY(decl, expr) CELLAR_TRY_IMPL(return, CELLAR_CONCAT(try_, __COUNTER__), decl, expr)
#define TRY_VOID(expr) CELLAR_CHECK_IMPL(return, CELLAR_CONCAT(try_, __COUNTER__), expr)
#define CO_TRY(decl, expr) CELLAR_TRY_IMPL(co_return, CELLAR_CONCAT(try_, __COUNTER__), decl, expr)
#define CO_TRY_VOID(expr) CELLAR_CHECK_IMPL(co_return, CELLAR_CONCAT(try_, __COUNTER__), expr)
