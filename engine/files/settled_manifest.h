// SettledManifest: the manifest as a node uses it. On a network an edit may stay without an answer.
// If the store reads outcomes back, such an edit is committed again until its outcome is known, and
// its caller sees a late answer and nothing else. An outcome that is unknown for kGiveUpUs is as in
// a store that does not: the manifest has failed, and no edit follows before the next start.
//
//   commit(edit) --> store: unknown --> pause --> store: the versions, or ABORTED --> answer
//
// Invariants
//   1. An edit has one id in all attempts, and no other edit has it.
//   2. No answer of unknown outcome is given before the failure listener was called.
//   3. Once an attempt may have been applied, only what tells the outcome of the edit is an answer:
//      the versions, or ABORTED. A store that meanwhile refuses all edits (fenced, closed, failed)
//      says nothing about the earlier attempt: the outcome stays unknown.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "engine/store/manifest_store.h"
#include "io/loop/runtime.h"

namespace cellar::engine {

// On shard 0.
class SettledManifest final : public ManifestStore {
 public:
  // Between two attempts: from the first, doubled, to the last.
  static constexpr int64_t kFirstPauseUs = 10'000;
  static constexpr int64_t kLastPauseUs = 1'000'000;
  static constexpr int64_t kGiveUpUs = 60'000'000;

  // `store` must outlive it.
  SettledManifest(ManifestStore& store, const Runtime& runtime)
      : store_(store), runtime_(runtime) {}

  bool has_all_tablets() const override { return store_.has_all_tablets(); }
  bool reads_outcomes_back() const override { return false; }
  Async<Result<std::map<ManifestKey, ManifestEntry>>> load() override { return store_.load(); }
  Async<Result<Versions>> commit(TabletEdit edit) override { return settle(std::move(edit)); }
  Async<Result<Versions>> commit(ReshapeEdit edit) override { return settle(std::move(edit)); }
  Async<Result<Versions>> commit(CatalogEdit edit) override { return settle(std::move(edit)); }
  void on_failure(FailureListener listener) override;
  Async<Result<void>> close() override { return store_.close(); }

 private:
  template <class Edit>
  Async<Result<Versions>> settle(Edit edit) {
    if (!store_.reads_outcomes_back()) return store_.commit(std::move(edit));
    return ask_until_known(std::move(edit));
  }
  template <class Edit>
  Async<Result<Versions>> ask_until_known(Edit edit);
  void fail(const Error& cause);

  ManifestStore& store_;
  Runtime runtime_;
  FailureListener listener_;
  std::optional<Error> failure_;  // of an edit that was given up
};

}  // namespace cellar::engine
