#include "io/loop/descriptors.h"

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace cellar {
namespace {

constexpr uint64_t kFilesShare = 4;  // one in this many

}  // namespace

uint64_t raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlimit raised{limit.rlim_max, limit.rlim_max};
  if (limit.rlim_cur < limit.rlim_max && setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  return limit.rlim_cur;
}

Result<uint64_t> descriptors_in_use() {
  const int lowest = eventfd(0, EFD_CLOEXEC);
  if (lowest < 0) return std::unexpected(os_error(errno, "a descriptor"));
  ::close(lowest);
  return static_cast<uint64_t>(lowest);
}

DescriptorPlan plan_descriptors(uint64_t limit, uint64_t in_use, uint32_t shards, uint32_t wanted) {
  DescriptorPlan plan;
  plan.files = limit / kFilesShare;
  const uint64_t taken = in_use + plan.files;
  const uint64_t each = limit > taken ? (limit - taken) / shards : 0;
  plan.connections = static_cast<uint32_t>(std::clamp<uint64_t>(each, 1, wanted));
  return plan;
}

}  // namespace cellar
