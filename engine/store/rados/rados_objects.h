// RadosObjects: the objects of one pool and namespace, with calls that are repeated until their
// outcome is known.
//
// A write that had no answer is sent again, the same bytes under the same guards. Therefore a
// refusal may be the work of an earlier copy: who writes under guards reads the object then.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "io/base/result.h"
#include "io/loop/async.h"
#include "io/loop/runtime.h"
#include "io/remote/rados_port.h"

namespace cellar::engine {

// One loop.
class RadosObjects {
 public:
  // Time of one attempt, of all attempts of a call, and from one to the next.
  static constexpr int64_t kAttemptUs = 10'000'000;
  static constexpr int64_t kPatienceUs = 60'000'000;
  static constexpr int64_t kPauseUs = 100'000;

  using Xattrs = std::map<std::string, std::string>;
  enum class Made : uint8_t {
    yes,
    refused,  // by a guard, an absence or an existence: perhaps that of an earlier copy
  };

  // `port` and `runtime` must outlive it.
  RadosObjects(RadosPort& port, Runtime& runtime, RadosPool pool)
      : port_(port), runtime_(runtime), pool_(pool) {}

  // RESOURCE_EXHAUSTED: the pool is full. UNAVAILABLE: not settled within kPatienceUs, maybe
  // applied, also later.
  Async<Result<Made>> write(std::string name, RadosWrite write);
  // Replaces the whole content. NOT_FOUND if the cluster has no such pool any more.
  Async<Result<void>> put(std::string name, std::string content);
  Async<Result<void>> remove(std::string name);  // OK if absent
  // NOT_FOUND; DATA_LOSS; is_unreachable() (blob_store.h) after kPatienceUs.
  Async<Result<RadosBytes>> read(std::string name, uint64_t offset, size_t size, bool any_replica);
  Async<Result<Xattrs>> xattrs(std::string name);
  // UNAVAILABLE after kPatienceUs, and the time that the port gives a listing.
  Async<Result<std::vector<std::string>>> list(std::string prefix);

  Runtime& runtime() { return runtime_; }
  // Text that no other attempt has.
  std::string attempt_id() { return fmt::format("{:016x}", runtime_.random.next()); }

 private:
  // Whether the call may be repeated; then it has waited.
  Async<bool> again(const Error& error, int64_t began_us);

  RadosPort& port_;
  Runtime& runtime_;
  const RadosPool pool_;
};

}  // namespace cellar::engine
