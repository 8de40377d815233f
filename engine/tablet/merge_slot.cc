#include "engine/tablet/merge_slot.h"

#include "engine/tablet/tablet.h"

namespace cellar::engine {

Async<Result<MergeSlot::Turn>> MergeSlot::turn(const Tablet& tablet) {
  if (pace_ != nullptr) pace_->boost();
  const uint64_t ticket = next_ticket_++;
  tickets_.push_back(ticket);
  while (!tablet.obsolete() && (taken_ || tickets_.front() != ticket)) co_await changed_.wait();
  std::erase(tickets_, ticket);
  if (tablet.obsolete()) {
    changed_.notify_all();
    co_return fail(Errc::aborted, "tablet {} was dropped", tablet.id());
  }
  taken_ = true;
  co_return Turn(*this);
}

Async<Result<MergeSlot::Turn>> MergeSlot::turn_to_reclaim(const Tablet& tablet) {
  ++reclaims_waiting_;
  auto turn = co_await this->turn(tablet);
  --reclaims_waiting_;
  co_return turn;
}

void MergeSlot::end_turn() {
  taken_ = false;
  changed_.notify_all();
}

void MergeSlot::finish_at_once() {
  if (pace_ != nullptr) pace_->finish_at_once();
}

MergeSlot::Running::Running(MergeSlot& slot, const Tablet& tablet, MergeJob& job, Pace* pace,
                            std::vector<BlobId> inputs)
    : slot_(slot) {
  slot_.job_ = &job;
  slot_.pace_ = pace;
  slot_.tablet_ = &tablet;
  slot_.began_us_ = slot_.clock_.now_us();
  slot_.inputs_ = std::move(inputs);
  if (slot_.ended_) job.cancel();
}

MergeSlot::Running::~Running() {
  slot_.job_ = nullptr;
  slot_.tablet_ = nullptr;
  slot_.inputs_.clear();
  slot_.pace_ = nullptr;
}

void MergeSlot::cancel() {
  if (job_ != nullptr) job_->cancel();
}

void MergeSlot::end() {
  ended_ = true;
  cancel();
}

void MergeSlot::cancel(const Tablet& tablet) {
  if (tablet_ == &tablet) cancel();
  changed_.notify_all();
}

}  // namespace cellar::engine
