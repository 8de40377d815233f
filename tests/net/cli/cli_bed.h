// Runs the program as a user does: arguments in, text and an exit code out, against a real node in
// this process.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "net/cli/program/app.h"
#include "net/server/server.h"
#include "tests/net/server/clock_requests.h"

namespace cellar::cli {

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

// Runs the program with `words` and with `input` as its standard input, which is not a terminal.
Outcome cellar(const std::vector<std::string>& words, const std::string& input = {});
// The same at a terminal, where `input` is typed; `out` has both outputs in their order.
Outcome at_terminal(const std::vector<std::string>& words, const std::string& input = {});
// Runs it, expects success and returns its output.
std::string good(const std::vector<std::string>& words, const std::string& input = {});
// Runs it and expects that exit code, and `expected` in its error message.
void refused(const std::vector<std::string>& words, int code, std::string_view expected);

// The clock of the program; null: the machine's.
void set_program_clock(const Clock* clock);

// A node with its own directory, at $CELLAR_ADDR.
class CliNode {
 public:
  explicit CliNode(const Clock& clock,
                   const server::RequestHandler& handler = server::request_handler());
  ~CliNode();
  CliNode(const CliNode&) = delete;
  CliNode& operator=(const CliNode&) = delete;
  const std::filesystem::path& dir() const { return dir_; }
  std::string address() const { return server_->address(); }

 private:
  std::filesystem::path dir_;
  std::unique_ptr<server::Server> server_;
};

// Tests of one suite share a node, which runs on the machine's clock.
class CliBed : public testing::Test {
 protected:
  static void SetUpTestSuite() { node_ = std::make_unique<CliNode>(clock_); }
  static void TearDownTestSuite() { node_.reset(); }
  static const std::filesystem::path& dir() { return node_->dir(); }
  static std::string write_file(const std::string& name, const std::string& text);

 private:
  static inline SystemClock clock_;
  static inline std::unique_ptr<CliNode> node_;
};

// Each test has its own node, on a clock that only the test moves and that the program uses too.
class ClockedCliBed : public testing::Test {
 protected:
  static constexpr int64_t kStartUs = 1'777'539'600'000'000;  // 2026-04-30T09:00:00Z

  ClockedCliBed();
  ~ClockedCliBed() override;
  std::string address() const { return node_.address(); }
  void pass_us(int64_t us);            // advances both clocks
  void jump_wall_us(int64_t wall_us);  // moves only the wall clock

 private:
  tests::AdjustableClock clock_{kStartUs, 1'000'000'000};
  tests::ClockRequests requests_{clock_};
  CliNode node_{clock_, requests_};
};

}  // namespace cellar::cli
