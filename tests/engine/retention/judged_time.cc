#include "tests/engine/retention/judged_time.h"

#include <fmt/format.h>

#include <algorithm>

#include "io/sim/manual_clock.h"

namespace cellar::support {
namespace {

constexpr int64_t kOneInDrifts = 2'000;                 // 500 ppm
constexpr int64_t kSteadyForUs = 24 * 3'600'000'000LL;  // then held time is released
constexpr int64_t kUnsteadyUs = 1'000'000;              // smaller steps do not count
constexpr int64_t kBootTakesUs = 3'000'000;             // unless the machine is back sooner

}  // namespace

JudgedTime::JudgedTime(TestNode& node, int64_t start_us)
    : node_(node), start_us_(start_us), real_at_boot_us_(start_us) {
  real_at_boot_us_ -= boot_us_now();
  steady_since_us_ = boot_us_now();
}

ManualClock& JudgedTime::clock() {
  return node_.is_open() ? node_.world().clock() : node_.machine_clock();
}
int64_t JudgedTime::boot_us_now() const {
  return node_.is_open() ? node_.world().clock().boot_us() : node_.machine_clock().boot_us();
}

// One microsecond for stamps, which keep rising while time stands, and one for rounding.
int64_t JudgedTime::bound_us() const {
  return real_us() + vouched_us_ + (real_us() - start_us_) / kOneInDrifts + 2;
}

void JudgedTime::judge(const std::string& what, int64_t at_us, int64_t not_before_us) {
  if (problem_) return;
  if (at_us < not_before_us) {
    problem_ = fmt::format("{} is judged at {}, {} us before an earlier answer", what, at_us,
                           not_before_us - at_us);
  } else if (at_us > bound_us()) {
    problem_ =
        fmt::format("{} is judged at {}, {} us after real time", what, at_us, at_us - real_us());
  }
}

std::vector<JudgedTime::Place*> JudgedTime::places_of(const engine::TabletDescriptor& tablet) {
  std::vector<Place*> places;
  for (size_t i = 0; i < places_.size(); ++i) {
    const bool before_end = tablet.end.empty() || kHistoryPlaces[i] < tablet.end;
    if (kHistoryPlaces[i] >= tablet.start && before_end) places.push_back(&places_[i]);
  }
  return places;
}

int64_t JudgedTime::judge_tablet(const engine::TabletDescriptor& tablet) {
  look_at_steadiness();
  node_.catch_up();  // otherwise the request would do it, and be judged later
  int64_t at_us = node_.shard(tablet.shard.value()).clock().now_us();
  int64_t answered_us = 0;
  for (const Place* place : places_of(tablet)) {
    at_us = std::max(at_us, static_cast<int64_t>(place->stamp_ns / 1000));
    answered_us = std::max(answered_us, place->answered_us);
  }
  judge(fmt::format("tablet {} on shard {}", tablet.id, tablet.shard), at_us, answered_us);
  for (Place* place : places_of(tablet)) place->answered_us = at_us;
  return at_us;
}

int64_t JudgedTime::at_us(const std::string& row) {
  return judge_tablet(node_.table("t")->locate(row));
}

int64_t JudgedTime::latest_us() {
  int64_t latest_us = 0;
  for (const engine::TabletDescriptor& tablet : node_.table("t")->tablets)
    latest_us = std::max(latest_us, judge_tablet(tablet));
  return latest_us;
}

void JudgedTime::committed(const std::string& row, CommitStamp stamp) {
  const auto at_us = static_cast<int64_t>(stamp.value() / 1000);
  for (Place* place : places_of(node_.table("t")->locate(row))) {
    if (stamp.value() <= place->commit_ns && !problem_)
      problem_ =
          fmt::format("a commit is stamped {} after one stamped {}", stamp, place->commit_ns);
    judge("a commit", at_us, place->answered_us);
    *place = {.stamp_ns = std::max(place->stamp_ns, stamp.value()),
              .commit_ns = stamp.value(),
              .answered_us = at_us};
  }
}

void JudgedTime::committed_everywhere(CommitStamp stamp) {
  const auto at_us = static_cast<int64_t>(stamp.value() / 1000);
  for (const Place& place : places_) {
    if (stamp.value() <= place.commit_ns && !problem_)
      problem_ =
          fmt::format("a change is stamped {} after a commit stamped {}", stamp, place.commit_ns);
  }
  judge("a change", at_us, 0);
  for (Place& place : places_) place.stamp_ns = std::max(place.stamp_ns, stamp.value());
}

// ---- the machine

void JudgedTime::may_believe_wall() {
  vouched_us_ = std::max(vouched_us_, clock().wall_us() - real_us());
}

// The time that the kernel vouches for: after a reboot at once, otherwise after a day of
// steadiness.
void JudgedTime::look_at_steadiness() {
  if (!clock().synchronised()) return;
  const int64_t steady_us = clock().boot_us() - steady_since_us_;
  if (boots_ > 0 || steady_us >= kSteadyForUs) may_believe_wall();
}

void JudgedTime::step_wall(int64_t by_us) {
  look_at_steadiness();
  clock().set_wall_us(std::max<int64_t>(1, clock().wall_us() + by_us));
  if (std::abs(by_us) > kUnsteadyUs) steady_since_us_ = clock().boot_us();
  disturbed_ = true;
  look_at_steadiness();
}

void JudgedTime::set_wall_right() { step_wall(real_us() - clock().wall_us()); }

void JudgedTime::set_synchronised(bool yes) {
  look_at_steadiness();
  clock().set_synchronised(yes);
  steady_since_us_ = clock().boot_us();
  disturbed_ = true;
  look_at_steadiness();
}

void JudgedTime::released() { may_believe_wall(); }

void JudgedTime::renewed() {
  if (disturbed_ || problem_) return;
  const int64_t latest_us = this->latest_us();
  if (latest_us < real_us() && !problem_) {
    problem_ = fmt::format("no clock was ever wrong, and time stands at {}, {} us late", latest_us,
                           real_us() - latest_us);
  }
}

void JudgedTime::down_for(int64_t us) { clock().advance_us(us); }

void JudgedTime::boot_anew(int64_t down_us) {
  down_for(down_us);
  const int64_t real_us = this->real_us();
  const int64_t boot_us = std::min(down_us, kBootTakesUs);
  clock().set_boot(fmt::format("boot {}", ++boots_), boot_us);
  real_at_boot_us_ = real_us - boot_us;
  steady_since_us_ = boot_us;
  disturbed_ = true;
  look_at_steadiness();
}

void JudgedTime::started(bool report) {
  if (!report) return;
  int64_t answered_us = 0;
  for (const Place& place : places_) answered_us = std::max(answered_us, place.answered_us);
  look_at_steadiness();
  judge("the node", node_.clock_report().trusted_us, answered_us);
}

}  // namespace cellar::support
