#include <algorithm>
#include <array>
#include <utility>

#include <boost/asio/post.hpp>

#include "net/client/connection.h"
#include "net/wire/body.h"

namespace cellar::client {

namespace fb = wire::fb;

namespace {

constexpr size_t kKeptOutBytes = 1u << 20;

}  // namespace

void Call::on_timer(void* context) {
  Call& call = *static_cast<Call*>(context);
  call.connection_->on_deadline(call);
}

void Connection::submit(Call& call) {
  if (state_ == State::closed) {
    call.finish(fail(Errc::cancelled, "the client was closed"), Reach::queued);
    return;
  }
  if (queue_.size() >= options_.max_queued ||
      queued_bytes_ + call.request_.frame.size() > options_.max_queued_bytes) {
    Error error(Errc::resource_exhausted,
                fmt::format("{} requests of {} bytes already wait for the connection to {}",
                            queue_.size(), queued_bytes_, options_.address));
    call.finish(std::unexpected(std::move(error).retry_after(10)), Reach::queued);
    return;
  }
  call.connection_ = this;
  if (call.request_.deadline_us > 0) {
    call.deadline_us_ = env_.timers.now_us() + call.request_.deadline_us;
    call.timer_.arm_after_us(call.request_.deadline_us);
  }
  if (state_ == State::ready && queue_.empty() && has_room()) {
    put_on_wire(call);
    return;
  }
  queued_bytes_ += call.request_.frame.size();
  queue_.push_back(call);
  if (state_ == State::idle) start();
}

bool Connection::has_room() const {
  return in_flight_ < max_in_flight_ && out_.size() < kMaxOutBytes;
}

void Connection::send_queued() {
  while (state_ == State::ready && !queue_.empty() && has_room()) {
    Call& call = queue_.front();
    queue_.pop_front();
    queued_bytes_ -= call.request_.frame.size();
    put_on_wire(call);
  }
}

void Connection::put_on_wire(Call& call) {
  std::string& frame = call.request_.frame;
  const size_t body_bytes = frame.size() - wire::kHeaderBytes;
  if (body_bytes > max_frame_bytes_) {
    call.timer_.cancel();
    call.connection_ = nullptr;
    call.finish(
        fail(Errc::invalid_argument, "the request has {} bytes, and {} takes at most {} in one",
             body_bytes, options_.address, max_frame_bytes_),
        Reach::queued);
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
  encoder_->give_back(std::move(frame));
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

// Everything asked for in this turn of the loop leaves in one write.
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
    if (call.is_linked()) {
      queued_bytes_ -= call.request_.frame.size();
      queue_.erase(CallList::s_iterator_to(call));
    }
  } else if (Slot* slot = slot_of(call.request_id_)) {
    slot->call = nullptr;
  }
}

Applied Connection::outcome_of(const Call& call) const {
  // Once in out_ a frame will leave, so only a queued one is sure.
  return call.request_id_ != 0 && call.request_.writes ? Applied::maybe_applied
                                                       : Applied::not_applied;
}

void Connection::cancel(Call& call, Error why, Reach reach) {
  why.applied = outcome_of(call);
  if (slot_of(call.request_id_) && state_ == State::ready) {
    send_control(call.request_id_, 0, wire::FrameKind::cancel, {});
  }
  unhook(call);
  call.finish(std::unexpected(std::move(why)), reach);
}

void Connection::add_credits(Call& call, uint32_t chunks) {
  if (!slot_of(call.request_id_) || state_ == State::closed) return;
  flatbuffers::FlatBufferBuilder builder(64);
  const Bytes body = wire::finish_body(builder, fb::CreateCredit(builder, chunks));
  send_control(call.request_id_, static_cast<uint16_t>(fb::Op::ReadRows), wire::FrameKind::credit,
               body);
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
  // A peer that says nothing at all for so long is dead, whatever TCP believes.
  if (silent && stream_) give_up("it has gone silent");
}

}  // namespace cellar::client
