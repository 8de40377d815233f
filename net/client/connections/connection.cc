#include "net/client/connections/connection.h"

#include <algorithm>
#include <array>
#include <utility>

#include <boost/asio/post.hpp>

#include "io/base/check.h"
#include "net/client/codec/frame_parts.h"
#include "net/wire/body.h"
#include "net/wire/status.h"

namespace cellar::client {

namespace fb = wire::fb;

namespace {

// A request id is the number of a slot and, from this bit on, its generation.
constexpr unsigned kGenerationShift = 16;
constexpr uint32_t kSlotMask = (1u << kGenerationShift) - 1;
static_assert(wire::kMaxInFlight < kSlotMask - 1);
constexpr uint32_t kHelloId = UINT32_MAX;  // no slot has these numbers
constexpr uint32_t kPingId = UINT32_MAX - 1;
// The estimate of the server's clock, which stamps tokens, is renewed after this time while the
// connection is in use, because the clocks drift.
constexpr int64_t kClockAgeUs = 30'000'000;
constexpr size_t kKeptOutBytes = 1u << 20;

// The likeliest wrong port: a node's console and metrics.
std::unexpected<Error> speaks_http(std::string_view address) {
  return fail(Errc::invalid_argument,
              "{} speaks HTTP: that is the port of http.listen; clients use the port of listen",
              address);
}

uint32_t milliseconds(int64_t us) { return static_cast<uint32_t>((us + 999) / 1000); }

}  // namespace

Connection::Connection(ClientEnv env, const ClientOptions& options, Address address,
                       std::shared_ptr<Encoder> encoder, ConnectionOwner* owner,
                       std::optional<uint32_t> wanted)
    : env_(env),
      options_(options),
      address_(std::move(address)),
      encoder_(std::move(encoder)),
      owner_(owner),
      wanted_(wanted),
      random_(env.seed),
      alarm_(
          env.timers, [](void* self) { static_cast<Connection*>(self)->on_alarm(); }, this),
      keepalive_(
          env.timers, [](void* self) { static_cast<Connection*>(self)->on_keepalive(); }, this) {}

// Either the loop was destroyed with pending calls, or no calls are left.
Connection::~Connection() {
  while (!queue_.empty()) {
    Call& call = queue_.front();
    unhook(call);
    call.abandon();
  }
  for (Slot& slot : slots_) {
    if (slot.call) std::exchange(slot.call, nullptr)->abandon();
  }
}

void Connection::start() {
  state_ = State::down;
  spawn(env_.executor, run(shared_from_this()));
}

Async<void> Connection::run(std::shared_ptr<Connection> self) {
  while (self->state_ != State::closed) {
    Error why = co_await self->serve();
    self->lose(std::move(why));
    if (self->retired_) self->close();
    if (self->state_ == State::closed) break;
    co_await self->pause(self->pause_us_);
  }
}

// One attempt to connect and, if it succeeds, the whole life of the connection. Returns why it
// ended.
Async<Error> Connection::serve() {
  state_ = State::connecting;
  const int64_t began_us = env_.timers.now_us();
  auto connected = co_await env_.dialler->connect(env_.timers, env_.network, options_, address_);
  if (state_ == State::closed) co_return Error(Errc::cancelled, "the client was closed");
  if (!connected) {
    co_return Dialler::unreachable(options_, connected.error());
  }
  stream_ = std::move(*connected);
  hello_late_ = false;
  const int64_t left_us = options_.connect_timeout_us - (env_.timers.now_us() - began_us);
  alarm_.arm_after_us(std::max<int64_t>(left_us, 1000));
  wire::FrameReader reader(max_frame_bytes_);
  auto greeted = co_await shake_hands(reader);
  alarm_.cancel();
  if (state_ == State::closed) co_return Error(Errc::cancelled, "the client was closed");
  if (!greeted) {
    if (hello_late_) {
      co_return Error(Errc::unavailable,
                      fmt::format("{} accepted the connection but did not answer the hello within "
                                  "{} ms",
                                  options_.address, options_.connect_timeout_us / 1000));
    }
    co_return std::move(greeted).error();
  }
  state_ = State::ready;
  pause_us_ = 0;
  ++stats_.connects;
  last_received_us_ = env_.timers.now_us();
  pinged_us_ = 0;
  given_up_ = {};
  if (options_.keepalive_us > 0) keepalive_.arm_after_us(options_.keepalive_us);
  if (owner_) owner_->on_ready(*this);
  send_queued();
  auto ended = co_await receive(reader);
  co_return std::move(ended).error();
}

Async<Result<void>> Connection::shake_hands(wire::FrameReader& reader) {
  const std::shared_ptr<ByteStream> stream = stream_;
  std::string opening;
  wire::append_preface(opening, wire::Preface{options_.routing_hint, wire::kProtocolVersion});
  CO_TRY(const std::string token, Dialler::token_for(options_, *stream));
  Request hello = encoder_->hello(options_, token, wanted_);
  wire::FrameHeader header;
  header.op = static_cast<uint16_t>(fb::Op::Hello);
  header.body_bytes = static_cast<uint32_t>(hello.frame.size() - wire::kHeaderBytes);
  header.request_id = kHelloId;
  wire::store_header(hello.frame.data(), header);
  const std::array<Bytes, 2> parts = {Bytes(opening), Bytes(hello.frame)};
  CO_TRY_VOID(co_await stream->write(parts));
  while (true) {
    CO_TRY(const wire::Frame* frame, reader.next());
    if (frame) {
      const std::vector<std::string> none;
      // A node that stops says so before it has answered.
      if (frame->header.kind == wire::FrameKind::goaway) {
        co_return fail(Errc::unavailable, "{} ended the connection before it answered the hello",
                       options_.address);
      }
      if (frame->header.kind != wire::FrameKind::reply || frame->header.request_id != kHelloId) {
        co_return fail(Errc::internal, "{} answered the hello with something else",
                       options_.address);
      }
      if (frame->header.flags & wire::kFrameError) {
        const auto* status = wire::verified<fb::Status>(frame->body);
        if (status) co_return std::unexpected(wire::error_of(*status));
        co_return fail(Errc::internal, "{} refused the hello without a word", options_.address);
      }
      CO_TRY(const ServerHello server, decode_hello(Answer{*frame, none, 0}));
      server_ = server;
      greeted_us_ = env_.timers.now_us();
      if (server.frame_bytes != 0) max_frame_bytes_ = server.frame_bytes;
      reader.set_max_body_bytes(max_frame_bytes_);
      // Below the server's limit, so that it keeps reading our credits and cancels.
      max_in_flight_ = std::clamp<size_t>(options_.max_in_flight, 1, wire::kMaxInFlight);
      if (server.in_flight > 1) {
        max_in_flight_ = std::min<size_t>(max_in_flight_, server.in_flight - 1);
      }
      co_return Result<void>();
    }
    CO_TRY(const size_t n, co_await stream->read_some(reader.space()));
    if (n == 0) {
      co_return fail(Errc::unavailable, "{} closed the connection before it answered the hello",
                     options_.address);
    }
    reader.received(n);
    if (reader.unread().starts_with("HTTP/")) co_return speaks_http(options_.address);
  }
}

// Runs until the connection ends; never returns a value.
Async<Result<void>> Connection::receive(wire::FrameReader& reader) {
  const std::shared_ptr<ByteStream> stream = stream_;
  while (true) {
    while (true) {
      CO_TRY(const wire::Frame* frame, reader.next());
      if (!frame) break;
      CO_TRY_VOID(handle(*frame));
      if (state_ == State::closed) co_return fail(Errc::cancelled, "the client was closed");
    }
    reader.shrink();
    CO_TRY(const size_t n, co_await stream->read_some(reader.space()));
    if (n == 0) co_return fail(Errc::unavailable, "{} closed the connection", options_.address);
    reader.received(n);
    last_received_us_ = env_.timers.now_us();
  }
}

Result<void> Connection::handle(const wire::Frame& frame) {
  const wire::FrameHeader& header = frame.header;
  if (header.kind == wire::FrameKind::goaway && (header.flags & wire::kFrameError) != 0) {
    const auto* status = wire::verified<fb::Status>(frame.body);
    return fail(Errc::unavailable, "{} ended the connection: {}", options_.address,
                status ? wire::error_of(*status).message : "it gave no reason");
  }
  if (header.kind == wire::FrameKind::goaway) {
    state_ = State::draining;
    if (owner_) owner_->on_goaway(*this);
    if (in_flight_ == 0) stream_->close();
    return {};
  }
  if (header.kind == wire::FrameKind::stale) return hear_of_stale(frame);
  if (header.request_id == kPingId) {
    const auto* pong = wire::verified<fb::PingReply>(frame.body);
    if (pong != nullptr && pong->now_us() != 0) {
      server_.now_us = pong->now_us();
      greeted_us_ = env_.timers.now_us();
    }
    return {};
  }
  Slot* slot = slot_of(header.request_id);
  if (!slot) {
    return fail(Errc::internal, "{} answered request {:#x}, which is not open", options_.address,
                header.request_id);
  }
  Call* call = slot->call;
  if (header.kind == wire::FrameKind::chunk) {
    if (call && !call->chunk(frame)) {
      return fail(Errc::internal, "{} sent chunks for operation {}, which has none",
                  options_.address, header.op);
    }
    return {};
  }
  if (header.kind != wire::FrameKind::reply && header.kind != wire::FrameKind::end) {
    return fail(Errc::internal, "{} sent a frame of kind {}", options_.address,
                static_cast<int>(header.kind));
  }
  free_slot(*slot);
  if (call) {
    unhook(*call);
    if (header.flags & wire::kFrameError) {
      const auto* status = wire::verified<fb::Status>(frame.body);
      Error error = status ? wire::error_of(*status)
                           : Error(Errc::internal, "the server refused without a word");
      const auto hint = status ? wire::hint_of(*status) : std::nullopt;
      call->end(std::unexpected(std::move(error)), Ending::answered, Reach::now,
                hint ? &*hint : nullptr);
    } else {
      call->end(frame, Ending::answered, Reach::now);
    }
  }
  if (state_ == State::closed) return {};
  if (state_ == State::draining && in_flight_ == 0) stream_->close();
  send_queued();
  return {};
}

Result<void> Connection::hear_of_stale(const wire::Frame& frame) {
  const auto* now = wire::verified<fb::Stale>(frame.body);
  if (now == nullptr && !frame.body.empty()) {
    return fail(Errc::internal, "{} sent a stale frame that cannot be read", options_.address);
  }
  const HandleTarget* target = handles_.target(frame.header.handle);
  if (target == nullptr || target->tablet_id == 0 || !owner_) return {};
  StaleTablet stale{target->table, target->tablet_id};
  if (now != nullptr) {
    stale.epoch = now->epoch();
    stale.shard = now->shard();
  }
  owner_->on_stale(stale);
  return {};
}

// Ends all calls of a lost connection.
void Connection::lose(Error why) {
  const bool served = state_ == State::ready || state_ == State::draining;
  const bool closed = state_ == State::closed;
  alarm_.cancel();
  keepalive_.cancel();
  if (stream_) stream_->close();
  stream_ = nullptr;
  if (!closed) state_ = State::down;
  if (served) ++stats_.lost;
  pause_us_ = next_pause_us();

  std::vector<std::pair<Call*, bool>> carried;  // and whether its frame was sent completely
  for (Slot& slot : slots_) {
    if (slot.call) carried.emplace_back(slot.call, slot.call->wire_end_ <= handed_);
    if (slot.taken) free_slot(slot);
  }
  out_.clear();
  handles_.clear();
  writing_ = false;
  queued_end_ = handed_ = 0;
  for (auto& [call, left] : carried) unhook(*call);

  if (served && why.code != Errc::cancelled) {
    why = Error(Errc::unavailable,
                fmt::format("the connection to {} was lost: {}", options_.address, why.message));
  } else if (served && !closed) {
    why = Error(Errc::unavailable,
                fmt::format("the connection to {} was ended: {}", options_.address,
                            given_up_.empty() ? "the node is stopping" : given_up_));
  }
  if (!closed) why.retry_after(milliseconds(pause_us_));
  if (owner_) owner_->on_down(*this);
  const Ending ending = closed ? Ending::here : Ending::lost;
  for (auto& [call, left] : carried) {
    Error error = why;
    error.applied = left && call->request_.writes ? Applied::maybe_applied : Applied::not_applied;
    // Queued: a handler may cancel other calls, or destroy the client.
    call->end(std::unexpected(std::move(error)), ending, Reach::queued);
  }
  if (closed || !served) fail_queue(why, closed ? Ending::here : Ending::unreachable, closed);
}

void Connection::fail_queue(const Error& why, Ending ending, bool all) {
  CallList patient;
  CallList failed;
  CallList queued = take_queue();
  while (!queued.empty()) {
    Call& call = queued.front();
    queued.pop_front();
    (all || !call.request_.wait ? failed : patient).push_back(call);
  }
  while (!patient.empty()) {
    Call& call = patient.front();
    patient.pop_front();
    enqueue(call);
  }
  while (!failed.empty()) {
    Call& call = failed.front();
    failed.pop_front();
    Error error = why;
    error.applied = Applied::not_applied;
    call.end(std::unexpected(std::move(error)), ending, Reach::queued);
  }
}

CallList Connection::take_queue() {
  CallList taken;
  taken.swap(queue_);
  for (Call& call : taken) {
    call.timer_.cancel();
    call.connection_ = nullptr;
  }
  return taken;
}

void Connection::open() {
  if (state_ == State::idle) start();
}

void Connection::retire() {
  retired_ = true;
  const bool serving = state_ == State::ready || state_ == State::draining;
  if (serving && in_flight_ > 0) {
    state_ = State::draining;
  } else {
    close();
  }
}

int64_t Connection::server_now_us() const {
  if (server_.now_us == 0) return 0;
  return server_.now_us + env_.timers.now_us() - greeted_us_;
}

void Connection::close() {
  if (state_ == State::closed) return;
  state_ = State::closed;
  owner_ = nullptr;
  const Error why(Errc::cancelled, "the client was closed");
  fail_queue(why, Ending::here, true);
  for (Slot& slot : slots_) {
    Call* call = slot.call;
    if (!call) continue;
    Error error = why;
    error.applied = outcome_of(*call);
    unhook(*call);
    call->end(std::unexpected(std::move(error)), Ending::here, Reach::queued);
  }
  if (stream_) stream_->close();
  pause_waiter_.resume();
}

void Connection::on_alarm() {
  if (state_ == State::connecting) {
    hello_late_ = true;
    if (stream_) stream_->close();
  } else {
    pause_waiter_.resume();
  }
}

void Connection::give_up(std::string_view why) {
  given_up_ = why;
  stream_->close();
}

void Connection::on_keepalive() {
  const int64_t now_us = env_.timers.now_us();
  const bool silent = last_received_us_ + options_.keepalive_us <= now_us;
  if (in_flight_ > 0 && silent) {
    if (pinged_us_ > last_received_us_) {
      give_up("it has gone silent");
      return;
    }
    ping();
  } else if (last_received_us_ > greeted_us_ && greeted_us_ + kClockAgeUs <= now_us) {
    ping();
  }
  keepalive_.arm_after_us(options_.keepalive_us);
}

void Connection::ping() {
  send_control(kPingId, static_cast<uint16_t>(fb::Op::Ping), wire::FrameKind::request, {});
  pinged_us_ = env_.timers.now_us();
}

int64_t Connection::next_pause_us() {
  if (pause_us_ == 0) {
    pause_us_ = options_.backoff_min_us;
  } else {
    pause_us_ = std::min(pause_us_ * 2, options_.backoff_max_us);
  }
  return std::max<int64_t>(pause_us_, 1);
}

Async<void> Connection::pause(int64_t us) {
  const auto half = static_cast<uint64_t>(us / 2);
  alarm_.arm_after_us(static_cast<int64_t>(half + random_.below(half + 1)));
  co_await pause_waiter_.wait();
  alarm_.cancel();
}

Async<void> Connection::write_rest(std::shared_ptr<Connection> self,
                                   std::shared_ptr<ByteStream> stream, std::string bytes) {
  while (true) {
    const std::array<Bytes, 1> parts = {Bytes(bytes)};
    auto written = co_await stream->write(parts);
    if (self->stream_ != stream) co_return;  // lost meanwhile
    if (!written) {
      self->give_up("it takes no more bytes");
      co_return;
    }
    self->send_queued();
    if (self->out_.empty()) break;
    bytes.clear();
    bytes.swap(self->out_);
    self->handed_ += bytes.size();  // whatever follows, it may have been sent
    ++self->stats_.writes;
  }
  self->writing_ = false;
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
bool Connection::choose_drop_frame(Call& call) const {
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
  const bool keeps_token = choose_drop_frame(call);
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
  call.request_id_ = uint32_t{slot.generation} << kGenerationShift | index;
  call.sent_us_ = env_.timers.now_us();

  wire::FrameHeader header = header_of(call.request_);
  header.request_id = call.request_id_;
  if (call.request_.by_handle) header.handle = handle_for(call);
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

// The handle of the call's table, bound first if it is new here.
uint32_t Connection::handle_for(const Call& call) {
  const size_t before = out_.size();
  const uint32_t handle = handles_.name(call.request_.table, call.tablet_id_, call.epoch_, out_);
  queued_end_ += out_.size() - before;
  return handle;
}

void Connection::send_control(uint32_t request_id, uint16_t op, wire::FrameKind kind, Bytes body) {
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

Connection::Slot* Connection::slot_of(uint32_t request_id) {
  const uint32_t index = request_id & kSlotMask;
  if (index >= slots_.size()) return nullptr;
  Slot& slot = slots_[index];
  return slot.taken && slot.generation == request_id >> kGenerationShift ? &slot : nullptr;
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
  send_control(call.request_id_, header_of(call.request_).op, wire::FrameKind::credit, body);
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
