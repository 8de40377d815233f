#include "io/remote/etcd/gateway_watch.h"

#include <algorithm>
#include <utility>

#include "io/base/check.h"
#include "io/remote/alarm.h"
#include "io/remote/etcd/http_reader.h"

namespace cellar {

using namespace etcd;

namespace {

constexpr const char* kWatch = "/v3/watch";

size_t bytes_of(const Change& change) {
  size_t bytes = sizeof change + change.now.key.size() + change.now.value.size();
  if (change.before) bytes += change.before->key.size() + change.before->value.size();
  return bytes;
}

}  // namespace

GatewayWatch::State::State(EtcdGateway& p, WatchRequest r)
    : port(p), request(std::move(r)), told(request.from.value() - 1) {}

GatewayWatch::GatewayWatch(EtcdGateway& port, WatchRequest request)
    : state_(std::make_shared<State>(port, std::move(request))) {
  port.watches_.insert(this);
}

GatewayWatch::~GatewayWatch() {
  CHECK(!waiting_, "a watch is destroyed while its next() is outstanding");
  close();
  state_->port.watches_.erase(this);
}

void GatewayWatch::close() {
  state_->closed = true;
  if (state_->link != nullptr) state_->link->close();
  state_->changed.notify_all();
}

Async<Result<WatchNews>> GatewayWatch::next(int64_t timeout_us) {
  CO_TRY_VOID(check_timeout(timeout_us));
  const OnlyWaiter only(waiting_);
  State& state = *state_;
  if (!started_ && !state.closed && !state.port.closing_) {
    started_ = true;
    spawn(state.port.executor_, State::follow(state_));
  }
  const int64_t until_us = state.port.timers_.now_us() + timeout_us;
  {
    const Alarm alarm(state.port.timers_, state.changed, timeout_us);
    while (state.news.empty() && !state.closed && !state.ended && !state.compacted &&
           !state.port.closing_ && state.port.timers_.now_us() < until_us) {
      co_await state.changed.wait();
    }
  }
  if (state.closed || state.port.closing_) co_return fail(Errc::cancelled, "the watch is closed");
  if (!state.news.empty()) {
    auto [one, bytes] = std::move(state.news.front());
    state.news.pop_front();
    state.queued_bytes -= bytes;
    state.changed.notify_all();  // there is room
    co_return std::move(one);
  }
  if (state.ended) co_return std::unexpected(*state.ended);
  if (state.compacted) co_return fail(Errc::failed_precondition, "the watch was compacted away");
  co_return fail(Errc::deadline_exceeded, "no news of the watch within {} us", timeout_us);
}

// ---- the coroutine ----

Async<void> GatewayWatch::State::follow(std::shared_ptr<State> self) {
  State& state = *self;
  auto pass = state.port.gate_.enter();
  if (!pass) co_return;
  int64_t pause_us = EtcdGateway::kFirstPauseUs;
  while (!state.over()) {
    const Revision told_before = state.told;
    const Stream how = co_await state.follow_one();
    state.held.clear();
    state.held_bytes = 0;
    if (state.over()) break;
    if (how != Stream::unopened && !state.token_refused) state.denied = false;
    const bool well = how == Stream::quiet || state.told > told_before;
    pause_us = well ? EtcdGateway::kFirstPauseUs : std::min(2 * pause_us, EtcdGateway::kMaxPauseUs);
    if (how != Stream::quiet) co_await sleep_us(state.port.timers_, pause_us);
  }
  state.changed.notify_all();
}

Async<Result<std::unique_ptr<HttpLink>>> GatewayWatch::State::open() {
  const EtcdOptions& options = port.options_;
  token_refused = false;
  CO_TRY(token, co_await port.authenticate(options.attempt_us));
  endpoint = port.current_;
  const Address& to = options.endpoints[endpoint];
  auto opened =
      co_await HttpLink::open(port.network_, port.timers_, to, options.tls, options.connect_us);
  if (!opened) port.failed(endpoint);
  co_return opened;
}

Async<GatewayWatch::State::Stream> GatewayWatch::State::follow_one() {
  const EtcdOptions& options = port.options_;
  auto opened_link = co_await open();
  if (!opened_link) {
    const Errc code = opened_link.error().code;
    if (code == Errc::invalid_argument || code == Errc::failed_precondition) {
      end(opened_link.error());  // of the user or the password
    }
    co_return Stream::unopened;
  }
  if (over()) co_return Stream::unopened;
  HttpLink& used = **opened_link;
  const EtcdGateway::InUse in_use(port, used);
  const Following following(*this, used);
  const std::string body = encode(request, Revision(told.value() + 1));
  ++port.stats_.requests;
  Stream how = Stream::unopened;
  const Address& to = options.endpoints[endpoint];
  const auto sent =
      co_await used.send(EtcdGateway::request_of(kWatch, body, to, token), options.attempt_us);
  if (sent) how = co_await read(used);
  if (how == Stream::unopened && !token_refused) port.failed(endpoint);
  co_return how;
}

Async<GatewayWatch::State::Stream> GatewayWatch::State::read(HttpLink& from) {
  HttpReader reader(0);
  std::string text;
  size_t seen = 0;
  bool opened = false;
  const auto buffer = std::make_unique<std::byte[]>(HttpLink::kReadBytes);
  const auto ended_so = [&] { return opened ? Stream::broken : Stream::unopened; };
  for (;;) {
    while (full() && !over()) co_await changed.wait();
    if (over()) co_return ended_so();
    const std::span<std::byte> into(buffer.get(), HttpLink::kReadBytes);
    const int64_t patience_us = opened ? port.options_.watch_quiet_us : port.options_.attempt_us;
    const auto received = co_await from.receive(into, patience_us);
    if (!received) {
      const bool quiet = opened && received.error().code == Errc::deadline_exceeded;
      co_return quiet ? Stream::quiet : ended_so();
    }
    const auto step = *received == 0 ? reader.feed_end() : reader.feed(into.first(*received));
    if (reader.has_status()) text += reader.take_body();
    if (reader.has_status() && reader.status() != 200) {
      if (step == HttpReader::Step::more && text.size() <= HttpReader::kMaxHeaderBytes) continue;
      if (const auto refusal = decode_refusal(text)) take_refusal(*refusal);
      co_return ended_so();
    }
    const bool good = take_lines(text, seen, opened);
    if (std::exchange(behind, false)) co_await compare_revisions();
    if (step == HttpReader::Step::refused || text.size() > kMaxMessageBytes) {
      ++port.stats_.refused_answers;
      co_return ended_so();
    }
    if (!good || step == HttpReader::Step::done) co_return ended_so();
  }
}

bool GatewayWatch::State::take_lines(std::string& text, size_t& seen, bool& opened) {
  size_t at = 0;
  bool good = true;
  for (size_t end = text.find('\n', seen); good && end != std::string::npos;
       end = text.find('\n', at)) {
    auto message = decode_watch(std::string_view(text).substr(at, end - at));
    at = end + 1;
    if (!message) ++port.stats_.refused_answers;
    good = message && take(std::move(*message), opened);
  }
  text.erase(0, at);
  seen = text.size();
  return good;
}

bool GatewayWatch::State::take(WatchMessage message, bool& opened) {
  if (message.refusal) return take_refusal(*message.refusal);
  if (message.created) {
    opened = true;
    behind = message.revision < told;
    if (std::exchange(began, true)) ++port.stats_.resumed;
  }
  if (message.cancelled) {
    if (message.compacted.value() > 0) {
      queue(Compacted{message.compacted}, 0);
      compacted = true;
    } else {
      take_reason(message.reason);
    }
    return false;
  }
  if (!message.changes.empty()) return take_changes(std::move(message.changes), message.fragment);
  if (message.fragment || message.created || !held.empty()) return true;
  // Periodic progress messages are ordered with the changes. Requested ones are not in etcd 3.4, so
  // none is requested.
  if (message.revision > told) {
    told = message.revision;
    queue(Progress{told}, 0);
  }
  return true;
}

bool GatewayWatch::State::take_changes(std::vector<Change> changes, bool fragment) {
  for (Change& change : changes) {
    if (change.now.modified <= told) continue;  // told before
    if (!request.keys.contains(change.now.key) ||
        (!held.empty() && change.now.modified < held.back().now.modified)) {
      ++port.stats_.refused_answers;
      return false;
    }
    held_bytes += bytes_of(change);
    held.push_back(std::move(change));
  }
  if (held.empty()) return true;
  const Revision last = held.back().now.modified;
  const auto complete = [&](const Change& c) { return !fragment || c.now.modified < last; };
  const auto open = std::find_if_not(held.begin(), held.end(), complete);
  if (open != held.begin()) {
    Changes news_now;
    size_t bytes = 0;
    for (auto it = held.begin(); it != open; ++it) bytes += bytes_of(*it);
    news_now.changes.assign(std::make_move_iterator(held.begin()), std::make_move_iterator(open));
    held.erase(held.begin(), open);
    news_now.revision = news_now.changes.back().now.modified;
    told = news_now.revision;
    held_bytes -= bytes;
    queue(std::move(news_now), bytes);
  }
  if (held_bytes <= kMaxHeldBytes) return true;
  end(Error(Errc::resource_exhausted,
            fmt::format("etcd: the changes of revision {} take more than {} bytes", last,
                        kMaxHeldBytes)));
  return false;
}

bool GatewayWatch::State::take_refusal(const Refusal& refusal) {
  const auto code = static_cast<Errc>(refusal.grpc_code);
  if (code == Errc::unauthenticated || EtcdGateway::is_about_token(refusal.message)) {
    token_refused = true;
    port.forget_token(token);
  } else if (code == Errc::permission_denied) {
    take_denial(refusal.message);
  } else if (code == Errc::invalid_argument) {
    end(Error(code, "etcd: " + refusal.message));
  }
  return false;
}

void GatewayWatch::State::take_reason(std::string_view reason) {
  if (EtcdGateway::is_about_token(reason)) {
    token_refused = true;
    port.forget_token(token);
  } else if (reason.find("permission denied") != std::string_view::npos) {
    take_denial(reason);
  }
}

// Of a token that it does not know, as after its restart, an early etcd 3.4 tells a watch only
// this. Another token is tried once.
void GatewayWatch::State::take_denial(std::string_view message) {
  token_refused = true;
  if (token.empty() || std::exchange(denied, true)) {
    return end(Error(Errc::permission_denied, fmt::format("etcd: {}", message)));
  }
  port.forget_token(token);
}

// A read that is not serializable tells the revision of the cluster.
Async<void> GatewayWatch::State::compare_revisions() {
  Range probe{request.keys};
  probe.limit = 1;
  probe.keys_only = true;
  const auto answer = co_await port.range(std::move(probe), port.options_.attempt_us);
  if (!answer || answer->revision >= told || over()) co_return;
  end(Error(Errc::data_loss,
            fmt::format("etcd: the cluster is at revision {}, though {} was told: it was restored "
                        "from a backup",
                        answer->revision, told)));
}

void GatewayWatch::State::queue(WatchNews one, size_t bytes) {
  news.emplace_back(std::move(one), bytes);
  queued_bytes += bytes;
  changed.notify_all();
}

void GatewayWatch::State::end(Error why) {
  ended = std::move(why);
  changed.notify_all();
}

}  // namespace cellar
