// What a call does in the connection or with the owner that has it.
#include "net/client/codec/call.h"

#include "net/client/connections/connection.h"

namespace cellar::client {

void Call::on_timer(void* context) {
  Call& call = *static_cast<Call*>(context);
  if (call.connection_) {
    call.connection_->on_deadline(call);
  } else {
    call.owner_->on_call_timer(call);
  }
}

void Call::end(Result<wire::Frame> answer, Ending ending, Reach reach,
               const wire::TabletHint* hint) {
  ending_ = ending;
  if (!answer && owner_ && owner_->takes_back(*this, answer.error(), ending, hint)) return;
  if (!answer && in_doubt_ && answer.error().applied == Applied::not_applied) {
    answer.error().applied = Applied::maybe_applied;
  }
  if (!answer && attempts_ > 1) {
    answer.error().message += fmt::format(" (after {} attempts)", attempts_);
  }
  if (owner_) owner_->on_finish(*this, ending == Ending::answered);
  finish(std::move(answer), reach);
}

int64_t Call::left_us() const {
  return deadline_us_ == INT64_MAX ? INT64_MAX : deadline_us_ - timers_.now_us();
}

}  // namespace cellar::client
