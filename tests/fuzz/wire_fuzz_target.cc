// The entry of libFuzzer.
#include "tests/fuzz/wire_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cellar::fuzz::fuzz_wire(data, size);
  return 0;
}
