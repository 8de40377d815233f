#include "io/sim/sim_transport.h"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>

#include "io/loop/event.h"
#include "io/loop/loop_of.h"
#include "io/net/loopback.h"

namespace cellar {
namespace {

// One direction of a connection. Its timer runs on the reader's loop.
class Pipe {
 public:
  Pipe(const SimFabric::State& fabric, Loop& reader_loop)
      : world_(fabric.world),
        delay_us_(fabric.delay_us),
        short_reads_(fabric.short_reads),
        jitter_us_(fabric.faults.jitter_us),
        arrival_(std::in_place, reader_loop.timers(), &Pipe::on_arrival, this) {}

  enum class Kind : uint8_t { bytes, end, broken };

  void send(Kind kind, std::string bytes) {
    int64_t due_us = std::max(world_.now_us() + delay_us_, last_due_us_);
    if (jitter_us_ > 0) {
      due_us += static_cast<int64_t>(world_.random().below(static_cast<uint64_t>(jitter_us_) + 1));
    }
    last_due_us_ = due_us;
    unread_ += bytes.size();
    flying_.push_back({kind, due_us, std::move(bytes)});
    if (!arrival_->armed()) arm();
  }
  // What flies arrives on another loop.
  void move_reader(Loop& loop) {
    arrival_.emplace(loop.timers(), &Pipe::on_arrival, this);
    if (!flying_.empty()) arm();
  }
  size_t window() const {
    return unread_ >= SimFabric::kWindowBytes ? 0 : SimFabric::kWindowBytes - unread_;
  }
  size_t take(std::span<std::byte> into) {
    size_t n = std::min(into.size(), ready_.size());
    if (n > 1 && short_reads_ && world_.random().one_in(4)) {
      n = 1 + static_cast<size_t>(world_.random().below(n));
    }
    std::memcpy(into.data(), ready_.data(), n);
    ready_.erase(0, n);
    unread_ -= n;
    room.notify_all();
    return n;
  }
  bool has_bytes() const { return !ready_.empty(); }

  ConditionVariable arrived;  // the reader waits
  ConditionVariable room;     // the writer waits
  bool ended = false;
  bool broken = false;
  bool reader_gone = false;

 private:
  struct Chunk {
    Kind kind;
    int64_t due_us;
    std::string bytes;
  };

  void arm() { arrival_->arm_after_us(flying_.front().due_us - world_.now_us()); }

  static void on_arrival(void* self) { static_cast<Pipe*>(self)->deliver(); }
  void deliver() {
    while (!flying_.empty() && flying_.front().due_us <= world_.now_us()) {
      Chunk chunk = std::move(flying_.front());
      flying_.pop_front();
      ready_ += chunk.bytes;
      if (chunk.kind == Kind::end) ended = true;
      if (chunk.kind == Kind::broken) broken = true;
    }
    arrived.notify_all();
    room.notify_all();
    if (!flying_.empty()) arm();
  }

  SimWorld& world_;
  const int64_t delay_us_;
  const bool short_reads_;
  const int64_t jitter_us_;
  std::deque<Chunk> flying_;
  std::string ready_;
  size_t unread_ = 0;
  int64_t last_due_us_ = 0;
  std::optional<Timer> arrival_;
};

}  // namespace

// Both directions, with the faults set when the connection was made.
struct SimLink {
  SimLink(const SimFabric::State& fabric, Loop& client, Loop& server, std::string server_host)
      : to{std::make_unique<Pipe>(fabric, server), std::make_unique<Pipe>(fabric, client)},
        faults(fabric.faults),
        host(std::move(server_host)) {}

  enum class Ended : uint8_t { no, silent, stale };

  bool open() const {
    return ended == Ended::no && !to[0]->broken && !to[1]->broken && !to[0]->ended && !to[1]->ended;
  }
  void break_both() {
    for (const auto& pipe : to) pipe->send(Pipe::Kind::broken, {});
  }

  std::array<std::unique_ptr<Pipe>, 2> to;  // [0] client to server, [1] back
  LinkFaults faults;
  const std::string host;
  Ended ended = Ended::no;  // as seen from the network
  uint64_t carried = 0;
};

namespace {

class SimStream final : public ByteStream {
 public:
  // side 0 is the client.
  SimStream(std::shared_ptr<SimLink> link, size_t side, std::string peer)
      : link_(std::move(link)), side_(side), peer_(std::move(peer)) {}
  ~SimStream() override { close(); }

  Async<Result<size_t>> read_some(std::span<std::byte> into) override {
    Pipe& pipe = in();
    for (;;) {
      if (closed_) co_return fail(Errc::cancelled, "{} was closed here", peer_);
      if (pipe.has_bytes()) co_return pipe.take(into);
      if (pipe.broken) co_return fail(Errc::unavailable, "{}: connection broken", peer_);
      if (pipe.ended) co_return size_t{0};
      co_await pipe.arrived.wait();
    }
  }

  Async<Result<void>> write(std::span<const Bytes> parts) override {
    std::string all;
    for (Bytes part : parts) all += part;
    size_t sent = 0;
    for (;;) {
      CO_TRY(const size_t n, send(Bytes(all).substr(sent)));
      sent += n;
      if (sent == all.size()) co_return Result<void>();
      co_await out().room.wait();
    }
  }

  Result<size_t> try_write(std::span<const Bytes> parts) override {
    std::string all;
    for (Bytes part : parts) all += part;
    return send(all);
  }

  void close() override {
    if (closed_) return;
    closed_ = true;
    in().reader_gone = true;
    const bool heard = link_->carried <= link_->faults.half_open_after_bytes;
    if (heard && link_->ended == SimLink::Ended::no) out().send(Pipe::Kind::end, {});
    in().arrived.notify_all();
    out().room.notify_all();
    in().room.notify_all();
  }
  std::string peer() const override { return peer_; }

  bool detach() override { return !closed_; }
  Result<void> attach(ShardExecutor executor) override {
    in().move_reader(loop_of(executor));
    return {};
  }

 private:
  Pipe& in() { return *link_->to[1 - side_]; }
  Pipe& out() { return *link_->to[side_]; }

  // Sends as much as the window takes.
  Result<size_t> send(Bytes bytes) {
    if (closed_) return fail(Errc::cancelled, "{} was closed here", peer_);
    if (in().broken || out().reader_gone) {
      return fail(Errc::unavailable, "{}: connection broken", peer_);
    }
    const size_t n = std::min(bytes.size(), out().window());
    if (n == 0) return n;
    if (link_->ended != SimLink::Ended::no) {
      if (link_->ended == SimLink::Ended::stale && side_ == 0) in().send(Pipe::Kind::broken, {});
      return n;
    }
    const uint64_t before = link_->carried;
    link_->carried += n;
    const LinkFaults& faults = link_->faults;
    const uint64_t limit = std::min(faults.cut_after_bytes, faults.half_open_after_bytes);
    const uint64_t passes = before >= limit ? 0 : std::min<uint64_t>(n, limit - before);
    if (passes > 0) out().send(Pipe::Kind::bytes, std::string(bytes.substr(0, passes)));
    if (link_->carried > faults.cut_after_bytes && !cut_) {
      cut_ = true;
      out().send(Pipe::Kind::broken, {});
      in().send(Pipe::Kind::broken, {});
    }
    return n;
  }

  std::shared_ptr<SimLink> link_;
  size_t side_;
  std::string peer_;
  bool closed_ = false;
  bool cut_ = false;
};

}  // namespace

class SimListener final : public Listener {
 public:
  SimListener(std::shared_ptr<SimFabric::State> fabric, Loop& loop, std::string host, uint16_t port)
      : fabric_(std::move(fabric)), loop_(loop), host_(std::move(host)), port_(port) {
    fabric_->listeners.emplace(std::pair(host_, port_), this);
  }
  ~SimListener() override { close(); }

  Async<Result<std::unique_ptr<ByteStream>>> accept() override {
    while (waiting_.empty() && !closed_) co_await arrived_.wait();
    if (closed_) co_return fail(Errc::cancelled, "{} was closed here", address());
    auto stream = std::move(waiting_.front());
    waiting_.pop_front();
    co_return stream;
  }
  std::string address() const override { return format_address(host_, port_); }
  uint16_t port() const override { return port_; }
  void close() override {
    if (closed_) return;
    closed_ = true;
    std::erase_if(fabric_->listeners, [this](const auto& entry) { return entry.second == this; });
    waiting_.clear();
    arrived_.notify_all();
  }

  void deliver(std::unique_ptr<ByteStream> stream) {
    waiting_.push_back(std::move(stream));
    arrived_.notify_one();
  }
  Loop& loop() { return loop_; }

 private:
  std::shared_ptr<SimFabric::State> fabric_;
  Loop& loop_;
  std::string host_;
  uint16_t port_;
  bool closed_ = false;
  std::deque<std::unique_ptr<ByteStream>> waiting_;
  ConditionVariable arrived_;
};

SimFabric::SimFabric(SimWorld& world, int64_t delay_us)
    : state_(std::make_shared<State>(State{.world = world, .delay_us = delay_us})) {}

void SimFabric::end_host(std::string_view host, HostEnd how) {
  std::erase_if(state_->listeners, [&](const auto& entry) { return entry.first.first == host; });
  for (const std::weak_ptr<SimLink>& weak : state_->links) {
    const std::shared_ptr<SimLink> link = weak.lock();
    if (!link || link->host != host || link->ended != SimLink::Ended::no) continue;
    if (how == HostEnd::reset) link->break_both();
    link->ended = SimLink::Ended::silent;
  }
}

void SimFabric::answer_stale(std::string_view host) {
  for (const std::weak_ptr<SimLink>& weak : state_->links) {
    const std::shared_ptr<SimLink> link = weak.lock();
    if (!link || link->host != host || link->ended != SimLink::Ended::silent) continue;
    link->ended = SimLink::Ended::stale;
  }
}

std::shared_ptr<SimLink> SimFabric::draw_open() {
  std::vector<std::shared_ptr<SimLink>> open;
  for (const std::weak_ptr<SimLink>& weak : state_->links) {
    std::shared_ptr<SimLink> link = weak.lock();
    if (link && link->open()) open.push_back(std::move(link));
  }
  if (open.empty()) return nullptr;
  return open[state_->world.random().below(open.size())];
}

bool SimFabric::cut_one() {
  const std::shared_ptr<SimLink> link = draw_open();
  if (link) link->break_both();
  return link != nullptr;
}

bool SimFabric::silence_one() {
  const std::shared_ptr<SimLink> link = draw_open();
  if (link) link->ended = SimLink::Ended::silent;
  return link != nullptr;
}

namespace {

// A random listener at that address; null if there is none.
SimListener* find_listener(SimFabric::State& fabric, const std::string& host, uint16_t port) {
  const auto [begin, end] = fabric.listeners.equal_range(std::pair(host, port));
  const auto count = static_cast<uint64_t>(std::distance(begin, end));
  if (count == 0) return nullptr;
  const uint64_t drawn = count == 1 ? 0 : fabric.world.random().below(count);
  return std::next(begin, static_cast<std::ptrdiff_t>(drawn))->second;
}

}  // namespace

Async<Result<std::unique_ptr<Listener>>> SimNetwork::listen(std::string host, uint16_t port,
                                                            bool reuse_port) {
  if (port == 0) port = fabric_->next_port++;
  if (!reuse_port && fabric_->listeners.contains(std::pair(host, port))) {
    co_return fail(Errc::unavailable, "listening on {}: address in use",
                   format_address(host, port));
  }
  co_return std::make_unique<SimListener>(fabric_, loop_, std::move(host), port);
}

Async<Result<std::unique_ptr<ByteStream>>> SimNetwork::connect(std::string host, uint16_t port,
                                                               int64_t timeout_us) {
  const std::string server = format_address(host, port);
  const bool unanswered = fabric_->faults.black_hole || 2 * fabric_->delay_us > timeout_us;
  if (unanswered) {
    co_await sleep_us(loop_.timers(), timeout_us);
    co_return fail(Errc::deadline_exceeded, "connecting to {}: no answer within {} us", server,
                   timeout_us);
  }
  co_await sleep_us(loop_.timers(), fabric_->delay_us);
  SimListener* const listener = find_listener(*fabric_, host, port);
  if (!listener || fabric_->faults.refuse) {
    co_await sleep_us(loop_.timers(), fabric_->delay_us);
    co_return fail(Errc::unavailable, "connecting to {}: connection refused", server);
  }
  auto link = std::make_shared<SimLink>(*fabric_, loop_, listener->loop(), host);
  // A connection to a loopback address comes from that address.
  const std::string from = is_loopback(host) ? host : "client";
  const std::string client = format_address(from, fabric_->next_port++);
  std::erase_if(fabric_->links, [](const auto& one) { return one.expired(); });
  fabric_->links.push_back(link);
  listener->deliver(std::make_unique<SimStream>(link, 1, client));
  auto stream = std::make_unique<SimStream>(std::move(link), 0, server);
  co_await sleep_us(loop_.timers(), fabric_->delay_us);
  co_return stream;
}

}  // namespace cellar
