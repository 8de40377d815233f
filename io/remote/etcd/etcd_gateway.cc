#include "io/remote/etcd/etcd_gateway.h"

#include <algorithm>
#include <utility>

#include "io/base/log.h"
#include "io/remote/alarm.h"
#include "io/remote/etcd/gateway_watch.h"
#include "io/remote/etcd/json_codec.h"

namespace cellar {

using namespace etcd;

namespace {

constexpr const char* kRange = "/v3/kv/range";
constexpr const char* kTxn = "/v3/kv/txn";
constexpr const char* kCompaction = "/v3/kv/compaction";
constexpr const char* kGrant = "/v3/lease/grant";
constexpr const char* kKeepAlive = "/v3/lease/keepalive";
constexpr const char* kRevoke = "/v3/lease/revoke";
constexpr const char* kTimeToLive = "/v3/lease/timetolive";
constexpr const char* kLeases = "/v3/lease/leases";
constexpr const char* kMembers = "/v3/cluster/member/list";
constexpr const char* kStatus = "/v3/maintenance/status";
constexpr const char* kAuthenticate = "/v3/auth/authenticate";

Errc code_of(const Refusal& refusal) { return static_cast<Errc>(refusal.grpc_code); }

// etcd itself says so before it proposes: nothing was applied. That its quota is exceeded it says
// then, too, but also of a change that it has just applied.
bool is_certain(const Refusal& refusal) {
  if (!refusal.message.starts_with("etcdserver: ")) return false;
  switch (code_of(refusal)) {
    case Errc::invalid_argument:
    case Errc::not_found:
    case Errc::permission_denied:
    case Errc::failed_precondition:
    case Errc::out_of_range:
    case Errc::unauthenticated:
      return true;
    case Errc::resource_exhausted:
      return refusal.message == "etcdserver: too many requests";
    case Errc::unavailable:
      return refusal.message == "etcdserver: no leader";
    default:
      return false;
  }
}

std::unexpected<Error> gone(LeaseId id) {
  return fail(Errc::not_found, "etcd: lease {} has expired or was revoked", id);
}

std::unexpected<Error> closed() { return fail(Errc::cancelled, "the etcd client is closed"); }

}  // namespace

// A call in flight.
class EtcdGateway::Call {
 public:
  explicit Call(size_t& count) : count_(count) { ++count_; }
  ~Call() { --count_; }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  size_t& count_;
};

Result<std::unique_ptr<EtcdGateway>> EtcdGateway::make(EtcdOptions options, Network& network,
                                                       Timers& timers, ShardExecutor executor,
                                                       Random& random) {
  if (options.endpoints.empty() || options.endpoints.size() > kMaxEndpoints) {
    return fail(Errc::invalid_argument, "etcd: {} endpoints; from 1 to {} are permitted",
                options.endpoints.size(), kMaxEndpoints);
  }
  if (!options.user.empty() && options.tls == nullptr) {
    return fail(Errc::invalid_argument, "etcd: a user and a password need TLS");
  }
  return std::unique_ptr<EtcdGateway>(
      new EtcdGateway(std::move(options), network, timers, executor, random));
}

EtcdGateway::EtcdGateway(EtcdOptions options, Network& network, Timers& timers,
                         ShardExecutor executor, Random& random)
    : options_(std::move(options)),
      network_(network),
      timers_(timers),
      executor_(executor),
      random_(random),
      login_patience_us_(options_.attempt_us) {}

EtcdGateway::~EtcdGateway() {
  CHECK(watches_.empty(), "{} watches outlive their port", watches_.size());
}

Async<void> EtcdGateway::close() {
  closing_ = true;
  login_over_.notify_all();
  idle_.clear();
  for (HttpLink* link : busy_) link->close();
  for (GatewayWatch* watch : watches_) watch->close();
  co_await gate_.close();
}

// ---- attempts ----

std::string EtcdGateway::request_of(std::string_view path, std::string_view body, const Address& to,
                                    std::string_view token) {
  std::string text = fmt::format(
      "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n"
      "Grpc-Metadata-hasleader: true\r\nContent-Length: {}\r\n",
      path, format_address(to.host, to.port), body.size());
  if (!token.empty()) text += fmt::format("Authorization: {}\r\n", token);
  return text.append("\r\n").append(body);
}

Async<Result<std::unique_ptr<HttpLink>>> EtcdGateway::link(int64_t timeout_us, Nature nature,
                                                           size_t& endpoint) {
  endpoint = current_;
  const int64_t rest_us = nature == Nature::changes ? kMaxIdleOfChangeUs : kMaxIdleUs;
  while (!idle_.empty()) {
    Idle idle = std::move(idle_.back());
    idle_.pop_back();
    const bool usable = idle.endpoint == endpoint && timers_.now_us() - idle.since_us <= rest_us;
    if (usable) co_return std::move(idle.link);
  }
  const int64_t patience_us = std::min(timeout_us, options_.connect_us);
  co_return co_await HttpLink::open(network_, timers_, options_.endpoints[endpoint], options_.tls,
                                    patience_us);
}

void EtcdGateway::keep(std::unique_ptr<HttpLink> link, size_t endpoint) {
  if (closing_ || endpoint != current_ || idle_.size() >= kMaxIdleLinks) return;
  idle_.push_back({std::move(link), endpoint, timers_.now_us()});
}

void EtcdGateway::failed(size_t endpoint) {
  if (endpoint != current_) return;
  idle_.clear();
  if (options_.endpoints.size() == 1) return;
  current_ = (current_ + 1) % options_.endpoints.size();
  ++stats_.failovers;
  if (!std::exchange(serving_, false)) return;  // not once for each of them
  log_info("etcd", "goes to the next endpoint endpoint={}",
           format_address(options_.endpoints[current_].host, options_.endpoints[current_].port));
}

EtcdGateway::Attempt EtcdGateway::judge(Result<HttpAnswer> answer, size_t endpoint,
                                        const std::string& token) {
  if (!answer) {
    const Errc code = answer.error().code;
    // Another member would give the same answer, which is as large.
    const bool too_large = code == Errc::resource_exhausted;
    if (too_large || code == Errc::data_loss) ++stats_.refused_answers;
    if (!too_large) failed(endpoint);
    return {std::unexpected(answer.error()), too_large};
  }
  if (answer->status == 200) {
    serving_ = true;
    return {std::move(answer->body), true};
  }
  const auto refusal = decode_refusal(answer->body);
  if (!refusal) {
    failed(endpoint);
    Error error(Errc::unavailable, fmt::format("etcd: status {} of HTTP", answer->status));
    return {std::unexpected(std::move(error).outcome(Applied::maybe_applied)), false};
  }
  Error error(code_of(*refusal), fmt::format("etcd: {}", refusal->message));
  if (!is_certain(*refusal)) {
    failed(endpoint);
    return {std::unexpected(std::move(error).outcome(Applied::maybe_applied)), false};
  }
  if (error.code == Errc::unavailable) failed(endpoint);
  const bool of_token = error.code == Errc::unauthenticated || is_about_token(refusal->message);
  if (of_token) forget_token(token);
  const bool final = error.code != Errc::unavailable && !of_token;
  return {std::unexpected(std::move(error)), final};
}

Async<EtcdGateway::Attempt> EtcdGateway::attempt(std::string path, std::string body,
                                                 int64_t timeout_us, int64_t patience_us,
                                                 Nature nature) {
  const int64_t until_us = timers_.now_us() + timeout_us;
  std::string token;
  if (path != kAuthenticate) {
    auto authenticated = co_await authenticate(timeout_us);
    if (!authenticated) {
      const Errc code = authenticated.error().code;
      const bool final = code == Errc::invalid_argument || code == Errc::failed_precondition;
      co_return Attempt{std::unexpected(authenticated.error()), final};
    }
    token = *std::move(authenticated);
  }
  if (closing_) co_return Attempt{closed(), true};
  size_t endpoint = 0;
  auto link =
      co_await this->link(std::max<int64_t>(1, until_us - timers_.now_us()), nature, endpoint);
  if (!link) {
    failed(endpoint);
    co_return Attempt{std::unexpected(link.error()), false};
  }
  if (closing_) co_return Attempt{closed(), true};
  int64_t left_us = std::max<int64_t>(1, until_us - timers_.now_us());
  if (nature != Nature::changes) left_us = std::min(left_us, patience_us);
  ++stats_.requests;
  HttpLink& used = **link;
  const InUse in_use(*this, used);
  auto answer =
      co_await used.exchange(request_of(path, body, options_.endpoints[endpoint], token), left_us);
  if (answer && answer->keeps_alive) keep(std::move(*link), endpoint);
  co_return judge(std::move(answer), endpoint, token);
}

Async<Result<std::string>> EtcdGateway::authenticate(int64_t timeout_us) {
  if (options_.user.empty() || !token_.empty()) co_return token_;
  const int64_t until_us = timers_.now_us() + timeout_us;
  const uint64_t before = logins_;
  if (!std::exchange(login_runs_, true)) spawn(executor_, login());
  const Alarm alarm(timers_, login_over_, timeout_us);
  while (logins_ == before && !closing_ && timers_.now_us() < until_us) {
    co_await login_over_.wait();
  }
  if (closing_) co_return closed();
  if (logins_ == before) co_return fail(Errc::deadline_exceeded, "etcd: the login took too long");
  if (login_error_) co_return std::unexpected(*login_error_);
  if (token_.empty()) co_return fail(Errc::unauthenticated, "etcd: the token is refused already");
  co_return token_;
}

// One for all that wait. None of them ends it, and it holds none of them longer than its time.
Async<void> EtcdGateway::login() {
  const auto pass = gate_.enter();
  Attempt done{closed(), true};
  if (pass) {
    done = co_await attempt(kAuthenticate, encode_user(options_.user, options_.password),
                            login_patience_us_, login_patience_us_, Nature::reads);
  }
  Result<std::string> token = std::move(done.body);
  if (token) token = decode_token(*token);
  login_error_.reset();
  if (token) {
    token_ = *std::move(token);
    login_patience_us_ = options_.attempt_us;
  } else {
    login_error_ = std::move(token).error();
    login_error_->applied = Applied::not_applied;  // nothing of the calls was sent
    const bool late = login_error_->code == Errc::deadline_exceeded;
    if (late) login_patience_us_ = std::min(2 * login_patience_us_, kMaxLoginUs);
  }
  login_runs_ = false;
  ++logins_;
  login_over_.notify_all();
}

void EtcdGateway::forget_token(const std::string& refused) {
  if (token_ == refused) token_.clear();
}

bool EtcdGateway::is_about_token(std::string_view refusal) {
  return refusal.ends_with("etcdserver: invalid auth token") ||
         refusal.ends_with("etcdserver: revision of auth store is old");
}

Result<Gate::Pass> EtcdGateway::enter(int64_t timeout_us) {
  if (closing_) return closed();
  TRY_VOID(check_timeout(timeout_us));
  if (in_flight_ >= kMaxInFlight) {
    return fail(Errc::resource_exhausted, "etcd: {} calls are in flight, as many as are permitted",
                in_flight_);
  }
  return gate_.enter();
}

Async<Result<std::string>> EtcdGateway::call(std::string path, std::string body, int64_t timeout_us,
                                             Nature nature) {
  CO_TRY(const Gate::Pass pass, enter(timeout_us));
  const Call counted(in_flight_);
  const int64_t until_us = timers_.now_us() + timeout_us;
  int64_t pause_us = kFirstPauseUs;
  int64_t patience_us = options_.attempt_us;
  bool may_be_applied = false;
  for (size_t attempts = 1;; ++attempts) {
    const int64_t left_us = until_us - timers_.now_us();
    Attempt done = co_await attempt(path, body, std::max<int64_t>(1, left_us), patience_us, nature);
    if (done.body) co_return std::move(*done.body);
    Error& error = done.body.error();
    const bool open = error.applied == Applied::maybe_applied;
    may_be_applied = may_be_applied || open;
    const bool repeat = !done.final && !(open && nature == Nature::changes);
    if (repeat && attempts % options_.endpoints.size() == 0 && timers_.now_us() < until_us) {
      const auto jitter_us = static_cast<int64_t>(random_.below(static_cast<uint64_t>(pause_us)));
      co_await sleep_us(timers_, std::min(pause_us / 2 + jitter_us, until_us - timers_.now_us()));
      pause_us = std::min(2 * pause_us, kMaxPauseUs);
      patience_us = std::min(2 * patience_us, timeout_us);
    }
    if (repeat && !closing_ && timers_.now_us() < until_us) continue;
    if (closing_) error.code = Errc::cancelled;
    if (nature == Nature::reads) error.applied = Applied::not_applied;
    if (nature == Nature::repeats && may_be_applied) error.applied = Applied::maybe_applied;
    co_return std::unexpected(std::move(error));
  }
}

template <class T>
Result<T> EtcdGateway::settle(Error error) {
  if (error.applied == Applied::not_applied) return std::unexpected(std::move(error));
  ++stats_.unknown;
  return Unknown{std::move(error)};
}

// ---- calls ----

Async<Result<RangeAnswer>> EtcdGateway::range(Range request, int64_t timeout_us) {
  CO_TRY_VOID(check(request));
  const auto body = co_await call(kRange, encode(request), timeout_us, Nature::reads);
  if (!body) co_return std::unexpected(body.error());
  auto answer = decode_range(*body, request);
  if (!answer) ++stats_.refused_answers;
  co_return answer;
}

Async<Result<TxnOutcome>> EtcdGateway::txn(Txn request, int64_t timeout_us) {
  CO_TRY_VOID(check(request));
  auto body = co_await call(kTxn, encode(request), timeout_us, Nature::changes);
  if (!body) co_return settle<TxnOutcome>(std::move(body).error());
  auto outcome = decode_txn(*body, request);
  if (!outcome) {
    ++stats_.refused_answers;
    co_return settle<TxnOutcome>(std::move(outcome).error().outcome(Applied::maybe_applied));
  }
  co_return std::move(*outcome);
}

Async<Result<Outcome<Compaction>>> EtcdGateway::compact(Revision at, int64_t timeout_us) {
  using Answer = Outcome<Compaction>;
  auto body = co_await call(kCompaction, encode_compaction(at), timeout_us, Nature::changes);
  if (!body) co_return settle<Answer>(std::move(body).error());
  auto read = decode_empty(*body);
  if (!read) co_return settle<Answer>(std::move(read).error().outcome(Applied::maybe_applied));
  co_return Compaction{};
}

Async<Result<Outcome<Granted>>> EtcdGateway::grant(LeaseId id, int64_t ttl_s, int64_t timeout_us) {
  using Answer = Outcome<Granted>;
  CO_TRY_VOID(check_ttl(ttl_s));
  auto body = co_await call(kGrant, encode_grant(id, ttl_s), timeout_us, Nature::changes);
  if (!body) co_return settle<Answer>(std::move(body).error());
  auto granted = decode_grant(*body);
  if (!granted) {
    co_return settle<Answer>(std::move(granted).error().outcome(Applied::maybe_applied));
  }
  co_return *granted;
}

Async<Result<Outcome<Renewed>>> EtcdGateway::keep_alive(LeaseId id, int64_t timeout_us) {
  using Answer = Outcome<Renewed>;
  auto body = co_await call(kKeepAlive, encode_lease(id), timeout_us, Nature::repeats);
  if (!body) co_return settle<Answer>(std::move(body).error());
  auto ttl_s = decode_keep_alive(*body);
  if (!ttl_s) co_return settle<Answer>(std::move(ttl_s).error().outcome(Applied::maybe_applied));
  if (*ttl_s == 0) co_return gone(id);
  co_return Renewed{*ttl_s};
}

Async<Result<Outcome<Revoked>>> EtcdGateway::revoke(LeaseId id, int64_t timeout_us) {
  using Answer = Outcome<Revoked>;
  auto body = co_await call(kRevoke, encode_lease(id), timeout_us, Nature::changes);
  if (!body) co_return settle<Answer>(std::move(body).error());
  auto read = decode_empty(*body);
  if (!read) co_return settle<Answer>(std::move(read).error().outcome(Applied::maybe_applied));
  co_return Revoked{};
}

Async<Result<LeaseState>> EtcdGateway::time_to_live(LeaseId id, int64_t timeout_us) {
  const auto body = co_await call(kTimeToLive, encode_time_to_live(id), timeout_us, Nature::reads);
  if (!body) co_return std::unexpected(body.error());
  CO_TRY(auto state, decode_time_to_live(*body));
  if (!state) co_return gone(id);
  co_return *std::move(state);
}

Async<Result<std::vector<LeaseId>>> EtcdGateway::leases(int64_t timeout_us) {
  const auto body = co_await call(kLeases, "{}", timeout_us, Nature::reads);
  if (!body) co_return std::unexpected(body.error());
  co_return decode_leases(*body);
}

Async<Result<std::vector<Member>>> EtcdGateway::members(int64_t timeout_us) {
  const auto body = co_await call(kMembers, "{}", timeout_us, Nature::reads);
  if (!body) co_return std::unexpected(body.error());
  co_return decode_members(*body);
}

Async<Result<MemberStatus>> EtcdGateway::status(int64_t timeout_us) {
  const auto body = co_await call(kStatus, "{}", timeout_us, Nature::reads);
  if (!body) co_return std::unexpected(body.error());
  co_return decode_status(*body);
}

Result<std::unique_ptr<Watch>> EtcdGateway::watch(WatchRequest request) {
  if (closing_) return closed();
  TRY_VOID(check(request));
  if (watches_.size() >= kMaxWatches) {
    return fail(Errc::resource_exhausted, "etcd: {} watches, as many as are permitted",
                watches_.size());
  }
  return std::make_unique<GatewayWatch>(*this, std::move(request));
}

}  // namespace cellar
