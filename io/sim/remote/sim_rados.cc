#include "io/sim/remote/sim_rados.h"

#include <algorithm>
#include <cerrno>

#include "io/base/check.h"
#include "io/sim/remote/sim_rados_port.h"

namespace cellar {

// One copy of a request is any arrival of its message.
struct SimRados::Message {
  uint64_t client = 0;
  uint64_t number = 0;
  Key key;
  RadosRequest::Kind kind = RadosRequest::Kind::write;
  std::vector<RadosStep> steps;
  uint64_t offset = 0;
  size_t size = 0;
  std::string after;
  std::vector<std::string> keys;

  CopyId id() const { return {client, number}; }
  bool is_write() const { return kind == RadosRequest::Kind::write; }
  bool is_guarded() const {
    return std::ranges::any_of(steps, [](const RadosStep& step) {
      return step.kind == RadosStep::Kind::require_xattr ||
             step.kind == RadosStep::Kind::require_exists;
    });
  }
};

struct SimRados::Answer {
  int result = 0;
  std::string bytes;
  RadosStat stat;
  RadosPairs pairs;
  bool more = false;
};

// The lock of one object, and who waits for it in the order of arrival. Reads share it, unguarded
// writes share it, a guarded write has it alone.
struct SimRados::Lock {
  std::deque<MessagePtr> waiting;
  std::vector<MessagePtr> holders;
  int64_t last_commit_us = 0;

  bool admits(const Message& message) const {
    if (holders.empty()) return true;
    const Message& first = *holders.front();
    if (message.is_write() != first.is_write()) return false;
    return !message.is_write() || (!message.is_guarded() && !first.is_guarded());
  }
};

struct SimRados::Group {
  std::map<CopyId, int> results;  // of the writes that are remembered
  std::deque<CopyId> order;       // of these, oldest first
};

struct SimRados::Pool {
  std::string name;
  bool erasure_coded = false;
  std::vector<Group> groups;
  bool removed = false;
};

SimRados::SimRados(SimWorld& world, SimRadosOptions options, SimRadosObjects* objects)
    : world_(world),
      options_(options),
      random_(world.random().next()),
      loop_(world.add_loop()),
      timer_(
          loop_.timers(), [](void* self) { static_cast<SimRados*>(self)->run_due(); }, this),
      objects_(objects != nullptr ? *objects : own_objects_) {}

SimRados::~SimRados() {
  CHECK(clients_.empty(), "{} ports outlive their cluster", clients_.size());
}

void SimRados::add_pool(std::string name, bool erasure_coded) {
  pools_.push_back({std::move(name), erasure_coded, std::vector<Group>(options_.groups)});
}

std::unique_ptr<RadosPort> SimRados::connect(Loop& loop, RadosShare share) {
  return std::make_unique<SimRadosPort>(*this, loop, share);
}

void SimRados::schedule(int64_t delay_us, std::function<void()> event) {
  events_.emplace(world_.now_us() + delay_us, std::move(event));
  timer_.arm_after_us(std::max<int64_t>(0, events_.begin()->first - world_.now_us()));
}

void SimRados::run_due() {
  while (!events_.empty() && events_.begin()->first <= world_.now_us()) {
    const auto event = std::move(events_.begin()->second);
    events_.erase(events_.begin());
    event();
  }
  if (!events_.empty()) timer_.arm_after_us(events_.begin()->first - world_.now_us());
}

int64_t SimRados::network_us() {
  int64_t us = options_.network_us;
  if (options_.jitter_us > 0) {
    us += static_cast<int64_t>(random_.below(static_cast<uint64_t>(options_.jitter_us)));
  }
  return us;
}

bool SimRados::awaited(const Message& message) const {
  const auto client = clients_.find(message.client);
  return client != clients_.end() && client->second->pending_.contains(message.number);
}

void SimRados::resend_later(const MessagePtr& message) {
  ++counts_.lost;
  schedule(options_.resend_us, [this, message] {
    if (awaited(*message)) transmit(message);
  });
}

void SimRados::transmit(const MessagePtr& message) {
  if (chance(faults_.lose_request)) return resend_later(message);
  int64_t at_us = world_.now_us() + network_us();
  if (chance(faults_.delay)) {
    at_us += static_cast<int64_t>(random_.below(static_cast<uint64_t>(faults_.delay_us) + 1));
  } else {
    int64_t& last_us = last_arrival_us_[{message->client, message->key}];
    last_us = at_us = std::max(at_us, last_us);
  }
  const int copies = chance(faults_.duplicate_request) ? 2 : 1;
  for (int i = 0; i < copies; ++i) {
    schedule(at_us - world_.now_us(), [this, message] { arrive(message); });
    at_us += network_us();
  }
}

void SimRados::arrive(const MessagePtr& message) {
  if (world_.now_us() < hangs_until_us_) {
    return schedule(hangs_until_us_ - world_.now_us(), [this, message] { arrive(message); });
  }
  locks_[message->key].waiting.push_back(message);
  start_waiting(message->key);
}

// `key` is not a reference into `locks_`.
void SimRados::start_waiting(const Key& key) {
  Lock& lock = locks_[key];
  while (!lock.waiting.empty() && lock.admits(*lock.waiting.front())) {
    const MessagePtr message = std::move(lock.waiting.front());
    lock.waiting.pop_front();
    // A copy of a write that is being made is answered with it.
    const bool twice =
        message->is_write() && std::ranges::any_of(lock.holders, [&](const MessagePtr& holder) {
          return holder->id() == message->id();
        });
    if (twice) {
      ++counts_.recognised;
      continue;
    }
    lock.holders.push_back(message);
    int64_t at_us = world_.now_us() + (message->is_write() ? options_.commit_us : 1) + network_us();
    lock.last_commit_us = at_us = std::max(at_us, lock.last_commit_us);
    schedule(at_us - world_.now_us(), [this, message] { commit(message); });
  }
  if (lock.holders.empty() && lock.waiting.empty()) locks_.erase(key);
}

void SimRados::commit(const MessagePtr& message) {
  Lock& lock = locks_[message->key];
  const auto holder = std::ranges::find(lock.holders, message);
  if (holder == lock.holders.end()) return;  // a failover came first
  lock.holders.erase(holder);
  auto answer = std::make_shared<Answer>();
  answer->result = carry_out(*message, *answer);
  reply(message, std::move(answer));
  start_waiting(message->key);
}

SimRados::Group& SimRados::group_of(const Key& key) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a: the same in every run
  for (const char c : std::get<2>(key)) {
    hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  }
  auto& groups = pools_[std::get<0>(key)].groups;
  return groups[hash % groups.size()];
}

int SimRados::carry_out(const Message& message, Answer& answer) {
  if (pools_[std::get<0>(message.key)].removed) return -ENOENT;
  if (message.is_write()) {
    Group& group = group_of(message.key);
    const auto known = group.results.find(message.id());
    if (known != group.results.end()) {
      ++counts_.recognised;
      return known->second;
    }
    const int result = make(message);
    group.results[message.id()] = result;
    group.order.push_back(message.id());
    while (group.order.size() > options_.remembered) {
      group.results.erase(group.order.front());
      group.order.pop_front();
    }
    return result;
  }
  const auto object = objects_.find(message.key);
  if (object == objects_.end()) return -ENOENT;
  const SimRadosObject& it = object->second;
  switch (message.kind) {
    case RadosRequest::Kind::read:
      if (message.offset < it.content.size()) {
        answer.bytes = it.content.substr(message.offset, message.size);
      }
      break;
    case RadosRequest::Kind::stat:
      answer.stat.size = it.content.size();
      break;
    case RadosRequest::Kind::xattrs:
      answer.pairs.assign(it.xattrs.begin(), it.xattrs.end());
      break;
    case RadosRequest::Kind::omap:
      for (auto at = it.omap.upper_bound(message.after); at != it.omap.end(); ++at) {
        if (answer.pairs.size() == message.size) answer.more = true;
        if (answer.more) break;
        answer.pairs.push_back(*at);
      }
      break;
    case RadosRequest::Kind::omap_values:
      for (const std::string& key : message.keys) {
        if (const auto at = it.omap.find(key); at != it.omap.end()) answer.pairs.push_back(*at);
      }
      std::ranges::sort(answer.pairs);
      break;
    case RadosRequest::Kind::write:
      break;
  }
  return 0;
}

namespace {

// The answer of one guard or the effect of one change on `object`, which is null if absent.
int apply_step(const RadosStep& step, std::optional<SimRadosObject>& object, bool erasure_coded) {
  switch (step.kind) {
    case RadosStep::Kind::require_xattr: {
      if (!object) return -ENOENT;
      const auto at = object->xattrs.find(step.key);
      return (at == object->xattrs.end() ? std::string() : at->second) == step.value ? 0
                                                                                     : -ECANCELED;
    }
    case RadosStep::Kind::require_exists:
      return object ? 0 : -ENOENT;
    case RadosStep::Kind::create_new:
      if (object) return -EEXIST;
      object.emplace();
      return 0;
    case RadosStep::Kind::remove:
      if (!object) return -ENOENT;
      object.reset();
      return 0;
    default:
      break;
  }
  if (!object) object.emplace();
  switch (step.kind) {
    case RadosStep::Kind::write:
      if (erasure_coded && step.offset != object->content.size()) return -EOPNOTSUPP;
      if (object->content.size() < step.offset + step.value.size()) {
        object->content.resize(step.offset + step.value.size());
      }
      object->content.replace(step.offset, step.value.size(), step.value);
      return 0;
    case RadosStep::Kind::write_full:
      object->content = step.value;
      return 0;
    case RadosStep::Kind::set_xattr:
      object->xattrs[step.key] = step.value;
      return 0;
    case RadosStep::Kind::set_omap:
      if (erasure_coded) return -EOPNOTSUPP;
      object->omap[step.key] = step.value;
      return 0;
    case RadosStep::Kind::remove_omap:
      if (erasure_coded) return -EOPNOTSUPP;
      object->omap.erase(step.key);
      return 0;
    default:
      return 0;
  }
}

bool adds_data(const std::vector<RadosStep>& steps) {
  return std::ranges::any_of(steps, [](const RadosStep& step) {
    return step.kind == RadosStep::Kind::write || step.kind == RadosStep::Kind::write_full ||
           step.kind == RadosStep::Kind::set_omap;
  });
}

}  // namespace

int SimRados::make(const Message& message) {
  if (full_ && adds_data(message.steps)) return -ENOSPC;
  const auto at = objects_.find(message.key);
  std::optional<SimRadosObject> object;
  if (at != objects_.end()) object = at->second;
  const bool erasure_coded = pools_[std::get<0>(message.key)].erasure_coded;
  for (const RadosStep& step : message.steps) {
    const int result = apply_step(step, object, erasure_coded);
    if (result == 0) continue;
    ++counts_.refused;
    return result;
  }
  ++counts_.made;
  if (!made_.insert(message.id()).second) ++counts_.made_again;
  if (!awaited(message) || !call_waits(message)) ++counts_.made_unawaited;
  if (object) {
    objects_[message.key] = *std::move(object);
  } else {
    objects_.erase(message.key);
  }
  return 0;
}

bool SimRados::call_waits(const Message& message) const {
  return clients_.at(message.client)->pending_.at(message.number)->call != nullptr;
}

void SimRados::reply(const MessagePtr& message, std::shared_ptr<const Answer> answer) {
  if (chance(faults_.lose_reply)) return resend_later(message);
  int64_t delay_us = network_us();
  if (chance(faults_.delay)) {
    delay_us += static_cast<int64_t>(random_.below(static_cast<uint64_t>(faults_.delay_us) + 1));
  }
  const int copies = chance(faults_.duplicate_reply) ? 2 : 1;
  for (int i = 0; i < copies; ++i) {
    schedule(delay_us, [this, message, answer] {
      if (awaited(*message)) {
        clients_.at(message->client)->answered(message->number, *answer);
      } else {
        ++counts_.stale_replies;
      }
    });
    delay_us += network_us();
  }
}

void SimRados::fail_over() {
  std::map<Key, Lock> locks;
  locks.swap(locks_);
  for (auto& [key, lock] : locks) {
    for (const MessagePtr& message : lock.holders) {
      Answer nobody_gets;
      if (message->is_write() && random_.one_in(2)) carry_out(*message, nobody_gets);
      resend_later(message);
    }
    for (const MessagePtr& message : lock.waiting) resend_later(message);
  }
}

void SimRados::hang_us(int64_t us) {
  hangs_until_us_ = std::max(hangs_until_us_, world_.now_us() + us);
}

void SimRados::remove_pool(const std::string& name) {
  for (uint32_t i = 0; i < pools_.size(); ++i) {
    if (pools_[i].name != name) continue;
    pools_[i].removed = true;
    std::erase_if(objects_, [i](const auto& entry) { return std::get<0>(entry.first) == i; });
  }
}

const SimRadosObject* SimRados::peek(const std::string& pool, const std::string& name_space,
                                     const std::string& name) const {
  for (uint32_t i = 0; i < pools_.size(); ++i) {
    const auto at = objects_.find({i, name_space, name});
    if (pools_[i].name == pool && at != objects_.end()) return &at->second;
  }
  return nullptr;
}

SimRadosObject* SimRados::touch(const std::string& pool, const std::string& name_space,
                                const std::string& name) {
  return const_cast<SimRadosObject*>(peek(pool, name_space, name));
}

SimRadosPort::SimRadosPort(SimRados& cluster, Loop& loop, RadosShare share)
    : RadosPort(loop.timers(), share),
      cluster_(cluster),
      timers_(loop.timers()),
      client_(cluster.next_client_++) {
  cluster_.clients_.emplace(client_, this);
}

SimRadosPort::~SimRadosPort() {
  cluster_.clients_.erase(client_);
  drop_in_flight();
}

Async<Result<void>> SimRadosPort::look(std::string what) {
  const auto closing = [] {
    return fail(Errc::unavailable, "the connection to the Ceph cluster is closing");
  };
  if (is_closed()) co_return closing();
  ++looks_;
  const int64_t limit_us = timers_.now_us() + cluster_.options_.look_us;
  co_await sleep_us(timers_, cluster_.network_us());
  while (cluster_.world_.now_us() < cluster_.hangs_until_us_ && timers_.now_us() < limit_us) {
    const int64_t hang_us = cluster_.hangs_until_us_ - cluster_.world_.now_us();
    co_await sleep_us(timers_, std::min(hang_us, limit_us - timers_.now_us()));
  }
  --looks_;
  looks_over_.notify_all();
  if (timers_.now_us() >= limit_us || cluster_.chance(cluster_.faults_.fail_look)) {
    co_return std::unexpected(look_error(-ETIMEDOUT, what));
  }
  if (is_closed()) co_return closing();
  co_return Result<void>();
}

Async<void> SimRadosPort::release() {
  while (looks_ > 0) co_await looks_over_.wait();
}

Async<Result<RadosPool>> SimRadosPort::open_pool(std::string pool, std::string name_space) {
  CO_TRY_VOID(co_await look(fmt::format("the pool '{}' of the Ceph cluster", pool)));
  CO_TRY_VOID(admit_pool(pools_.size()));
  for (uint32_t i = 0; i < cluster_.pools_.size(); ++i) {
    if (cluster_.pools_[i].name != pool || cluster_.pools_[i].removed) continue;
    pools_.push_back({i, std::move(name_space)});
    co_return RadosPool(static_cast<uint32_t>(pools_.size() - 1));
  }
  co_return fail(Errc::not_found, "the Ceph cluster has no pool '{}'", pool);
}

Async<Result<std::vector<std::string>>> SimRadosPort::list(RadosPool pool, std::string prefix) {
  CO_TRY_VOID(co_await look("listing a Ceph pool"));
  const OpenPool& open = pools_.at(pool.value());
  if (cluster_.pools_[open.index].removed) {
    co_return fail(Errc::not_found, "the Ceph cluster has the pool no more");
  }
  std::vector<std::string> names;
  for (const auto& [key, object] : cluster_.objects_) {
    const auto& [index, name_space, name] = key;
    if (index == open.index && name_space == open.name_space && name.starts_with(prefix)) {
      names.push_back(name);
    }
  }
  co_return names;
}

void SimRadosPort::send(RadosRequest& request) {
  const OpenPool& open = pools_.at(request.object.pool.value());
  auto message = std::make_shared<SimRados::Message>();
  message->client = client_;
  message->number = next_number_++;
  message->key = {open.index, open.name_space, request.object.name};
  message->kind = request.kind;
  message->steps = request.steps;
  message->offset = request.offset;
  message->size = request.size;
  message->after = request.after;
  message->keys = request.keys;
  pending_.emplace(message->number, &request);
  cluster_.transmit(message);
}

void SimRadosPort::give_up(RadosRequest& request) {
  const auto at =
      std::ranges::find_if(pending_, [&](const auto& one) { return one.second == &request; });
  if (at == pending_.end()) return;  // given up before
  SimRados::Answer nothing;
  nothing.result = -ECANCELED;
  answered(at->first, nothing);
}

void SimRadosPort::answered(uint64_t number, const SimRados::Answer& answer) {
  const auto at = pending_.find(number);
  RadosRequest& request = *at->second;
  pending_.erase(at);
  request.result = answer.result;
  if (request.kind == RadosRequest::Kind::read) {
    std::copy(answer.bytes.begin(), answer.bytes.end(), request.bytes.buffer.chars());
    request.bytes.data = request.bytes.buffer.bytes(0, answer.bytes.size());
  }
  request.stat = answer.stat;
  request.pairs = answer.pairs;
  request.more = answer.more;
  landed(request);
}

}  // namespace cellar
