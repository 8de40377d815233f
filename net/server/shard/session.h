// Session: one connection on the shard that accepted it.
//
// A coroutine reads; every complete frame of one receive is handled before the next, and nothing
// else of a request is a coroutine unless it has to wait. Answers are gathered in one buffer and
// leave once a loop turn, or earlier when kFlushBytes are there; only when the peer does not take
// them at once does a second coroutine write.
//
// The socket is not read while in_flight() requests are unanswered or kMaxPendingReplyBytes wait to
// be written: TCP then slows the client down.
//
// The receive buffer has a small base size; what a frame needs beyond it is claimed from the node's
// memory as its bytes arrive. A frame that gets no room in time, that may not be sent by this
// principal, or that arrives too slowly for the room it holds is answered before it is complete,
// and the rest of its bytes is passed over. Where not even the next byte comes, the connection is
// closed, since its outstanding read pins the buffer.
//
// A write whose tablet is held for a reshape, or whose first step is under way (drop_step.h), holds
// the requests behind it, so that what was sent
// later cannot overtake it: its frame stays where it is, and is handled again when there is a newer
// table map. Meanwhile kMaxAheadBytes behind it are received, and cancels and credits among them
// are obeyed: streams that have begun go on.
//
// A request that needs the time waits while trusted time stands (clock_gate.h), and what was sent
// behind it too: for as long as an anchor takes, and no longer than ClockKeeper::kPatienceUs.
//
// Life: the reader ends (the peer's end, garbage, a timeout, stop()); requests in flight finish and
// their answers are written if the peer still takes them; then the session leaves its shard, which
// destroys it. A request on its way therefore may hold a plain Session*.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <memory>
#include <string>

#include <boost/intrusive/list.hpp>

#include "engine/manifest/audit_entry.h"
#include "io/loop/event.h"
#include "io/loop/timers.h"
#include "io/net/transport.h"
#include "net/security/audit_chain.h"
#include "net/security/authorizer.h"
#include "net/server/limits/address_table.h"
#include "net/server/limits/memory_queue.h"
#include "net/server/policy/shard_security.h"
#include "net/server/shard/drop_step.h"
#include "net/server/shard/map_wait.h"
#include "net/server/shard/read_op.h"
#include "net/wire/frame.h"
#include "net/wire/status.h"

namespace cellar::server {

class ShardServer;

// A request that is more work than it should do for nobody: it looks now and then whether it is
// still wanted.
struct GivenUp
    : boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
  uint64_t request_id = 0;
  bool given_up = false;  // cancelled, or its connection is over
};

// One shard.
class Session final : private MapWaiter, private MemoryWaiter {
 public:
  // `via`: the proxy that vouched for the stream's peer; empty: none.
  Session(ShardServer& shard, std::unique_ptr<ByteStream> stream, StreamFacts facts,
          AddressTable::Opening opening, std::string via = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // The connection, until it is over. Started once, by the shard.
  Async<void> run();

  // ---- answers: each of the first two ends the request ----
  void reply(const wire::FrameHeader& request, Bytes body,
             wire::FrameKind kind = wire::FrameKind::reply);
  void reply_error(const wire::FrameHeader& request, const Error& error,
                   const wire::TabletHint* hint = nullptr);
  void chunk(const wire::FrameHeader& request, Bytes body);

  // Of a body that could not be verified: answers, and closes the connection at the third.
  void reply_malformed(const wire::FrameHeader& request, const Error& error);

  // Instead of an answer: nothing of the request was done, and it is to be handled again.
  void hold() {
    held_ = true;
    held_for_step_ = false;
  }
  // Likewise, once the step is over, though much of it may be done by then.
  void hold_for(std::shared_ptr<DropStep> step);
  void step_over() { changed_.notify_all(); }
  // Of the request that is being handled, over; null: it is handled for the first time.
  const DropStep* step() const { return step_.get(); }

  // ---- reads in progress, for cancel and credit ----
  using Reads = boost::intrusive::list<ReadOp, boost::intrusive::constant_time_size<false>>;
  void add_read(ReadOp& read) { reads_.push_back(read); }
  // Until it is destroyed.
  void add_work(GivenUp& work) { works_.push_back(work); }
  // True when answers wait that the peer does not take: a scan then pauses until output_drained.
  bool output_full() const { return pending_bytes() >= kScanPauseBytes; }

  // ---- the shard's ----
  void flush();       // once a turn, after answers were gathered
  void say_goaway();  // no new requests from here on
  void close();       // now; requests in flight lose their listener
  // When the request that is being handled must be answered, on every shard's loop; 0: no matter.
  int64_t deadline_us(const wire::FrameHeader& request) const {
    return request.deadline_ms == 0 ? 0 : asked_us_ + request.deadline_ms * int64_t{1000};
  }
  // Nothing is to be answered, and the peer has had its time to hear the goaway and to leave: until
  // then requests that crossed with it are served.
  bool may_end() const;
  bool flush_queued = false;  // kept by the shard's flush list

  ShardServer& shard() { return shard_; }
  bool greeted() const { return greeted_; }
  // By a hello in which the client calls itself so; `client_id`: perhaps none. Follows log_in().
  void greet(std::string client_name, Bytes client_id);
  // Whose the changes are that come over it: the principal, or where nobody is asked, what the
  // client calls itself.
  engine::Author author() const {
    return {identity_ ? identity_.principal->name : client_name_,
            via_.empty() ? peer_ : peer_ + " via " + via_};
  }

  // ---- who it is; nobody on a node without principals ----
  const security::Principal* principal() const { return identity_.principal.get(); }
  const StreamFacts& facts() const { return facts_; }
  void log_in(security::Identity identity);
  int login_failed() { return ++failed_logins_; }  // how often by now
  // By the policy of now. False when it was closed for it.
  bool renew_identity();
  // The roles on the last table that was named by its number, as of a version of the table map.
  bool remembers(uint64_t table_id, uint64_t version) const {
    return remembered_.table_id == table_id && remembered_.version == version;
  }
  security::Roles remembered_roles() const { return remembered_.roles; }
  void remember(uint64_t table_id, uint64_t version, security::Roles roles) {
    remembered_ = {table_id, version, roles};
  }
  // The answer to the request that is being handled goes into the security log with this.
  void log_answer(const wire::FrameHeader& request, security::AuditEvent event) {
    logged_.emplace(request.request_id, std::move(event));
  }
  // Whose the tokens of its writes are (WriteToken::client): the principal's and the client id's
  // together, so that one principal never meets another's tokens; empty without a client id.
  const std::string& token_scope() const { return token_scope_; }
  bool open() const { return !broken_; }
  const std::string& peer() const { return peer_; }

 private:
  static constexpr int kMaxFramesBeforeHello = 8;
  static constexpr int64_t kHandshakeWatchUs = 1'000'000;
  static constexpr int64_t kWatchUs = 5'000'000;
  static constexpr int64_t kSlowestFrameBytesPerS = 1024;
  // What a frame that holds room of the node's memory must bring in each stretch of time from its
  // first byte on: always, and while others wait for room.
  static constexpr int64_t kPaceUs = 100'000;  // how often it is looked at
  static constexpr int64_t kPatienceUs = 5'000'000;
  static constexpr int64_t kSlowestClaimBytesPerS = 16 * 1024;
  static constexpr int64_t kWantedPatienceUs = 250'000;
  static constexpr int64_t kSlowestWantedBytesPerS = 4 << 20;
  static constexpr size_t kScanPauseBytes = 512 * 1024;
  static constexpr size_t kKeepOutputBytes = 16 * 1024;  // of a buffer that is empty
  static constexpr int64_t kGoawayPatienceUs = 200'000;
  static constexpr size_t kMaxAheadBytes = 64 * 1024;  // received behind a request that is held

  Async<bool> read_preface();
  Async<bool> fill();
  Async<bool> wait_for_room();
  bool take_in(const Result<size_t>& n);
  void settle_buffer();
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
  Async<bool> handle_frames();
  Async<void> wait_for_time();
  void handle(const wire::Frame& frame);
  void handle_request(const wire::Frame& frame);
  bool take_on(const wire::FrameHeader& request);
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
  void cancel(uint64_t request_id);
  void abandon();
  void credit(const wire::Frame& frame);
  void append(const wire::FrameHeader& request, wire::FrameKind kind, uint32_t flags, Bytes body);
  void finish_request(const wire::FrameHeader& request, Errc code);
  Async<void> write_rest();
  void watch();
  void garbage(const Error& error);
  void tell_answer(uint64_t request_id, std::string_view outcome);
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
  AddressTable::Opening opening_;  // until the hello is answered
  security::Identity identity_;
  int failed_logins_ = 0;
  int frames_before_hello_ = 0;
  struct {
    uint64_t table_id = 0;
    uint64_t version = 0;
    security::Roles roles;
  } remembered_;
  absl::flat_hash_map<uint64_t, security::AuditEvent> logged_;  // by request id
  int64_t goaway_us_ = 0;                                       // when it was said; 0: it was not
  bool broken_ = false;                                         // nothing more is read or written
  bool end_of_input_ = false;
  std::optional<Error> untimely_;  // why the frame at hand is refused
  bool held_ = false;              // the frame at hand waits for a newer table map, or for step_
  bool held_for_step_ = false;
  std::shared_ptr<DropStep> step_;
  bool reads_ahead_ = false;  // read_ahead() runs, and the buffer is its own
  int malformed_ = 0;

  uint32_t in_flight_ = 0;
  struct Times {
    int64_t heard_us = 0;  // received
    int64_t began_us = 0;  // taken up
  };
  absl::flat_hash_map<uint64_t, Times> times_;  // of the requests in flight, by id
  Reads reads_;
  boost::intrusive::list<GivenUp, boost::intrusive::constant_time_size<false>> works_;
  Notify changed_;  // room, an answer written, a request finished

  std::string out_;  // gathered answers from out_begin_ on
  size_t out_begin_ = 0;
  std::string writing_;  // what write_rest() is at
  bool writer_active_ = false;
  size_t counted_bytes_ = 0;  // of pending_bytes(), known to admission

  NodeMemory::Claim claim_;  // of the node's memory: the buffer beyond its base size
  size_t wanted_bytes_ = 0;  // to be claimed when its turn in the memory queue comes
  bool frame_given_up_ =
      false;                // the frame that has begun is answered; its bytes are not dropped yet
  bool announced_ = false;  // the header of the frame that has begun was checked
  int64_t paced_us_ = 0;    // where the stretch of time begins in which its pace is taken
  size_t paced_bytes_ = 0;  // what had come of it then
  Timer pace_;              // while a claim is held, or waited for
  Timer watch_;
  int64_t born_us_;
  int64_t heard_us_;              // last bytes received
  int64_t asked_us_ = 0;          // the request that is being handled was received
  int64_t partial_since_us_ = 0;  // a frame has begun and is not complete; 0: none
  int64_t written_us_ = 0;        // last progress of write_rest()
};

}  // namespace cellar::server
