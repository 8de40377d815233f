#include "tests/cases/player.h"

#include <algorithm>
#include <filesystem>

#include "tests/cases/translate.h"

namespace cellar::cases {
namespace {
namespace fs = std::filesystem;

constexpr int64_t kBootUs = 1'000'000'000;  // of a machine that has been up for a while
constexpr std::string_view kReads[] = {"read", "read_index", "sample_keys", "preview"};

bool is_read(const Step& step) {
  return std::find(std::begin(kReads), std::end(kReads), step.verb) != std::end(kReads);
}

std::vector<std::string> node_arguments(Mode mode) {
  // Small, so that a node starts in milliseconds. One mode plays without a row cache.
  return {"--shards",           "2",
          "--log-segment",      "1MiB",
          "--memory-total",     "64MiB",
          "--memory-memtable",  "4MiB",
          "--memory-row-cache", mode == Mode::flush ? "0" : "4"};
}

}  // namespace

std::string judge(const Step& step, const Played& played) {
  const std::string_view got = played.error ? errc_name(played.error->code) : "OK";
  const std::string_view wanted = step.error.empty() ? "OK" : std::string_view(step.error);
  if (got == wanted) return played.difference;
  return fmt::format("answered {}, expected {}: {}", got, wanted,
                     played.error ? played.error->message : "");
}

Player::Player(std::string program, std::string scratch)
    : program_(std::move(program)), scratch_(std::move(scratch)) {}

Result<void> Player::start_node() {
  client_.reset();
  TRY_VOID(node_->start({"--test-wall-us", std::to_string(clock_.wall_us), "--test-boot-us",
                         std::to_string(clock_.boot_us)}));
  return {};
}

client::SyncClient& Player::client() {
  if (!client_) {
    client::ClientOptions options;
    options.address = node_->address();
    options.client_id = "run_cases";
    client_ = std::make_unique<client::SyncClient>(options);
  }
  return *client_;
}

Outcome Player::play(const Case& c, Mode mode) {
  if (!c.fault.empty()) return {Outcome::Kind::fail, c.fault};
  if (!c.unknown_verb.empty()) {
    return {Outcome::Kind::unsupported,
            fmt::format("the runner does not know the step '{}'", c.unknown_verb)};
  }
  const std::string dir = fmt::format("{}/{}", scratch_, played_++);
  clock_ = {c.now_us, kBootUs};
  tables_.clear();
  tokens_.clear();
  node_ = std::make_unique<NodeProcess>(program_, dir, node_arguments(mode));
  Outcome outcome;
  if (auto started = start_node(); !started) {
    outcome = {Outcome::Kind::fail, "start: " + started.error().message};
  } else {
    outcome = play_steps(c, mode);
  }
  client_.reset();
  node_.reset();
  if (outcome.kind != Outcome::Kind::fail) {
    std::error_code ignored;
    fs::remove_all(dir, ignored);
    fs::remove(dir + ".log", ignored);
  } else {
    outcome.what += fmt::format(" (data and log kept in {})", dir);
  }
  return outcome;
}

Outcome Player::play_steps(const Case& c, Mode mode) {
  for (size_t i = 0; i < c.steps.size(); ++i) {
    const Step& step = c.steps[i];
    const std::string at = fmt::format("step {} ({})", i + 1, step.verb);
    const Answer answer = play_step(step);
    if (!answer) return {Outcome::Kind::fail, fmt::format("{}: {}", at, answer.error().message)};
    if (const std::string wrong = judge(step, *answer); !wrong.empty())
      return {Outcome::Kind::fail, fmt::format("{}: {}", at, wrong)};
    if (auto after = after_step(step, mode); !after)
      return {Outcome::Kind::fail, fmt::format("after {}: {}", at, after.error().message)};
  }
  return {};
}

Result<void> Player::after_step(const Step& step, Mode mode) {
  if (mode == Mode::restart) {
    node_->kill_now();
    return start_node();
  }
  if (mode == Mode::plain || is_read(step)) return {};
  for (const std::string& table : tables_) {
    TRY_VOID(client().flush_table(table));
    if (mode == Mode::compact) TRY_VOID(client().compact_table(table));
  }
  return {};
}

// Throws if a value is not of the type that the format requires.
Player::Answer Player::play_step(const Step& step) {
  try {
    return play_verb(step);
  } catch (const std::exception& error) {
    return fail(Errc::invalid_argument, "not of the format: {}", error.what());
  }
}

Player::Answer Player::play_verb(const Step& step) {
  const std::string& verb = step.verb;
  if (verb == "clock" || verb == "wall_clock" || verb == "restart") return play_clock(step);
  if (verb == "mutate" || verb == "mutate_rows" || verb == "drop_rows") return play_write(step);
  if (verb == "check_and_mutate" || verb == "read_modify_write") return play_conditional(step);
  if (verb == "read") return read(step);
  if (verb.ends_with("_index")) return play_index(step);
  return play_table(step);
}

Player::Answer Player::play_clock(const Step& step) {
  if (step.verb == "restart") {
    TRY_VOID(expect_true(step.verb, step.value));
    node_->kill_now();
    TRY_VOID(start_node());
    return Played();
  }
  TRY(const int64_t to_us, parse_clock_us(step.value, clock_.wall_us));
  // Forward time moves both clocks; backward time and jumps move only the wall clock.
  if (step.verb == "clock" && to_us > clock_.wall_us) clock_.boot_us += to_us - clock_.wall_us;
  clock_.wall_us = to_us;
  TRY_VOID(set_node_clock(node_->address(), clock_));
  return Played();
}

}  // namespace cellar::cases
