#include "io/loop/shard_pool.h"

#include <pthread.h>
#include <sched.h>

#include <latch>
#include <thread>

#include <boost/asio/post.hpp>

#include "io/base/log.h"

namespace cellar {
namespace {

std::vector<int> allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) cores.push_back(i);
  }
  return cores;
}

void pin_this_thread(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  const int err = pthread_setaffinity_np(pthread_self(), sizeof set, &set);
  // Some containers forbid pinning; the shard then runs unpinned.
  if (err != 0) log_warn("runtime", "cannot pin a shard core={} errno={}", core, err);
}

Async<void> then_count_down(Async<void> work, std::latch& done) {
  co_await std::move(work);
  done.count_down();
}

}  // namespace

struct ShardPool::Member {
  Member(ShardId id, int64_t spin_us, Mailbox& mailbox, const Clock& clock, uint64_t seed)
      : loop(spin_us), shard(id, loop, mailbox, clock, seed) {}

  ShardLoop loop;
  Shard shard;
  int core = -1;  // core to pin to; -1 for none
  std::thread thread;
};

ShardPool::ShardPool(const Clock& clock, Options options)
    : options_(options), mailboxes_(options.shards) {
  Random seeds(options.seed != 0 ? options.seed : entropy_seed());
  const std::vector<int> cores = allowed_cores();
  const bool pin = options.pin && cores.size() > 1 && options.shards <= cores.size();
  for (uint32_t i = 0; i < options.shards; ++i) {
    const ShardId id(i);
    members_.push_back(
        std::make_unique<Member>(id, options.spin_us, mailboxes_.of(id), clock, seeds.next()));
    if (pin) members_.back()->core = cores[i];
    mailboxes_.attach(id, members_.back()->loop);
  }
}

ShardPool::~ShardPool() {
  if (running_) stop();
  for (uint32_t i = 0; i < size(); ++i) mailboxes_.detach(ShardId(i));
}

uint32_t ShardPool::cores() {
  const size_t count = allowed_cores().size();
  return count == 0 ? 1 : static_cast<uint32_t>(count);
}

Shard& ShardPool::on(ShardId shard) {
  CHECK(shard.value() < members_.size(), "no shard {}", shard);
  return members_[shard.value()]->shard;
}

const ShardLoop& ShardPool::loop(ShardId shard) const {
  CHECK(shard.value() < members_.size(), "no shard {}", shard);
  return members_[shard.value()]->loop;
}

void ShardPool::start(const Setup& setup) {
  CHECK(!running_, "the pool runs already");
  running_ = true;
  std::latch ready(static_cast<std::ptrdiff_t>(size()));
  for (const auto& member : members_) {
    member->thread = std::thread([this, &setup, &ready, m = member.get()] {
      pthread_setname_np(pthread_self(), fmt::format("shard-{}", m->shard.id()).c_str());
      if (m->core >= 0) pin_this_thread(m->core);
      if (setup) setup(m->shard);
      ready.count_down();
      m->loop.run();
      if (teardown_) teardown_(m->shard);
    });
  }
  ready.wait();
}

void ShardPool::run_on(ShardId shard, const Work& work) {
  Shard& target = on(shard);
  std::latch done(1);
  asio::post(target.executor(),
             [&] { spawn(target.executor(), then_count_down(work(target), done)); });
  done.wait();
}

void ShardPool::run_on_all(const Work& work) {
  std::latch done(static_cast<std::ptrdiff_t>(size()));
  for (const auto& member : members_) {
    asio::post(member->loop.executor(), [&work, &done, m = member.get()] {
      spawn(m->loop.executor(), then_count_down(work(m->shard), done));
    });
  }
  done.wait();
}

void ShardPool::stop(const Work& last, const Setup& teardown) {
  if (!running_) return;
  if (last) run_on_all(last);
  teardown_ = teardown;  // stop() publishes it to the threads
  for (const auto& member : members_) member->loop.stop();
  for (const auto& member : members_) member->thread.join();
  running_ = false;
}

}  // namespace cellar
