// run_seeds: plays whole-node simulations, each in a process of its own. A seed that fails is
// reduced (features off, fewer beats and clients) and printed with its command.
//
//   run_seeds --seed 42                           one seed, with its figures
//   run_seeds --seed 42 --off power --beats 3     what a failure prints
//   run_seeds --from TEXT --seconds 300           seeds derived from TEXT, for so long
//   run_seeds --from 1 --count 100 --plain        the seeds 1 to 100
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <thread>

#include <CLI/CLI.hpp>

#include "io/base/log.h"
#include "io/base/random.h"
#include "tests/simulation/simulation.h"

namespace cellar::simulation {
namespace {

struct Options {
  std::optional<uint64_t> seed;
  std::string off;
  uint32_t beats = 0, clients = 0;
  std::string from = "1";
  bool plain = false;
  double seconds = 0;
  uint64_t count = 0;
  unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
  std::string keep;
  unsigned failures = 3;
  bool reduce = true;
};

constexpr rlim_t kPatienceS = 60;  // of processor time, for one simulation

double now_s() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

void tell(const Outcome& outcome) {
  fmt::print(
      "{} starts, {} crashes, {:.0f} s simulated, {} rows, {} requests, {} unanswered, "
      "{} steps, {} rows undecided\n",
      outcome.starts, outcome.crashes, static_cast<double>(outcome.simulated_us) / 1e6,
      outcome.checked.rows, outcome.checked.operations, outcome.checked.unanswered,
      outcome.checked.steps, outcome.checked.undecided);
  for (const auto& [what, count] : outcome.answers) fmt::print("  {}: {}\n", what, count);
}

// The figures of a child: one line in its pipe.
struct Figures {
  uint64_t operations = 0, crashes = 0, undecided = 0, rows = 0;
  double simulated_s = 0;
};

struct Child {
  Plan plan;
  int out = -1;
};

pid_t begin(const Plan& plan, int& out, bool quiet) {
  int pipe_of[2];
  if (pipe(pipe_of) != 0) return -1;
  std::fflush(stdout);
  const pid_t child = fork();
  if (child != 0) {
    close(pipe_of[1]);
    out = pipe_of[0];
    return child;
  }
  const rlimit patience{kPatienceS, kPatienceS};
  setrlimit(RLIMIT_CPU, &patience);
  if (quiet) {
    const int nothing = open("/dev/null", O_WRONLY);
    dup2(nothing, STDOUT_FILENO);
    dup2(nothing, STDERR_FILENO);
  }
  const Outcome outcome = simulate(plan);
  if (outcome.problem) fmt::print("{}\n{}\n", plan.described(), *outcome.problem);
  std::fflush(stdout);
  const std::string line = fmt::format(
      "{} {} {} {} {}\n", outcome.checked.operations, outcome.crashes, outcome.checked.undecided,
      outcome.checked.rows, static_cast<double>(outcome.simulated_us) / 1e6);
  (void)!write(pipe_of[1], line.data(), line.size());
  _exit(outcome.problem ? 1 : 0);
}

bool passes(const Plan& plan) {
  int out = -1;
  const pid_t child = begin(plan, out, true);
  int status = 0;
  waitpid(child, &status, 0);
  close(out);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Switches off what the failure does not need.
Plan reduced(Plan plan) {
  const auto still = [&plan](Plan smaller) {
    if (passes(smaller)) return false;
    plan = std::move(smaller);
    return true;
  };
  for (uint32_t beats = 1; beats < plan.beats; beats = beats * 2) {
    Plan smaller = plan;
    smaller.beats = beats;
    if (still(smaller)) break;
  }
  for (size_t i = 0; i < kFeatures; ++i) {
    if (!plan.has(static_cast<Feature>(i))) continue;
    Plan smaller = plan;
    smaller.turn_off(static_cast<Feature>(i));
    still(smaller);
  }
  for (uint32_t clients = 1; clients < plan.clients; ++clients) {
    Plan smaller = plan;
    smaller.clients = clients;
    if (still(smaller)) break;
  }
  while (plan.beats > 1) {
    Plan smaller = plan;
    --smaller.beats;
    if (!still(smaller)) break;
  }
  return plan;
}

void report(const Plan& plan, const Options& options, const char* program) {
  const Plan least = options.reduce ? reduced(plan) : plan;
  fmt::print("\nFAILED: {}\n", plan.described());
  fmt::print("  repeat: {} {}\n", program, least.options());
  fmt::print("  or:     {} simulation_test --gtest_filter=*Fixed*\n", least.environment());
  int out = -1;
  const pid_t child = begin(least, out, false);
  int status = 0;
  waitpid(child, &status, 0);
  close(out);
  if (WIFSIGNALED(status)) fmt::print("  ended by signal {}\n", WTERMSIG(status));
  if (!options.keep.empty()) {
    std::ofstream(options.keep, std::ios::app) << least.options() << "\n";
    fmt::print("  kept in {}\n", options.keep);
  }
  std::fflush(stdout);
}

class Lane {
 public:
  Lane(const Options& options, const char* program) : options_(options), program_(program) {}

  int run() {
    const double until_s = now_s() + options_.seconds;
    const double began_s = now_s();
    uint64_t next = 0;
    const auto more = [&] {
      if (failed_ >= options_.failures) return false;
      return options_.seconds > 0 ? now_s() < until_s : next < options_.count;
    };
    while (more() || !running_.empty()) {
      while (more() && running_.size() < options_.jobs) launch(plan_of(next++));
      reap();
    }
    fmt::print(
        "{} simulations in {:.0f} s ({:.0f} a minute), {:.0f} s simulated, {} crashes, {} "
        "requests in {} rows checked, {} rows undecided, {} failed\n",
        played_, now_s() - began_s, static_cast<double>(played_) * 60 / (now_s() - began_s),
        sum_.simulated_s, sum_.crashes, sum_.operations, sum_.rows, sum_.undecided, failed_);
    if (played_ > 0 && failed_ > 0) fmt::print("the first failure was number {}\n", first_failed_);
    return failed_ == 0 ? 0 : 1;
  }

 private:
  Plan plan_of(uint64_t i) const {
    uint64_t seed = 0;
    if (options_.plain) {
      seed = std::stoull(options_.from) + i;
    } else {
      uint64_t hash = 1469598103934665603u;
      for (const char c : options_.from) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
      }
      seed = Random(hash + i).next() >> 24;
    }
    Plan plan = Plan::of(seed);
    (void)plan.turn_off(options_.off);
    if (options_.beats > 0) plan.beats = options_.beats;
    return plan;
  }
  void launch(const Plan& plan) {
    Child child{plan, -1};
    const pid_t pid = begin(plan, child.out, true);
    running_.emplace(pid, std::move(child));
  }
  void reap() {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, 0);
    const auto it = running_.find(pid);
    if (it == running_.end()) return;
    const Child child = std::move(it->second);
    running_.erase(it);
    ++played_;
    char line[128] = {};
    const ssize_t n = read(child.out, line, sizeof(line) - 1);
    close(child.out);
    Figures f;
    if (n > 0 && std::sscanf(line, "%lu %lu %lu %lu %lf", &f.operations, &f.crashes, &f.undecided,
                             &f.rows, &f.simulated_s) == 5) {
      sum_.operations += f.operations;
      sum_.crashes += f.crashes;
      sum_.undecided += f.undecided;
      sum_.rows += f.rows;
      sum_.simulated_s += f.simulated_s;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    if (failed_++ == 0) first_failed_ = played_;
    report(child.plan, options_, program_);
  }

  const Options& options_;
  const char* program_;
  std::map<pid_t, Child> running_;
  uint64_t played_ = 0, failed_ = 0, first_failed_ = 0;
  Figures sum_;
};

int play_one(const Options& options) {
  Plan plan = Plan::of(*options.seed);
  if (const auto off = plan.turn_off(options.off); !off) {
    fmt::print(stderr, "run_seeds: {}\n", off.error().message);
    return 2;
  }
  if (options.beats > 0) plan.beats = options.beats;
  if (options.clients > 0) plan.clients = options.clients;
  fmt::print("{}\n", plan.described());
  const Outcome outcome = simulate(plan);
  tell(outcome);
  if (outcome.problem) fmt::print("{}\n", *outcome.problem);
  std::fflush(stdout);
  if (outcome.problem) _exit(1);
  return 0;
}

}  // namespace
}  // namespace cellar::simulation

int main(int argc, char** argv) {
  using cellar::simulation::Options;
  Options options;
  CLI::App app("Plays whole-node simulations.");
  app.add_option("--seed", options.seed, "plays this seed alone");
  app.add_option("--off", options.off, "features to switch off, separated by commas");
  app.add_option("--beats", options.beats, "bursts of work (default: drawn from the seed)");
  app.add_option("--clients", options.clients, "clients (default: drawn from the seed)");
  app.add_option("--from", options.from, "text, from which the seeds are derived");
  app.add_flag("--plain", options.plain, "--from is the first seed, and they follow each other");
  app.add_option("--seconds", options.seconds, "how long to play");
  app.add_option("--count", options.count, "how many seeds to play");
  app.add_option("--jobs", options.jobs, "processes at a time (default: one for each core)");
  app.add_option("--keep", options.keep, "appends the options of failures to this file");
  app.add_option("--failures", options.failures, "ends after so many (default 3)");
  app.add_flag("!--no-reduce", options.reduce, "prints failures as they are");
  CLI11_PARSE(app, argc, argv);
  cellar::set_log_level(cellar::LogLevel::off);
  if (options.seed) return cellar::simulation::play_one(options);
  return cellar::simulation::Lane(options, argv[0]).run();
}
