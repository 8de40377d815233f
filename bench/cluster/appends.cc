#include "bench/cluster/appends.h"

#include <algorithm>

#include "io/base/check.h"
#include "io/loop/context_timers.h"

namespace cellar::bench {
namespace {

constexpr uint64_t kSegmentBytes = 16u << 20;

using test::GuardedLane;

class Lane {
 public:
  Lane(ClusterBed& bed, int number) : bed_(bed), number_(number) {}

  Async<void> begin_segment() {
    RadosObject object{bed_.pool(), fmt::format("lane-{}-{}", number_, segment_++)};
    lane_ = std::make_unique<GuardedLane>(bed_.port(), bed_.loop().timers(), std::move(object), "7",
                                          ClusterBed::kCallUs);
    co_await lane_->create();
  }
  Async<void> append(std::string batch) {
    const AsyncMutex::Lock lock = co_await turn_.lock();
    if (lane_->end() + batch.size() > kSegmentBytes) co_await begin_segment();
    const auto fate = co_await lane_->append(std::move(batch));
    CHECK(fate == GuardedLane::Fate::applied, "an append was not made");
  }
  GuardedLane& lane() { return *lane_; }

 private:
  ClusterBed& bed_;
  const int number_;
  int segment_ = 0;
  std::unique_ptr<GuardedLane> lane_;
  AsyncMutex turn_;
};

double at_share(const std::vector<int64_t>& sorted, double share) {
  if (sorted.empty()) return 0;
  const auto at = static_cast<size_t>(share * static_cast<double>(sorted.size()));
  return static_cast<double>(sorted[std::min(at, sorted.size() - 1)]);
}

class Load {
 public:
  Load(ClusterBed& bed, const AppendLoad& load) : bed_(bed), load_(load) {
    for (int i = 0; i < load.lanes; ++i) lanes_.push_back(std::make_unique<Lane>(bed, i));
  }

  Async<AppendFigures> run() {
    for (const auto& lane : lanes_) co_await lane->begin_segment();
    running_ = load_.writers;
    for (int i = 0; i < load_.writers; ++i) {
      spawn(bed_.loop().executor(), [this, i] { return write(*lanes_[lane_of(i)], i); });
    }
    co_await sleep_us(bed_.loop().timers(), us(load_.warm_s));
    const double client_cpu = client_cpu_s();
    const double osd_cpu = osd_cpu_s(bed_.options().config);
    const uint64_t unknown = bed_.port().figures().unknown;
    const int64_t began_us = steady_us();
    counting_ = true;
    co_await sleep_us(bed_.loop().timers(), us(load_.seconds));
    counting_ = false;
    const double passed_s = static_cast<double>(steady_us() - began_us) / 1e6;
    AppendFigures figures = figures_of(passed_s);
    const double appends = std::max<double>(1, static_cast<double>(figures.appends));
    figures.client_cpu_us = (client_cpu_s() - client_cpu) * 1e6 / appends;
    figures.osd_cpu_us = (osd_cpu_s(bed_.options().config) - osd_cpu) * 1e6 / appends;
    figures.unknown = bed_.port().figures().unknown - unknown;
    stopping_ = true;
    while (running_ > 0) co_await ended_.wait();
    co_return figures;
  }

 private:
  static int64_t us(double seconds) { return static_cast<int64_t>(seconds * 1e6); }
  size_t lane_of(int writer) const {
    return static_cast<size_t>(writer) % static_cast<size_t>(load_.lanes);
  }

  Async<void> write(Lane& lane, int number) {
    while (!stopping_) {
      std::string batch(load_.bytes, static_cast<char>('a' + number % 26));
      const int64_t began_us = steady_us();
      co_await lane.append(std::move(batch));
      if (counting_) taken_us_.push_back(steady_us() - began_us);
    }
    --running_;
    ended_.notify_all();
  }

  AppendFigures figures_of(double passed_s) {
    std::ranges::sort(taken_us_);
    AppendFigures figures;
    figures.appends = taken_us_.size();
    figures.per_s = static_cast<double>(taken_us_.size()) / passed_s;
    figures.p50_us = at_share(taken_us_, 0.5);
    figures.p99_us = at_share(taken_us_, 0.99);
    figures.longest_us = at_share(taken_us_, 1);
    return figures;
  }

  ClusterBed& bed_;
  const AppendLoad load_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<int64_t> taken_us_;
  bool counting_ = false;
  bool stopping_ = false;
  int running_ = 0;
  ConditionVariable ended_;
};

}  // namespace

AppendFigures measure_appends(ClusterBed& bed, const AppendLoad& load) {
  Load running(bed, load);
  const AppendFigures figures = bed.run(running.run());
  bed.run(bed.remove_all(bed.pool()));
  return figures;
}

double measure_fence_ms(ClusterBed& bed, int lanes) {
  const auto work = [&]() -> Async<double> {
    std::vector<std::unique_ptr<Lane>> all;
    for (int i = 0; i < lanes; ++i) {
      all.push_back(std::make_unique<Lane>(bed, i));
      co_await all.back()->begin_segment();
      co_await all.back()->append(std::string(4096, 'x'));
    }
    int left = lanes;
    ConditionVariable over;
    const int64_t began_us = steady_us();
    for (const auto& lane : all) {
      spawn(bed.loop().executor(), [&left, &over, one = lane.get()]() -> Async<void> {
        (void)co_await one->lane().fence();
        --left;
        over.notify_all();
      });
    }
    while (left > 0) co_await over.wait();
    co_return static_cast<double>(steady_us() - began_us) / 1e3;
  };
  const double ms = bed.run(work());
  bed.run(bed.remove_all(bed.pool()));
  return ms;
}

}  // namespace cellar::bench
