// The program as a user meets it: words in, text and an exit code out, against a real node in this
// process.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "net/cli/program/app.h"
#include "net/server/server.h"
#include "tests/net/server/adjustable_clock.h"

namespace cellar::cli {

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

// Runs the program with `words`, and `input` as its standard input: no terminal.
Outcome cellar(const std::vector<std::string>& words, const std::string& input = {});
// The same at a terminal, where `input` is typed; both outputs are in `out`, in their order.
Outcome at_terminal(const std::vector<std::string>& words, const std::string& input = {});
// Runs it and expects it to work; what it printed.
std::string good(const std::vector<std::string>& words, const std::string& input = {});
// Runs it and expects that exit code, and the text in what it complains.
void refused(const std::vector<std::string>& words, int code, std::string_view expected);

// The time that the program sees; null: the machine's.
void set_program_clock(const Clock* clock);

// A node with a directory of its own, at $CELLAR_ADDR.
class CliNode {
 public:
  explicit CliNode(const Clock& clock, server::ExtraOps* extra = nullptr);
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

// Here each test has a node of its own, on a clock that moves only when told and that the program
// sees too.
class ClockedCliBed : public testing::Test {
 protected:
  static constexpr int64_t kStartUs = 1'777'539'600'000'000;  // 2026-04-30T09:00:00Z

  ClockedCliBed();
  ~ClockedCliBed() override;
  std::string address() const { return node_.address(); }
  void pass_us(int64_t us);            // time passes
  void jump_wall_us(int64_t wall_us);  // only the wall clock moves

 private:
  tests::AdjustableClock clock_{kStartUs, 1'000'000'000};
  CliNode node_{clock_, &clock_};
};

}  // namespace cellar::cli
