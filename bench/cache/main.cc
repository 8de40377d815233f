// Compares replacement policies of the block cache: the engine's cache with blocks that compress to
// half, some of which it keeps packed, and with blocks that do not compress (S3-FIFO only), and LRU
// and CLOCK of as many bytes, on the same traces. Prints the share of accesses that find their
// block, how many of these unpack it, and the processor time of an access, including the insertion
// after a miss.
//
//   cellar-bench-cache [--blocks 20000] [--accesses 2000000] [--percent 10]
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ctime>
#include <functional>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include <CLI/CLI.hpp>

#include "engine/sstable/block_cache.h"
#include "io/base/random.h"

namespace cellar::bench {
namespace {

constexpr size_t kBlockBytes = 4096;

// The accessed blocks, in order.
using Trace = std::vector<uint32_t>;

class Policy {
 public:
  virtual ~Policy() = default;
  // Returns whether the block was present; inserts it otherwise.
  virtual bool access(uint32_t block) = 0;
  // The number of hits so far that had to unpack the block.
  virtual uint64_t unpacked() const { return 0; }
};

class Engine final : public Policy {
 public:
  Engine(size_t blocks, bool packs)
      : contents_(kBlockBytes, 'x'), cache_(blocks * (sizeof(engine::Block) + kBlockBytes)) {
    Random random(5);
    // Half of the bytes compress, half do not.
    for (size_t i = 0; i < kBlockBytes; ++i)
      if (!packs || i / 50 % 2 == 0) contents_[i] = static_cast<char>(random.below(256));
    engine::append_block(stored_, contents_, true, BlobId{1}, 0);
    checked_ = *engine::check_block(stored_, BlobId{1}, 0);
  }
  bool access(uint32_t block) override {
    const engine::BlockKey key{BlobId{1}, block};
    if (cache_.find(key)) return true;
    char* into = nullptr;
    const engine::BlockRef read = engine::make_block(key, kBlockBytes, into);
    std::memcpy(into, contents_.data(), kBlockBytes);
    cache_.insert(read, &checked_);
    return false;
  }
  uint64_t unpacked() const override { return cache_.stats().packed_hits; }

 private:
  std::string contents_;
  std::string stored_;
  engine::CheckedBlock checked_;
  engine::BlockCache cache_;
};

class Lru final : public Policy {
 public:
  explicit Lru(size_t blocks) : room_(blocks) {}
  bool access(uint32_t block) override {
    const auto found = places_.find(block);
    if (found != places_.end()) {
      order_.splice(order_.begin(), order_, found->second);
      return true;
    }
    if (order_.size() == room_) {
      places_.erase(order_.back());
      order_.pop_back();
    }
    order_.push_front(block);
    places_[block] = order_.begin();
    return false;
  }

 private:
  const size_t room_;
  std::list<uint32_t> order_;
  std::unordered_map<uint32_t, std::list<uint32_t>::iterator> places_;
};

class Clock final : public Policy {
 public:
  explicit Clock(size_t blocks) : slots_(blocks) {}
  bool access(uint32_t block) override {
    const auto found = places_.find(block);
    if (found != places_.end()) {
      slots_[found->second].asked = true;
      return true;
    }
    while (slots_[hand_].asked) {
      slots_[hand_].asked = false;
      hand_ = (hand_ + 1) % slots_.size();
    }
    Slot& slot = slots_[hand_];
    if (slot.used) places_.erase(slot.block);
    slot = {block, true, false};
    places_[block] = hand_;
    hand_ = (hand_ + 1) % slots_.size();
    return false;
  }

 private:
  struct Slot {
    uint32_t block = 0;
    bool used = false;
    bool asked = false;
  };
  std::vector<Slot> slots_;
  std::unordered_map<uint32_t, size_t> places_;
  size_t hand_ = 0;
};

// Ranks by Zipf's law with exponent 0.99, as in YCSB; blocks get their ranks at random.
class Zipf {
 public:
  Zipf(uint32_t blocks, Random& random) : random_(random), sums_(blocks), order_(blocks) {
    double sum = 0;
    for (uint32_t i = 0; i < blocks; ++i) {
      sums_[i] = sum += 1 / std::pow(i + 1, 0.99);
      order_[i] = i;
    }
    reorder();
  }
  void reorder() {
    for (size_t i = order_.size() - 1; i > 0; --i)
      std::swap(order_[i], order_[random_.below(i + 1)]);
  }
  uint32_t next() {
    const double at = random_.unit();
    const auto rank = std::upper_bound(sums_.begin(), sums_.end() - 1, at * sums_.back());
    return order_[static_cast<size_t>(rank - sums_.begin())];
  }

 private:
  Random& random_;
  std::vector<double> sums_;
  std::vector<uint32_t> order_;
};

struct Named {
  const char* name;
  std::function<Trace(uint32_t blocks, size_t accesses, size_t room)> make;
};

Trace zipf(uint32_t blocks, size_t accesses, size_t /*room*/) {
  Random random(1);
  Zipf points(blocks, random);
  Trace trace(accesses);
  for (uint32_t& block : trace) block = points.next();
  return trace;
}

// Half of the accesses belong to scans over everything, a range at a time.
Trace zipf_beside_scans(uint32_t blocks, size_t accesses, size_t /*room*/) {
  Random random(2);
  Zipf points(blocks, random);
  Trace trace;
  uint32_t at = 0;
  while (trace.size() < accesses) {
    for (int i = 0; i < 32; ++i) trace.push_back(points.next());
    for (int i = 0; i < 32; ++i) trace.push_back(at++ % blocks);
  }
  return trace;
}

// The most frequent blocks change ten times.
Trace moving_zipf(uint32_t blocks, size_t accesses, size_t /*room*/) {
  Random random(3);
  Zipf points(blocks, random);
  Trace trace(accesses);
  for (size_t i = 0; i < accesses; ++i) {
    if (i % (accesses / 10) == 0) points.reorder();
    trace[i] = points.next();
  }
  return trace;
}

// Time series: writes advance, and reads are of the newest blocks, half the cache at a time.
Trace newest(uint32_t /*blocks*/, size_t accesses, size_t room) {
  Random random(4);
  Trace trace(accesses);
  for (size_t i = 0; i < accesses; ++i)
    trace[i] = static_cast<uint32_t>(i / 20 + random.below(room / 2));
  return trace;
}

// All blocks equally often.
Trace uniform(uint32_t blocks, size_t accesses, size_t /*room*/) {
  Random random(6);
  Trace trace(accesses);
  for (uint32_t& block : trace) block = static_cast<uint32_t>(random.below(blocks));
  return trace;
}

// Everything in order, repeatedly: one and a half times the size of the cache.
Trace loop(uint32_t /*blocks*/, size_t accesses, size_t room) {
  Trace trace(accesses);
  for (size_t i = 0; i < accesses; ++i) trace[i] = static_cast<uint32_t>(i % (room * 3 / 2));
  return trace;
}

double processor_ns() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

std::string measure(Policy& policy, const Trace& trace) {
  const size_t warm = trace.size() / 5;
  for (size_t i = 0; i < warm; ++i) policy.access(trace[i]);
  size_t hits = 0;
  const uint64_t unpacked_before = policy.unpacked();
  const double began = processor_ns();
  for (size_t i = warm; i < trace.size(); ++i) hits += policy.access(trace[i]) ? 1 : 0;
  const double took = processor_ns() - began;
  const auto counted = static_cast<double>(trace.size() - warm);
  const auto unpacked = static_cast<double>(policy.unpacked() - unpacked_before);
  return fmt::format("{:>7.1f}% {:>3.0f}% {:>4.0f} ns", 100 * static_cast<double>(hits) / counted,
                     100 * unpacked / std::max(static_cast<double>(hits), 1.0), took / counted);
}

int run(int argc, char** argv) {
  CLI::App app("Replacement policies of the block cache");
  uint32_t blocks = 20'000;
  size_t accesses = 2'000'000;
  size_t percent = 10;
  app.add_option("--blocks", blocks, "of the data")->check(CLI::Range(1000, 1 << 24));
  app.add_option("--accesses", accesses, "of each trace")->check(CLI::Range(1000, 1 << 30));
  app.add_option("--percent", percent, "of the blocks, that the cache holds")
      ->check(CLI::Range(1, 100));
  CLI11_PARSE(app, argc, argv);
  const size_t room = blocks * percent / 100;
  const std::vector<Named> traces = {{"zipf", zipf},
                                     {"zipf beside scans", zipf_beside_scans},
                                     {"zipf that moves", moving_zipf},
                                     {"the newest", newest},
                                     {"uniform", uniform},
                                     {"loop", loop}};
  fmt::print("{:<26}{:>21}{:>21}{:>21}{:>21}\n", "found, unpacked, time each", "engine, packed",
             "S3-FIFO", "LRU", "CLOCK");
  for (const Named& one : traces) {
    const Trace trace = one.make(blocks, accesses, room);
    Engine packing(room, true);
    Engine plain(room, false);
    Lru lru(room);
    Clock clock(room);
    fmt::print("{:<26}{:>21}{:>21}{:>21}{:>21}\n", one.name, measure(packing, trace),
               measure(plain, trace), measure(lru, trace), measure(clock, trace));
  }
  return 0;
}

}  // namespace
}  // namespace cellar::bench

int main(int argc, char** argv) { return cellar::bench::run(argc, argv); }
