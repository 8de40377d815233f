// The entry of libFuzzer; which target it is, the build says.
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cellar::fuzz::CELLAR_FUZZ_TARGET.run({reinterpret_cast<const char*>(data), size});
  return 0;
}
