#include "tests/simulation/simulation.h"

#include <fmt/format.h>

#include <memory>
#include <sstream>
#include <vector>

#include "engine/inspect/verify_directory.h"
#include "tests/simulation/actor.h"
#include "tests/simulation/director.h"
#include "tests/simulation/keeper.h"
#include "tests/simulation/operator.h"

namespace cellar::simulation {
namespace {

class Simulation {
 public:
  explicit Simulation(const Plan& plan) : stage_(plan), director_(stage_), operator_(stage_) {
    if (plan.has(Feature::backups)) keeper_ = std::make_unique<Keeper>(stage_);
    for (uint32_t i = 0; i < plan.clients; ++i) {
      actors_.push_back(std::make_unique<Actor>(stage_, i));
    }
  }

  Outcome run() {
    start(director_.begin());
    wait("the first start");
    start(operator_.create_tables());
    wait("the creation of the tables");
    for (uint32_t beat = 0; beat < stage_.plan.beats && !stage_.problem; ++beat) play(beat);
    wait_scans();
    if (!stage_.problem) end();
    return finish();
  }

 private:
  // Longer than any request may take: nothing may hang.
  static constexpr int64_t kPatienceUs = 400'000'000;

  void start(Async<void> work) {
    ++running_;
    spawn(stage_.loop.executor(), count_down(std::move(work), running_));
  }
  static Async<void> count_down(Async<void> work, size_t& count) {
    co_await std::move(work);
    --count;
  }
  void wait(std::string_view what) {
    const bool done = stage_.world.run_until([&] { return running_ == 0; }, kPatienceUs);
    if (!done) {
      stage_.complain(fmt::format("{} hangs", what));
      hung_ = true;
    }
    director_.reap();
  }
  void wait_scans() {
    if (hung_) return;
    const bool done = stage_.world.run_until([&] { return scans_ == 0; }, kPatienceUs);
    if (!done) {
      stage_.complain("a scan hangs");
      hung_ = true;
    }
  }

  void play(uint32_t beat) {
    Random random = stage_.random_of("beat", beat);
    for (auto& actor : actors_) start(actor->beat(beat));
    if (stage_.plan.has(Feature::scans)) {
      Actor& reader = *actors_[random.below(actors_.size())];
      ++scans_;
      spawn(stage_.loop.executor(), count_down(reader.scan(beat), scans_));
    }
    start(operator_.beat(beat));
    if (keeper_) start(keeper_->beat(beat));
    start(director_.beat(beat));
    wait(fmt::format("beat {}", beat));
    if (hung_) return;
    start(director_.settle(beat));
    wait(fmt::format("the end of beat {}", beat));
    if (hung_) return;
    stage_.world.run_for_us(random.one_in(3) ? static_cast<int64_t>(random.below(60'000'000))
                                             : static_cast<int64_t>(random.below(500'000)));
    director_.reap();
  }

  void end() {
    Actor auditor(stage_, 100);
    start(auditor.read_everything());
    wait("the last read");
    auditor.close();
    if (hung_) return;
    for (auto& actor : actors_) actor->close();
    operator_.close();
    if (keeper_) start(keeper_->finish());
    wait("the last backup");
    if (hung_ || stage_.problem) return;
    stage_.world.run_for_us(1'000'000);
    stop();
    if (!stage_.problem && keeper_) play_new_node();
  }

  void stop() {
    start(director_.end());
    wait("the last stop");
    if (!hung_) verify();
  }

  void play_new_node() {
    const std::optional<std::string> backup = keeper_->last_backup();
    if (!backup) return keeper_->close();
    start(director_.begin_from(*backup));
    wait("the first start of a new node");
    if (stage_.problem) return;
    start(keeper_->read_new_node());
    wait("the reads of a new node");
    keeper_->close();
    if (!hung_) stop();
  }

  void verify() {
    MemFs fs(stage_.loop.executor(), director_.disk());
    std::ostringstream out;
    const auto dump = engine::make_dump(engine::DumpForm::problems_only, out);
    const auto verified = stage_.world.block_on(stage_.loop, engine::verify_directory(fs, *dump));
    if (!verified) stage_.complain("the directory is unreadable: " + verified.error().to_string());
    if (dump->problems() > 0) stage_.complain("the directory is damaged: " + out.str());
  }

  Outcome finish() {
    Outcome outcome;
    if (!stage_.problem) {
      outcome.checked = stage_.history.check();
      stage_.problem = outcome.checked.problem;
    }
    // Lives that were cut off end unseen.
    if (!stage_.problem) {
      const bool ended = stage_.world.run_until(
          [&] {
            director_.reap();
            return director_.all_ended();
          },
          kPatienceUs);
      if (!ended) stage_.complain("a node that was cut off does not end");
    }
    outcome.problem = stage_.problem;
    outcome.crashes = director_.crashes();
    outcome.starts = director_.starts();
    outcome.simulated_us = stage_.now_us() - stage_.began_us;
    outcome.answers = stage_.answers;
    return outcome;
  }

  Stage stage_;
  Director director_;
  Operator operator_;
  std::unique_ptr<Keeper> keeper_;
  std::vector<std::unique_ptr<Actor>> actors_;
  size_t running_ = 0;
  size_t scans_ = 0;
  bool hung_ = false;
};

}  // namespace

Outcome simulate(const Plan& plan) {
  auto simulation = std::make_unique<Simulation>(plan);
  Outcome outcome = simulation->run();
  // The parts of a failed simulation wait for each other; the process ends soon.
  if (outcome.problem) (void)simulation.release();
  return outcome;
}

}  // namespace cellar::simulation
