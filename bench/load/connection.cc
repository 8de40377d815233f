#include "bench/load/connection.h"

#include <algorithm>
#include <chrono>

#include "io/base/log.h"

namespace cellar::bench {
namespace {

constexpr size_t kReceiveBytes = 256 * 1024;
constexpr int64_t kLateUs = 1000;
constexpr int kMaxDraws = 1000;

}  // namespace

int64_t steady_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Connection::Connection(const LoadOptions& options, std::unique_ptr<Protocol> protocol, Loop& loop,
                       ThreadTally& tally, uint64_t number)
    : options_(options),
      protocol_(std::move(protocol)),
      executor_(loop.executor()),
      timers_(loop.timers()),
      tally_(tally),
      keys_(options.workload, number),
      number_(number) {
  value_.resize(options.workload.value_bytes);
  Random random(number + 1);
  for (char& c : value_) c = static_cast<char>('a' + random.below(26));
  in_.resize(kReceiveBytes);
  const uint32_t slots = options.rate > 0 ? kMaxBacklog : options.depth;
  slots_.resize(slots);
  for (uint32_t i = slots; i > 0; --i) free_.push_back(i - 1);
}

void Connection::reply(uint64_t id, bool ok, Bytes error) {
  if (greetings_left_ > 0) {
    --greetings_left_;
    failed_ = failed_ || !ok;
    return;
  }
  Slot& slot = slots_[id];
  const int64_t now_us = steady_us();
  if (!ok) {
    ++tally_.result.failed;
    if (tally_.result.first_error.empty()) tally_.result.first_error = std::string(error);
  } else if (slot.due_us >= tally_.measure_from_us) {
    ++tally_.result.completed;
    tally_.result.latency_us.record(static_cast<uint64_t>(now_us - slot.due_us));
  }
  slot.used = false;
  free_.push_back(static_cast<uint32_t>(id));
  --in_flight_;
}

void Connection::send_one(int64_t due_us) {
  const uint32_t id = free_.back();
  free_.pop_back();
  slots_[id] = {due_us, true};
  ++in_flight_;
  if (tally_.left != UINT64_MAX) --tally_.left;
  std::string key = key_name(keys_.next());
  // A connection whose shard has none of the keys accepts any key.
  for (int draws = 1; draws < kMaxDraws && !protocol_->wants(key); ++draws) {
    key = key_name(keys_.next());
  }
  if (keys_.is_read()) {
    protocol_->encode_read(out_, id, key);
  } else {
    protocol_->encode_write(out_, id, key, value_);
  }
}

void Connection::fill(int64_t now_us) {
  while (!free_.empty() && may_start(now_us)) send_one(now_us);
}

Async<Result<void>> Connection::write_out() {
  sending_.clear();
  sending_.swap(out_);
  const Bytes parts[] = {sending_};
  co_return co_await stream_->write(parts);
}

Async<Result<void>> Connection::receive() {
  const std::span<std::byte> room(reinterpret_cast<std::byte*>(in_.data()) + in_used_,
                                  in_.size() - in_used_);
  CO_TRY(const size_t n, co_await stream_->read_some(room));
  if (n == 0) co_return fail(Errc::unavailable, "the server closed the connection");
  in_used_ += n;
  CO_TRY(const size_t consumed, protocol_->parse(Bytes(in_.data(), in_used_), *this));
  in_used_ -= consumed;
  std::memmove(in_.data(), in_.data() + consumed, in_used_);
  if (in_used_ == in_.size()) in_.resize(in_.size() * 2);
  co_return Result<void>();
}

Async<Result<void>> Connection::greet() {
  greetings_left_ = protocol_->greetings();
  protocol_->encode_greeting(out_);
  CO_TRY_VOID(co_await write_out());
  while (greetings_left_ > 0) CO_TRY_VOID(co_await receive());
  if (failed_) co_return fail(Errc::unavailable, "the server refused the greeting");
  co_return Result<void>();
}

Async<Result<void>> Connection::closed_loop() {
  fill(steady_us());
  while (in_flight_ > 0) {
    if (!out_.empty()) CO_TRY_VOID(co_await write_out());
    CO_TRY_VOID(co_await receive());
    fill(steady_us());
  }
  co_return Result<void>();
}

Async<void> Connection::send_on_schedule(bool& done) {
  const double gap_us = 1e6 * options_.connections / options_.rate;
  if (due_us_ == 0) {
    due_us_ = static_cast<double>(steady_us()) +
              gap_us * static_cast<double>(number_) / options_.connections;
  }
  while (may_start(steady_us())) {
    const int64_t now_us = steady_us();
    while (static_cast<double>(now_us) >= due_us_ && !free_.empty() && tally_.left > 0) {
      if (static_cast<double>(now_us) - due_us_ > kLateUs) ++tally_.result.late_sends;
      send_one(static_cast<int64_t>(due_us_));
      due_us_ += gap_us;
    }
    if (!out_.empty()) {
      auto written = co_await write_out();
      if (!written) break;
    }
    const auto wait_us = static_cast<int64_t>(due_us_) - steady_us();
    co_await sleep_us(timers_, std::max<int64_t>(wait_us, free_.empty() ? Timers::kTickUs : 0));
  }
  done = true;
}

Async<Result<void>> Connection::open_loop() {
  bool done = false;
  spawn(executor_, send_on_schedule(done));
  while (!done || in_flight_ > 0) {
    if (in_flight_ == 0) {
      co_await sleep_us(timers_, Timers::kTickUs);
      continue;
    }
    CO_TRY_VOID(co_await receive());
  }
  co_return Result<void>();
}

Async<Result<void>> Connection::dialogue() {
  CO_TRY_VOID(co_await greet());
  if (options_.rate > 0) co_return co_await open_loop();
  co_return co_await closed_loop();
}

Async<Result<void>> Connection::connect_anew(Network& network) {
  stream_->close();
  in_used_ = 0;
  CO_TRY(const Address address, parse_address(options_.address));
  CO_TRY(stream_, co_await network.connect(address.host, address.port, kConnectTimeoutUs));
  co_return Result<void>();
}

Async<void> Connection::run(Network& network, std::unique_ptr<ByteStream> stream) {
  stream_ = std::move(stream);
  auto ended = co_await dialogue();
  while (ended && protocol_->leaving() && more_is_due(steady_us())) {
    ended = co_await connect_anew(network);
    if (ended) ended = co_await dialogue();
  }
  if (!ended) {
    tally_.result.failed += in_flight_ + 1;
    if (tally_.result.first_error.empty()) tally_.result.first_error = ended.error().to_string();
  }
  stream_->close();
  --tally_.open;
}

}  // namespace cellar::bench
