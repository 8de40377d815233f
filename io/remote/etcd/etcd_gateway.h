// EtcdGateway: EtcdPort over the JSON gateway of etcd 3.4 and later, by HTTP/1.1. No thread.
//
// Endpoints. One is used for everything until it fails: it does not answer in time, breaks, or says
// that it knows no leader; then the next one is. An attempt of a call that reads takes at most
// attempt_us, and twice as long each time that all endpoints have been tried. A call that changes
// something waits for its whole timeout once it was sent, because only that answer can tell whether
// it was applied.
//
// Certainty. What left and got no answer may have been applied. What etcd itself refuses before it
// proposes ("etcdserver: ...", with one of a few codes) was not. Every other answer, of a proxy for
// instance, is Unknown for a change.
//
// Traps of the gateway. A renewal of a lease is one message a request, since streamed ones lose
// their answers. The gateway does not hand on the name in a client certificate, so principals are a
// user and a password, exchanged for a token that expires, or is refused once users have changed;
// then it is asked for anew, once for all calls that wait. A member that is cut off from the others
// keeps a watch open without events, unless the request demands a leader; every request does.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/base/random.h"
#include "io/loop/event.h"
#include "io/loop/gate.h"
#include "io/loop/timers.h"
#include "io/net/tls_context.h"
#include "io/net/transport.h"
#include "io/remote/etcd/http_link.h"
#include "io/remote/etcd_port.h"

namespace cellar {

struct EtcdOptions {
  std::vector<Address> endpoints;              // 1 to kMaxEndpoints, in order of preference
  std::shared_ptr<const TlsContext> tls = {};  // null: without TLS
  std::string user = {};                       // empty: without authentication
  std::string password = {};                   // only over TLS
  int64_t connect_us = 500'000;
  int64_t attempt_us = 1'000'000;
  // A watch without a word for so long is opened again: a broken line is not noticed otherwise.
  int64_t watch_quiet_us = 3'000'000;
};

class GatewayWatch;

class EtcdGateway final : public EtcdPort {
 public:
  static constexpr size_t kMaxIdleLinks = 8;
  // A link that rested longer is not used again. For a change the bound is lower: if etcd has
  // closed the link meanwhile, the outcome would be unknown.
  static constexpr int64_t kMaxIdleUs = 30'000'000;
  static constexpr int64_t kMaxIdleOfChangeUs = 2'000'000;
  static constexpr int64_t kFirstPauseUs = 50'000;  // after every endpoint failed; doubles
  static constexpr int64_t kMaxPauseUs = 500'000;
  static constexpr int64_t kMaxLoginUs = 16'000'000;

  // Errors: INVALID_ARGUMENT (endpoints; a password without TLS). The services must outlive it.
  static Result<std::unique_ptr<EtcdGateway>> make(EtcdOptions options, Network& network,
                                                   Timers& timers, ShardExecutor executor,
                                                   Random& random);
  ~EtcdGateway() override;

  Async<Result<etcd::RangeAnswer>> range(etcd::Range request, int64_t timeout_us) override;
  Async<Result<etcd::TxnOutcome>> txn(etcd::Txn request, int64_t timeout_us) override;
  Async<Result<etcd::Outcome<etcd::Compaction>>> compact(etcd::Revision at,
                                                         int64_t timeout_us) override;
  Async<Result<etcd::Outcome<etcd::Granted>>> grant(etcd::LeaseId id, int64_t ttl_s,
                                                    int64_t timeout_us) override;
  Async<Result<etcd::Outcome<etcd::Renewed>>> keep_alive(etcd::LeaseId id,
                                                         int64_t timeout_us) override;
  Async<Result<etcd::Outcome<etcd::Revoked>>> revoke(etcd::LeaseId id, int64_t timeout_us) override;
  Async<Result<etcd::LeaseState>> time_to_live(etcd::LeaseId id, int64_t timeout_us) override;
  Async<Result<std::vector<etcd::LeaseId>>> leases(int64_t timeout_us) override;
  Result<std::unique_ptr<etcd::Watch>> watch(etcd::WatchRequest request) override;
  Async<Result<std::vector<etcd::Member>>> members(int64_t timeout_us) override;
  Async<Result<etcd::MemberStatus>> status(int64_t timeout_us) override;
  etcd::EtcdStats stats() const override { return stats_; }
  Async<void> close() override;

  // The endpoint in use.
  const Address& endpoint() const { return options_.endpoints[current_]; }

 private:
  friend class GatewayWatch;
  class Call;
  // A link in use, which close() closes.
  class InUse {
   public:
    InUse(EtcdGateway& port, etcd::HttpLink& link) : port_(port), link_(&link) {
      port_.busy_.insert(link_);
    }
    ~InUse() { port_.busy_.erase(link_); }
    InUse(const InUse&) = delete;
    InUse& operator=(const InUse&) = delete;

   private:
    EtcdGateway& port_;
    etcd::HttpLink* link_;
  };

  // Whether an attempt may be followed by another one.
  enum class Nature : uint8_t {
    reads,    // always
    repeats,  // a change that may happen twice
    changes,  // only while it is certain that it was not applied
  };
  struct Idle {
    std::unique_ptr<etcd::HttpLink> link;
    size_t endpoint;
    int64_t since_us;
  };
  struct Attempt {
    Result<std::string> body;  // of the answer; the error tells the outcome
    bool final = false;        // another attempt would end the same way
  };

  EtcdGateway(EtcdOptions options, Network& network, Timers& timers, ShardExecutor executor,
              Random& random);

  // The body of the answer. An error's outcome is not_applied or maybe_applied.
  Async<Result<std::string>> call(std::string path, std::string body, int64_t timeout_us,
                                  Nature nature);
  // What does not change something waits for an answer for at most `patience_us`.
  Async<Attempt> attempt(std::string path, std::string body, int64_t timeout_us,
                         int64_t patience_us, Nature nature);
  // `token`: which the request had.
  Attempt judge(Result<etcd::HttpAnswer> answer, size_t endpoint, const std::string& token);
  // A link to the endpoint in use: one that rests, or a new one.
  Async<Result<std::unique_ptr<etcd::HttpLink>>> link(int64_t timeout_us, Nature nature,
                                                      size_t& endpoint);
  void keep(std::unique_ptr<etcd::HttpLink> link, size_t endpoint);
  void failed(size_t endpoint);  // takes the next one, if that is still the one in use
  // The token for a request; empty without a user. Errors: those of the login; nothing was sent.
  Async<Result<std::string>> authenticate(int64_t timeout_us);
  Async<void> login();
  void forget_token(const std::string& refused);  // if that is still the one in use
  // Whether another token helps: this one has expired, or users have changed since.
  static bool is_about_token(std::string_view refusal);
  static std::string request_of(std::string_view path, std::string_view body, const Address& to,
                                std::string_view token);
  Result<Gate::Pass> enter(int64_t timeout_us);
  // An error that leaves something open becomes Unknown.
  template <class T>
  Result<T> settle(Error error);

  const EtcdOptions options_;
  Network& network_;
  Timers& timers_;
  const ShardExecutor executor_;
  Random& random_;

  size_t current_ = 0;
  bool serving_ = false;  // the endpoint in use has answered
  std::vector<Idle> idle_;
  std::set<etcd::HttpLink*> busy_;  // closed by close()
  std::string token_;
  bool login_runs_ = false;
  uint64_t logins_ = 0;               // that are over
  std::optional<Error> login_error_;  // of the last one
  int64_t login_patience_us_ = 0;     // twice as long after each login that took too long
  ConditionVariable login_over_;
  bool closing_ = false;
  size_t in_flight_ = 0;
  std::set<GatewayWatch*> watches_;
  Gate gate_{"the etcd client"};
  etcd::EtcdStats stats_;
};

}  // namespace cellar
