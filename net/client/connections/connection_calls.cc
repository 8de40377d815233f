#include <algorithm>
#include <array>
#include <utility>

#include <boost/asio/post.hpp>

#include "net/client/connections/connection.h"
#include "net/wire/body.h"

namespace cellar::client {

namespace fb = wire::fb;

namespace {

constexpr size_t kKeptOutBytes = 1u << 20;

}  // namespace

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
  if (owner_) owner_->settled(*this, ending == Ending::answered);
  finish(std::move(answer), reach);
}

int64_t Call::left_us() const {
  return deadline_us_ == INT64_MAX ? INT64_MAX : deadline_us_ - timers_.now_us();
}

void Connection::submit(Call& call) {
  if (state_ == State::closed) {
    call.end(fail(Errc::cancelled, "the client was closed"), Ending::here, Reach::queued);
    return;
  }
  if (state_ == State::ready && queue_.empty() && has_room()) {
    call.connection_ = this;
    arm_deadline(call);
    put_on_wire(call);
    return;
  }
  enqueue(call);
  if (state_ == State::idle) start();
}

void Connection::enqueue(Call& call) {
  call.connection_ = this;
  arm_deadline(call);
  queue_.push_back(call);
}

void Connection::arm_deadline(Call& call) {
  if (call.deadline_us_ == INT64_MAX) return;
  call.timer_.arm_after_us(std::max<int64_t>(call.deadline_us_ - env_.timers.now_us(), 0));
}

bool Connection::has_room() const {
  return in_flight_ < max_in_flight_ && out_.size() < kMaxOutBytes;
}

void Connection::send_queued() {
  while (state_ == State::ready && !queue_.empty() && has_room()) {
    Call& call = queue_.front();
    queue_.pop_front();
    put_on_wire(call);
  }
}

// Such a node would ignore the token and apply each attempt. A drawn token is omitted, and the
// rules for requests without a token apply.
bool Connection::settle_drop_token(Call& call) const {
  Request& request = call.request_;
  if (!request.needs_drop_tokens || server_.drop_tokens) return true;
  if (request.frame_without_token.empty() || call.attempts_ > 0) return false;
  request.frame = std::move(request.frame_without_token);
  request.token_times = 0;
  request.needs_drop_tokens = false;
  request.repeat = request.repeat_without_token;
  return true;
}

void Connection::put_on_wire(Call& call) {
  const bool keeps_token = settle_drop_token(call);
  std::string& frame = call.request_.frame;
  const size_t body_bytes = frame.size() - wire::kHeaderBytes;
  if (body_bytes > max_frame_bytes_) {
    call.timer_.cancel();
    call.connection_ = nullptr;
    call.end(
        fail(Errc::invalid_argument, "the request has {} bytes, and {} takes at most {} in one",
             body_bytes, options_.address, max_frame_bytes_),
        Ending::here, Reach::queued);
    return;
  }
  if (!keeps_token) {
    call.timer_.cancel();
    call.connection_ = nullptr;
    call.end(fail(Errc::unimplemented, "{} keeps no tokens of DropRowRange", options_.address),
             Ending::here, Reach::queued);
    return;
  }
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const uint32_t index = free_slots_.back();
  free_slots_.pop_back();
  Slot& slot = slots_[index];
  slot.taken = true;
  slot.call = &call;
  ++in_flight_;
  ++stats_.requests;
  ++call.attempts_;
  stamp_tokens(call.request_);
  call.request_id_ = static_cast<uint64_t>(slot.generation) << 32 | index;
  call.sent_us_ = env_.timers.now_us();

  wire::FrameHeader header;
  std::memcpy(&header, frame.data(), sizeof header);
  header.request_id = call.request_id_;
  if (call.deadline_us_ != INT64_MAX) {
    const int64_t left_us = std::max<int64_t>(call.deadline_us_ - call.sent_us_, 1);
    header.deadline_ms =
        static_cast<uint32_t>(std::min<int64_t>((left_us + 999) / 1000, UINT32_MAX));
  }
  wire::store_header(frame.data(), header);
  out_.append(frame);
  queued_end_ += frame.size();
  call.wire_end_ = queued_end_;
  schedule_flush();
}

void Connection::send_control(uint64_t request_id, uint16_t op, wire::FrameKind kind, Bytes body) {
  wire::FrameHeader header;
  header.kind = kind;
  header.op = op;
  header.request_id = request_id;
  header.body_bytes = static_cast<uint32_t>(body.size());
  wire::append_header(out_, header);
  out_.append(body);
  queued_end_ += wire::kHeaderBytes + body.size();
  schedule_flush();
}

// A token's window is counted by the node's clock from its first attempt.
void Connection::stamp_tokens(Request& request) {
  const int64_t now_us = server_now_us();
  for (uint32_t i = 0; i < request.token_times; ++i) {
    char* at = request.frame.data() + request.token_times_at + i * request.token_times_apart;
    int64_t issued_us = 0;
    std::memcpy(&issued_us, at, sizeof issued_us);
    if (issued_us == 0) std::memcpy(at, &now_us, sizeof now_us);
  }
  request.token_times = 0;
}

// All requests of this loop turn are sent in one write.
void Connection::schedule_flush() {
  if (flush_posted_ || writing_) return;
  flush_posted_ = true;
  asio::post(env_.executor, [self = shared_from_this()] { self->flush(); });
}

void Connection::flush() {
  flush_posted_ = false;
  if (!stream_ || writing_ || out_.empty()) return;
  if (state_ != State::ready && state_ != State::draining) return;
  const std::array<Bytes, 1> parts = {Bytes(out_)};
  ++stats_.writes;
  auto taken = stream_->try_write(parts);
  if (!taken) {
    give_up("it takes no more bytes");
    return;
  }
  handed_ += *taken;
  if (*taken == out_.size()) {
    out_.clear();
    if (out_.capacity() > kKeptOutBytes) out_.shrink_to_fit();
    send_queued();
    return;
  }
  std::string rest = out_.substr(*taken);
  out_.clear();
  handed_ += rest.size();
  writing_ = true;
  spawn(env_.executor, write_rest(shared_from_this(), stream_, std::move(rest)));
}

Connection::Slot* Connection::slot_of(uint64_t request_id) {
  const auto index = static_cast<uint32_t>(request_id);
  if (index >= slots_.size()) return nullptr;
  Slot& slot = slots_[index];
  return slot.taken && slot.generation == request_id >> 32 ? &slot : nullptr;
}

void Connection::free_slot(Slot& slot) {
  slot.call = nullptr;
  slot.taken = false;
  if (++slot.generation == 0) slot.generation = 1;
  --in_flight_;
  free_slots_.push_back(static_cast<uint32_t>(&slot - slots_.data()));
}

void Connection::unhook(Call& call) {
  call.timer_.cancel();
  call.connection_ = nullptr;
  if (call.request_id_ == 0) {
    if (call.is_linked()) queue_.erase(CallList::s_iterator_to(call));
  } else if (Slot* slot = slot_of(call.request_id_)) {
    slot->call = nullptr;
  }
  call.request_id_ = 0;
}

Applied Connection::outcome_of(const Call& call) const {
  // A frame in out_ will be sent, so only a queued one is certainly not applied.
  return call.request_id_ != 0 && call.request_.writes ? Applied::maybe_applied
                                                       : Applied::not_applied;
}

void Connection::cancel(Call& call, Error why, Reach reach) {
  why.applied = outcome_of(call);
  if (slot_of(call.request_id_) && (state_ == State::ready || state_ == State::draining)) {
    send_control(call.request_id_, 0, wire::FrameKind::cancel, {});
  }
  unhook(call);
  call.end(std::unexpected(std::move(why)), Ending::here, reach);
}

bool Connection::add_credits(Call& call, uint32_t chunks) {
  if (call.request_id_ == 0 || state_ == State::closed) return false;
  flatbuffers::FlatBufferBuilder builder(64);
  const Bytes body = wire::finish_body(builder, fb::CreateCredit(builder, chunks));
  send_control(call.request_id_, static_cast<uint16_t>(fb::Op::ReadRows), wire::FrameKind::credit,
               body);
  return true;
}

void Connection::on_deadline(Call& call) {
  const int64_t now_us = env_.timers.now_us();
  const bool sent = call.request_id_ != 0;
  const bool silent =
      sent && last_received_us_ < call.sent_us_ && now_us - call.sent_us_ >= kSilenceUs;
  const std::shared_ptr<Connection> self = shared_from_this();
  cancel(call,
         Error(Errc::deadline_exceeded,
               fmt::format("no answer from {} within {} ms{}", options_.address,
                           call.request_.deadline_us / 1000,
                           sent ? "" : " (there was no connection to send it on)")),
         Reach::now);
  // A peer silent for so long is considered dead, whatever TCP reports.
  if (silent && stream_) give_up("it has gone silent");
}

}  // namespace cellar::client
