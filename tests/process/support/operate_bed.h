// Operate: the real program in a directory of its own: nodes that tests start and stop, their
// clients, and programs that run to their end.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "net/client/sync_client.h"
#include "tests/cases/node_process.h"

namespace cellar::process {

namespace fs = std::filesystem;

inline std::string read_all(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline fs::path bin() { return fs::read_symlink("/proc/self/exe").parent_path(); }

// Runs a program to its end: returns its exit code; `said` is the output of both streams.
inline int run(const std::string& command, std::string& said) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  char buffer[512];
  said.clear();
  while (fgets(buffer, sizeof buffer, pipe) != nullptr) said += buffer;
  const int status = pclose(pipe);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Every path below `root` with its content and the time of its last change.
inline std::map<std::string, std::pair<std::string, fs::file_time_type>> everything(
    const fs::path& root) {
  std::map<std::string, std::pair<std::string, fs::file_time_type>> all;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    all[entry.path()] = {entry.is_regular_file() ? read_all(entry.path()) : "",
                         entry.last_write_time()};
  }
  return all;
}

class Operate : public testing::Test {
 protected:
  using Rows = std::map<std::string, std::string>;

  Operate() : scratch_(fs::temp_directory_path() / fmt::format("operate_test.{}", getpid())) {
    fs::remove_all(scratch_);
    fs::create_directories(scratch_ / "backups");
  }
  ~Operate() override {
    if (!HasFailure()) fs::remove_all(scratch_);
  }
  std::string path(const std::string& name) const { return scratch_ / name; }
  // Unpacks tests/testdata/NAME.tar.gz into scratch_.
  void unpack(const std::string& name) const {
    std::string said;
    ASSERT_EQ(run(fmt::format("tar -xzf {}/tests/testdata/{}.tar.gz -C {}", CELLAR_SOURCE_DIR, name,
                              scratch_.string()),
                  said),
              0)
        << said;
  }
  std::unique_ptr<cases::NodeProcess> make(std::vector<std::string> extra = {},
                                           const std::string& data = "data") {
    extra.insert(extra.end(),
                 {"--shards", "2", "--memory-total", "128MiB", "--log-segment", "1MiB"});
    return std::make_unique<cases::NodeProcess>(bin() / "cellard", path(data), extra);
  }
  static client::ClientOptions options_of(const cases::NodeProcess& node) {
    client::ClientOptions options;
    options.address = node.address();
    return options;
  }
  static void write(client::SyncClient& client, const std::string& what, int rows) {
    for (int i = 0; i < rows; ++i) {
      client::Mutation m(fmt::format("{}{:05}", what, i));
      m.set("f", "q", what + std::string(2000, static_cast<char>('a' + i % 26)), 1000);
      ASSERT_TRUE(client.mutate_row("t", m));
    }
  }
  static Rows read(client::SyncClient& client, const std::string& table) {
    Rows rows;
    client::ReadStream stream = client.read_rows(table, {});
    while (true) {
      const auto block = client.next(stream);
      if (!block || block->empty()) {
        EXPECT_TRUE(block) << block.error().message;
        return rows;
      }
      for (const auto& row : block->rows()) {
        for (const auto& cell : row.cells) rows[std::string(row.key)] = std::string(cell.value);
      }
    }
  }
  // The restore drill (operate_test.cc) with backups in `place`, by nodes with these flags.
  void drill(const std::string& place, const std::vector<std::string>& flags);
  // Runs a job to its end.
  static Result<client::BackupStatus> run_job(client::SyncClient& client,
                                              const client::BackupCommand& command) {
    auto begun = client.backup(command);
    while (begun && begun->running) {
      client.sleep_us(20'000);
      begun = client.backup({});
    }
    if (begun && begun->error) return std::unexpected(*begun->error);
    return begun;
  }
  static void create(client::SyncClient& client) {
    client::TableSpec spec;
    spec.name = "t";
    spec.families.resize(1);
    spec.families[0].name = "f";
    spec.splits = {"m"};
    ASSERT_TRUE(client.create_table(spec));
  }

  const fs::path scratch_;
};

}  // namespace cellar::process
