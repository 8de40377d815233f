#include "io/base/check.h"

#include <execinfo.h>

#include <cstdio>
#include <cstdlib>

namespace cellar {

void check_failed(std::string_view condition, std::string_view message, const char* file,
                  int line) {
  std::fprintf(stderr, "cellar: CHECK failed: %.*s at %s:%d %.*s\n",
               static_cast<int>(condition.size()), condition.data(), file, line,
               static_cast<int>(message.size()), message.data());
  void* frames[64];
  const int depth = backtrace(frames, 64);
  backtrace_symbols_fd(frames, depth, 2);
  std::fflush(stderr);
  std::abort();
}

}  // namespace cellar
