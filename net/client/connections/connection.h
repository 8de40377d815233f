// Connection: one persistent connection to a node with many multiplexed calls.
//
// A call waits in `queue_` until the connection is ready and has a free slot; then its frame is
// appended to `out_`, which is sent in one write at the end of the loop's turn. Its id names its
// slot in `slots_` until the last frame of its answer. If a call ends early (deadline, cancel), its
// slot stays reserved for that frame, because the server still counts the request.
//
// A failed attempt is ended with call.end(), and the call's owner may send it again, here or
// elsewhere. After a goaway no new requests are sent: the owner takes the queued calls, and the
// connection ends with its last answer.
//
// When a connection is lost, the outcome of each call is known exactly: `handed_` counts the bytes
// accepted by the operating system. A frame not completely sent was not applied; a complete one may
// have been.
//
// States: idle -> (connecting -> ready -> down)*. The pauses between attempts grow and are
// randomised. One loop; its coroutines keep it alive.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
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
#include "net/client/connections/handle_cache.h"
#include "net/client/connections/tablet_map.h"

namespace cellar::client {

// The machine services of a client. All must outlive the loop's last turn for the client.
struct ClientEnv {
  ShardExecutor executor;
  Timers& timers;
  Network& network;
  uint64_t seed = 1;                       // for jitter and client id
  std::shared_ptr<void> keeper = nullptr;  // owner of the above, if there is no other
  std::shared_ptr<Dialler> dialler = std::make_shared<Dialler>();
};

struct ConnectionStats {
  uint64_t connects = 0;  // successful hellos
  uint64_t requests = 0;  // sent
  uint64_t writes = 0;    // writes to the stream; requests / writes is the batching factor
  uint64_t lost = 0;      // connections broken or given up

  void add(const ConnectionStats& other) {
    connects += other.connects;
    requests += other.requests;
    writes += other.writes;
    lost += other.lost;
  }
};

// Events of a connection. None after close().
class ConnectionOwner {
 public:
  virtual void on_ready(Connection& connection) = 0;   // hello answered
  virtual void on_down(Connection& connection) = 0;    // lost or failed to connect
  virtual void on_goaway(Connection& connection) = 0;  // no new requests
  virtual void on_stale(const StaleTablet& tablet) = 0;

 protected:
  ~ConnectionOwner() = default;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // `wanted`: the shard that the hello names; empty: any. A node may serve the connection from
  // another one.
  Connection(ClientEnv env, const ClientOptions& options, Address address,
             std::shared_ptr<Encoder> encoder, ConnectionOwner* owner,
             std::optional<uint32_t> wanted = {});
  ~Connection();

  // Starts an attempt, which is ended exactly once and never inside this function. Arms
  // `call.timer_` for its deadline.
  void submit(Call& call);
  // Connects without waiting for a request.
  void open();
  // Stops reconnecting; ends with the last pending answer.
  void retire();
  // Returns the unsent calls in order; the caller submits them elsewhere.
  CallList take_queue();
  // Ends a call early and notifies the server.
  void cancel(Call& call, Error why, Reach reach);
  // Permits the server to send `chunks` more chunks. False: the call has not been sent, so nothing
  // was done.
  bool add_credits(Call& call, uint32_t chunks);
  static Connection* of(const Call& call) { return call.connection_; }
  // Completes all calls with CANCELLED and ends the coroutines soon.
  void close();

  bool ready() const { return state_ == State::ready; }
  bool closed() const { return state_ == State::closed; }
  std::optional<uint32_t> wanted_shard() const { return wanted_; }
  const ServerHello& server() const { return server_; }  // of the last hello
  // Estimate of the node's trusted clock from the last hello or pong and the loop's timers; 0: no
  // hello yet.
  int64_t server_now_us() const;
  size_t in_flight() const { return in_flight_; }
  size_t queued() const { return queue_.size(); }
  const ConnectionStats& stats() const { return stats_; }

 private:
  friend class Call;
  enum class State : uint8_t { idle, connecting, ready, draining, down, closed };
  struct Slot {
    Call* call = nullptr;
    uint16_t generation = 1;
    bool taken = false;
  };
  static constexpr size_t kMaxOutBytes = 16u << 20;  // queued and not yet written
  // if a deadline passes after such a silence, the connection is considered dead
  static constexpr int64_t kSilenceUs = 1'000'000;

  // ---- connection lifecycle (connection.cc) ----
  static Async<void> run(std::shared_ptr<Connection> self);
  Async<Error> serve();
  Async<Result<void>> shake_hands(wire::FrameReader& reader);
  Async<Result<void>> receive(wire::FrameReader& reader);
  Result<void> handle(const wire::Frame& frame);
  Result<void> hear_of_stale(const wire::Frame& frame);
  void lose(Error why);
  // Calls that wait for a connection are kept, unless `all`.
  void fail_queue(const Error& why, Ending ending, bool all);
  void on_alarm();
  void on_keepalive();
  void ping();
  // Makes the reader end this connection.
  void give_up(std::string_view why);
  int64_t next_pause_us();
  Async<void> pause(int64_t us);
  // Writes the bytes that the stream did not accept at once, and those queued meanwhile.
  static Async<void> write_rest(std::shared_ptr<Connection> self,
                                std::shared_ptr<ByteStream> stream, std::string bytes);

  // ---- calls ----
  void start();
  void enqueue(Call& call);
  void arm_deadline(Call& call);
  void put_on_wire(Call& call);
  uint32_t handle_for(const Call& call);
  bool choose_drop_frame(Call& call) const;
  void stamp_tokens(Request& request);
  void send_queued();
  void send_control(uint32_t request_id, uint16_t op, wire::FrameKind kind, Bytes body);
  void schedule_flush();
  void flush();
  bool has_room() const;
  Slot* slot_of(uint32_t request_id);
  void free_slot(Slot& slot);
  void on_deadline(Call& call);
  // Removes the call from queue or slot and stops its timer; the caller finishes it.
  void unhook(Call& call);
  // The outcome of a call that ends without an answer on a live connection.
  Applied outcome_of(const Call& call) const;

  ClientEnv env_;
  const ClientOptions options_;
  const Address address_;
  std::shared_ptr<Encoder> encoder_;
  ConnectionOwner* owner_;  // null after close()
  const std::optional<uint32_t> wanted_;
  Random random_;
  ServerHello server_;
  int64_t greeted_us_ = 0;  // when server_.now_us came, with the last hello or pong
  bool retired_ = false;
  State state_ = State::idle;

  std::shared_ptr<ByteStream> stream_;
  std::string out_;       // the next write
  bool writing_ = false;  // write_rest() is running
  bool flush_posted_ = false;
  uint64_t queued_end_ = 0;  // total bytes appended to out_ for this stream
  uint64_t handed_ = 0;      // of these, bytes accepted by the stream
  int64_t last_received_us_ = 0;

  CallList queue_;
  HandleCache handles_;
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_slots_;
  size_t in_flight_ = 0;
  size_t max_in_flight_ = 1;
  uint32_t max_frame_bytes_ = wire::kDefaultFrameBytes;

  int64_t pause_us_ = 0;
  Timer alarm_;  // for the pause or the hello
  Waiter pause_waiter_;
  bool hello_late_ = false;
  std::string_view given_up_;  // why this side ended the connection; empty: it did not
  Timer keepalive_;
  int64_t pinged_us_ = 0;  // 0: no ping pending
  ConnectionStats stats_;
};

}  // namespace cellar::client
