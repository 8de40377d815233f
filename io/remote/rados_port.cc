#include "io/remote/rados_port.h"

#include <algorithm>
#include <cerrno>

#include "io/base/check.h"

namespace cellar {
namespace {

constexpr uint32_t kRetryMs = 100;

std::string_view verb_of(RadosRequest::Kind kind) {
  switch (kind) {
    case RadosRequest::Kind::write:
      return "write to";
    case RadosRequest::Kind::read:
      return "read of";
    case RadosRequest::Kind::stat:
      return "size of";
    case RadosRequest::Kind::xattrs:
      return "attributes of";
    case RadosRequest::Kind::omap:
    case RadosRequest::Kind::omap_values:
      return "omap of";
  }
  return "call of";
}

uint64_t cost_of(const RadosRequest& request) {
  uint64_t bytes = request.kind == RadosRequest::Kind::read ? request.size : 0;
  for (const RadosStep& step : request.steps) bytes += step.key.size() + step.value.size();
  for (const std::string& key : request.keys) bytes += key.size();
  return bytes;
}

bool has_zero_byte(const std::string& text) { return text.find('\0') != std::string::npos; }

// An OSD judges steps in their order, but makes the changes after all of them.
bool guards_come_first(const std::vector<RadosStep>& steps) {
  const auto is_guard = [](const RadosStep& step) {
    return step.kind == RadosStep::Kind::require_xattr ||
           step.kind == RadosStep::Kind::require_exists;
  };
  return std::ranges::is_partitioned(steps, is_guard);
}

// The cluster rejects such a write whatever the state of the object, so no copy of it was applied.
bool never_applied(int error) {
  return error == EINVAL || error == EOPNOTSUPP || error == EMSGSIZE || error == EFBIG ||
         error == E2BIG || error == ENAMETOOLONG || error == EPERM || error == EACCES;
}

Error error_of(const RadosRequest& request) {
  const int error = -request.result;
  const std::string what =
      fmt::format("{} RADOS object '{}'", verb_of(request.kind), request.object.name);
  if (error == EIO) return {Errc::data_loss, fmt::format("{}: no replica is intact", what)};
  if (error == EOPNOTSUPP) {
    return {Errc::unimplemented,
            fmt::format("{}: the pool has no omap, as one with erasure coding", what)};
  }
  if (error == EINVAL || error == EMSGSIZE || error == EFBIG || error == E2BIG ||
      error == ENAMETOOLONG) {
    return {Errc::invalid_argument, fmt::format("{}: rejected by the cluster ({})", what, error)};
  }
  return os_error(error, what);
}

}  // namespace

RadosPort::Call::Call(RadosPort& p, RequestPtr r)
    : port(p), request(std::move(r)), timer(p.timers_, &on_time, this) {}

RadosPort::Call::~Call() {
  if (sent != nullptr) sent->call = nullptr;
  if (waits) --port.figures_.waiting;
}

void RadosPort::Call::on_time(void* self) {
  auto& call = *static_cast<Call*>(self);
  call.port.end_early(call, Errc::deadline_exceeded);
}

RadosShare RadosPort::share_of(uint32_t shards) {
  CHECK(shards >= 1 && shards <= kMaxShardsOfHandle, "{} shards of a handle", shards);
  return {kMaxInFlight / shards, kMaxBytesInFlight / shards};
}

RadosPort::~RadosPort() {
  CHECK(in_flight_.empty(), "a RadosPort was destroyed with {} operations in flight",
        figures_.in_flight);
}

void RadosPort::drop_in_flight() {
  in_flight_.clear_and_dispose([](RadosRequest* request) { delete request; });
}

RadosFigures RadosPort::figures() const { return figures_; }

Result<void> RadosPort::admit(const RadosRequest& request, int64_t timeout_us) const {
  const std::string& name = request.object.name;
  if (closed_) return fail(Errc::unavailable, "the connection to the Ceph cluster is closing");
  CHECK(timeout_us >= 1 && timeout_us <= kMaxTimeoutUs, "a time limit of {} us", timeout_us);
  if (name.empty() || name.size() > kMaxNameBytes) {
    return fail(Errc::invalid_argument, "a RADOS object's name has 1 to {} bytes, not {}",
                kMaxNameBytes, name.size());
  }
  // 0 is the whole object for RADOS.
  if (request.kind == RadosRequest::Kind::read && request.size == 0) {
    return fail(Errc::invalid_argument, "a read of 0 bytes of '{}'", escape_bytes(name));
  }
  if (request.cost_bytes > kMaxCallBytes) {
    return fail(Errc::invalid_argument, "{} '{}' has {} bytes, where {} are possible",
                verb_of(request.kind), name, request.cost_bytes, kMaxCallBytes);
  }
  if (request.steps.size() > kMaxSteps || request.keys.size() > kMaxOmapEntries) {
    return fail(Errc::invalid_argument, "{} '{}' has {} parts, where {} are possible",
                verb_of(request.kind), name, request.steps.size() + request.keys.size(), kMaxSteps);
  }
  // librados takes names of objects and attributes, and where a page of omap begins, as C strings.
  bool has_zero = has_zero_byte(name) || has_zero_byte(request.after);
  for (const std::string& key : request.keys) has_zero = has_zero || has_zero_byte(key);
  for (const RadosStep& step : request.steps) {
    has_zero = has_zero || has_zero_byte(step.key);
    if (step.kind != RadosStep::Kind::set_xattr || step.value.size() <= kMaxXattrBytes) continue;
    return fail(Errc::invalid_argument,
                "attribute '{}' of '{}' has {} bytes, where {} are possible", step.key, name,
                step.value.size(), kMaxXattrBytes);
  }
  if (has_zero) {
    return fail(Errc::invalid_argument, "{} '{}': a name or key has a zero byte",
                verb_of(request.kind), escape_bytes(name));
  }
  if (figures_.waiting >= kMaxWaiting) {
    return fail(Errc::resource_exhausted, "{} calls wait for the Ceph cluster already",
                kMaxWaiting);
  }
  return {};
}

Result<void> RadosPort::admit_pool(size_t open) const {
  if (closed_) return fail(Errc::unavailable, "the connection to the Ceph cluster is closing");
  if (open < kMaxPools) return {};
  return fail(Errc::resource_exhausted, "{} pools of the Ceph cluster are open already", open);
}

Async<Result<RadosPort::RequestPtr>> RadosPort::carry_out(RequestPtr request, int64_t timeout_us) {
  request->cost_bytes = cost_of(*request);
  CO_TRY_VOID(admit(*request, timeout_us));
  Call call(*this, std::move(request));
  call.timer.arm_after_us(timeout_us);
  call.waits = true;
  ++figures_.waiting;
  waiting_.push_back(call);
  send_waiting();
  co_await call.waiter.wait();
  co_return finished(call);
}

void RadosPort::send_waiting() {
  while (!waiting_.empty()) {
    Call& call = waiting_.front();
    const uint64_t bytes = call.request->cost_bytes;
    if (figures_.in_flight >= share_.operations) return;
    if (figures_.in_flight > 0 && figures_.bytes_in_flight + bytes > share_.bytes) return;
    waiting_.pop_front();
    call.waits = false;
    --figures_.waiting;
    ++figures_.in_flight;
    figures_.bytes_in_flight += bytes;
    call.request->call = &call;
    call.was_sent = true;
    if (call.request->kind == RadosRequest::Kind::read) {
      call.request->bytes.buffer = AlignedBuffer(call.request->size);
    }
    call.sent = call.request.release();
    in_flight_.push_back(*call.sent);
    send(*call.sent);
  }
}

void RadosPort::landed(RadosRequest& request) {
  in_flight_.erase(in_flight_.iterator_to(request));
  --figures_.in_flight;
  figures_.bytes_in_flight -= request.cost_bytes;
  RequestPtr mine(&request);
  if (request.call != nullptr) {
    auto& call = *static_cast<Call*>(request.call);
    call.sent = nullptr;
    call.request = std::move(mine);
    call.end = Call::End::landed;
    call.timer.cancel();
    call.waiter.resume();
  } else {
    ++figures_.late;
  }
  if (in_flight_.empty()) empty_.notify_all();
  send_waiting();
}

// The body keeps a request that was sent, and its room stays taken until it has landed.
void RadosPort::end_early(Call& call, Errc why) {
  call.end = why == Errc::deadline_exceeded ? Call::End::timed_out : Call::End::closed;
  call.timer.cancel();
  if (call.waits) {
    call.unlink();
    call.waits = false;
    --figures_.waiting;
  }
  if (call.sent != nullptr) std::exchange(call.sent, nullptr)->call = nullptr;
  call.waiter.resume();
}

Error RadosPort::look_error(int result, std::string_view what) {
  Error error = os_error(-result, what);
  if (result == -ETIMEDOUT) error.retry_after(kRetryMs);
  return error;
}

Result<RadosPort::RequestPtr> RadosPort::finished(Call& call) {
  if (call.end == Call::End::landed) return std::move(call.request);
  const bool timed_out = call.end == Call::End::timed_out;
  Error error(timed_out ? Errc::deadline_exceeded : Errc::unavailable,
              timed_out ? "the Ceph cluster has not answered in time"
                        : "the connection to the Ceph cluster is closing");
  return std::unexpected(std::move(error).retry_after(kRetryMs).outcome(
      call.was_sent ? Applied::maybe_applied : Applied::not_applied));
}

Async<Result<RadosOutcome>> RadosPort::write(RadosObject object, RadosWrite write,
                                             int64_t timeout_us) {
  auto request = std::make_unique<RadosRequest>();
  request->kind = RadosRequest::Kind::write;
  request->object = std::move(object);
  request->steps = std::move(write).take_steps();
  if (request->steps.empty()) {
    co_return fail(Errc::invalid_argument, "a write to '{}' without a step", request->object.name);
  }
  CHECK(guards_come_first(request->steps), "a guard behind a change of '{}'", request->object.name);
  auto done = co_await carry_out(std::move(request), timeout_us);
  if (!done && done.error().applied == Applied::not_applied) {
    ++figures_.failed;
    co_return std::unexpected(std::move(done).error());
  }
  if (!done) {
    ++figures_.unknown;
    co_return RadosUnknown{std::move(done).error()};
  }
  const RadosRequest& answer = **done;
  switch (-answer.result) {
    case 0:
      ++figures_.applied;
      co_return RadosApplied{};
    case ECANCELED:
      ++figures_.refused;
      co_return RadosRefused{RadosRefused::Reason::guard};
    case ENOENT:
      ++figures_.refused;
      co_return RadosRefused{RadosRefused::Reason::absent};
    case EEXIST:
      ++figures_.refused;
      co_return RadosRefused{RadosRefused::Reason::exists};
    default:
      break;
  }
  if (never_applied(-answer.result)) {
    ++figures_.failed;
    co_return std::unexpected(error_of(answer));
  }
  ++figures_.unknown;
  co_return RadosUnknown{error_of(answer).outcome(Applied::maybe_applied)};
}

namespace {

std::unique_ptr<RadosRequest> request_of(RadosRequest::Kind kind, RadosObject object) {
  auto request = std::make_unique<RadosRequest>();
  request->kind = kind;
  request->object = std::move(object);
  return request;
}

Result<std::unique_ptr<RadosRequest>> checked(Result<std::unique_ptr<RadosRequest>> done,
                                              RadosFigures& figures) {
  if (done && (*done)->result == 0) {
    ++figures.reads;
    return done;
  }
  ++figures.failed;
  if (done) return std::unexpected(error_of(**done));
  done.error().applied = Applied::not_applied;
  return done;
}

}  // namespace

Async<Result<RadosBytes>> RadosPort::read(RadosObject object, uint64_t offset, size_t size,
                                          int64_t timeout_us, bool any_replica) {
  auto request = request_of(RadosRequest::Kind::read, std::move(object));
  request->offset = offset;
  request->size = size;
  request->any_replica = any_replica;
  auto done = co_await carry_out(std::move(request), timeout_us);
  CO_TRY(const auto answer, checked(std::move(done), figures_));
  co_return std::move(answer->bytes);
}

Async<Result<RadosStat>> RadosPort::stat(RadosObject object, int64_t timeout_us) {
  auto request = request_of(RadosRequest::Kind::stat, std::move(object));
  auto done = co_await carry_out(std::move(request), timeout_us);
  CO_TRY(const auto answer, checked(std::move(done), figures_));
  co_return answer->stat;
}

Async<Result<RadosPairs>> RadosPort::xattrs(RadosObject object, int64_t timeout_us) {
  auto request = request_of(RadosRequest::Kind::xattrs, std::move(object));
  auto done = co_await carry_out(std::move(request), timeout_us);
  CO_TRY(const auto answer, checked(std::move(done), figures_));
  co_return std::move(answer->pairs);
}

Async<Result<RadosOmapPage>> RadosPort::omap(RadosObject object, std::string after, size_t most,
                                             int64_t timeout_us) {
  CHECK(most >= 1 && most <= kMaxOmapEntries, "a page of {} entries", most);
  auto request = request_of(RadosRequest::Kind::omap, std::move(object));
  request->after = std::move(after);
  request->size = most;
  auto done = co_await carry_out(std::move(request), timeout_us);
  CO_TRY(const auto answer, checked(std::move(done), figures_));
  RadosOmapPage page{std::move(answer->pairs), answer->more};
  co_return page;
}

Async<Result<RadosPairs>> RadosPort::omap_values(RadosObject object, std::vector<std::string> keys,
                                                 int64_t timeout_us) {
  auto request = request_of(RadosRequest::Kind::omap_values, std::move(object));
  request->keys = std::move(keys);
  auto done = co_await carry_out(std::move(request), timeout_us);
  CO_TRY(const auto answer, checked(std::move(done), figures_));
  co_return std::move(answer->pairs);
}

Async<void> RadosPort::close() {
  if (closing_) {
    while (closing_) co_await closing_over_.wait();
    co_return;
  }
  closing_ = true;
  closed_ = true;
  while (!waiting_.empty()) end_early(waiting_.front(), Errc::unavailable);
  for (auto at = in_flight_.begin(); at != in_flight_.end();) {
    RadosRequest& request = *at++;
    if (request.call != nullptr) end_early(*static_cast<Call*>(request.call), Errc::unavailable);
    give_up(request);
  }
  while (!in_flight_.empty()) co_await empty_.wait();
  co_await release();
  closing_ = false;
  closing_over_.notify_all();
}

}  // namespace cellar
