// The real program and its environment: its directory, its port, its signals, damaged files.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "io/base/random.h"
#include "net/client/sync_client.h"
#include "tests/cases/node_process.h"

namespace cellar::process {
namespace {
namespace fs = std::filesystem;

std::string read_all(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Node : public testing::Test {
 protected:
  Node() : scratch_(fs::temp_directory_path() / fmt::format("node_test.{}", getpid())) {
    fs::remove_all(scratch_);
    fs::create_directories(scratch_);
  }
  ~Node() override {
    if (!HasFailure()) fs::remove_all(scratch_);
  }

  std::unique_ptr<cases::NodeProcess> make(std::vector<std::string> extra = {}) {
    extra.insert(extra.end(),
                 {"--shards", "2", "--memory-total", "128MiB", "--log-segment", "4MiB"});
    return std::make_unique<cases::NodeProcess>(
        fs::read_symlink("/proc/self/exe").parent_path() / "cellard", data_dir(), extra);
  }
  std::string data_dir() const { return scratch_ / "data"; }
  std::string log() const { return read_all(data_dir() + ".log"); }

  static std::unique_ptr<client::SyncClient> connect(const cases::NodeProcess& node) {
    client::ClientOptions options;
    options.address = node.address();
    return std::make_unique<client::SyncClient>(options);
  }
  static void create(client::SyncClient& client) {
    client::TableSpec spec;
    spec.name = "t";
    spec.families.resize(1);
    spec.families[0].name = "f";
    const auto made = client.create_table(spec);
    ASSERT_TRUE(made) << made.error().message;
  }
  static void put(client::SyncClient& client, int from, int to) {
    for (int i = from; i < to; ++i) {
      client::Mutation m(fmt::format("r{:06}", i));
      m.set("f", "q", fmt::format("v{}", i), 1000);
      const auto done = client.mutate_row("t", m);
      ASSERT_TRUE(done) << done.error().message;
    }
  }
  static size_t count(client::SyncClient& client) {
    client::ReadStream stream = client.read_rows("t", {});
    size_t rows = 0;
    while (true) {
      const auto block = client.next(stream);
      if (!block || block->empty()) return block ? rows : SIZE_MAX;
      for (const auto& row : block->rows()) rows += row.complete ? 1 : 0;
    }
  }

  const fs::path scratch_;
};

TEST_F(Node, StopsOnSigtermWithExitCodeZeroAndFindsEverythingAgain) {
  auto node = make();
  ASSERT_TRUE(node->start());
  auto client = connect(*node);
  create(*client);
  put(*client, 0, 200);
  client.reset();
  const auto code = node->terminate();
  ASSERT_TRUE(code) << code.error().message;
  EXPECT_EQ(*code, 0) << log();
  ASSERT_TRUE(node->start()) << log();
  EXPECT_EQ(count(*connect(*node)), 200u);
}

// The verification that the README recommends finds no damage in a sound directory.
TEST_F(Node, VerifyingAStoppedOrKilledNodesDirectoryFindsNoDamage) {
  const auto verify = [this] {
    const fs::path inspect = fs::read_symlink("/proc/self/exe").parent_path() / "cellar-inspect";
    const std::string said = (scratch_ / "verify").string();
    const int status = std::system(
        fmt::format("'{}' verify '{}' > '{}' 2>&1", inspect.string(), data_dir(), said).c_str());
    EXPECT_EQ(status, 0) << read_all(said);
  };
  auto node = make();
  ASSERT_TRUE(node->start());
  auto client = connect(*node);
  create(*client);
  put(*client, 0, 200);
  client.reset();
  node->kill_now();
  verify();
  ASSERT_TRUE(node->start()) << log();
  ASSERT_TRUE(node->terminate());
  verify();
}

TEST_F(Node, ASecondNodeOnTheSameDirectoryRefusesWithASentence) {
  auto first = make();
  ASSERT_TRUE(first->start());
  auto second = make();
  EXPECT_FALSE(second->start());
  EXPECT_NE(log().find(std::to_string(first->pid())), std::string::npos)
      << "the sentence names the holder: " << log();
  auto client = connect(*first);
  create(*client);
  put(*client, 0, 3);
}

// The shards share their port, so the kernel alone would give a second node half of the
// connections.
TEST_F(Node, ASecondNodeOnTheSamePortRefusesWithASentence) {
  auto first = make();
  ASSERT_TRUE(first->start());
  cases::NodeProcess second(fs::read_symlink("/proc/self/exe").parent_path() / "cellard",
                            data_dir() + "2", {}, first->address());
  EXPECT_FALSE(second.start());
  const std::string said = read_all(data_dir() + "2.log");
  EXPECT_NE(said.find(first->address().substr(first->address().rfind(':'))), std::string::npos)
      << said;
}

TEST_F(Node, BothIoBackendsServeAndAreReported) {
  for (const char* backend : {"threads", "auto"}) {
    fs::remove_all(data_dir());
    auto node = make({"--io-backend", backend});
    ASSERT_TRUE(node->start()) << log();
    auto client = connect(*node);
    const auto info = client->server_info();
    ASSERT_TRUE(info) << info.error().message;
    if (std::string_view(backend) == "threads") EXPECT_EQ(info->io_backend, "threads");
    EXPECT_FALSE(info->io_reason.empty());
    create(*client);
    put(*client, 0, 50);
    node->kill_now();
    ASSERT_TRUE(node->start()) << log();
    EXPECT_EQ(count(*connect(*node)), 50u) << backend;
  }
}

TEST_F(Node, TheNumberOfShardsMayChangeBetweenRuns) {
  size_t rows = 0;
  for (const char* shards : {"1", "3", "2"}) {
    auto node = std::make_unique<cases::NodeProcess>(
        fs::read_symlink("/proc/self/exe").parent_path() / "cellard", data_dir(),
        std::vector<std::string>{"--shards", shards, "--memory-total", "128MiB", "--log-segment",
                                 "4MiB"});
    ASSERT_TRUE(node->start()) << log();
    auto client = connect(*node);
    if (rows == 0) create(*client);
    EXPECT_EQ(count(*client), rows);
    put(*client, static_cast<int>(rows), static_cast<int>(rows) + 100);
    rows += 100;
    node->kill_now();
  }
}

// Bytes that are not the protocol end only their connection.
TEST_F(Node, GarbageOnThePortClosesThatConnectionOnly) {
  auto node = make();
  ASSERT_TRUE(node->start());
  auto client = connect(*node);
  create(*client);
  const uint64_t seed = entropy_seed();
  SCOPED_TRACE(seed);
  Random random(seed);
  const uint16_t port =
      static_cast<uint16_t>(std::stoi(node->address().substr(node->address().rfind(':') + 1)));
  for (int i = 0; i < 50; ++i) {
    std::string garbage = i % 3 == 0   ? "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
                          : i % 3 == 1 ? "\x16\x03\x01\x02"
                                       : "";
    for (uint64_t n = random.below(4000) + 64; n > 0; --n)
      garbage.push_back(static_cast<char>(random.below(256)));
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    (void)!send(fd, garbage.data(), garbage.size(), MSG_NOSIGNAL);
    char answer[512];
    timeval limit{10, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ssize_t got = 0;
    while ((got = recv(fd, answer, sizeof answer, 0)) > 0) {
    }
    EXPECT_FALSE(got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        << "connection " << i << " is still open";
    close(fd);
  }
  put(*client, 0, 10);
  EXPECT_EQ(count(*client), 10u);
}

TEST_F(Node, ALogDamagedBelowItsDurableMarkStopsTheStartWithFileAndOffset) {
  auto node = make();
  ASSERT_TRUE(node->start());
  auto client = connect(*node);
  create(*client);
  put(*client, 0, 100);
  std::this_thread::sleep_for(
      std::chrono::milliseconds(300));  // the closing mark follows within 100 ms of idleness
  client.reset();
  node->kill_now();
  fs::path victim;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(data_dir()) / "log")) {
    if (entry.is_regular_file() && read_all(entry.path()).find("r000050") != std::string::npos)
      victim = entry.path();
  }
  ASSERT_FALSE(victim.empty());
  std::string bytes = read_all(victim);
  bytes[bytes.find("r000050")] ^= 1;
  std::ofstream(victim, std::ios::binary) << bytes;
  EXPECT_FALSE(node->start());
  EXPECT_NE(log().find("is damaged at"), std::string::npos) << log();
  EXPECT_NE(log().find(victim.filename().string()), std::string::npos) << log();
}

TEST_F(Node, AnIdleNodeIsSmallAndQuiet) {
#ifdef CELLAR_SANITIZED
  GTEST_SKIP() << "a sanitizer's shadow memory is not the node's";
#endif
  auto node = make();
  ASSERT_TRUE(node->start());
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const auto cpu_ticks = [&] {
    std::string stat = read_all(fmt::format("/proc/{}/stat", node->pid()));
    std::istringstream fields(stat.substr(stat.rfind(')') + 2));
    std::string field;
    uint64_t user = 0, system = 0;
    for (int i = 3; fields >> field; ++i) {
      if (i == 14) user = std::stoull(field);
      if (i == 15) system = std::stoull(field);
    }
    return user + system;
  };
  const uint64_t before = cpu_ticks();
  std::this_thread::sleep_for(std::chrono::seconds(3));
  EXPECT_LE(cpu_ticks() - before, 3u) << "more than 1 % of a core while idle";
  const std::string status = read_all(fmt::format("/proc/{}/status", node->pid()));
  const uint64_t rss_kib = std::stoull(status.substr(status.find("VmRSS:") + 6));
  EXPECT_LT(rss_kib, 64u * 1024);
}

}  // namespace
}  // namespace cellar::process
