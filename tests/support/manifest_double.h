// ManifestDouble: a manifest store over another one that answers as one of a cluster can: it does
// not see all tablets.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "engine/store/manifest_store.h"

namespace cellar::support {

class ManifestDouble final : public engine::ManifestStore {
 public:
  explicit ManifestDouble(std::unique_ptr<engine::ManifestStore> store)
      : store_(std::move(store)) {}

  bool has_all_tablets() const override { return has_all_tablets_; }
  Async<Result<std::map<engine::ManifestKey, engine::ManifestEntry>>> load() override {
    return store_->load();
  }
  Async<Result<std::vector<uint64_t>>> commit(std::vector<engine::VersionEdit> edits) override {
    return store_->commit(std::move(edits));
  }
  void on_failure(FailureListener listener) override { store_->on_failure(std::move(listener)); }
  Async<Result<void>> close() override { return store_->close(); }

  // Before a node uses it.
  void set_has_all_tablets(bool all) { has_all_tablets_ = all; }

 private:
  const std::unique_ptr<engine::ManifestStore> store_;
  bool has_all_tablets_ = true;
};

}  // namespace cellar::support
