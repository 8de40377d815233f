#include "bench/load/connection.h"

#include <algorithm>
#include <chrono>

#include "bench/load/pacer.h"
#include "io/loop/timers.h"

namespace cellar::bench {
namespace {

constexpr size_t kReceiveBytes = 256 * 1024;
constexpr int kMaxDraws = 1000;

}  // namespace

int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void ThreadTally::note_error(Bytes message) {
  if (first_error.empty()) first_error = std::string(message);
  const auto known = errors.find(std::string(message));
  if (known != errors.end()) {
    ++known->second;
  } else if (errors.size() < kMaxErrors) {
    errors.emplace(message, 1);
  } else {
    ++errors["others"];
  }
}

void ThreadTally::merge_errors_into(LoadResult& result) const {
  if (result.first_error.empty()) result.first_error = first_error;
  if (result.first_wrong.empty()) result.first_wrong = first_wrong;
  result.checked_values += checked_values;
  result.wrong_values += wrong_values;
  result.unanswered += unanswered;
  for (const auto& [message, count] : errors) {
    const bool fits = result.errors.size() < kMaxErrors || result.errors.contains(message);
    result.errors[fits ? message : "others"] += count;
  }
}

Connection::Connection(const ThreadContext& context, std::unique_ptr<Protocol> protocol,
                       std::unique_ptr<ByteStream> stream, uint64_t number)
    : context_(context),
      protocol_(std::move(protocol)),
      drawer_(context.options.workload, context.keys, number),
      stream_(std::move(stream)) {
  in_.resize(kReceiveBytes);
  const uint32_t slots = context.options.rate > 0 ? kMaxBacklog : context.options.depth;
  slots_.resize(slots);
  for (uint32_t i = slots; i > 0; --i) free_.push_back(i - 1);
}

void Connection::value(uint64_t id, Bytes row, Bytes field, Bytes value) {
  ThreadTally& tally = context_.tally;
  if (id >= slots_.size()) return;
  ++tally.checked_values;
  const Slot& slot = slots_[id];
  const bool is_scan = slot.operation == Operation::scan;
  const Bytes key = row.empty() ? Bytes(slot.key) : row;
  const bool is_asked_for = is_scan ? key >= slot.key : key == slot.key;
  if (is_asked_for &&
      is_value_of(value, key, field, context_.options.workload.compressible, scratch_))
    return;
  ++tally.wrong_values;
  if (tally.first_wrong.empty())
    tally.first_wrong = fmt::format("row '{}', field '{}': {} bytes that were not written there",
                                    escape_bytes(key), escape_bytes(field), value.size());
}

void Connection::reply(uint64_t id, const Answer& answer) {
  if (id >= slots_.size() || !slots_[id].used) {
    context_.tally.note_error("an answer to no request");
    ++context_.tally.unanswered;
    return;
  }
  Slot& slot = slots_[id];
  if (answer.ok && slot.operation == Operation::modify && !slot.updates) {
    slot.updates = true;
    slot.rows = answer.rows;
    protocol_->encode(out_, id, drawer_.draw_update(slot.key));
    return;
  }
  if (answer.ok) {
    complete(slot, slot.updates ? slot.rows : answer.rows);
  } else {
    context_.tally.note_error(answer.error);
    if (slot.due_ns >= context_.tally.times.measure_from_ns) {
      context_.tally.recorder.failed(slot.operation, steady_ns());
    } else {
      ++context_.tally.unanswered;
    }
  }
  release(id);
}

void Connection::complete(Slot& slot, uint64_t rows) {
  ThreadTally& tally = context_.tally;
  if (slot.due_ns < tally.times.measure_from_ns) {
    ++tally.warmed;
    return;
  }
  const int64_t now_ns = steady_ns();
  tally.last_completed_ns = now_ns;
  tally.recorder.completed(slot.operation, now_ns, now_ns - slot.due_ns, rows);
}

void Connection::release(uint64_t id) {
  Slot& slot = slots_[id];
  if (slot.operation == Operation::insert) context_.keys.inserts()->acknowledge(slot.number);
  slot.used = false;
  free_.push_back(static_cast<uint32_t>(id));
  --in_flight_;
}

void Connection::send(int64_t due_ns) {
  const uint32_t id = free_.back();
  free_.pop_back();
  ++in_flight_;
  const Request* request = &drawer_.draw();
  // A connection whose shard has none of the keys accepts any key.
  for (int draws = 1; draws < kMaxDraws && !protocol_->wants(request->key); ++draws)
    request = &drawer_.draw_key();
  Slot& slot = slots_[id];
  slot.due_ns = due_ns;
  slot.number = request->number;
  slot.operation = request->operation;
  slot.used = true;
  slot.updates = false;
  slot.rows = 0;
  slot.key = request->key;
  protocol_->encode(out_, id, *request);
}

bool Connection::takes_operation(int64_t now_ns) {
  ThreadTally& tally = context_.tally;
  if (tally.ended || protocol_->leaving()) return false;
  if (now_ns >= tally.times.stop_at_ns ||
      (now_ns >= tally.times.measure_from_ns && !context_.budget.take()))
    tally.ended = true;
  return !tally.ended;
}

void Connection::fill() {
  while (!free_.empty()) {
    const int64_t now_ns = steady_ns();
    if (!takes_operation(now_ns)) return;
    send(now_ns);
  }
}

void Connection::flush() {
  if (out_.empty() || writing_) return;
  const Bytes parts[] = {out_};
  const auto written = stream_->try_write(parts);
  // An error shows again, and ends the connection, where it is read from.
  if (written && *written == out_.size()) {
    out_.clear();
    return;
  }
  writing_ = true;
  sending_.swap(out_);
  out_.clear();
  spawn(context_.loop.executor(), write_rest(written ? *written : 0));
}

Async<void> Connection::write_rest(size_t written) {
  const Bytes parts[] = {Bytes(sending_).substr(written)};
  const auto result = co_await stream_->write(parts);
  writing_ = false;
  if (result) {
    flush();
  } else {
    stream_->close();
  }
}

Async<Result<void>> Connection::receive() {
  const std::span<std::byte> room(reinterpret_cast<std::byte*>(in_.data()) + in_used_,
                                  in_.size() - in_used_);
  CO_TRY(const size_t n, co_await stream_->read_some(room));
  if (n == 0) co_return fail(Errc::unavailable, "the server closed the connection");
  in_used_ += n;
  CO_TRY(const size_t consumed, protocol_->parse(Bytes(in_.data(), in_used_), out_, *this));
  in_used_ -= consumed;
  std::memmove(in_.data(), in_.data() + consumed, in_used_);
  if (in_used_ == in_.size()) in_.resize(in_.size() * 2);
  co_return Result<void>();
}

Async<Result<void>> Connection::greet() {
  protocol_->greet(out_);
  flush();
  while (!protocol_->ready()) {
    CO_TRY_VOID(co_await receive());
    flush();
  }
  co_return Result<void>();
}

// Nothing is in flight, and nothing more is sent on this stream.
bool Connection::idle_and_done() const {
  if (in_flight_ > 0) return false;
  if (protocol_->leaving()) return true;
  return context_.pacer != nullptr ? finishing_ : true;
}

Async<Result<void>> Connection::load() {
  joined_ = context_.pacer != nullptr;
  if (!joined_) fill();
  flush();
  while (!idle_and_done()) {
    auto received = co_await receive();
    if (!received) {
      joined_ = false;
      if (finishing_ && in_flight_ == 0) co_return Result<void>();  // finish() has closed it
      co_return std::unexpected(received.error());
    }
    if (!joined_) fill();
    flush();
    if (joined_) context_.pacer->poll();
  }
  joined_ = false;
  co_return Result<void>();
}

void Connection::finish() {
  finishing_ = true;
  if (in_flight_ == 0) stream_->close();
}

void Connection::abandon() {
  finishing_ = true;
  stream_->close();
}

Async<Result<void>> Connection::connect_anew() {
  stream_->close();
  in_used_ = 0;
  while (writing_) co_await yield_now();
  out_.clear();
  CO_TRY(const Address address, parse_address(context_.options.address));
  CO_TRY(stream_, co_await context_.dialler.connect(context_.loop.timers(), context_.network,
                                                    context_.options.client, address));
  co_return co_await greet();
}

void Connection::lose_requests(const Error& error) {
  context_.tally.note_error(error.to_string());
  context_.tally.unanswered += in_flight_ + 1;
  for (uint32_t id = 0; id < slots_.size(); ++id) {
    if (slots_[id].used) release(id);
  }
}

Async<void> Connection::run() {
  auto ended = co_await load();
  while (ended && protocol_->leaving() && !context_.tally.ended) {
    ended = co_await connect_anew();
    if (ended) ended = co_await load();
  }
  if (!ended) lose_requests(ended.error());
  stream_->close();
  while (writing_) co_await yield_now();
  --context_.tally.open;
}

}  // namespace cellar::bench
