// Export and import by the real programs, with a kill of the program and of the node in the middle
// of each. The exported bytes equal the imported ones. CELLAR_TRANSFER_MB is the size (8 by
// default; 1024 for the figure in the contract).
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "engine/export/export_check.h"
#include "engine/export/export_encoder.h"
#include "io/base/random.h"
#include "tests/cases/node_process.h"
#include "tests/support/seeds.h"

namespace cellar::process {
namespace {
namespace fs = std::filesystem;

const fs::path kBin = fs::read_symlink("/proc/self/exe").parent_path();

// `cellar` as a child, with its output in a file.
class Tool {
 public:
  Tool(const std::string& address, std::vector<std::string> words, fs::path log)
      : log_(std::move(log)) {
    pid_ = ::fork();
    if (pid_ != 0) return;
    if (std::freopen(log_.c_str(), "w", stdout) == nullptr) ::_exit(99);
    ::dup2(STDOUT_FILENO, STDERR_FILENO);
    const std::string program = kBin / "cellar";
    words.insert(words.begin(), {program, "--addr", address});
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::execv(program.c_str(), argv.data());
    ::_exit(99);
  }
  bool running() {
    if (pid_ > 0 && ::waitpid(pid_, &status_, WNOHANG) != 0) pid_ = -1;
    return pid_ > 0;
  }
  void kill() {
    if (pid_ <= 0) return;  // it has ended
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, &status_, 0);
    pid_ = -1;
  }
  ~Tool() { kill(); }
  Tool(const Tool&) = delete;
  Tool& operator=(const Tool&) = delete;
  int wait() {
    if (pid_ > 0) ::waitpid(pid_, &status_, 0);
    pid_ = -1;
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : -1;
  }
  std::string said() const {
    std::ifstream in(log_);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  fs::path log_;
  pid_t pid_ = -1;
  int status_ = 0;
};

std::string contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool same(const fs::path& a, const fs::path& b) {
  if (fs::file_size(a) != fs::file_size(b)) return false;
  std::ifstream left(a, std::ios::binary);
  std::ifstream right(b, std::ios::binary);
  return std::equal(std::istreambuf_iterator<char>(left), {},
                    std::istreambuf_iterator<char>(right));
}

class Transfer : public testing::Test {
 protected:
  Transfer() : dir_(fs::temp_directory_path() / fmt::format("transfer_test.{}", getpid())) {
    fs::create_directories(dir_);
    megabytes_ = number_from_environment("CELLAR_TRANSFER_MB", 8);
    node_ = std::make_unique<cases::NodeProcess>(
        kBin / "cellard", dir_ / "data",
        std::vector<std::string>{"--shards", "2", "--memory-total", "256MiB"});
    node_->keep_address();
  }
  ~Transfer() override {
    node_.reset();
    if (!HasFailure()) fs::remove_all(dir_);
  }

  // Creates the table; returns the description with which an export of it begins.
  std::string make_table() {
    EXPECT_EQ(run({"createtable", "t", "families=f,g", "granularity=micros"}), 0) << said_;
    EXPECT_EQ(run({"export", "t", dir_ / "empty.cellar"}), 0) << said_;
    const std::string bytes = contents(dir_ / "empty.cellar");
    engine::ExportCheck check;
    EXPECT_TRUE(check.file_head(Bytes(bytes).substr(0, engine::kExportHeadBytes)));
    const Bytes frame = Bytes(bytes).substr(engine::kExportHeadBytes);
    const auto head = engine::decode_frame_head(frame);
    EXPECT_TRUE(check.frame(frame.substr(0, engine::kFrameHeadBytes),
                            frame.substr(engine::kFrameHeadBytes, head->payload_bytes)));
    return check.description();
  }

  // Rows in order, with values of every kind of byte, in the form that `cellar export` writes.
  void write_input(const fs::path& path) {
    const std::string description = make_table();
    Random random(7);
    engine::ExportEncoder out;
    std::ofstream file(path, std::ios::binary);
    file << out.begin(description);
    std::string noise;
    for (int i = 0; i < 100'000; ++i) noise += static_cast<char>(random.below(256));
    uint64_t bytes = 0;
    for (uint64_t row = 0; bytes < megabytes_ << 20; ++row) {
      out.begin_row(fmt::format("row{:012}", row * 7));
      const auto add = [&](Bytes family, Bytes qualifier, int64_t at, size_t size) {
        out.add({family, qualifier, at, std::nullopt,
                 Bytes(noise).substr(random.below(noise.size() - size), size)});
        bytes += size;
      };
      add("f", "a", 1'700'000'000'000'001, random.below(700));
      add("f", "a", 1'700'000'000'000'000, 10);
      add("g", "", static_cast<int64_t>(row), random.one_in(500) ? 60'000 : 8);
      out.end_row();
      if (out.block_full()) file << out.take_block();
    }
    file << out.finish();
  }

  int run(std::vector<std::string> words) {
    Tool tool(node_->address(), std::move(words), dir_ / "tool.log");
    const int code = tool.wait();
    said_ = tool.said();
    return code;
  }

  // Waits until `path` has this many bytes. False: the tool has ended before.
  static bool wait_for_bytes(Tool& tool, const fs::path& path, uint64_t bytes) {
    std::error_code absent;
    while (tool.running()) {
      if (fs::exists(path, absent) && fs::file_size(path, absent) >= bytes) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }

  static std::string text_of(const fs::path& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  // Waits until the import makes progress, because a node that is absent at its first attempt to
  // connect is an error.
  static void wait_for_change(Tool& tool, const fs::path& checkpoint, const std::string& before) {
    while (tool.running() && text_of(checkpoint) == before)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  void restart_node() {
    node_->kill_now();
    const auto started = node_->start();
    ASSERT_TRUE(started) << started.error().message;
  }

  const fs::path dir_;
  uint64_t megabytes_ = 0;
  std::unique_ptr<cases::NodeProcess> node_;
  std::string said_;
};

TEST_F(Transfer, WhatIsImportedAndExportedThroughKillsIsTheSame) {
  const fs::path input = dir_ / "in.cellar";
  const fs::path output = dir_ / "out.cellar";
  ASSERT_TRUE(node_->start());
  write_input(input);
  const fs::path checkpoint = input.string() + ".t.checkpoint";
  const std::vector<std::string> import = {"import", "t", input, "--resume"};
  const auto began = std::chrono::steady_clock::now();
  const auto pause = std::chrono::milliseconds(100 + 4 * megabytes_);
  {  // the importer is killed
    Tool tool(node_->address(), import, dir_ / "import1.log");
    std::this_thread::sleep_for(pause);
    tool.kill();
  }
  {  // the node is killed: writes in doubt end the import and are named
    const std::string before = text_of(checkpoint);
    Tool tool(node_->address(), import, dir_ / "import2.log");
    wait_for_change(tool, checkpoint, before);
    restart_node();
    if (tool.wait() != 0) {
      EXPECT_NE(tool.said().find("in doubt: lines "), std::string::npos) << tool.said();
      EXPECT_NE(tool.said().find(" import t " + input.string()), std::string::npos) << tool.said();
    }
  }
  {  // a sole writer repeats them
    std::vector<std::string> alone = import;
    alone.emplace_back("--sole-writer");
    const std::string before = text_of(checkpoint);
    Tool tool(node_->address(), alone, dir_ / "import3.log");
    wait_for_change(tool, checkpoint, before);
    restart_node();
    ASSERT_EQ(tool.wait(), 0) << tool.said();
  }
  EXPECT_FALSE(fs::exists(checkpoint));
  const auto imported = std::chrono::steady_clock::now();

  const std::vector<std::string> exported = {"export", "t", output, "--resume"};
  {  // the exporter is killed
    Tool tool(node_->address(), exported, dir_ / "export1.log");
    wait_for_bytes(tool, output.string() + ".part", (megabytes_ << 20) / 4);
    tool.kill();
  }
  {  // the node is killed
    Tool tool(node_->address(), exported, dir_ / "export2.log");
    wait_for_bytes(tool, output.string() + ".part", (megabytes_ << 20) / 2);
    restart_node();
    ASSERT_EQ(tool.wait(), 0) << tool.said();
  }
  const auto done = std::chrono::steady_clock::now();
  EXPECT_TRUE(same(input, output));
  const auto seconds = [](auto d) { return std::chrono::duration<double>(d).count(); };
  std::printf("%llu MiB: import %.1f s, export %.1f s, kills and restarts included\n",
              static_cast<unsigned long long>(megabytes_), seconds(imported - began),
              seconds(done - imported));
}

TEST_F(Transfer, ACutExportBecomesTheSameFileInEveryForm) {
  const fs::path input = dir_ / "in.cellar";
  megabytes_ = 1;
  ASSERT_TRUE(node_->start());
  write_input(input);
  ASSERT_EQ(run({"import", "t", input}), 0) << said_;
  for (const std::string form : {"cellar", "jsonl", "csv"}) {
    const fs::path whole = dir_ / ("whole." + form);
    ASSERT_EQ(run({"export", "t", whole}), 0) << said_;
    const std::string bytes = contents(whole);
    Random random(3);
    for (int i = 0; i < 6; ++i) {
      const fs::path cut = dir_ / fmt::format("cut{}.{}", i, form);
      std::ofstream(cut.string() + ".part", std::ios::binary)
          << bytes.substr(0, random.below(bytes.size()));
      ASSERT_EQ(run({"export", "t", cut, "--resume"}), 0) << said_;
      EXPECT_TRUE(same(whole, cut)) << cut;
    }
    // Imported again, into another table.
    ASSERT_EQ(run({"import", "back_" + form, whole, "--create"}), 0) << said_;
    const fs::path again = dir_ / ("again." + form);
    ASSERT_EQ(run({"export", "back_" + form, again}), 0) << said_;
    if (form != "cellar") EXPECT_TRUE(same(whole, again)) << form;
  }
  EXPECT_EQ(run({"export", "t", dir_ / "whole.csv"}), 1) << "it exists";
  EXPECT_EQ(run({"export", "t", dir_ / "whole.csv", "--resume"}), 0) << "it is complete";
  std::ofstream(dir_ / "other.cellar.part", std::ios::binary)
      << contents(dir_ / "whole.cellar").substr(0, 100'000);
  EXPECT_EQ(run({"export", "t", dir_ / "other.cellar", "prefix=x", "--resume"}), 1);
  EXPECT_NE(said_.find("other arguments"), std::string::npos) << said_;
}

}  // namespace
}  // namespace cellar::process
