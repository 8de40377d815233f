// A real node whose system calls are traced: when it sends the answer to a change, a power cut
// could no longer take the bytes of the change, nor the names of the files that hold them. Every
// request carries a text of its own, which the trace finds in the request, in the bytes written to
// files, and before the answer.
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "io/base/random.h"
#include "io/disk/backend.h"
#include "net/client/sync_client.h"
#include "tests/support/trace/durability_watch.h"

namespace cellar::process {
namespace {
namespace fs = std::filesystem;

using test::DurabilityWatch;
using testing::IsEmpty;

// A cellard that runs traced on a thread of the test. stop() before looking at the watch.
class TracedNode {
 public:
  TracedNode(DurabilityWatch& watch, const fs::path& data, std::vector<std::string> arguments) {
    words_ = {fs::read_symlink("/proc/self/exe").parent_path() / "cellard"};
    words_.insert(words_.end(), {"--data-dir", data, "--listen", "127.0.0.1:0"});
    words_.insert(words_.end(), {"--http-listen", "", "--drain-within", "0s"});
    // The trace finds requests in what recv(2) returns.
    words_.insert(words_.end(), {"--io-sockets", "epoll"});
    words_.insert(words_.end(), arguments.begin(), arguments.end());
    for (std::string& word : words_) argv_.push_back(word.data());
    argv_.push_back(nullptr);
    EXPECT_EQ(::pipe2(output_, O_CLOEXEC), 0);
    tracer_ = std::thread([this, &watch, log = data.string() + ".log"] {
      code_ = test::run_traced(
          [&] {
            const int error = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
            ::dup2(output_[1], STDOUT_FILENO);
            ::dup2(error, STDERR_FILENO);
            // A sanitizer looks for leaks by ptrace itself.
            ::setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
            ::execv(argv_[0], argv_.data());
            return 127;
          },
          watch);
      ::close(output_[1]);  // ends wait_ready() of a node that did not start
    });
  }
  ~TracedNode() {
    stop();
    ::close(output_[0]);
  }

  // The address, or no value if the machine forbids tracing or the node did not start.
  std::optional<std::string> wait_ready() {
    constexpr std::string_view kReady = "cellard: ready on ";
    std::string seen;
    while (seen.find('\n') == std::string::npos) {
      pollfd readable{output_[0], POLLIN, 0};
      char buffer[256];
      if (::poll(&readable, 1, 60'000) <= 0) return std::nullopt;
      const ssize_t got = ::read(output_[0], buffer, sizeof buffer);
      if (got <= 0) return std::nullopt;
      seen.append(buffer, static_cast<size_t>(got));
    }
    const size_t at = seen.find(kReady);
    if (at == std::string::npos) return std::nullopt;
    return seen.substr(at + kReady.size(), seen.find('\n', at) - at - kReady.size());
  }
  // The exit code; the error of run_traced if the machine forbids tracing.
  Result<int> stop(pid_t node = -1) {
    if (node > 0) ::kill(node, SIGTERM);
    if (tracer_.joinable()) tracer_.join();
    return code_;
  }

 private:
  std::vector<std::string> words_;
  std::vector<char*> argv_;
  int output_[2] = {-1, -1};
  Result<int> code_ = -1;
  std::thread tracer_;
};

class DurableAnswers : public testing::TestWithParam<IoBackend> {
 protected:
  static constexpr int kLargeWrites = 12;
  static constexpr size_t kLargeBytes = 200'000;

  DurableAnswers()
      : scratch_(fs::temp_directory_path() /
                 fmt::format("durable_answers.{}.{}", getpid(), io_backend_name(GetParam()))) {
    fs::create_directories(scratch_);
    scratch_ = fs::canonical(scratch_);
  }
  ~DurableAnswers() override {
    if (!HasFailure()) fs::remove_all(scratch_);
  }

  // A text for the requests that are named so.
  std::string text(const std::string& name) const { return name + "-of-the-durable-answers"; }
  std::string large_value(int number) {
    std::string value = text(fmt::format("large{:02}", number));
    while (value.size() < kLargeBytes) value += static_cast<char>(random_.below(256));
    return value;
  }

  void change_everything(client::SyncClient& cellar);

  fs::path scratch_;
  Random random_{7};
};

void DurableAnswers::change_everything(client::SyncClient& cellar) {
  client::TableSpec spec;
  spec.name = text("table");
  spec.families.emplace_back().name = "f";
  const auto made = cellar.create_table(spec);
  ASSERT_TRUE(made) << made.error().to_string();
  const std::string& table = spec.name;
  client::TableChange change;
  change.name = table;
  change.add.emplace_back().name = text("family");
  ASSERT_TRUE(cellar.alter_table(change));

  client::Mutation one("row1");
  one.set("f", "q", text("one"), 1000);
  ASSERT_TRUE(cellar.mutate_row(table, one));
  std::vector<client::Mutation> several;
  for (const char* row : {"row2", "row3"})
    several.emplace_back(row).set("f", "q", text("several"), 1000);
  ASSERT_TRUE(cellar.mutate_rows(table, several));
  client::CheckAndMutate check;
  check.row = "row1";
  check.then_mutation.set("f", "checked", text("checked"), 1000);
  const auto checked = cellar.check_and_mutate(table, check);
  ASSERT_TRUE(checked && checked->matched);
  client::ReadModifyWrite modify;
  modify.row = "row1";
  modify.rules.push_back({"f", "modified", text("modified"), 0});
  ASSERT_TRUE(cellar.read_modify_write(table, modify));
  client::DropRows drop;
  drop.prefix = text("dropped");
  ASSERT_TRUE(cellar.drop_row_range(table, drop));
  // Enough for several segments of the log.
  for (int i = 0; i < kLargeWrites; ++i) {
    client::Mutation large(fmt::format("large{}", i));
    large.set("f", "q", large_value(i), 1000);
    const auto written = cellar.mutate_row(table, large);
    ASSERT_TRUE(written) << written.error().to_string();
  }
  client::CallOptions in_memory;
  in_memory.durability = Durability::memory;
  client::Mutation relaxed("row4");
  relaxed.set("f", "q", text("relaxed"), 1000);
  ASSERT_TRUE(cellar.mutate_row(table, relaxed, in_memory));
  // Tables take over from the log, and then a merged table from those.
  ASSERT_TRUE(cellar.flush_table(table));
  client::Mutation again("row5");
  again.set("f", "q", text("again"), 1000);
  ASSERT_TRUE(cellar.mutate_row(table, again));
  ASSERT_TRUE(cellar.flush_table(table));
  ASSERT_TRUE(cellar.compact_table(table));
}

TEST_P(DurableAnswers, NothingIsAcknowledgedBeforeItsBytesAndNamesAreDurable) {
  const auto choice = probe_io_backend(GetParam());
  if (!choice) GTEST_SKIP() << choice.error().to_string();
  DurabilityWatch watch(scratch_ / "data");
  std::vector<std::string> stay = {"one", "several", "checked", "modified", "again"};
  for (int i = 0; i < kLargeWrites; ++i) stay.push_back(fmt::format("large{:02}", i));
  for (const std::string& name : stay) watch.look_for(text(name), true);
  const std::vector<std::string> others = {"table", "family", "dropped"};
  for (const std::string& name : others) watch.look_for(text(name));
  watch.look_for(text("relaxed"));

  TracedNode node(watch, scratch_ / "data",
                  {"--shards", "2", "--memory-total", "64MiB", "--log-segment", "1MiB",
                   "--io-backend", std::string(io_backend_name(GetParam()))});
  const auto address = node.wait_ready();
  if (!address) {
    const auto code = node.stop();
    if (!code) GTEST_SKIP() << code.error().to_string();
    FAIL() << "the node did not start; see " << scratch_ << "/data.log";
  }
  {
    client::ClientOptions options;
    options.address = *address;
    client::SyncClient cellar(options);
    change_everything(cellar);
  }
  const auto code = node.stop(watch.process());
  ASSERT_TRUE(code) << code.error().to_string();
  EXPECT_EQ(*code, 0);

  EXPECT_THAT(watch.unknown(), IsEmpty());
  EXPECT_THAT(watch.taken(), IsEmpty());
  const auto answer_to = [&](const std::string& name) {
    const auto found =
        std::ranges::find(watch.answers(), text(name), &DurabilityWatch::Answer::text);
    return found == watch.answers().end() ? "no answer was seen" : found->missing;
  };
  for (const std::string& name : stay) {
    EXPECT_EQ(answer_to(name), "") << name;
    EXPECT_EQ(watch.ledger().missing_of(text(name)), "") << name << ", when the node had ended";
  }
  for (const std::string& name : others) EXPECT_EQ(answer_to(name), "") << name;
  // A level that promises less shows that the trace can tell the difference.
  EXPECT_EQ(answer_to("relaxed"), "no write has it");
  std::printf("%llu operations on files\n", static_cast<unsigned long long>(watch.operations()));
}

INSTANTIATE_TEST_SUITE_P(Bodies, DurableAnswers,
                         testing::Values(IoBackend::io_uring, IoBackend::threads),
                         [](const auto& info) { return std::string(io_backend_name(info.param)); });

}  // namespace
}  // namespace cellar::process
