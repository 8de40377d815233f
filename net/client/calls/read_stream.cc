#include "net/client/calls/read_stream.h"

#include <algorithm>

#include "net/client/connections/dispatcher.h"

namespace cellar::client {

void StreamCall::finish(Result<wire::Frame> answer, Reach reach) {
  open_ = false;
  if (!answer) {
    end_ = std::unexpected(std::move(answer).error());
  } else if (!unfinished_.empty()) {
    end_ = fail(Errc::internal, "the read ended in the middle of a row");
  }
  unfinished_.clear();
  if (waiter_) {
    // If there is a waiter, all blocks have been taken.
    Completion<CellBlock>* waiter = std::exchange(waiter_, nullptr);
    Result<CellBlock> last;
    if (!end_) last = std::unexpected(end_.error());
    const bool held = held_;
    if (!held) delete this;
    waiter->complete(std::move(last), reach);
    return;
  }
  if (!held_) delete this;
}

bool StreamCall::chunk(const wire::Frame& frame) {
  if (!held_) return true;
  auto block = CellBlock::decode(frame.body);
  if (!block || !plan_->note(*block)) return false;
  if (plan_->rows() > 0) made_progress();
  CellBlock rest;
  if (!plan_->provisional_rows() && !block->empty() && !block->rows().back().complete) {
    rest = block->split_last();
  }
  if (block->empty()) {
    // An unused chunk frees its place in the window at once.
    ++owed_;
  } else {
    // The row continued from the last chunks ends here.
    for (CellBlock& part : std::exchange(unfinished_, {}))
      blocks_.push_back({std::move(part), false});
    blocks_.push_back({*std::move(block), true});
  }
  if (!rest.empty()) unfinished_.push_back(std::move(rest));
  repay_credits();
  if (waiter_ && !blocks_.empty()) {
    Completion<CellBlock>* waiter = std::exchange(waiter_, nullptr);
    waiter->complete(take_block(), Reach::now);
  }
  return true;
}

// In batches of half a window.
void StreamCall::repay_credits() {
  if (owed_ * 2 < credits_ || owed_ == 0 || !open_) return;
  if (Connection* connection = Connection::of(*this)) {
    // While the attempt is queued the credits stay owed.
    if (connection->add_credits(*this, owed_)) owed_ = 0;
  }
}

bool StreamCall::renew() {
  unfinished_.clear();
  if (!plan_->resume()) return false;
  // Blocks waiting here already have their place in the window. If they fill it, the read resumes
  // with the first place that becomes free: a server that has ended a forgotten stream is left
  // alone.
  const auto waiting = static_cast<uint32_t>(
      std::count_if(blocks_.begin(), blocks_.end(), [](const Waiting& w) { return w.credit; }));
  full_ = waiting >= credits_;
  owed_ = 0;
  Request renewed = plan_->encode(*encoder_, full_ ? 1 : credits_ - waiting);
  request().frame = std::move(renewed.frame);
  request().table = renewed.table;
  request().row = renewed.row;
  return true;
}

CellBlock StreamCall::take_block() {
  Waiting next = std::move(blocks_.front());
  blocks_.pop_front();
  if (next.credit && std::exchange(full_, false)) {
    Dispatcher::go_on(*this);  // the request has this credit
  } else if (next.credit) {
    ++owed_;
  }
  repay_credits();
  return std::move(next.block);
}

void StreamCall::next(Completion<CellBlock>* waiter) {
  if (waiter_) {
    waiter->complete(fail(Errc::failed_precondition, "an async_next of this stream is pending"),
                     Reach::queued);
  } else if (!blocks_.empty()) {
    waiter->complete(take_block(), Reach::queued);
  } else if (open_) {
    waiter_ = waiter;
  } else if (end_) {
    waiter->complete(CellBlock(), Reach::queued);
  } else {
    waiter->complete(std::unexpected(end_.error()), Reach::queued);
  }
}

void StreamCall::stop_waiting() {
  if (!waiter_) return;
  std::exchange(waiter_, nullptr)
      ->complete(fail(Errc::cancelled, "the wait for the next block was cancelled"), Reach::queued);
}

void StreamCall::release() {
  held_ = false;
  stop_waiting();
  blocks_.clear();
  if (!open_) {
    delete this;
    return;
  }
  // Ends in finish(), which frees the memory.
  Dispatcher::cancel(*this);
}

void StreamCall::abandon() {
  open_ = false;
  if (waiter_) std::exchange(waiter_, nullptr)->abandon();
  if (held_) {
    end_ = fail(Errc::cancelled, "the loop has ended");
  } else {
    delete this;
  }
}

}  // namespace cellar::client
