// Input of a session: its buffer, and the node memory for large frames.
#include "net/server/shard/session.h"
#include "net/server/shard/shard_server.h"

namespace cellar::server {

using wire::FrameKind;
using wire::FrameReader;

// Whether receive() may follow: the buffer has its size, and no other read is under way.
bool Session::may_receive_at_once() {
  if (reads_ahead_ || broken_ || end_of_input_ || frame_given_up_) return false;
  shrink_buffer();
  if (frames_.begun_bytes() > frames_.base_bytes()) return false;
  return frames_.next_buffer_bytes() <= frames_.base_bytes() + claim_.bytes;
}

// Starts a receive, which ends in on_received().
void Session::receive() {
  space_ = frames_.space();
  if (!stream_->start_receive(space_, *this)) spawn(shard_.executor(), receive_by_read());
}

// At the end of the connection it may be destroyed inside on_received().
Async<void> Session::receive_by_read() { on_received(co_await stream_->read_some(space_)); }

void Session::on_received(Result<size_t> bytes) {
  if (!take_in(bytes)) return spawn(shard_.executor(), end());
  if (frame_given_up_) drop_frame();
  if (*bytes == space_.size()) widen_buffer();
  shard_.queue_received(*this);
}

// Receives more bytes. False at the end of the connection.
Async<bool> Session::fill() {
  if (reads_ahead_) {
    while (reads_ahead_) co_await changed_.wait();
    if (frame_given_up_ && !broken_) drop_frame();
    co_return !broken_ && !end_of_input_;
  }
  if (broken_ || end_of_input_) co_return false;
  shrink_buffer();
  if (frames_.begun_bytes() > frames_.base_bytes() && !check_begun()) co_return false;
  while (frames_.next_buffer_bytes() > frames_.base_bytes() + claim_.bytes) {
    const bool open = co_await reserve_frame();
    if (!open) co_return false;
  }
  const std::span<std::byte> space = frames_.space();
  const Result<size_t> n = co_await stream_->read_some(space);
  if (!take_in(n)) co_return false;
  if (frame_given_up_) drop_frame();
  if (*n == space.size()) widen_buffer();
  co_return true;
}

// Processes the result of a read. False at the end of the connection.
bool Session::take_in(const Result<size_t>& n) {
  if (!n) broken_ = true;
  if (n && *n == 0) end_of_input_ = true;
  if (broken_ || end_of_input_) return false;
  last_received_us_ = shard_.timers().now_us();
  shard_.count_received(*n);
  frames_.received(*n);
  return true;
}

// Frees memory that the buffer no longer needs.
void Session::shrink_buffer() {
  if (reads_ahead_) return;
  // A frame in progress keeps the memory claimed for it.
  const bool begun = frames_.unread().size() > frames_.base_bytes() / 2;
  if (begun && frames_.begun_bytes() > frames_.base_bytes()) return;
  if (claim_.bytes == 0 && frames_.buffer_bytes() <= frames_.base_bytes()) return;
  frames_.shrink();
  const size_t base = frames_.base_bytes();
  const size_t beyond = frames_.buffer_bytes() > base ? frames_.buffer_bytes() - base : 0;
  if (claim_.bytes > beyond) shard_.lower_claim(claim_, beyond);
  if (claim_.bytes == 0) pace_.cancel();
}

// More data than the small buffer holds: a larger one saves system calls.
void Session::widen_buffer() {
  if (!greeted_ || frames_.base_bytes() >= FrameReader::kInitialBytes) return;
  if (!shard_.memory().take_wide(FrameReader::kInitialBytes)) return;
  frames_.set_base_bytes(FrameReader::kInitialBytes);
}

// Nothing more is received.
void Session::release_buffer() {
  pace_.cancel();
  if (frames_.base_bytes() == FrameReader::kInitialBytes) {
    shard_.memory().give_wide(FrameReader::kInitialBytes);
  }
  frames_ = FrameReader(0, FrameReader::kSmallBytes);
  if (claim_.bytes > 0) shard_.lower_claim(claim_, 0);
}

// A frame is incomplete.
void Session::begin_partial() {
  partial_since_us_ = paced_us_ = last_received_us_;
  paced_bytes_ = 0;
  announced_ = false;
}

// Checks the header of a frame larger than the buffer and refuses it if possible. False: the
// connection is over.
bool Session::check_begun() {
  if (std::exchange(announced_, true)) return true;
  wire::FrameHeader header = frames_.begun_header();
  Result<void> allowed = handles_.resolve(header, shard_.tables());
  if (allowed) allowed = shard_.handler().check_announced(shard_, *this, header);
  if (!allowed && answer_begun(allowed.error())) drop_frame();
  return !broken_;
}

// Claims memory for the incomplete frame or refuses it. False: the connection is over.
Async<bool> Session::reserve_frame() {
  wanted_bytes_ = frames_.next_buffer_bytes() - frames_.base_bytes();
  // On a small node the largest frames are not claimed whole: one would block all others.
  constexpr size_t kWholeShare = 3;
  NodeMemory& memory = shard_.memory();
  const size_t whole = frames_.whole_buffer_bytes() - frames_.base_bytes();
  const bool proven = wanted_bytes_ > NodeMemory::kProvenBytes;
  if (proven && whole <= memory.large_bound() / kWholeShare) wanted_bytes_ = whole;
  using Turn = NodeMemory::Turn;
  if (memory.grow(claim_, wanted_bytes_, Turn::newcomer) != NodeMemory::Room::given) {
    if (shard_.memory_queue().join(memory, *this, NodeMemory::kind_of(wanted_bytes_))) {
      co_await wait_for_frame_room();
    }
    const bool refused = !broken_ && claim_.bytes < wanted_bytes_;
    if (refused && answer_begun(no_room())) drop_frame();
  }
  wanted_bytes_ = 0;
  watch_pace();
  co_return !broken_;
}

Async<void> Session::wait_for_frame_room() {
  const int64_t since_us = shard_.timers().now_us();
  const int64_t until_us = since_us + MemoryQueue::kMaxWaitUs;
  pace_.arm_after_us(MemoryQueue::kMaxWaitUs);
  while (!broken_ && waits_for_memory() && shard_.timers().now_us() < until_us) {
    flush();
    co_await changed_.wait();
  }
  shard_.memory_queue().leave(shard_.memory(), *this);
  pace_.cancel();
  // Nothing could be received meanwhile, so the wait does not count against the sender.
  const int64_t waited_us = shard_.timers().now_us() - since_us;
  if (partial_since_us_ != 0) partial_since_us_ += waited_us;
  paced_us_ += waited_us;
}

// The memory queue serves the session.
NodeMemory::Room Session::take_room(NodeMemory::Turn turn) {
  using Room = NodeMemory::Room;
  NodeMemory& memory = shard_.memory();
  Room room = Room::given;
  if (wanted_bytes_ != 0) {
    room = memory.grow(claim_, wanted_bytes_, turn);
  } else if (memory.requests_full()) {
    room = Room::full;
  }
  if (room == Room::given) changed_.notify_all();
  return room;
}

Error Session::no_room() const {
  const NodeMemory& memory = shard_.memory();
  Error error(Errc::resource_exhausted,
              fmt::format("no room to receive a request of {} bytes: the node holds {} bytes of "
                          "requests, its bound is {}",
                          frames_.begun_bytes(), memory.requests(), memory.requests_bound()));
  return std::move(error).retry_after(kFrameRetryAfterMs);
}

// Answers the incomplete frame. False: no answer is possible, and the connection ends.
bool Session::answer_begun(const Error& error) {
  const wire::FrameHeader header = frames_.begun_header();
  if (header.kind != FrameKind::request) {
    garbage(error);
    broken_ = true;
    return false;
  }
  if (!take_on(header)) return false;
  reply_error(header, error);
  return true;
}

// Skips the rest of the incomplete frame.
void Session::drop_frame() {
  frame_given_up_ = false;
  frames_.skip_frame();
  shrink_buffer();
}

void Session::hold_for(std::shared_ptr<DropStep> step) {
  step->session = this;
  step_ = std::move(step);
  held_ = true;
  held_for_step_ = true;
}

void Session::forget_step() {
  if (step_) step_->session = nullptr;
  step_.reset();
}

// Whether the current frame is still held: for its first step, or for that version of the table
// map.
bool Session::still_held(uint64_t version) const {
  return held_for_step_ ? !step_->over : shard_.tables().version == version;
}

// Waits until the current request is accepted or answered. Several reshapes may follow one another.
Async<void> Session::serve_held() {
  frames_.put_back();
  const int64_t asked_us = asked_us_;
  const wire::FrameHeader header = frames_.front().header;
  const int64_t deadline_us = this->deadline_us(header);
  const int64_t last_us = shard_.timers().now_us() + MapWaiters::kMaxWaitUs;
  const int64_t until_us = deadline_us == 0 ? last_us : std::min(last_us, deadline_us);
  while (held_) {
    const uint64_t version = shard_.tables().version;
    while (still_held(version) && !broken_ && shard_.timers().now_us() < until_us) {
      if (!MapWaitHook::is_linked()) {
        shard_.map_waiters().wait(*this, until_us);
        if (!std::exchange(reads_ahead_, true)) spawn(shard_.executor(), read_ahead());
      }
      co_await changed_.wait();
    }
    MapWaiters::stop(*this);
    held_ = false;
    asked_us_ = asked_us;
    const wire::Frame frame = frames_.front();
    if (broken_ || (still_held(version) && !past_deadline(frame))) {
      reply_error(header, held_too_long(header));
    } else {
      serve(frame);
    }
  }
  forget_step();
  frames_.take_front();
}

Error Session::held_too_long(const wire::FrameHeader& request) const {
  const std::string_view what =
      held_for_step_ ? "first tablet does not answer" : "tablet is being split, merged or moved";
  Error error(Errc::unavailable,
              fmt::format("the rows of this {} wait: their {}", wire::op_name(request.op), what));
  error.applied = applied_so_far();
  return std::move(error).retry_after(kRetryAfterMs);
}

// Runs while a request is held. If its last read outlasts that, fill() waits for it.
Async<void> Session::read_ahead() {
  while (MapWaitHook::is_linked() && !broken_ && obey_ahead() && may_read_ahead()) {
    const std::span<std::byte> space = frames_.space();
    const Result<size_t> n = co_await stream_->read_some(space);
    if (!take_in(n)) break;
  }
  reads_ahead_ = false;
  changed_.notify_all();
}

bool Session::may_read_ahead() {
  const size_t most = wire::kHeaderBytes + frames_.front().body.size() + kMaxAheadBytes;
  if (frames_.unread().size() >= most) return false;
  const size_t wanted = frames_.next_buffer_bytes();
  if (wanted <= frames_.base_bytes() + claim_.bytes) return true;
  if (frames_.begun_bytes() > most) return false;
  const size_t claimed = wanted - frames_.base_bytes();
  return shard_.memory().grow(claim_, claimed, NodeMemory::Turn::newcomer) ==
         NodeMemory::Room::given;
}

// Obeys cancels and credits of running requests; those of a held request are handled in order.
// False: the following bytes are invalid, which is reported when their turn comes.
bool Session::obey_ahead() {
  const uint64_t held_id = frames_.front().header.request_id;
  while (!broken_) {
    const Result<const wire::Frame*> ahead = frames_.look_ahead();
    if (!ahead) return false;
    if (*ahead == nullptr) return true;
    const wire::FrameHeader& header = (*ahead)->header;
    if (header.request_id == held_id || !times_.contains(header.request_id)) continue;
    if (header.kind == FrameKind::cancel) {
      cancel(header.request_id);
      frames_.take_ahead();
    } else if (header.kind == FrameKind::credit) {
      credit(**ahead);
      frames_.take_ahead();
    }
  }
  return false;
}

void Session::watch_pace() {
  if (claim_.bytes > 0 && !broken_ && !pace_.armed()) pace_.arm_after_us(kPaceUs);
}

// While a frame holds memory, which others may need.
void Session::check_pace() {
  if (waits_for_memory()) return changed_.notify_all();  // its time may be over
  if (broken_ || claim_.bytes == 0) return;
  // What has come and was not looked at yet may complete the frame.
  if (ReceivedHook::is_linked()) return pace_.arm_after_us(kPaceUs);
  if (frame_given_up_) return close();  // no bytes have arrived since
  pace_.arm_after_us(kPaceUs);
  if (partial_since_us_ == 0 || frames_.skips()) return;
  const bool wanted = shard_.memory().frames_wanted();
  const int64_t patience_us = wanted ? kWantedPatienceUs : kPatienceUs;
  const int64_t bytes_per_s = wanted ? kSlowestWantedBytesPerS : kSlowestClaimBytesPerS;
  const int64_t since_us = shard_.timers().now_us() - paced_us_;
  const size_t come = frames_.partial_bytes() - paced_bytes_;
  if (since_us < patience_us) return;
  if (static_cast<int64_t>(come) >= since_us * bytes_per_s / 1'000'000) {
    paced_us_ += since_us;
    paced_bytes_ += come;
    return;
  }
  Error error(Errc::resource_exhausted,
              fmt::format("{} of {} bytes of the request came in the last {} ms, less than {} "
                          "bytes a second",
                          come, frames_.begun_bytes(), since_us / 1000, bytes_per_s));
  if (!answer_begun(std::move(error).retry_after(kFrameRetryAfterMs))) return close();
  frame_given_up_ = true;
  flush();
}

}  // namespace cellar::server
