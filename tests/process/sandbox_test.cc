// cellar-sandbox: a script is played by a node whose clock the script moves; node and directory are
// gone at the end, also when the sandbox is killed.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

namespace cellar {
namespace {

namespace fs = std::filesystem;

class Sandbox : public testing::Test {
 protected:
  Sandbox() { fs::create_directories(dir_); }
  ~Sandbox() override { fs::remove_all(dir_); }

  static fs::path program() {
    return fs::read_symlink("/proc/self/exe").parent_path() / "cellar-sandbox";
  }
  // Both outputs; its temporary directories are made below dir_.
  std::string play(const std::string& options, const std::string& script, int expected_code = 0) {
    std::ofstream(dir_ / "script") << script;
    const std::string command =
        "TMPDIR=" + temporary().string() + " CELLAR_ADDR=127.0.0.1:1 CELLAR_LISTEN=none " +
        program().string() + " " + options + " < " + (dir_ / "script").string() + " 2>&1";
    fs::create_directories(temporary());
    std::FILE* pipe = ::popen(command.c_str(), "r");
    std::string out;
    char buffer[4096];
    for (size_t n = 0; (n = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0;)
      out.append(buffer, n);
    const int status = ::pclose(pipe);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == expected_code) << status << "\n" << out;
    return out;
  }
  fs::path temporary() const { return dir_ / "tmp"; }
  static bool within_10_s(const std::function<bool()>& done) {
    for (int i = 0; i < 1000; ++i) {
      if (done()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  const fs::path dir_ = fs::temp_directory_path() / ("sandbox_test." + std::to_string(::getpid()));
};

TEST_F(Sandbox, TimePassesWhenItIsTold) {
  EXPECT_EQ(
      play("--at 2025-04-30T09:00:00Z --stand", R"(
time
createtable events families='click:maxage=2d'
set events user7 click:page=/home
set events user8 click:page=/home ttl=1h
time +1h
read events keys-only=true
time 2025-04-30T10:00:00.000001Z
read events keys-only=true
time 2025-05-02T09:00:00Z
count events
time +1us
count events
set events user9 click:page=/home
)"),
      "2025-04-30T09:00:00Z, standing\n"

      "user7\n  set click:page  2025-04-30T09:00:00Z  /home\ncommitted at 2025-04-30T09:00:00Z\n"
      "user8\n  set click:page  2025-04-30T09:00:00Z  /home  ttl 1h\n"
      "committed at 2025-04-30T09:00:00Z\n"
      "2025-04-30T10:00:00Z, standing\n"
      "user7\nuser8\n"
      "2025-04-30T10:00:00.000001Z, standing\n"
      "user7\n"
      "2025-05-02T09:00:00Z, standing\n"
      "1\n"
      "2025-05-02T09:00:00.000001Z, standing\n"
      "0\n"
      "user9\n  set click:page  2025-05-02T09:00:00Z  /home\n"
      "committed at 2025-05-02T09:00:00.000001Z\n");
  EXPECT_TRUE(fs::is_empty(temporary()));
}

// A wall clock that jumps ahead kills nothing.
TEST_F(Sandbox, AWrongWallClockIsShown) {
  const std::string out = play("--at 2025-04-30T09:00:00Z --stand",
                               "createtable t families='f:maxage=2d'\nset t r f:q=v\n"
                               "time wall=2035-01-01\ncount t\n");
  EXPECT_NE(out.find("\n2035-01-01T00:00:00Z, standing\n1\n"), out.npos) << out;
}

TEST_F(Sandbox, ItsClockRunsUnlessItStands) {
  const std::string out = play("--at 2025-04-30T09:00:00Z", "time\ntime +1h\n");
  EXPECT_TRUE(out.starts_with("2025-04-30T09:00:0")) << out;
  EXPECT_NE(out.find("\n2025-04-30T10:00:0"), out.npos) << out;
  EXPECT_EQ(out.find("standing"), out.npos);
}

TEST_F(Sandbox, WrongWordsAreRefused) {
  EXPECT_NE(play("--at yesteryear", "", 2).find("--at: "), std::string::npos);
  EXPECT_NE(play("--sit", "", 2).find("--sit"), std::string::npos);
  const std::string out = play("--at 2025-04-30T09:00:00Z --stand",
                               "time 2025-04-29\ntime +1h wall=now\ntime soon\n", 7);
  EXPECT_NE(out.find("Time does not pass backwards"), out.npos) << out;
  EXPECT_NE(out.find("not both"), out.npos) << out;
  EXPECT_NE(play("--help", "").find("--stand"), std::string::npos);
}

TEST_F(Sandbox, NothingIsLeftWhenItIsKilled) {
  fs::create_directories(temporary());
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(ends[0], STDIN_FILENO);
    ::close(ends[1]);
    ::setenv("TMPDIR", temporary().c_str(), 1);
    ::execl(program().c_str(), "cellar-sandbox", nullptr);
    std::_Exit(127);
  }
  ::close(ends[0]);
  ASSERT_TRUE(within_10_s([&] {
    for (const auto& entry : fs::recursive_directory_iterator(temporary())) {
      if (entry.path().filename() == "FORMAT") return true;
    }
    return false;
  }));
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  ::close(ends[1]);
  EXPECT_TRUE(within_10_s([&] { return fs::is_empty(temporary()); }));
}

}  // namespace
}  // namespace cellar
