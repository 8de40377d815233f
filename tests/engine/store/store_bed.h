// StoreBed: where a conformance suite runs one body of a storage interface. It owns the data, which
// outlive the store, and the loop on which the store works: simulated or real.
//
// Each interface has one suite (blob_store_suite.h, log_store_suite.h, manifest_store_suite.h,
// backup_store_suite.h): what its header promises, and every body must pass. A body joins by one
// entry, in a source that includes the suite:
//
//   INSTANTIATE_TEST_SUITE_P(Memory, BlobStoreSuite,
//                            testing::Values(BlobStoreBody{"memory", make_memory_bed}),
//                            name_of_body);
//
// A suite is included by one source of a binary.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include "io/base/check.h"
#include "io/base/result.h"
#include "io/loop/async.h"

namespace cellar::engine {

class StoreBed {
 public:
  virtual ~StoreBed() = default;
  virtual ShardExecutor executor() = 0;
  // Runs the loop until done() holds; false if it cannot, or takes too long.
  virtual bool run_until(const std::function<bool()>& done) = 0;

  // Runs `work` to its end on the loop.
  template <class T>
  T run(Async<T> work) {
    std::optional<T> result;
    const auto hold = [&]() -> Async<void> { result.emplace(co_await std::move(work)); };
    spawn(executor(), hold());
    const bool done = run_until([&] { return result.has_value(); });
    CHECK(done, "the loop of a store became idle before the work was done");
    return std::move(*result);
  }
};

// A bed of one interface.
template <class Store>
class BedOf : public StoreBed {
 public:
  // A store over the data. The previous one is gone first, with what it had in progress: as after
  // the end of its process. The bed owns it.
  virtual Store& open() = 0;
};

// A body of an interface.
template <class Store>
struct StoreBody {
  std::string name;  // letters and digits
  std::function<std::unique_ptr<BedOf<Store>>()> make;

  friend void PrintTo(const StoreBody& body, std::ostream* out) { *out << body.name; }
};

inline constexpr auto name_of_body = [](const auto& info) { return info.param.name; };

// The base of the suites.
template <class Store>
class StoreSuite : public testing::TestWithParam<StoreBody<Store>> {
 protected:
  void SetUp() override {
    bed_ = this->GetParam().make();
    store_ = &bed_->open();
  }
  Store& store() { return *store_; }
  void reopen() { store_ = &bed_->open(); }
  BedOf<Store>& bed() { return *bed_; }

  template <class T>
  T run(Async<T> work) {
    return bed_->run(std::move(work));
  }
  template <class T>
  T value(Async<Result<T>> work) {
    Result<T> result = run(std::move(work));
    CHECK(result, "{}", result.error().to_string());
    return *std::move(result);
  }
  void ok(Async<Result<void>> work) {
    const Result<void> result = run(std::move(work));
    EXPECT_TRUE(result) << result.error().to_string();
  }
  // The error of `work`, which must fail with `code`.
  template <class T>
  Error error(Async<Result<T>> work, Errc code) {
    Result<T> result = run(std::move(work));
    if (result) {
      ADD_FAILURE() << "expected " << errc_name(code) << ", it succeeded";
      return {};
    }
    EXPECT_EQ(result.error().code, code) << result.error().to_string();
    return result.error();
  }

 private:
  std::unique_ptr<BedOf<Store>> bed_;
  Store* store_ = nullptr;
};

// Text of `size` bytes in which each place tells where it is, so that exchanged bytes are noticed.
inline std::string text_of(size_t size, uint64_t number = 0) {
  std::string out;
  while (out.size() < size) out += fmt::format("<{}:{}>", number, out.size());
  out.resize(size);
  return out;
}

}  // namespace cellar::engine
