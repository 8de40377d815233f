// The interactive command line: on a pseudo terminal, and with bash completion.
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/cases/node_process.h"

namespace cellar::process {
namespace {
namespace fs = std::filesystem;

const fs::path kBin = fs::read_symlink("/proc/self/exe").parent_path();

// `cellar` without arguments on a pseudo terminal.
class Terminal {
 public:
  Terminal() {
    pid_ = ::forkpty(&fd_, nullptr, nullptr, nullptr);
    if (pid_ != 0) return;
    const std::string program = kBin / "cellar";
    ::execl(program.c_str(), program.c_str(), nullptr);
    ::_exit(99);
  }
  ~Terminal() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(fd_);
  }
  void type(std::string_view text) {
    EXPECT_EQ(::write(fd_, text.data(), text.size()), ssize_t(text.size()));
  }
  // Reads until `text` comes after the text matched before. The rest stays for the next call.
  bool expect(const std::string& text, int timeout_ms = 10'000) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
    while (true) {
      const size_t at = unread_.find(text);
      if (at != std::string::npos) {
        unread_.erase(0, at + text.size());
        return true;
      }
      pollfd wait{fd_, POLLIN, 0};
      if (std::chrono::steady_clock::now() > deadline || ::poll(&wait, 1, 100) < 0) return false;
      char buffer[4096];
      if ((wait.revents & (POLLIN | POLLHUP)) == 0) continue;
      const ssize_t n = ::read(fd_, buffer, sizeof buffer);
      if (n <= 0) return false;
      unread_.append(buffer, static_cast<size_t>(n));
    }
  }
  const std::string& unread() const { return unread_; }
  // The prompt, and that the shell reads: it prints the prompt shortly before it takes the terminal
  // out of the mode in which the kernel edits lines, which interprets Ctrl-D and Tab differently.
  bool expect_prompt() {
    if (!expect("cellar> ")) return false;
    for (int i = 0; i < 1000; ++i) {
      termios mode{};
      if (::tcgetattr(fd_, &mode) == 0 && (mode.c_lflag & ICANON) == 0) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  // Types input that ends the shell and returns its exit code; -1 if it does not end.
  int end_with(std::string_view text) {
    type(text);
    for (int i = 0; i < 1000; ++i) {
      int status = 0;
      if (::waitpid(pid_, &status, WNOHANG) == pid_) {
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
      }
      (void)expect("what is never said", 10);  // drains its output
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return -1;
  }

 private:
  int fd_ = -1;
  pid_t pid_ = -1;
  std::string unread_;
};

class TerminalTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    dir_ = fs::temp_directory_path() / fmt::format("terminal_test.{}", getpid());
    fs::create_directories(dir_);
    node_ = std::make_unique<cases::NodeProcess>(
        kBin / "cellard", dir_ / "data",
        std::vector<std::string>{"--shards", "1", "--memory-total", "128MiB"});
    const auto started = node_->start();
    ASSERT_TRUE(started) << started.error().message;
    ::setenv("CELLAR_ADDR", node_->address().c_str(), 1);
    ::setenv("XDG_STATE_HOME", (dir_ / "state").c_str(), 1);
    ::setenv("TERM", "xterm", 1);
    ::setenv("PATH", (kBin.string() + ":" + std::getenv("PATH")).c_str(), 1);
    sh("cellar createtable packages families=install,remove && cellar createtable parts "
       "families=f");
  }
  static void TearDownTestSuite() {
    node_.reset();
    fs::remove_all(dir_);
  }
  static std::string sh(const std::string& script) {
    const fs::path file = dir_ / "script";
    std::ofstream(file) << script;
    std::FILE* pipe = ::popen(("bash " + file.string() + " 2>&1").c_str(), "r");
    std::string out;
    for (int c = std::getc(pipe); c != EOF; c = std::getc(pipe)) out += static_cast<char>(c);
    ::pclose(pipe);
    return out;
  }
  // The completions that bash offers for Tab after `line`, with bash's own COMP_WORDBREAKS.
  static std::string offered(const std::string& line) {
    return sh(
        fmt::format("source <(cellar completion bash)\n"
                    "COMP_WORDBREAKS=$' \\t\\n\"\\'><=;|&(:'\n"
                    "COMP_LINE='{0}' COMP_POINT={1}\n_cellar cellar\n"
                    "(IFS='|'; echo \"${{COMPREPLY[*]}}\")",
                    line, line.size()));
  }
  static inline fs::path dir_;
  static inline std::unique_ptr<cases::NodeProcess> node_;
};

TEST_F(TerminalTest, BashCompletesCommandsOptionsAndNames) {
  EXPECT_EQ(offered("cellar cr"), "createfamily |createtable \n");
  EXPECT_EQ(offered("cellar read pa"), "packages |parts \n");
  EXPECT_EQ(offered("cellar --json read pac"), "packages \n");
  EXPECT_EQ(offered("cellar read packages ver"), "versions=\n");
  EXPECT_EQ(offered("cellar read packages columns=i"), "install\n");
  EXPECT_EQ(offered("cellar read packages columns=install,r"), "install,remove\n");
  EXPECT_EQ(offered("cellar set packages row inst"), "install:\n");
  EXPECT_EQ(offered("cellar dropfamily packages r"), "remove \n");
  EXPECT_EQ(offered("cellar altertable packages durability="), "memory |periodic |sync \n");
  EXPECT_EQ(offered("cellar read packages --key-f"), "--key-format \n");
  EXPECT_EQ(offered("cellar read packages --key-format h"), "hex \n");
  EXPECT_EQ(offered("cellar completion "), "bash |fish |zsh \n");
  EXPECT_EQ(offered("cellar gc s"), "set |show \n");
  EXPECT_EQ(offered("cellar checkandmutate packages r th"), "then \n");
  EXPECT_EQ(offered("cellar checkandmutate packages r then r"), "remove:\n");
  EXPECT_EQ(offered("cellar gc show packages r"), "remove \n");
  EXPECT_EQ(offered("cellar gc set packages install maxv"), "maxversions=1 \n");
  EXPECT_EQ(offered("cellar import packages "), "\n") << "files, by bash itself";
  EXPECT_EQ(offered("cellar elephant "), "\n");
  EXPECT_EQ(offered("cellar --addr 127.0.0.1:1 read pa"), "\n") << "a node that does not answer";
}

TEST_F(TerminalTest, ZshScriptParses) {
  if (::system("command -v zsh >/dev/null 2>&1") != 0) GTEST_SKIP() << "there is no zsh";
  EXPECT_EQ(sh("zsh -n <(cellar completion zsh) && echo fine"), "fine\n");
}

TEST_F(TerminalTest, TheShellEditsCompletesAndRemembers) {
  {
    Terminal terminal;
    ASSERT_TRUE(terminal.expect_prompt()) << terminal.unread();
    terminal.type("set pack\t r1 inst\tq='a value' --at 1000\n");
    ASSERT_TRUE(terminal.expect_prompt()) << terminal.unread();
    terminal.type("lookup packages r1\n");
    ASSERT_TRUE(terminal.expect("install:q")) << terminal.unread();
    ASSERT_TRUE(terminal.expect("1970-01-01T00:00:00.001Z")) << terminal.unread();  // in colour
    ASSERT_TRUE(terminal.expect("a value")) << terminal.unread();
    ASSERT_TRUE(terminal.expect_prompt()) << terminal.unread();
    terminal.type("nonsense\n");
    ASSERT_TRUE(terminal.expect("there is no command 'nonsense'")) << terminal.unread();
    ASSERT_TRUE(terminal.expect_prompt()) << terminal.unread();
    terminal.type("count packages abandoned");
    ASSERT_TRUE(terminal.expect("abandoned")) << terminal.unread();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // libedit reads again
    terminal.type("\x03");                                        // clears the line
    ASSERT_TRUE(terminal.expect_prompt()) << terminal.unread();
    terminal.type("count packages\n");
    ASSERT_TRUE(terminal.expect("\n1\r\n")) << terminal.unread();
    ASSERT_TRUE(terminal.expect_prompt()) << terminal.unread();
    EXPECT_EQ(terminal.end_with("exit\n"), 0) << terminal.unread();
  }
  const fs::path history = dir_ / "state/cellar/history";
  struct stat status{};
  ASSERT_EQ(::stat(history.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  Terminal terminal;
  ASSERT_TRUE(terminal.expect_prompt());
  terminal.type("\x10\x10\n");  // two lines back: before `exit`
  ASSERT_TRUE(terminal.expect("\n1\r\n")) << terminal.unread();
  ASSERT_TRUE(terminal.expect_prompt()) << terminal.unread();
  EXPECT_EQ(terminal.end_with("\x04"), 0) << terminal.unread();  // Ctrl-D
}

TEST_F(TerminalTest, CtrlCEndsTheCommandAndNotTheShell) {
  Terminal terminal;
  ASSERT_TRUE(terminal.expect_prompt());
  terminal.type("ping --count 100000000\n");
  ASSERT_TRUE(terminal.expect("answered in")) << terminal.unread();
  terminal.type("\x03");
  ASSERT_TRUE(terminal.expect("CANCELLED")) << terminal.unread();
  ASSERT_TRUE(terminal.expect_prompt()) << terminal.unread();
  terminal.type("ls\n");
  ASSERT_TRUE(terminal.expect("packages")) << terminal.unread();
  ASSERT_TRUE(terminal.expect_prompt()) << terminal.unread();
  EXPECT_EQ(terminal.end_with("exit\n"), 0) << terminal.unread();
}

TEST_F(TerminalTest, AQuestionIsAnsweredInTheShellAndCtrlCMeansNo) {
  sh("cellar createtable asked families=f:maxversions=3");
  Terminal terminal;
  ASSERT_TRUE(terminal.expect_prompt());
  terminal.type("gc se\t asked f maxversions=2\n");
  ASSERT_TRUE(terminal.expect("Set it? [y/N] ")) << terminal.unread();
  terminal.type("\x03");
  ASSERT_TRUE(terminal.expect("nothing was changed")) << terminal.unread();
  ASSERT_TRUE(terminal.expect_prompt()) << terminal.unread();
  terminal.type("gc set asked f maxversions=1\n");
  ASSERT_TRUE(terminal.expect("Set it? [y/N] ")) << terminal.unread();
  terminal.type("y\n");
  ASSERT_TRUE(terminal.expect("the rule of f is maxversions=1")) << terminal.unread();
  ASSERT_TRUE(terminal.expect_prompt()) << terminal.unread();
  terminal.type("help gc\n");
  ASSERT_TRUE(terminal.expect("gc explain")) << terminal.unread();
  ASSERT_TRUE(terminal.expect_prompt()) << terminal.unread();
  EXPECT_EQ(terminal.end_with("exit\n"), 0) << terminal.unread();
  EXPECT_EQ(
      sh("printf 'gc undo asked f\\ngc set asked f maxversions=2\\n' | cellar shell; echo $?"),
      "the rule of f is maxversions=3\n"
      "cellar: nobody can be asked here: look first, then add --yes\n"
      "cellar: line 2 failed\n7\n");
}

TEST_F(TerminalTest, AScriptGoesOnOrStopsAtAnError) {
  EXPECT_EQ(sh("printf '# comment\\nset parts r f:q=v --at 1000\\nnonsense\\ncount parts\\n' | "
               "cellar shell | grep -v committed; echo ${PIPESTATUS[1]}"),
            "cellar: there is no command 'nonsense'; see cellar --help\n"
            "cellar: line 3 failed\n"
            "r\n  set f:q  1970-01-01T00:00:00.001Z  v\n1\n7\n");
  EXPECT_EQ(sh("printf 'ls absent\\ncount parts\\n' | cellar shell --stop-on-error; echo $?"),
            "cellar: NOT_FOUND: table 'absent' does not exist\n"
            "cellar: line 1 failed; stopped there\n3\n");
  EXPECT_EQ(
      sh("echo 'import parts -' | cellar shell --stop-on-error | head -1; "
         "echo \"set parts 'two words' f:q=1 --at 1000\" | cellar shell >/dev/null; "
         "cellar read parts keys-only=true"),
      sh("echo 'import parts -' | cellar shell --stop-on-error | head -1") + "r\ntwo words\n");
  EXPECT_NE(sh("cellar </dev/null; echo $?").find("Usage: cellar"), std::string::npos);
}

}  // namespace
}  // namespace cellar::process
