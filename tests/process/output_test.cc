// Programs whose output is closed or cannot be written: they end without a signal, and with the
// exit code of a failure.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace cellar::process {
namespace {

namespace fs = std::filesystem;

struct Page {
  std::string program;
  std::vector<std::string> words;
};

struct Ended {
  bool by_sigpipe = false;
  int code = -1;
  std::string err;
};

class Output : public testing::Test {
 protected:
  Output() : scratch_(fs::temp_directory_path() / ("output_test." + std::to_string(getpid()))) {
    fs::create_directories(scratch_);
  }
  ~Output() override { fs::remove_all(scratch_); }

  // Long and short outputs of every program.
  std::vector<Page> pages() {
    std::vector<Page> pages = {
        {"cellard", {"--help"}},          {"cellard", {"--version"}},
        {"cellard", {"--sample-config"}}, {"cellard", {"--config-reference"}},
        {"cellar", {"--help"}},           {"cellar", {"read", "--help"}},
        {"cellar", {"--version"}},        {"cellar", {"completion", "bash"}},
        {"cellar-inspect", {"--help"}}};
    const std::string tar = CELLAR_SOURCE_DIR "/tests/testdata/data_directory_format_6.tar.gz";
    EXPECT_EQ(std::system(("tar -xzf " + tar + " -C " + scratch_.string()).c_str()), 0);
    for (const auto& file : fs::directory_iterator(scratch_ / "golden" / "blob")) {
      pages.push_back({"cellar-inspect", {"dump", "--entries", file.path()}});
    }
    EXPECT_GT(pages.size(), 9u);
    return pages;
  }

  // `err` below 0: captured and returned. `ignoring`: started with SIGPIPE ignored, which a program
  // inherits.
  Ended run(const Page& page, int out, int err, bool ignoring) const {
    const std::string path = fs::read_symlink("/proc/self/exe").parent_path() / page.program;
    const std::string err_path = scratch_ / "stderr";
    std::vector<std::string> words = {path};
    words.insert(words.end(), page.words.begin(), page.words.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    if (err >= 0) {
      posix_spawn_file_actions_adddup2(&files, err, STDERR_FILENO);
    } else {
      posix_spawn_file_actions_addopen(&files, STDERR_FILENO, err_path.c_str(),
                                       O_WRONLY | O_CREAT | O_TRUNC, 0600);
    }
    const auto before = std::signal(SIGPIPE, ignoring ? SIG_IGN : SIG_DFL);
    pid_t pid = -1;
    const int spawned = posix_spawn(&pid, path.c_str(), &files, nullptr, argv.data(), environ);
    std::signal(SIGPIPE, before);
    posix_spawn_file_actions_destroy(&files);
    Ended ended;
    int status = 0;
    if (spawned != 0 || waitpid(pid, &status, 0) != pid) return ended;
    ended.by_sigpipe = WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE;
    if (WIFEXITED(status)) ended.code = WEXITSTATUS(status);
    std::ifstream said(err_path);
    ended.err.assign(std::istreambuf_iterator<char>(said), {});
    return ended;
  }

 private:
  const fs::path scratch_;
};

// A pipe whose reader has closed, or a full disk.
class Sink {
 public:
  enum Kind { closed_pipe, full_disk };
  explicit Sink(Kind kind) {
    if (kind == full_disk) {
      fd_ = open("/dev/full", O_WRONLY | O_CLOEXEC);
    } else {
      int ends[2];
      EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
      close(ends[0]);
      fd_ = ends[1];
    }
    EXPECT_GE(fd_, 0);
  }
  ~Sink() { close(fd_); }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

TEST_F(Output, AClosedPipeEndsAProgramQuietly) {
  const Sink sink(Sink::closed_pipe);
  for (const Page& page : pages()) {
    SCOPED_TRACE(page.program + " " + page.words[0]);
    const Ended ended = run(page, sink.fd(), -1, false);
    EXPECT_TRUE(ended.by_sigpipe) << ended.code;
    EXPECT_EQ(ended.err, "");
  }
}

TEST_F(Output, AClosedPipeIsNoSuccessWhereSigpipeIsIgnored) {
  const Sink sink(Sink::closed_pipe);
  for (const Page& page : pages()) {
    SCOPED_TRACE(page.program + " " + page.words[0]);
    const Ended ended = run(page, sink.fd(), -1, true);
    EXPECT_TRUE(ended.by_sigpipe || ended.code > 0) << ended.code;
    EXPECT_EQ(ended.err, "");
  }
}

TEST_F(Output, AFullDiskIsToldAndIsNoSuccess) {
  const Sink sink(Sink::full_disk);
  for (const Page& page : pages()) {
    SCOPED_TRACE(page.program + " " + page.words[0]);
    const Ended ended = run(page, sink.fd(), -1, false);
    EXPECT_GT(ended.code, 0);
    EXPECT_NE(ended.err.find("not all of the output could be written"), std::string::npos)
        << ended.err;
  }
}

// A node ignores SIGPIPE: its exit code reports wrong arguments too.
TEST_F(Output, WhereNobodyIsToldWhatIsWrongTheExitCodeStillTells) {
  for (const Sink::Kind kind : {Sink::closed_pipe, Sink::full_disk}) {
    const Sink sink(kind);
    EXPECT_EQ(run({"cellard", {"--no-such-flag"}}, sink.fd(), sink.fd(), false).code, 2);
    const std::string file = "/dev/null";  // not a directory
    EXPECT_EQ(run({"cellard",
                   {"--data-dir", file, "--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0"}},
                  sink.fd(), sink.fd(), false)
                  .code,
              1);
  }
}

}  // namespace
}  // namespace cellar::process
