#include "tests/fuzz/fuzz_target.h"

namespace cellar::fuzz {

std::span<const FuzzTarget* const> fuzz_targets() {
  static const FuzzTarget* const kAll[] = {&kWireTarget, &kReplyTarget, &kStoredTarget,
                                           &kLogTarget,  &kTableTarget, &kTextTarget};
  return kAll;
}

}  // namespace cellar::fuzz
