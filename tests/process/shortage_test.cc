// A node keeps serving while it gets more connections than it has descriptors for.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include "io/net/transport.h"
#include "net/client/sync_client.h"
#include "tests/cases/node_process.h"
#include "tests/net/wire/wire_bodies.h"

namespace cellar::process {
namespace {
namespace fs = std::filesystem;
using namespace std::chrono_literals;

#ifdef CELLAR_SANITIZED
constexpr bool kIsSanitized = true;  // its memory is not the node's
#else
constexpr bool kIsSanitized = false;
#endif

fs::path bin() { return fs::read_symlink("/proc/self/exe").parent_path(); }

// A plain socket that sends given bytes and reads nothing.
class Wire {
 public:
  explicit Wire(const std::string& address) {
    const auto where = parse_address(address);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(where->port);
    inet_pton(AF_INET, where->host.c_str(), &to.sin_addr);
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd_ >= 0 && ::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) hang_up();
  }
  Wire(Wire&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Wire& operator=(Wire&&) = delete;
  ~Wire() { hang_up(); }
  void hang_up() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  void send(const std::string& bytes) {
    (void)::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  void greet() {
    std::string bytes;
    wire::append_preface(bytes, {});
    send(bytes + wire::request_frame(wire::fb::Op::Hello, 1, ""));
  }

 private:
  int fd_ = -1;
};

class Shortage : public testing::Test {
 protected:
  Shortage() : scratch_(fs::temp_directory_path() / fmt::format("shortage.{}", getpid())) {
    fs::remove_all(scratch_);
    fs::create_directories(scratch_);
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  ~Shortage() override { fs::remove_all(scratch_); }

  client::ClientOptions options_for(const cases::NodeProcess& node) {
    client::ClientOptions options;
    options.address = node.address();
    return options;
  }
  static void make_table(client::SyncClient& client) {
    client::TableSpec spec;
    spec.name = "t";
    spec.families.resize(1);
    spec.families[0].name = "f";
    const auto made = client.create_table(spec);
    ASSERT_TRUE(made) << made.error().message;
  }

  const fs::path scratch_;
};

TEST_F(Shortage, ConnectionsLeaveDescriptorsToFlushesAndMerges) {
  if (kIsSanitized) GTEST_SKIP() << "a sanitizer opens files of its own";
  const fs::path few = scratch_ / "few";
  std::ofstream(few) << "#!/bin/sh\nulimit -n 160\nexec " << (bin() / "cellard").string()
                     << " \"$@\"\n";
  fs::permissions(few, fs::perms::owner_all);
  cases::NodeProcess node(few, scratch_ / "data", {"--shards", "2", "--log-segment", "4MiB"});
  const auto started = node.start();
  ASSERT_TRUE(started) << started.error().message;
  client::SyncClient client(options_for(node));
  make_table(client);
  std::vector<Wire> crowd;
  for (int i = 0; i < 300; ++i) {
    crowd.emplace_back(node.address());
    crowd.back().greet();
  }
  std::this_thread::sleep_for(200ms);
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 50; ++i) {
      client::Mutation row(fmt::format("r{}.{}", round, i));
      row.set("f", "q", "v", 1000);
      const auto done = client.mutate_row("t", row);
      ASSERT_TRUE(done) << done.error().message;
    }
    const auto flushed = client.flush_table("t");
    ASSERT_TRUE(flushed) << flushed.error().message;
  }
  const auto merged = client.compact_table("t");
  EXPECT_TRUE(merged) << merged.error().message;
  std::ostringstream log;
  log << std::ifstream(scratch_ / "data.log").rdbuf();
  EXPECT_NE(log.str().find("fewer connections than limits.connections"), std::string::npos);
}

}  // namespace
}  // namespace cellar::process
