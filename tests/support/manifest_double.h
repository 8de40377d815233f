// ManifestDouble: a manifest store over another one that answers as one of a cluster can. It may
// not see all tablets, it reads outcomes back, and edits or their answers get lost.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <utility>

#include "engine/store/manifest_store.h"

namespace cellar::support {

class ManifestDouble final : public engine::ManifestStore {
 public:
  enum class Loss : uint8_t {
    none,
    edit,     // the edit never arrives
    answer,   // it is applied, and its answer is lost
    refusal,  // the store takes nothing any more, and says so
  };

  explicit ManifestDouble(std::unique_ptr<engine::ManifestStore> store)
      : store_(std::move(store)) {}

  bool has_all_tablets() const override { return has_all_tablets_; }
  bool reads_outcomes_back() const override { return reads_outcomes_back_; }
  Async<Result<std::map<engine::ManifestKey, engine::ManifestEntry>>> load() override {
    return store_->load();
  }
  Async<Result<Versions>> commit(engine::TabletEdit edit) override { return lose(std::move(edit)); }
  Async<Result<Versions>> commit(engine::ReshapeEdit edit) override {
    return lose(std::move(edit));
  }
  Async<Result<Versions>> commit(engine::CatalogEdit edit) override {
    return lose(std::move(edit));
  }
  void on_failure(FailureListener listener) override { store_->on_failure(std::move(listener)); }
  Async<Result<void>> close() override { return store_->close(); }

  // Before a node uses it.
  void set_has_all_tablets(bool all) { has_all_tablets_ = all; }
  void set_reads_outcomes_back(bool reads) { reads_outcomes_back_ = reads; }

  // What happens to the next attempts, one after another; then to all, `rest`.
  void lose_next(std::deque<Loss> losses, Loss rest = Loss::none) {
    losses_ = std::move(losses);
    rest_ = rest;
  }
  size_t lost() const { return lost_; }
  // Attempts answered from what an earlier attempt had applied.
  size_t repeated() const { return repeated_; }

 private:
  template <class Edit>
  Async<Result<Versions>> lose(Edit edit) {
    const Loss loss = losses_.empty() ? rest_ : losses_.front();
    if (!losses_.empty()) losses_.pop_front();
    if (loss == Loss::edit) co_return unknown();
    if (loss == Loss::refusal) {
      co_return std::unexpected(
          Error(Errc::unavailable, "the store is fenced").outcome(Applied::not_applied));
    }
    const engine::EditId id = edit.id;
    Result<Versions> answer = Versions();
    if (const auto applied = applied_.find(id); applied != applied_.end()) {
      ++repeated_;
      answer = applied->second;
    } else {
      answer = co_await store_->commit(std::move(edit));
      if (answer && id != engine::EditId{}) applied_[id] = *answer;
    }
    if (loss == Loss::answer) co_return unknown();
    co_return answer;
  }
  std::unexpected<Error> unknown() {
    ++lost_;
    return std::unexpected(
        Error(Errc::unavailable, "no answer came").outcome(Applied::maybe_applied));
  }

  const std::unique_ptr<engine::ManifestStore> store_;
  bool has_all_tablets_ = true;
  bool reads_outcomes_back_ = false;
  std::map<engine::EditId, Versions> applied_;
  std::deque<Loss> losses_;
  Loss rest_ = Loss::none;
  size_t lost_ = 0;
  size_t repeated_ = 0;
};

}  // namespace cellar::support
