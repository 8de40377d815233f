#include "tests/net/cli/cli_bed.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "io/base/check.h"
#include "tests/cases/clock_control.h"

namespace cellar::cli {

namespace {

const Clock* program_clock = nullptr;

std::string contents(std::FILE* file) {
  std::fflush(file);
  std::fseek(file, 0, SEEK_SET);
  std::string text;
  for (int c = std::getc(file); c != EOF; c = std::getc(file)) text.push_back(static_cast<char>(c));
  std::fclose(file);
  return text;
}

std::FILE* typed(const std::string& input) {
  std::FILE* file = std::tmpfile();
  std::fwrite(input.data(), 1, input.size(), file);
  std::fseek(file, 0, SEEK_SET);
  return file;
}

int run_program(const std::vector<std::string>& words, const Console& console) {
  static const SystemClock kSystem;
  return run(words, console, program_clock != nullptr ? *program_clock : kSystem);
}

}  // namespace

Outcome cellar(const std::vector<std::string>& words, const std::string& input) {
  Console console;
  console.out = std::tmpfile();
  console.err = std::tmpfile();
  console.in = typed(input);
  Outcome outcome;
  outcome.code = run_program(words, console);
  outcome.out = contents(console.out);
  outcome.err = contents(console.err);
  return outcome;
}

Outcome at_terminal(const std::vector<std::string>& words, const std::string& input) {
  Console console;
  console.out = console.err = std::tmpfile();
  console.in = typed(input);
  console.in_is_terminal = console.out_is_terminal = console.err_is_terminal = true;
  Outcome outcome;
  outcome.code = run_program(words, console);
  outcome.out = contents(console.out);
  return outcome;
}

std::string good(const std::vector<std::string>& words, const std::string& input) {
  const Outcome outcome = cellar(words, input);
  EXPECT_EQ(outcome.code, kDone) << words[0] << ": " << outcome.err;
  return outcome.out;
}

void refused(const std::vector<std::string>& words, int code, std::string_view expected) {
  const Outcome outcome = cellar(words);
  EXPECT_EQ(outcome.code, code) << outcome.err;
  EXPECT_NE(outcome.err.find(expected), std::string::npos) << outcome.err;
}

void set_program_clock(const Clock* clock) { program_clock = clock; }

CliNode::CliNode(const Clock& clock, const server::RequestHandler& handler) {
  static int count = 0;
  dir_ =
      std::filesystem::temp_directory_path() / fmt::format("cellar-cli-{}-{}", ::getpid(), ++count);
  std::filesystem::create_directories(dir_);
  server::ServerOptions options;
  options.data_dir = (dir_ / "data").string();
  options.listen = "127.0.0.1:0";
  options.shards = 2;
  options.pin = false;
  options.balance.enabled = false;
  options.engine.limits.cell_bytes = 32u << 20;
  auto started = server::Server::start(options, clock, nullptr, handler);
  CHECK(started.has_value(), "the node did not start: {}", started.error().to_string());
  server_ = *std::move(started);
  ::setenv("CELLAR_ADDR", server_->address().c_str(), 1);
}

CliNode::~CliNode() {
  EXPECT_TRUE(server_->stop().has_value());
  server_.reset();
  std::filesystem::remove_all(dir_);
}

std::string CliBed::write_file(const std::string& name, const std::string& text) {
  const std::string path = (dir() / name).string();
  std::ofstream(path) << text;
  return path;
}

ClockedCliBed::ClockedCliBed() { set_program_clock(&clock_); }

ClockedCliBed::~ClockedCliBed() { set_program_clock(nullptr); }

void ClockedCliBed::pass_us(int64_t us) {
  const auto moved = cases::set_node_clock(
      address(), {.wall_us = clock_.wall_us() + us, .boot_us = clock_.boot_us() + us});
  ASSERT_TRUE(moved) << moved.error().to_string();
}

void ClockedCliBed::jump_wall_us(int64_t wall_us) {
  const auto moved =
      cases::set_node_clock(address(), {.wall_us = wall_us, .boot_us = clock_.boot_us()});
  ASSERT_TRUE(moved) << moved.error().to_string();
}

}  // namespace cellar::cli
