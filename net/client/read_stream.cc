#include "net/client/read_stream.h"

#include "net/client/connection.h"

namespace cellar::client {

void StreamCall::finish(Result<wire::Frame> answer, Reach reach) {
  open_ = false;
  if (!answer) end_ = std::unexpected(std::move(answer).error());
  if (waiter_) {
    // A waiter means that every block was taken.
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
  if (!block) return false;
  if (block->empty()) {
    ++owed_;
    return true;
  }
  blocks_.push_back(*std::move(block));
  if (waiter_) {
    Completion<CellBlock>* waiter = std::exchange(waiter_, nullptr);
    waiter->complete(take_block(), Reach::now);
  }
  return true;
}

CellBlock StreamCall::take_block() {
  CellBlock block = std::move(blocks_.front());
  blocks_.pop_front();
  if (++owed_ * 2 >= credits_ && open_) {
    if (Connection* connection = Connection::of(*this)) {
      connection->add_credits(*this, std::exchange(owed_, 0));
    }
  }
  return block;
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
  // Ends in finish(), which lets go of the memory.
  if (Connection* connection = Connection::of(*this)) {
    connection->cancel(*this, Error(Errc::cancelled, "the read was cancelled"), Reach::queued);
  }
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
