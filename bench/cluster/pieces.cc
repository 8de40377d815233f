#include "bench/cluster/pieces.h"

#include <algorithm>

#include "bench/cluster/median.h"
#include "io/base/check.h"
#include "io/base/random.h"
#include "io/loop/context_timers.h"
#include "io/loop/event.h"

namespace cellar::bench {
namespace {

constexpr size_t kPieceBytes = 4u << 20;
constexpr size_t kRangeBytes = 256u << 10;
constexpr size_t kSmallBytes = 4u << 10;
constexpr int kInFlight = 2;

class Pieces {
 public:
  Pieces(ClusterBed& bed, RadosPool pool, int count) : bed_(bed), pool_(pool), count_(count) {}

  Async<PieceFigures> run() {
    PieceFigures figures;
    const int64_t began_us = steady_us();
    running_ = kInFlight;
    for (int i = 0; i < kInFlight; ++i) {
      spawn(bed_.loop().executor(), [this] { return write_some(); });
    }
    while (running_ > 0) co_await ended_.wait();
    const double seconds = static_cast<double>(steady_us() - began_us) / 1e6;
    figures.write_mib_s = 4.0 * count_ / seconds;
    figures.write_ms = median_ms(taken_us_);
    // Thirds of the pieces, so that no read finds what another one has brought.
    figures.whole_read_ms = co_await read_each(0, kPieceBytes);
    figures.range_read_ms = co_await read_each(1, kRangeBytes);
    figures.small_read_ms = co_await read_each(2, kSmallBytes);
    co_return figures;
  }

 private:
  RadosObject piece(int number) const { return {pool_, fmt::format("piece-{}", number)}; }

  Async<void> write_some() {
    while (next_ < count_) {
      const int number = next_++;
      std::string content(kPieceBytes, '\0');
      for (char& c : content) c = static_cast<char>(random_.next());
      RadosWrite write;
      write.write_full(std::move(content));
      const int64_t began_us = steady_us();
      const auto outcome =
          co_await bed_.port().write(piece(number), std::move(write), ClusterBed::kCallUs);
      CHECK(outcome && std::holds_alternative<RadosApplied>(*outcome), "a piece was not written");
      taken_us_.push_back(steady_us() - began_us);
    }
    --running_;
    ended_.notify_all();
  }

  Async<double> read_each(int first, size_t bytes) {
    std::vector<int64_t> taken_us;
    for (int i = first; i < count_; i += 3) {
      const uint64_t places = kPieceBytes / bytes;
      const uint64_t offset = random_.below(places) * bytes;
      const int64_t began_us = steady_us();
      const auto read =
          co_await bed_.port().read(piece(i), offset, bytes, ClusterBed::kCallUs, true);
      CHECK(read && read->data.size() == bytes, "a piece was not read");
      taken_us.push_back(steady_us() - began_us);
    }
    co_return median_ms(std::move(taken_us));
  }

  ClusterBed& bed_;
  const RadosPool pool_;
  const int count_;
  Random random_{1};
  std::vector<int64_t> taken_us_;
  int next_ = 0;
  int running_ = 0;
  ConditionVariable ended_;
};

}  // namespace

PieceFigures measure_pieces(ClusterBed& bed, RadosPool pool, int pieces) {
  Pieces work(bed, pool, pieces);
  const PieceFigures figures = bed.run(work.run());
  bed.run(bed.remove_all(pool));
  return figures;
}

}  // namespace cellar::bench
