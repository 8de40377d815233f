#include "net/server/shard/session.h"

#include <algorithm>
#include <array>
#include <utility>

#include "io/base/coding.h"
#include "io/base/log.h"
#include "io/base/time_text.h"
#include "net/server/accept/proxy_header.h"
#include "net/server/limits/admission.h"
#include "net/server/shard/clock_gate.h"
#include "net/server/shard/shard_server.h"

namespace cellar::server {

using wire::Frame;
using wire::FrameHeader;
using wire::FrameKind;

namespace {

bool claims_proxy(Bytes begun) {
  constexpr size_t kEnough = 6;
  return begun.size() >= kEnough && (may_be_proxy_header(begun) || looks_like_proxy_v1(begun));
}

Error proxy_not_trusted() {
  return Error(Errc::invalid_argument,
               "a PROXY header from an address that is in no network of proxy.trusted");
}

}  // namespace

Session::Session(ShardServer& shard, std::unique_ptr<ByteStream> stream, StreamFacts facts,
                 PeerLimiter::Opening opening, std::string via)
    : shard_(shard),
      stream_(std::move(stream)),
      peer_(stream_->peer()),
      via_(std::move(via)),
      frames_(wire::kHandshakeFrameBytes, wire::FrameReader::kSmallBytes),
      facts_(std::move(facts)),
      opening_(std::move(opening)),
      pace_(
          shard.timers(), [](void* self) { static_cast<Session*>(self)->check_pace(); }, this),
      watch_(
          shard.timers(), [](void* self) { static_cast<Session*>(self)->watch(); }, this),
      born_us_(shard.timers().now_us()),
      last_received_us_(born_us_) {
  shard.memory().move(claim_, shard.shared().addresses.hash_of(network_of(peer_)));
  watch_.arm_after_us(kHandshakeWatchUs);
}

Session::Session(ShardServer& shard, MovedConnection moved)
    : Session(shard, std::move(moved.stream), std::move(moved.facts), std::move(moved.opening),
              std::move(moved.via)) {
  frames_ = std::move(moved.frames);
  preface_done_ = true;
  moved_ = true;
}

Session::~Session() {
  CHECK(in_flight_ == 0 && !writer_active_ && !reads_ahead_, "session of {} destroyed in use",
        peer_);
  shard_.admission().pending_reply_bytes(-static_cast<ptrdiff_t>(counted_bytes_));
  shard_.count_answers(-static_cast<ptrdiff_t>(counted_bytes_));
  release_buffer();
}

void Session::start() { advance(); }

void Session::advance() {
  const Next next = broken_ ? Next::end : handle_ready();
  flush();
  if (next == Next::receive && may_receive_at_once()) return receive();
  if (next == Next::end) return spawn(shard_.executor(), end());
  spawn(shard_.executor(), advance_slowly(next));
}

Session::Next Session::handle_ready() {
  if (!preface_done_) {
    if (const Next next = take_preface(); !preface_done_) return next;
  }
  size_t until_look = std::exchange(looked_at_, 0);  // number of frames
  if (shard_.clock().stands()) return Next::time;
  while (true) {
    if (until_look == 0) until_look = expect_requests();
    --until_look;
    const Result<const Frame*> frame = frames_.next();
    if (!frame) {
      garbage(frame.error());
      return Next::end;
    }
    if (*frame == nullptr) return note_partial();
    partial_since_us_ = 0;
    if (!greeted_ && leaves_shard(**frame)) return Next::end;
    handle(**frame);
    if (held_) return Next::held;
    if (broken_) return Next::end;
    if (!has_room() || shard_.memory().requests_full()) return Next::room;
  }
}

size_t Session::look_ahead(std::span<engine::ExpectedRow> rows) {
  if (!greeted_ || broken_ || rows.empty()) return 0;
  const std::span<Frame> frames = shard_.peeked().first(rows.size());
  looked_at_ = frames_.peek(frames);
  return shard_.handler().rows_of(shard_, handles_, frames.first(looked_at_), rows);
}

// Looks at what has been received and is handled next. Returns the number of frames until the next
// look, at least 1.
size_t Session::expect_requests() {
  const std::span<Frame> frames = shard_.peeked();
  const size_t count = frames_.peek(frames);
  if (count < 2 || !greeted_) return std::max<size_t>(count, 1);
  std::array<engine::ExpectedRow, engine::kMostExpectedRows> rows;
  const size_t found = shard_.handler().rows_of(shard_, handles_, frames.first(count), rows);
  if (found > 1) shard_.engine().expect_rows(std::span(rows).first(found));
  return count;
}

// No complete frame is left.
Session::Next Session::note_partial() {
  if (frames_.partial_bytes() == 0 && !frames_.skips()) {
    partial_since_us_ = 0;
  } else if (partial_since_us_ == 0) {
    begin_partial();
  }
  return broken_ ? Next::end : Next::receive;
}

Session::Next Session::take_preface() {
  wire::Preface preface;
  const Bytes begun = frames_.unread().substr(0, wire::kPrefaceBytes);
  if (auto ok = wire::parse_preface(begun, preface); !ok) {
    garbage(claims_proxy(begun) ? proxy_not_trusted() : ok.error());
    return Next::end;
  }
  if (begun.size() < wire::kPrefaceBytes) return Next::receive;
  frames_.consume(wire::kPrefaceBytes);
  preface_done_ = true;
  return Next::receive;
}

// Waits for what stopped handle_ready(), then continues to receive.
Async<void> Session::advance_slowly(Next why) {
  // A held request is answered, and its step forgotten, also if the connection has ended.
  if (why == Next::held) co_await serve_held();
  bool more = !broken_;
  if (more && (why == Next::held || why == Next::room)) {
    if (!has_room() || shard_.memory().requests_full()) more = co_await wait_for_room();
  }
  if (more && why != Next::receive) more = co_await handle_frames();
  if (more) {
    flush();
    if (may_receive_at_once()) {
      receive();
      co_return;
    }
    more = co_await fill();
  }
  if (more) {
    advance();
  } else {
    co_await end();
  }
}

Async<void> Session::end() {
  if (moves_to_) {
    co_await move_away();
    co_return;
  }
  abandon();
  if (!reads_ahead_) release_buffer();
  // Requests in flight are answered unless the peer is gone.
  while (in_flight_ > 0 || writer_active_ || (pending_bytes() > 0 && !broken_)) {
    flush();
    if (in_flight_ > 0 || writer_active_) co_await changed_.wait();
  }
  watch_.cancel();
  stream_->close();
  while (reads_ahead_) co_await changed_.wait();
  shard_.remove(*this);  // destroys this
}

// Whether the frame, which is then put back, is a hello for another shard. Nothing may have begun
// here: no answer, no handle.
bool Session::leaves_shard(const Frame& frame) {
  const bool hello = frame.header.kind == FrameKind::request &&
                     frame.header.op == static_cast<uint16_t>(wire::fb::Op::Hello);
  const bool fresh = frames_before_hello_ == 0 && handles_.empty() && goaway_us_ == 0;
  if (!hello || !fresh || moved_ || frame.body.empty()) return false;
  const auto* body = wire::verified<wire::fb::HelloRequest>(frame.body);
  if (body == nullptr || body->shard() >= shard_.shared().shards.size()) return false;
  const ShardId wanted{body->shard()};
  if (wanted == shard_.id() || !stream_->detach()) return false;
  frames_.put_back();
  moves_to_ = wanted;
  return true;
}

// From here on nothing but the connection's place among those of the shard is left.
Async<void> Session::move_away() {
  watch_.cancel();
  broken_ = closed_ = true;
  MovedConnection moved{std::move(stream_), std::move(frames_), facts_, std::move(opening_),
                        std::move(via_)};
  co_await shard_.move_connection(*moves_to_, std::move(moved));
  shard_.remove(*this);  // destroys this
}

bool Session::has_room() const {
  return in_flight_ < shard_.options().net.in_flight && pending_bytes() < kMaxPendingReplyBytes;
}

Async<bool> Session::wait_for_room() {
  shrink_buffer();
  while (!has_room()) {
    if (broken_) co_return false;
    flush();
    if (!has_room()) co_await changed_.wait();
  }
  // While the node's request memory is full, no second request is started.
  NodeMemory& memory = shard_.memory();
  while (!broken_ && memory.requests_full() && in_flight_ > 0) {
    flush();
    if (waits_for_memory()) {
      co_await changed_.wait();
    } else {
      shard_.memory_queue().join(memory, *this, NodeMemory::Kind::requests);
    }
  }
  shard_.memory_queue().leave(memory, *this);
  // Nothing was received meanwhile: the pace counts from here.
  paced_us_ = shard_.timers().now_us();
  paced_bytes_ = frames_.partial_bytes();
  watch_pace();
  co_return !broken_;
}

// Handles every complete frame received. False: the connection must end.
Async<bool> Session::handle_frames() {
  while (true) {
    const Result<const Frame*> frame = frames_.next();
    if (!frame) {
      garbage(frame.error());
      co_return false;
    }
    if (*frame == nullptr) co_return note_partial() == Next::receive;
    partial_since_us_ = 0;
    if (!greeted_ && leaves_shard(**frame)) co_return false;
    const FrameHeader& header = (*frame)->header;
    if (header.kind == FrameKind::request && shard_.clock().stands() &&
        shard_.handler().needs_time(header.op)) {
      co_await wait_for_time();
      if (broken_) co_return false;
    }
    handle(**frame);
    if (held_) co_await serve_held();
    if (broken_) co_return false;
    if (!has_room() || shard_.memory().requests_full()) {
      const bool open = co_await wait_for_room();
      if (!open) co_return false;
    }
  }
}

Async<void> Session::wait_for_time() {
  flush();
  Result<void> admitted = co_await admit_by_time(shard_);
  if (!admitted) untimely_ = std::move(admitted).error();
}

void Session::handle(const Frame& frame) {
  switch (frame.header.kind) {
    case FrameKind::request:
      return handle_request(frame);
    case FrameKind::cancel:
      return cancel(frame.header.request_id);
    case FrameKind::credit:
      return credit(frame);
    case FrameKind::bind:
      return bind(frame);
    default:
      garbage(Error(Errc::invalid_argument, "a frame of a kind that only a server sends"));
      broken_ = true;
  }
}

// Registers the request, which is then answered exactly once. False: the connection must end.
bool Session::take_on(const FrameHeader& request) {
  shard_.count_request();
  if (!greeted_ && ++frames_before_hello_ > kMaxFramesBeforeHello) {
    garbage(Error(Errc::invalid_argument, "too many requests before the hello"));
    broken_ = true;
    return false;
  }
  if (!times_.empty() && times_.contains(request.request_id)) {
    refuse_duplicate(request);
    return false;
  }
  current_ = {true, request.request_id, {last_received_us_, shard_.timers().now_us()}};
  ++in_flight_;
  asked_us_ = last_received_us_;
  return true;
}

// Remembers the current request if its handler has not answered it.
void Session::keep_if_pending() {
  if (std::exchange(current_.open, false)) times_.emplace(current_.request_id, current_.times);
}

void Session::handle_request(const Frame& frame) {
  if (!take_on(frame.header)) return;
  admit_request(frame);
  keep_if_pending();
}

void Session::admit_request(const Frame& frame) {
  if (goaway_us_ != 0 && shard_.timers().now_us() - goaway_us_ > kGoawayPatienceUs) {
    Error error(Errc::unavailable, "the node is stopping");
    return reply_error(frame.header, std::move(error).retry_after(1000));
  }
  if (const auto untimely = std::exchange(untimely_, std::nullopt)) {
    return reply_error(frame.header, *untimely);
  }
  serve(frame);
}

// Received bytes may have waited for memory or for a map.
bool Session::past_deadline(const Frame& frame) const {
  return frame.header.deadline_ms != 0 &&
         shard_.timers().now_us() - asked_us_ >= frame.header.deadline_ms * int64_t{1000};
}

void Session::serve(const Frame& frame) {
  if (past_deadline(frame)) {
    Error error(Errc::deadline_exceeded,
                fmt::format("the request waited {}, its deadline was {}",
                            duration_text(shard_.timers().now_us() - asked_us_),
                            duration_text(frame.header.deadline_ms * int64_t{1000})));
    error.applied = applied_so_far();
    return reply_error(frame.header, error);
  }
  Frame resolved = frame;
  if (auto bound = handles_.resolve(resolved.header, shard_.tables()); !bound) {
    return reply_error(frame.header, bound.error());
  }
  shard_.handler().handle(shard_, *this, resolved);
  // After the hello the configured frame limit applies.
  if (greeted_) frames_.set_max_body_bytes(shard_.shared().frame_bytes);
}

// A reply with that id would be ambiguous, so neither request gets one: the connection ends, and
// the client must assume that both may have been applied.
void Session::refuse_duplicate(const FrameHeader& request) {
  Error error(Errc::invalid_argument,
              fmt::format("request id {} is that of a request that is not answered yet",
                          request.request_id));
  error.applied = Applied::maybe_applied;
  append(FrameHeader(), FrameKind::goaway, wire::kFrameError,
         wire::build_status(shard_.builder(), error, nullptr));
  flush();
  garbage(error);
  close();
}

// The client is gone.
void Session::abandon() {
  for (SessionRead& read : reads_) read.abandon();
  for (CancelToken& work : works_) work.given_up = true;
}

void Session::cancel(uint32_t request_id) {
  for (CancelToken& work : works_) {
    if (work.request_id == request_id) work.given_up = true;
  }
  for (SessionRead& read : reads_) {
    if (read.header.request_id == request_id) return read.cancel();
  }
}

void Session::credit(const Frame& frame) {
  const auto* body = wire::verified<wire::fb::Credit>(frame.body);
  if (body == nullptr) {
    garbage(Error(Errc::invalid_argument, "a credit frame without a Credit"));
    broken_ = true;
    return;
  }
  for (SessionRead& read : reads_) {
    if (read.header.request_id == frame.header.request_id) return read.add_credits(body->chunks());
  }
}

void Session::bind(const Frame& frame) {
  const auto* body = wire::verified<wire::fb::Bind>(frame.body);
  if (body == nullptr || frame.header.handle == 0) {
    garbage(Error(Errc::invalid_argument, "a bind frame without a Bind or a handle"));
    broken_ = true;
    return;
  }
  handles_.bind(frame.header.handle, *body, shard_.shared().facts.instance);
}

void Session::greet(std::string client_name, Bytes client_id) {
  greeted_ = true;
  opening_.end();
  client_name_ = std::move(client_name);
  token_scope_.clear();
  if (client_id.empty()) return;
  // The length before the name makes the concatenation unambiguous.
  if (identity_) {
    const std::string& principal = identity_.principal->name;
    put_u8(token_scope_, static_cast<uint8_t>(principal.size()));
    token_scope_ += principal;
  }
  token_scope_ += client_id;
}

void Session::hear_of_stale_handles() { shard_.stale_news().join(*this); }

void Session::log_in(security::Identity identity) {
  identity_ = std::move(identity);
  shard_.memory().move(claim_, shard_.shared().addresses.hash_of(identity_.principal->name));
  remembered_ = {};
}

bool Session::renew_identity() {
  remembered_ = {};
  if (!identity_) return true;
  security::Identity now =
      security::Authorizer(shard_.security().policy().principals).renew(identity_);
  const bool less = !now || !now.principal->covers(*identity_.principal);
  const std::string name = identity_.principal->name;
  if (now) identity_ = std::move(now);
  if (!less) return true;
  security::AuditEvent event;
  event.event = "revoked";
  event.principal = name;
  event.address = peer_;
  shard_.security().audit(std::move(event));
  close();
  return false;
}

void Session::resume_reads() {
  if (output_full()) return;
  for (SessionRead& read : reads_) read.output_drained();
}

bool Session::may_end() const {
  if (in_flight_ > 0 || pending_bytes() > 0 || ReceivedHook::is_linked()) return false;
  return !greeted_ || shard_.timers().now_us() - goaway_us_ > kGoawayPatienceUs;
}

void Session::say_goaway() {
  if (goaway_us_ != 0 || broken_) return;
  goaway_us_ = shard_.timers().now_us();
  append(FrameHeader(), FrameKind::goaway, 0, Bytes());
}

void Session::close() {
  if (std::exchange(closed_, true)) return;
  broken_ = true;
  out_.clear();
  out_begin_ = 0;
  count_pending();
  stream_->close();
  abandon();
  changed_.notify_all();
}

// Checks all time limits periodically.
void Session::watch() {
  const NetOptions& net = shard_.options().net;
  const int64_t now_us = shard_.timers().now_us();
  const bool waits = partial_since_us_ == 0 || !has_room() || waits_for_memory();
  const int64_t partial_us = waits ? 0 : now_us - partial_since_us_;
  const bool crawls =
      partial_us > net.stall_timeout_us && static_cast<int64_t>(frames_.partial_bytes()) <
                                               partial_us / 1'000'000 * kSlowestFrameBytesPerS;
  const bool silent = in_flight_ == 0 && net.idle_timeout_us != 0;
  if (!greeted_ && now_us - born_us_ > net.handshake_timeout_us) return close();
  if (writer_active_ && now_us - written_us_ > net.stall_timeout_us) return close();
  if (crawls && !ReceivedHook::is_linked()) return close();
  if (silent && now_us - last_received_us_ > net.idle_timeout_us) return close();
  watch_.arm_after_us(greeted_ ? kWatchUs : kHandshakeWatchUs);
}

void Session::garbage(const Error& error) {
  shard_.count_garbage();
  shard_.log_garbage(peer_, error.message);
}

}  // namespace cellar::server
