#include "net/client/connections/dispatcher.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "io/base/check.h"

namespace cellar::client {

namespace {

constexpr size_t kMaxClientIdBytes = 64;
constexpr uint32_t kFullRetryMs = 10;

std::optional<Error> judge(const ClientOptions& options) {
  if (options.connections < 1 || options.connections > kMaxConnections) {
    return Error(Errc::invalid_argument, fmt::format("{} connections are not between 1 and {}",
                                                     options.connections, kMaxConnections));
  }
  if (options.client_id.size() > kMaxClientIdBytes) {
    return Error(Errc::invalid_argument, fmt::format("a client id of {} bytes is over {}",
                                                     options.client_id.size(), kMaxClientIdBytes));
  }
  return std::nullopt;
}

uint64_t hash_of(Bytes table, Bytes row) {
  const std::hash<std::string_view> hash;
  const uint64_t h = hash(table) * 0x9e3779b97f4a7c15 ^ hash(row);
  return h == 0 ? 1 : h;
}

Error closed_error() { return Error(Errc::cancelled, "the client was closed"); }

}  // namespace

Dispatcher::Dispatcher(ClientEnv env, const ClientOptions& options,
                       std::shared_ptr<Encoder> encoder, std::shared_ptr<BlockPool> pool)
    : env_(std::move(env)),
      options_(options),
      encoder_(std::move(encoder)),
      pool_(std::move(pool)),
      policy_(options_.retry, env_.seed ^ 0x5eed),
      refused_(judge(options_)) {
  auto address = parse_address(options_.address);
  if (!address) refused_ = address.error();
  PoolOwner& owner = *this;
  if (!refused_) connections_.emplace(env_, options_, *address, encoder_, owner);
}

Dispatcher::~Dispatcher() { close(); }

void Dispatcher::close() {
  if (std::exchange(closed_, true)) return;
  if (connections_) connections_->close();
  for (auto& [address, owner] : owners_) owner->pool->close();
  for (CallList* list : {&parked_, &paused_}) {
    while (!list->empty()) cancel_waiting(list->front(), closed_error(), Reach::queued);
  }
}

ClientStats Dispatcher::stats() const {
  ClientStats stats = stats_;
  if (connections_) static_cast<ConnectionStats&>(stats) = connections_->stats();
  for (const auto& [address, owner] : owners_) stats.add(owner->pool->stats());
  stats.pending = pending_;
  stats.pending_bytes = pending_bytes_;
  return stats;
}

// ---- admission ----

bool Dispatcher::has_room(size_t bytes) const {
  return pending_ == 0 ||
         (pending_ < options_.max_pending && pending_bytes_ + bytes <= options_.max_pending_bytes);
}

void Dispatcher::charge(Call& call) {
  call.charged_bytes_ = call.request_.frame.size();
  ++pending_;
  pending_bytes_ += call.charged_bytes_;
}

void Dispatcher::submit(Call& call) {
  if (refused_ || closed_) {
    call.finish(std::unexpected(refused_ ? *refused_ : closed_error()), Reach::queued);
    return;
  }
  const bool waits = options_.when_full == WhenFull::wait;
  const bool room = has_room(call.request_.frame.size()) && (!waits || parked_.empty());
  if (!room && !waits) {
    ++stats_.refused;
    Error error(Errc::resource_exhausted, fmt::format("{} requests of {} bytes already wait for {}",
                                                      pending_, pending_bytes_, options_.address));
    call.finish(std::unexpected(std::move(error).retry_after(kFullRetryMs)), Reach::queued);
    return;
  }
  call.owner_ = this;
  if (call.request_.deadline_us > 0) {
    call.deadline_us_ = env_.timers.now_us() + call.request_.deadline_us;
  }
  if (!room) {
    park(call);
    return;
  }
  charge(call);
  send(call);
}

void Dispatcher::submit_again(Call& call, int64_t pause_us) {
  charge(call);
  ++stats_.repeats;
  pause(call, pause_us);
}

void Dispatcher::park(Call& call) {
  parked_.push_back(call);
  if (call.deadline_us_ != INT64_MAX) call.timer_.arm_after_us(call.request_.deadline_us);
}

void Dispatcher::admit_parked() {
  while (!closed_ && !parked_.empty() && has_room(parked_.front().request_.frame.size())) {
    Call& call = parked_.front();
    parked_.pop_front();
    call.timer_.cancel();
    charge(call);
    send(call);
  }
}

// ---- between attempts ----

void Dispatcher::pause(Call& call, int64_t pause_us) {
  paused_.push_back(call);
  call.timer_.arm_after_us(pause_us);
}

void Dispatcher::on_call_timer(Call& call) {
  const bool parked = call.charged_bytes_ == 0;
  if (parked) {
    cancel_waiting(call,
                   Error(Errc::deadline_exceeded,
                         fmt::format("no room to send within {} ms: {} requests wait for {}",
                                     call.request_.deadline_us / 1000, pending_, options_.address)),
                   Reach::now);
    return;
  }
  paused_.erase(CallList::s_iterator_to(call));
  send(call);
}

void Dispatcher::cancel_waiting(Call& call, Error why, Reach reach) {
  call.timer_.cancel();
  if (call.is_linked()) {
    CallList& list = call.charged_bytes_ == 0 ? parked_ : paused_;
    list.erase(CallList::s_iterator_to(call));
  }
  call.end(std::unexpected(std::move(why)), Ending::here, reach);
}

void Dispatcher::cancel(Call& call) {
  Error why(Errc::cancelled, "the request was cancelled");
  if (Connection* connection = Connection::of(call)) {
    connection->cancel(call, std::move(why), Reach::queued);
  } else if (call.owner_) {
    call.owner_->cancel_waiting(call, std::move(why), Reach::queued);
  }
}

bool Dispatcher::takes_back(Call& call, const Error& error, Ending ending,
                            const wire::TabletHint* hint) {
  if (closed_ || ending == Ending::here) return false;
  if (error.applied == Applied::maybe_applied) call.in_doubt_ = true;
  const Request& request = call.request_;
  if (ending == Ending::unreachable) {
    // The table may have moved: the next request asks the configured node.
    const auto at = tables_.find(request.table);
    if (at != tables_.end()) at->second->owner.clear();
    return false;
  }
  if (error.code == Errc::not_found && !request.table.empty()) {
    // The table may be recreated with other tablets.
    if (auto at = tables_.find(request.table); at != tables_.end()) {
      at->second->map.clear();
    }
  }
  if (hint && !hint->owner.empty()) {
    if (follow_owner(call, hint->owner)) return true;
    // Repeated only while two nodes name each other: this node's answer would be the same.
    if (call.redirects_ == 0) return false;
    hint = nullptr;
  }
  if (hint && request.by_row && call.redirects_ < kMaxRedirects && call.renew()) {
    redirect(call, *hint);
    return true;
  }
  const auto pause_us = policy_.pause_us(error, request.repeat, call.attempts_, call.left_us());
  if (!pause_us) return false;
  if (!call.renew()) {
    on_finish(call, true);
    wire::Frame end;
    end.header.kind = wire::FrameKind::end;
    call.finish(end, Reach::now);
    return true;
  }
  ++stats_.repeats;
  pause(call, *pause_us);
  return true;
}

void Dispatcher::on_finish(Call& call, bool answered) {
  if (call.charged_bytes_ > 0) {
    --pending_;
    pending_bytes_ -= std::exchange(call.charged_bytes_, 0);
  }
  unstick(call);
  if (answered) policy_.on_answer();
  if (!call.request_.keep_frame) encoder_->recycle(std::move(call.request_.frame));
  admit_parked();
}

// ---- routing ----

void Dispatcher::send(Call& call) {
  if (call.waits_for_reader()) return paused_.push_back(call);
  Connection& connection = choose(call);
  connection.submit(call);
}

void Dispatcher::redirect(Call& call, const wire::TabletHint& hint) {
  ++call.redirects_;
  ++stats_.redirects;
  ++stats_.repeats;
  const Bytes name = call.request_.table;
  Table& table = table_of(name);
  if (table.map.known() && table.map.correct(call.request_.part(call.request_.row), hint)) {
    fetch_map(name, table);
  }
  send(call);
}

// Followed once per call: a second refusal of this kind is retried with a pause until the nodes
// agree. False also if the request names no table or no more owners can be known.
bool Dispatcher::follow_owner(Call& call, const std::string& owner) {
  if (call.redirects_ > 0 || call.request_.table.empty()) return false;
  if (owner_at(owner) == nullptr || !call.renew()) return false;
  Table& table = table_of(call.request_.table);
  table.owner = owner == options_.address ? "" : owner;
  table.map.clear();
  ++call.redirects_;
  ++stats_.redirects;
  ++stats_.repeats;
  send(call);
  return true;
}

// Null: no address, or kMaxOwners are in use.
Dispatcher::Owner* Dispatcher::owner_at(const std::string& address) {
  if (const auto at = owners_.find(address); at != owners_.end()) return at->second.get();
  const auto parsed = parse_address(address);
  if (!parsed || owners_.size() >= kMaxOwners) return nullptr;
  auto owner = std::make_unique<Owner>();
  owner->options = options_;
  owner->options.address = address;
  PoolOwner& self = *this;
  owner->pool.emplace(env_, owner->options, *parsed, encoder_, self);
  return owners_.emplace(address, std::move(owner)).first->second.get();
}

// A connection to the other node that has the table of the call; null: use the configured node.
Connection* Dispatcher::owner_of(Call& call) {
  if (owners_.empty() || call.request_.table.empty()) return nullptr;
  const auto at = tables_.find(call.request_.table);
  if (at == tables_.end() || at->second->owner.empty()) return nullptr;
  Owner* owner = owner_at(at->second->owner);
  return owner == nullptr ? nullptr : &owner->pool->by_affinity(call.request_.affinity);
}

Connection& Dispatcher::choose(Call& call) {
  if (Connection* elsewhere = owner_of(call)) {
    call.tablet_id_ = call.epoch_ = 0;
    return *elsewhere;
  }
  Request& request = call.request_;
  Connection* chosen = &connections_->by_affinity(request.affinity);
  if (!options_.route_by_shard || request.row.size == 0) return *chosen;
  const Bytes name = request.table;
  Table& table = table_of(name);
  ++table.requests;
  TabletMap::Place place;
  if (connections_->shards() > 1 && table.map.known()) {
    place = table.map.locate(request.part(request.row));
    if (place.tablet_id == 0) fetch_map(name, table);
    connections_->cover();
    if (Connection* there = connections_->by_shard(place.shard, request.affinity)) {
      chosen = there;
      ++stats_.routed;
    }
  } else if (connections_->shards() > 1 && table.requests > kRouteAfter) {
    fetch_map(name, table);
  }
  if (!request.by_row) return *chosen;
  call.tablet_id_ = place.tablet_id;
  call.epoch_ = place.epoch;
  if (!request.writes) return *chosen;
  if (call.sticky_row_ == 0) {
    call.sticky_row_ = hash_of(name, request.part(request.row));
    ++sticky_[call.sticky_row_].writes;
  }
  Sticky& sticky = sticky_[call.sticky_row_];
  if (sticky.connection == nullptr || sticky.writes == 1) sticky.connection = chosen;
  return *sticky.connection;
}

void Dispatcher::unstick(Call& call) {
  if (call.sticky_row_ == 0) return;
  const auto at = sticky_.find(std::exchange(call.sticky_row_, 0));
  if (--at->second.writes == 0) sticky_.erase(at);
}

void Dispatcher::on_connection_lost(Connection& connection) {
  for (auto& [row, sticky] : sticky_) {
    if (sticky.connection == &connection) sticky.connection = nullptr;
  }
}

void Dispatcher::on_another_node() {
  for (auto& [name, table] : tables_) table->map.clear();
}

void Dispatcher::on_stale(const StaleTablet& tablet) {
  const auto at = tables_.find(tablet.table);
  if (at != tables_.end() && at->second->map.learn(tablet)) ++stats_.stale;
}

void Dispatcher::on_orphans(CallList calls) {
  while (!calls.empty()) {
    Call& call = calls.front();
    calls.pop_front();
    send(call);
  }
}

std::optional<uint32_t> Dispatcher::shard_of(std::string_view name, Bytes row) {
  if (!options_.route_by_shard || !connections_ || connections_->shards() < 2) return {};
  const auto at = tables_.find(name);
  if (at == tables_.end() || !at->second->map.known()) return {};
  const uint32_t shard = at->second->map.locate(row).shard;
  return shard < connections_->shards() ? std::optional(shard) : std::nullopt;
}

Dispatcher::Table& Dispatcher::table_of(std::string_view name) {
  const auto at = tables_.find(name);
  if (at != tables_.end()) return *at->second;
  // Unknown table names must not fill the memory; maps being fetched are added again.
  if (tables_.size() >= kMaxTables) tables_.clear();
  return *tables_.emplace(name, std::make_unique<Table>()).first->second;
}

void Dispatcher::fetch_map(std::string_view name, Table& table) {
  const int64_t now_us = env_.timers.now_us();
  if (table.fetching || now_us < table.fetch_from_us) return;
  table.fetching = true;
  table.fetch_from_us = now_us + kMapPauseUs;
  ++stats_.maps;
  auto learn = [this, alive = std::weak_ptr<bool>(alive_),
                key = std::string(name)](Result<TableDescription> described) {
    if (alive.expired()) return;
    const auto at = tables_.find(key);
    if (at == tables_.end()) return;
    at->second->fetching = false;
    if (described && !described->tablets.empty() && at->second->owner.empty()) {
      at->second->map.assign(std::move(described->tablets));
    }
  };
  using Completed = HandlerCompletion<TableDescription, decltype(learn)>;
  Request request = encoder_->describe_table(name);
  request.deadline_us = options_.request_deadline_us;
  Call* call = UnaryCall<TableDescription>::make(
      pool_, env_.timers, std::move(request), &decode_table, false,
      Completed::make(pool_, env_.executor, std::move(learn)));
  call->owner_ = this;
  if (options_.request_deadline_us > 0) {
    call->deadline_us_ = now_us + options_.request_deadline_us;
  }
  charge(*call);
  send(*call);
}

}  // namespace cellar::client
