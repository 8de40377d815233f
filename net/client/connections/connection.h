// Connection: one connection to a node, kept alive, with many calls multiplexed over it.
//
// A call waits in `queue_` until the connection is ready and has a free slot, then its frame joins
// `out_`; what has gathered there leaves in one write at the end of the loop's turn. Its id names
// its slot, in `slots_`, until the last frame of its answer. A slot whose call has ended early
// (deadline, cancel) stays taken, empty, for that frame: the server still counts the request.
//
// An attempt that fails is ended with call.end(), and the call's owner may send it again, here or
// elsewhere. A node that says goodbye is asked nothing more: the owner takes what is queued, and
// the connection ends with its last answer.
//
// What became of a call when the connection is lost is known exactly: `handed_` counts the bytes
// that the operating system took. A frame that did not leave whole was not applied; one that did
// may have been.
//
// States: idle -> (connecting -> ready -> down)*. Attempts follow each other with growing, drawn
// pauses. One loop; kept alive by its coroutines.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/base/random.h"
#include "io/loop/event.h"
#include "io/net/transport.h"
#include "net/client/api/options.h"
#include "net/client/codec/call.h"
#include "net/client/codec/decode.h"
#include "net/client/codec/encode.h"
#include "net/client/connections/dialler.h"

namespace cellar::client {

// What a client uses of the machine. All must outlive the loop's last turn for the client.
struct ClientEnv {
  ShardExecutor executor;
  Timers& timers;
  Network& network;
  uint64_t seed = 1;                       // of jitter and client id
  std::shared_ptr<void> keeper = nullptr;  // of the above, where nobody else keeps it
  std::shared_ptr<Dialler> dialler = std::make_shared<Dialler>();
};

struct ConnectionStats {
  uint64_t connects = 0;  // hellos answered
  uint64_t requests = 0;  // put on the wire
  uint64_t writes = 0;    // to the stream; requests / writes is the corking
  uint64_t lost = 0;      // connections that broke or were given up

  void add(const ConnectionStats& other) {
    connects += other.connects;
    requests += other.requests;
    writes += other.writes;
    lost += other.lost;
  }
};

// What is told of a connection's life. None of it after close().
class ConnectionOwner {
 public:
  virtual void on_ready(Connection& connection) = 0;   // the hello was answered
  virtual void on_down(Connection& connection) = 0;    // lost, or no connection could be made
  virtual void on_goaway(Connection& connection) = 0;  // it takes nothing more

 protected:
  ~ConnectionOwner() = default;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(ClientEnv env, const ClientOptions& options, Address address,
             std::shared_ptr<Encoder> encoder, ConnectionOwner* owner);
  ~Connection();

  // Takes charge of an attempt: it is ended exactly once, never inside this function. `call.timer_`
  // is armed for its deadline here.
  void submit(Call& call);
  // Connects though nothing is asked yet.
  void open();
  // No more attempts to connect; ends with the last answer that is due.
  void retire();
  // What has not been sent yet, in its order; the caller submits it elsewhere.
  CallList take_queue();
  // Ends a call early. The server is told.
  void cancel(Call& call, Error why, Reach reach);
  // For a call in chunks: the server may send so many more. False: the call is not on the wire,
  // nothing was told.
  bool add_credits(Call& call, uint32_t chunks);
  static Connection* of(const Call& call) { return call.connection_; }
  // Fails everything with CANCELLED and ends the coroutines soon.
  void close();

  bool ready() const { return state_ == State::ready; }
  bool closed() const { return state_ == State::closed; }
  const ServerHello& server() const { return server_; }  // of the last hello
  // The node's trusted clock, by the last hello and this loop's timers; 0: no hello yet.
  int64_t server_now_us() const;
  size_t in_flight() const { return in_flight_; }
  size_t queued() const { return queue_.size(); }
  const ConnectionStats& stats() const { return stats_; }

 private:
  friend class Call;
  enum class State : uint8_t { idle, connecting, ready, draining, down, closed };
  struct Slot {
    Call* call = nullptr;
    uint32_t generation = 1;
    bool taken = false;
  };
  static constexpr size_t kMaxOutBytes = 16u << 20;  // gathered and not yet written
  static constexpr int64_t kSilenceUs = 1'000'000;   // a deadline after such a silence: it is dead

  // ---- life of the connection (connection.cc) ----
  static Async<void> run(std::shared_ptr<Connection> self);
  Async<Error> serve();
  Async<Result<void>> shake_hands(wire::FrameReader& reader);
  Async<Result<void>> receive(wire::FrameReader& reader);
  Result<void> handle(const wire::Frame& frame);
  void lose(Error why);
  // Those that wait for a connection are left, unless `all`.
  void fail_queue(const Error& why, Ending ending, Reach reach, bool all);
  void on_alarm();
  void on_keepalive();
  void ping();
  // The reader finds out and ends this connection.
  void give_up(std::string_view why);
  int64_t next_pause_us();
  Async<void> pause(int64_t us);
  // Writes what the stream did not take at once, and what gathers meanwhile.
  static Async<void> write_rest(std::shared_ptr<Connection> self,
                                std::shared_ptr<ByteStream> stream, std::string bytes);

  // ---- calls (connection_calls.cc) ----
  void start();
  void enqueue(Call& call);
  void arm_deadline(Call& call);
  void put_on_wire(Call& call);
  bool settle_drop_token(Call& call) const;
  void stamp_tokens(Request& request);
  void send_queued();
  void send_control(uint64_t request_id, uint16_t op, wire::FrameKind kind, Bytes body);
  void schedule_flush();
  void flush();
  bool has_room() const;
  Slot* slot_of(uint64_t request_id);
  void free_slot(Slot& slot);
  void on_deadline(Call& call);
  // Takes the call out of queue or slot and stops its timer; the caller finishes it.
  void unhook(Call& call);
  // What became of a call that ends without an answer while its connection lives.
  Applied outcome_of(const Call& call) const;

  ClientEnv env_;
  const ClientOptions options_;
  const Address address_;
  std::shared_ptr<Encoder> encoder_;
  ConnectionOwner* owner_;  // null once closed
  Random random_;
  ServerHello server_;
  int64_t greeted_us_ = 0;  // when its now_us came, by the timers
  bool retired_ = false;
  State state_ = State::idle;

  std::shared_ptr<ByteStream> stream_;
  std::string out_;       // the next write
  bool writing_ = false;  // write_rest() is under way
  bool flush_posted_ = false;
  uint64_t queued_end_ = 0;  // bytes ever put into out_ for this stream
  uint64_t handed_ = 0;      // bytes of them that the stream took
  int64_t last_received_us_ = 0;

  CallList queue_;
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_slots_;
  size_t in_flight_ = 0;
  size_t max_in_flight_ = 1;
  uint32_t max_frame_bytes_ = wire::kDefaultFrameBytes;

  int64_t pause_us_ = 0;
  Timer alarm_;  // of the pause, or of the hello
  Waiter pause_waiter_;
  bool hello_late_ = false;
  std::string_view given_up_;  // why this side ended the connection; empty: it did not
  Timer keepalive_;
  int64_t pinged_us_ = 0;  // 0: no ping is out
  ConnectionStats stats_;
};

}  // namespace cellar::client
