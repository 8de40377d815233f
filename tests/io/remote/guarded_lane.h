// GuardedLane: the model caller of RadosPort: one object that one session appends to. Every append
// is guarded by the session `s` and the end `e`, is sent again with the same bytes until its fate
// is known, and is settled by reading `s` and `e` after any answer but RadosApplied.
//
// A lane can be told to make one mistake, which the simulated cluster must reveal.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "io/loop/timers.h"
#include "io/remote/rados_port.h"

namespace cellar::test {

enum class LaneMistake : uint8_t {
  none,
  no_guard,              // appends without guards
  no_end_guard,          // guards the session only
  unknown_is_applied,    // goes on without reading
  unknown_is_failed,     // gives the batch up without reading
  refused_is_failed,     // takes a refusal for a proof that nothing was written
  other_bytes_in_place,  // after an unknown outcome sends another batch to the same place
};

inline std::string position_text(uint64_t position) { return fmt::format("{:020}", position); }

class GuardedLane {
 public:
  // fenced: not made, and none will be; given_up: not made, as the caller believes.
  // broken: the lane's end is one that this caller has never made, so its earlier answers were
  // wrong.
  enum class Fate : uint8_t { applied, fenced, given_up, broken };

  GuardedLane(RadosPort& port, Timers& timers, RadosObject object, std::string session,
              int64_t call_us, LaneMistake mistake = LaneMistake::none)
      : port_(port),
        timers_(timers),
        object_(std::move(object)),
        session_(std::move(session)),
        call_us_(call_us),
        mistake_(mistake) {}

  uint64_t end() const { return end_; }
  uint64_t unknown() const { return unknown_; }
  // For a lane that exists.
  void go_on_at(uint64_t end) { end_ = end; }

  // Makes the object. Anyone else's is a bug of the test.
  Async<void> create() {
    while (true) {
      RadosWrite make;
      make.create_new().set_xattr("s", session_).set_xattr("e", position_text(0));
      const auto outcome = co_await port_.write(object_, std::move(make), call_us_);
      if (outcome && !std::holds_alternative<RadosUnknown>(*outcome)) co_return;
    }
  }

  Async<Fate> append(std::string batch) {
    while (true) {
      const auto outcome = co_await port_.write(object_, write_of(batch), call_us_);
      if (!outcome) {
        co_await sleep_us(timers_, kPauseUs);
        continue;
      }
      if (std::holds_alternative<RadosApplied>(*outcome)) {
        end_ += batch.size();
        co_return Fate::applied;
      }
      const bool refused = std::holds_alternative<RadosRefused>(*outcome);
      if (!refused) ++unknown_;
      if (!refused && mistake_ == LaneMistake::unknown_is_applied) {
        end_ += batch.size();
        co_return Fate::applied;
      }
      if (!refused && mistake_ == LaneMistake::unknown_is_failed) co_return Fate::given_up;
      if (refused && mistake_ == LaneMistake::refused_is_failed) co_return Fate::given_up;
      const auto [session, end] = co_await look();
      if (end == end_ + batch.size()) {
        end_ = end;
        co_return Fate::applied;
      }
      if (session != session_) co_return Fate::fenced;
      if (!refused && mistake_ == LaneMistake::other_bytes_in_place) co_return Fate::given_up;
      if (end != end_) co_return Fate::broken;
    }
  }

  // The attributes s and e.
  Async<std::pair<std::string, uint64_t>> look() {
    while (true) {
      const auto xattrs = co_await port_.xattrs(object_, call_us_);
      if (!xattrs) {
        co_await sleep_us(timers_, kPauseUs);
        continue;
      }
      std::pair<std::string, uint64_t> found;
      for (const auto& [name, value] : *xattrs) {
        if (name == "s") found.first = value;
        if (name == "e") found.second = std::stoull(value);
      }
      co_return found;
    }
  }

  // By who takes over: afterwards no append of the session is made. Returns the end.
  Async<uint64_t> fence() {
    while (true) {
      RadosWrite set;
      set.require_exists().set_xattr("s", "fenced");
      const auto outcome = co_await port_.write(object_, std::move(set), call_us_);
      if (outcome && std::holds_alternative<RadosApplied>(*outcome)) break;
    }
    const auto found = co_await look();
    co_return found.second;
  }

  Async<std::string> content() {
    while (true) {
      auto bytes = co_await port_.read(object_, 0, RadosPort::kMaxCallBytes, call_us_);
      if (bytes) co_return std::string(bytes->data);
      co_await sleep_us(timers_, kPauseUs);
    }
  }

 private:
  static constexpr int64_t kPauseUs = 1'000;

  RadosWrite write_of(const std::string& batch) const {
    RadosWrite append;
    if (mistake_ != LaneMistake::no_guard) {
      append.require_exists().require_xattr("s", session_);
      if (mistake_ != LaneMistake::no_end_guard) append.require_xattr("e", position_text(end_));
    }
    append.write(end_, batch).set_xattr("e", position_text(end_ + batch.size()));
    return append;
  }

  RadosPort& port_;
  Timers& timers_;
  const RadosObject object_;
  const std::string session_;
  const int64_t call_us_;
  const LaneMistake mistake_;
  uint64_t end_ = 0;
  uint64_t unknown_ = 0;
};

}  // namespace cellar::test
