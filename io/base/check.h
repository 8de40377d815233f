// CHECK: a broken invariant prints its context and aborts the process. CHECK is active in release
// builds, DCHECK only without NDEBUG (for hot loops).
#pragma once

#include <fmt/format.h>

#include <string_view>

namespace cellar {

// Prints the condition, message, location and a backtrace to standard error, then aborts.
[[noreturn]] void check_failed(std::string_view condition, std::string_view message,
                               const char* file, int line);

}  // namespace cellar

#define CHECK(condition, ...)                                                                \
  do {                                                                                       \
    if (__builtin_expect(!(condition), 0))                                                   \
      ::cellar::check_failed(#condition, ::fmt::format("" __VA_ARGS__), __FILE__, __LINE__); \
  } while (false)

#ifdef NDEBUG
#define DCHECK(condition, ...) \
  do {                         \
    (void)sizeof(condition);   \
  } while (false)
#else
#define DCHECK(condition, ...) CHECK(condition, __VA_ARGS__)
#endif

#define UNREACHABLE(...) \
  ::cellar::check_failed("unreachable", ::fmt::format("" __VA_ARGS__), __FILE__, __LINE__)
