// Session: one connection, on the shard that accepted it.
//
// The session is fed with bytes: on_received() takes them, and advance(), which the shard calls
// before it polls again, handles all complete frames of a receive in one plain call, sends their
// answers in one write, and starts the next receive. In between the shard looks at the requests of
// all sessions with new bytes, so that waits for memory overlap. A coroutine runs only while
// something must wait: a held request, a limit, trusted time, memory for a large frame, or a stream
// that cannot receive without one (TLS). Answers that come later are collected in one buffer and
// sent once per loop turn, or earlier at kFlushBytes; an answer of that size is sent from where it
// lies. Another coroutine writes only if the peer does not accept them immediately.
//
// The socket is not read while the limit of requests in flight is reached or kMaxPendingReplyBytes
// wait to be written: TCP then slows the client down.
//
// The receive buffer has a small base size; memory for a larger frame is claimed from the node as
// its bytes arrive. A frame that gets no memory in time, that the principal may not send, or that
// arrives too slowly for the memory it holds is answered before it is complete, and its remaining
// bytes are skipped. If no more bytes arrive, the connection is closed, because its outstanding
// read pins the buffer.
//
// A write whose tablet is held for a reshape, or whose first step is in progress (drop_step.h),
// holds the requests after it, so that none overtakes it: its frame stays in the buffer and is
// handled again when there is a newer table map. Meanwhile up to kMaxAheadBytes after it are
// received, and cancels and credits among them are obeyed, so that running streams continue.
//
// A request that depends on time waits while trusted time stands (clock_gate.h), and so do the
// requests after it: until an anchor comes, at most ClockKeeper::kPatienceUs.
//
// A hello that names another shard, as the first frame, ends the session: its stream and the bytes
// received go to that shard (moved_connection.h), whose session answers the hello. A connection
// moves once.
//
// Lifetime: the reader ends (end of stream, invalid bytes, a timeout, stop()); requests in flight
// finish and their answers are written if the peer accepts them; then the session leaves its shard,
// which destroys it. A request in progress may therefore hold a plain Session*.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <memory>
#include <string>

#include <boost/intrusive/list.hpp>

#include "engine/engine.h"
#include "engine/manifest/audit_entry.h"
#include "io/loop/event.h"
#include "io/loop/timers.h"
#include "io/net/transport.h"
#include "net/security/audit_chain.h"
#include "net/security/authorizer.h"
#include "net/server/limits/memory_queue.h"
#include "net/server/limits/peer_limiter.h"
#include "net/server/policy/shard_security.h"
#include "net/server/shard/drop_step.h"
#include "net/server/shard/handle_table.h"
#include "net/server/shard/map_wait.h"
#include "net/server/shard/moved_connection.h"
#include "net/server/shard/session_read.h"
#include "net/server/shard/stale_news.h"
#include "net/wire/body.h"
#include "net/wire/frame.h"
#include "net/wire/status.h"

namespace cellar::server {

class ShardServer;

// A long-running request that polls this flag and stops once it is cancelled.
struct CancelToken
    : boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
  uint32_t request_id = 0;
  bool given_up = false;  // cancelled, or the connection has ended
};

// Of a session with new bytes, until the shard has it advance.
using ReceivedHook =
    boost::intrusive::list_base_hook<boost::intrusive::tag<struct ReceivedTag>,
                                     boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

// One shard.
class Session final : public ReceivedHook,
                      private MapWaiter,
                      private MemoryWaiter,
                      private ReceiveHandler,
                      private StaleListener {
 public:
  // `via`: the proxy that named the stream's peer; empty: none.
  Session(ShardServer& shard, std::unique_ptr<ByteStream> stream, StreamFacts facts,
          PeerLimiter::Opening opening, std::string via = {});
  // A connection that another shard hands over.
  Session(ShardServer& shard, MovedConnection moved);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Serves the connection until it ends. Called once, by the shard.
  void start();

  // ---- answers: each of the first two ends the request ----
  void reply(const wire::FrameHeader& request, const wire::BodyParts& body,
             wire::FrameKind kind = wire::FrameKind::reply);
  void reply_error(const wire::FrameHeader& request, const Error& error,
                   const wire::TabletHint* hint = nullptr);
  void chunk(const wire::FrameHeader& request, const wire::BodyParts& body);

  // An answer that is written in place, without a copy of its body:
  //   AnswerSpace space = session.begin_answer();
  //   append the body to space.out;
  //   session.finish_answer(request, space);   // or drop_answer(space): as if it had not begun
  // Nothing else may be answered in between. finish_answer() ends the request.
  struct AnswerSpace {
    std::string& out;
    size_t at = 0;  // of the frame
  };
  AnswerSpace begin_answer();
  void finish_answer(const wire::FrameHeader& request, const AnswerSpace& space);
  void drop_answer(const AnswerSpace& space) { out_.resize(space.at); }

  // Answers a malformed body. The kMaxMalformedBodies-th closes the connection.
  void reply_malformed(const wire::FrameHeader& request, const Error& error);

  // Instead of an answer: the request had no effect and is handled again later.
  void hold() {
    held_ = true;
    held_for_step_ = false;
  }
  // Like hold(), until the step is over; the step itself may already have taken effect.
  void hold_for(std::shared_ptr<DropStep> step);
  void step_over() { changed_.notify_all(); }
  // The completed step of the request being handled; null the first time.
  const DropStep* step() const { return step_.get(); }

  // ---- reads in progress, for cancel and credit ----
  using Reads = boost::intrusive::list<SessionRead, boost::intrusive::constant_time_size<false>>;
  void add_read(SessionRead& read) { reads_.push_back(read); }
  // Registers `work` until it is destroyed.
  void add_work(CancelToken& work) { works_.push_back(work); }
  // True while unsent answers exceed kScanPauseBytes: scans then pause until the peer has read.
  bool output_full() const { return pending_bytes() >= kScanPauseBytes; }
  // Answers that the transport has not taken.
  size_t unread_bytes() const { return pending_bytes(); }

  // ---- called by the shard ----
  void flush();       // once per turn, after answers were queued
  void say_goaway();  // no new requests from here on
  void close();       // immediately; requests in flight are abandoned
  // Deadline of the request being handled, valid on every shard's loop; 0: none.
  int64_t deadline_us(const wire::FrameHeader& request) const {
    return request.deadline_ms == 0 ? 0 : asked_us_ + request.deadline_ms * int64_t{1000};
  }
  // No answer is pending, and the peer has had time to receive the goaway and leave; requests that
  // crossed with it are still served.
  bool may_end() const;
  bool flush_queued = false;  // maintained by the shard's flush list
  // The rows of the requests that advance() handles first, for Engine::expect_rows(). Returns their
  // number. `rows` views the session's buffer.
  size_t look_ahead(std::span<engine::ExpectedRow> rows);
  // Handles what has been received and takes the next step.
  void advance();

  ShardServer& shard() { return shard_; }
  bool greeted() const { return greeted_; }
  // Accepts the hello; `client_id` may be empty. Follows log_in().
  void greet(std::string client_name, Bytes client_id);
  // The client is told from now on which of its handles are stale.
  void hear_of_stale_handles();
  // The author of changes over this connection: the principal or, without authentication, the
  // client's own name.
  engine::Author author() const {
    return {identity_ ? identity_.principal->name : client_name_,
            via_.empty() ? peer_ : peer_ + " via " + via_};
  }

  // ---- identity; none on a node without principals ----
  const security::Principal* principal() const { return identity_.principal.get(); }
  const StreamFacts& facts() const { return facts_; }
  void log_in(security::Identity identity);
  int failed_logins() const { return failed_logins_; }
  int login_failed() { return ++failed_logins_; }  // returns the number so far
  // Applies the present policy. False if the session was closed.
  bool renew_identity();
  // Cached roles on the last table named by id, for one version of the table map.
  bool remembers(uint64_t table_id, uint64_t version) const {
    return remembered_.table_id == table_id && remembered_.version == version;
  }
  security::Roles remembered_roles() const { return remembered_.roles; }
  void remember(uint64_t table_id, uint64_t version, security::Roles roles) {
    remembered_ = {table_id, version, roles};
  }
  // The reply to the request being handled is written to the security log with this event.
  void log_answer(const wire::FrameHeader& request, security::AuditEvent event) {
    logged_.emplace(request.request_id, std::move(event));
  }
  // Namespace of the tokens of its writes (WriteToken::client): principal and client id together,
  // so that principals do not share tokens; empty without a client id.
  const std::string& token_scope() const { return token_scope_; }
  bool open() const { return !broken_; }
  const std::string& peer() const { return peer_; }

 private:
  static constexpr int kMaxFramesBeforeHello = 8;
  static constexpr int64_t kHandshakeWatchUs = 1'000'000;
  static constexpr int64_t kWatchUs = 5'000'000;
  static constexpr int64_t kSlowestFrameBytesPerS = 1024;
  // The progress required of a frame that holds node memory, per interval from its first byte on:
  // always, and while others wait for memory.
  static constexpr int64_t kPaceUs = 100'000;  // check interval
  static constexpr int64_t kPatienceUs = 5'000'000;
  static constexpr int64_t kSlowestClaimBytesPerS = 16 * 1024;
  static constexpr int64_t kWantedPatienceUs = 250'000;
  static constexpr int64_t kSlowestWantedBytesPerS = 4 << 20;
  static constexpr size_t kScanPauseBytes = 512 * 1024;
  static constexpr size_t kKeepOutputBytes = 16 * 1024;  // of an empty buffer
  // Answers that are counted in the node's memory only if they stay after the turn's write.
  static constexpr size_t kUncountedBytes = 16 * 1024;
  static constexpr int64_t kGoawayPatienceUs = 200'000;
  static constexpr size_t kMaxAheadBytes = 64 * 1024;  // received after a held request

  // What follows when the complete frames that can be handled at once are handled.
  enum class Next : uint8_t {
    receive,  // more bytes
    held,     // the last frame was held
    room,     // no request may begin before others end
    time,     // the next frame may have to wait for trusted time
    end,      // the connection is over
  };

  void on_received(Result<size_t> bytes) override;
  Next handle_ready();
  size_t expect_requests();
  Next note_partial();
  bool may_receive_at_once();
  void receive();
  Async<void> receive_by_read();
  Async<void> advance_slowly(Next why);
  Async<void> end();
  bool leaves_shard(const wire::Frame& frame);
  Async<void> move_away();
  Next take_preface();
  Async<bool> fill();
  Async<bool> wait_for_room();
  bool take_in(const Result<size_t>& n);
  void shrink_buffer();
  void widen_buffer();
  void release_buffer();
  Async<bool> reserve_frame();
  Async<void> wait_for_frame_room();
  NodeMemory::Room take_room(NodeMemory::Turn turn) override;
  Error no_room() const;
  bool check_begun();
  bool answer_begun(const Error& error);
  void begin_partial();
  void drop_frame();
  void check_pace();
  void watch_pace();
  Async<bool> handle_frames();
  Async<void> wait_for_time();
  void handle(const wire::Frame& frame);
  void handle_request(const wire::Frame& frame);
  void admit_request(const wire::Frame& frame);
  bool take_on(const wire::FrameHeader& request);
  void keep_if_pending();
  void refuse_duplicate(const wire::FrameHeader& request);
  void count_malformed(const Error& error);
  void serve(const wire::Frame& frame);
  Async<void> serve_held();
  bool still_held(uint64_t version) const;
  void forget_step();
  Applied applied_so_far() const { return step_ ? Applied::maybe_applied : Applied::not_applied; }
  Error held_too_long(const wire::FrameHeader& request) const;
  Async<void> read_ahead();
  bool may_read_ahead();
  bool obey_ahead();
  bool past_deadline(const wire::Frame& frame) const;
  void map_wait_over() override { changed_.notify_all(); }
  size_t tell_stale(TabletPlaces& current) override;
  void cancel(uint32_t request_id);
  void abandon();
  void credit(const wire::Frame& frame);
  void bind(const wire::Frame& frame);
  void after_append();
  void append(const wire::FrameHeader& request, wire::FrameKind kind, uint16_t flags,
              const wire::BodyParts& body);
  void send_with(Bytes tail);
  void sent(size_t bytes);
  void finish_request(const wire::FrameHeader& request, Errc code);
  Async<void> write_rest();
  void watch();
  void garbage(const Error& error);
  void record_outcome(uint32_t request_id, std::string_view outcome);
  size_t pending_bytes() const { return out_.size() - out_begin_ + writing_.size(); }
  bool has_room() const;
  void count_pending();
  void resume_reads();

  ShardServer& shard_;
  std::unique_ptr<ByteStream> stream_;
  std::string peer_;
  std::string via_;
  std::string client_name_;
  wire::FrameReader frames_;
  bool greeted_ = false;
  std::string token_scope_;
  const StreamFacts facts_;
  PeerLimiter::Opening opening_;  // until the hello is answered
  security::Identity identity_;
  int failed_logins_ = 0;
  int frames_before_hello_ = 0;
  bool moved_ = false;               // by another shard to this one
  std::optional<ShardId> moves_to_;  // the shard that the hello names
  struct {
    uint64_t table_id = 0;
    uint64_t version = 0;
    security::Roles roles;
  } remembered_;
  absl::flat_hash_map<uint32_t, security::AuditEvent> logged_;  // by request id
  int64_t goaway_us_ = 0;                                       // time of the goaway; 0: none
  bool broken_ = false;                                         // nothing more is read or written
  bool closed_ = false;                                         // the stream, by close()
  bool end_of_input_ = false;
  bool preface_done_ = false;
  std::span<std::byte> space_;     // of the receive that is under way
  std::optional<Error> untimely_;  // why the current frame is refused
  bool held_ = false;              // the current frame waits for a newer table map or for step_
  bool held_for_step_ = false;
  std::shared_ptr<DropStep> step_;
  bool reads_ahead_ = false;  // read_ahead() is running and owns the buffer
  int malformed_ = 0;
  size_t looked_at_ = 0;  // frames that look_ahead() has looked at

  uint32_t in_flight_ = 0;
  struct Times {
    int64_t received_us = 0;  // received
    int64_t began_us = 0;     // taken up by its handler
  };
  // The request that is being handled. Most end in the same call and never enter times_.
  struct {
    bool open = false;  // it is not answered and not in times_
    uint32_t request_id = 0;
    Times times;
  } current_;
  absl::flat_hash_map<uint32_t, Times> times_;  // of the other requests in flight, by id
  HandleTable handles_;
  Reads reads_;
  boost::intrusive::list<CancelToken, boost::intrusive::constant_time_size<false>> works_;
  ConditionVariable changed_;  // memory, an answer written, a request finished

  std::string out_;  // queued answers, from out_begin_ on
  size_t out_begin_ = 0;
  std::string writing_;  // bytes that write_rest() is sending
  bool writer_active_ = false;
  size_t counted_bytes_ = 0;  // part of pending_bytes() counted by admission

  NodeMemory::Claim claim_;      // the buffer beyond its base size, in the node's memory
  size_t wanted_bytes_ = 0;      // to be claimed when the memory queue serves this session
  bool frame_given_up_ = false;  // the incomplete frame is answered; its bytes are not dropped yet
  bool announced_ = false;       // the header of the incomplete frame was checked
  int64_t paced_us_ = 0;         // start of the current pace interval
  size_t paced_bytes_ = 0;       // bytes received by then
  Timer pace_;                   // while a claim is held or awaited
  Timer watch_;
  int64_t born_us_;
  int64_t last_received_us_;      // last bytes received
  int64_t asked_us_ = 0;          // when the request being handled was received
  int64_t partial_since_us_ = 0;  // since when a frame is incomplete; 0: none
  int64_t written_us_ = 0;        // last progress of write_rest()
};

}  // namespace cellar::server
