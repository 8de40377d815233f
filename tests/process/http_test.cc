// A real node and its HTTP listener.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "net/client/sync_client.h"
#include "tests/cases/node_process.h"
#include "tests/process/support/http_call.h"

namespace cellar::process {
namespace {
namespace fs = std::filesystem;

class HttpNodeTest : public testing::Test {
 protected:
  HttpNodeTest() : scratch_(fs::temp_directory_path() / fmt::format("http_test.{}", getpid())) {
    fs::remove_all(scratch_);
    fs::create_directories(scratch_);
  }
  ~HttpNodeTest() override {
    node_.reset();
    if (!HasFailure()) fs::remove_all(scratch_);
  }
  void start(const std::string& drain_within, std::vector<std::string> extra = {}) {
    extra.insert(extra.end(), {"--shards", "2", "--memory-total", "128MiB"});
    node_ = std::make_unique<cases::NodeProcess>(
        fs::read_symlink("/proc/self/exe").parent_path() / "cellard", scratch_ / "data", extra);
    node_->serve_http("127.0.0.1:0");
    node_->drain_within(drain_within);
    const auto started = node_->start();
    ASSERT_TRUE(started) << started.error().message;
    http_ = http_address_in(scratch_ / "data.log");
    ASSERT_FALSE(http_.empty());
  }
  std::unique_ptr<client::SyncClient> connect() {
    client::ClientOptions options;
    options.address = node_->address();
    return std::make_unique<client::SyncClient>(options);
  }

  const fs::path scratch_;
  std::unique_ptr<cases::NodeProcess> node_;
  std::string http_;
};

// Proxies see the drain while the sessions of the node still work; then the node exits.
TEST_F(HttpNodeTest, DrainsInSightOfProxiesBeforeItsSessionsEnd) {
  start("1500ms");
  EXPECT_EQ(http_get(http_, "/healthz").status, 200);
  EXPECT_EQ(http_get(http_, "/readyz").status, 200);
  auto client = connect();
  ASSERT_TRUE(client->server_info());
  ::kill(node_->pid(), SIGTERM);
  HttpAnswer answer;
  for (int i = 0; i < 100 && answer.status != 404; ++i) {
    answer = http_get(http_, "/readyz");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(answer.status, 404);
  EXPECT_NE(answer.body.find("draining"), std::string::npos);
  EXPECT_EQ(http_get(http_, "/healthz").status, 200);
  EXPECT_TRUE(client->server_info()) << "its sessions are served on";
  ::kill(node_->pid(), SIGHUP);  // to reload is too late, and no reason to end at once
  int status = 0;
  ASSERT_EQ(waitpid(node_->pid(), &status, 0), node_->pid());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(HttpNodeTest, ANodeWithoutConnectionsStopsAtOnce) {
  start("10m");
  const auto code = node_->terminate(10'000);
  ASSERT_TRUE(code) << code.error().message;
  EXPECT_EQ(*code, 0);
}

TEST_F(HttpNodeTest, ASecondListenerOnItsPortIsASentence) {
  start("0s");
  cases::NodeProcess second(fs::read_symlink("/proc/self/exe").parent_path() / "cellard",
                            scratch_ / "other", {});
  second.serve_http(http_);
  EXPECT_FALSE(second.start());
  std::ifstream in(scratch_ / "other.log");
  const std::string said{std::istreambuf_iterator<char>(in), {}};
  EXPECT_NE(said.find("http.listen"), std::string::npos) << said;
}

}  // namespace
}  // namespace cellar::process
