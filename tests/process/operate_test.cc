// The real program in operation: controlled by signals, watched by a service manager, backed up and
// restored; a directory of a future format is refused.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "engine/store/format_file.h"
#include "tests/process/support/operate_bed.h"

namespace cellar::process {
namespace {

// The service manager's end of NOTIFY_SOCKET.
class Manager {
 public:
  explicit Manager(const fs::path& path) {
    fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    path.string().copy(at.sun_path, sizeof at.sun_path - 1);
    bind(fd_, reinterpret_cast<sockaddr*>(&at), sizeof at);
    setenv("NOTIFY_SOCKET", path.c_str(), 1);
    setenv("WATCHDOG_USEC", "200000", 1);
  }
  ~Manager() {
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    close(fd_);
  }
  // Whether such a line arrives within ten seconds; earlier lines are skipped.
  bool hears(std::string_view line) {
    for (int i = 0; i < 100; ++i) {
      pollfd p{fd_, POLLIN, 0};
      if (poll(&p, 1, 100) <= 0) continue;
      char buffer[512];
      const ssize_t n = recv(fd_, buffer, sizeof buffer, 0);
      const std::string message = "\n" + std::string(buffer, static_cast<size_t>(n)) + "\n";
      if (message.find("\n" + std::string(line)) != std::string::npos) return true;
    }
    return false;
  }

 private:
  int fd_ = -1;
};

client::BackupCommand take(const std::string& directory, const std::string& name = "") {
  return {.action = client::BackupAction::take, .directory = directory, .name = name};
}
client::BackupCommand list(const std::string& directory) {
  return {.action = client::BackupAction::list, .directory = directory};
}

TEST_F(Operate, TellsTheServiceManagerThatItServesReloadsStopsAndIsAlive) {
  Manager manager(scratch_ / "notify");
  const std::string file = path("cellard.toml");
  std::ofstream(file) << "limits.connections = 7\n";
  auto node = make({"--config", file});
  ASSERT_TRUE(node->start());
  EXPECT_TRUE(manager.hears("READY=1"));
  EXPECT_TRUE(manager.hears("WATCHDOG=1"));
  EXPECT_TRUE(manager.hears("WATCHDOG=1"));
  std::ofstream(file)
      << "limits.connections = 9\nlog.format = \"json\"\nmemory.memtable = \"1MiB\"\n";
  kill(node->pid(), SIGHUP);
  EXPECT_TRUE(manager.hears("RELOADING=1"));
  EXPECT_TRUE(manager.hears("READY=1"));
  std::ofstream(file) << "limits.conections = 11\n";
  kill(node->pid(), SIGHUP);
  EXPECT_TRUE(manager.hears("RELOADING=1"));
  EXPECT_TRUE(manager.hears("READY=1"));
  EXPECT_EQ(node->terminate().value(), 0);
  EXPECT_TRUE(manager.hears("STOPPING=1"));
  const std::string log = read_all(path("data.log"));
  for (const char* line : {"\"name\":\"limits.connections\",\"before\":\"7\",\"after\":\"9\"",
                           "\"msg\":\"setting needs a restart\",\"name\":\"memory.memtable\"",
                           "did you mean 'limits.connections'?"}) {
    EXPECT_NE(log.find(line), std::string::npos) << line;
  }
}

TEST_F(Operate, IsToldOverItsProtocolToReloadAndToDrain) {
  const std::string file = path("cellard.toml");
  std::ofstream(file) << "limits.connections = 7\n";
  auto node = make({"--config", file});
  ASSERT_TRUE(node->start());
  client::SyncClient control(options_of(*node));
  auto status = control.control(client::ControlAction::status);
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(status->state, "ready");
  EXPECT_EQ(status->connections, 1u);

  std::ofstream(file) << "limits.connections = 9\nmemory.memtable = \"1MiB\"\n";
  status = control.control(client::ControlAction::reload);
  ASSERT_TRUE(status) << status.error().message;
  ASSERT_EQ(status->changed.size(), 1u);
  EXPECT_EQ(status->changed[0].name, "limits.connections");
  EXPECT_EQ(status->changed[0].before, "7");
  EXPECT_EQ(status->changed[0].after, "9");
  ASSERT_EQ(status->need_restart.size(), 1u);
  EXPECT_EQ(status->need_restart[0].name, "memory.memtable");

  std::ofstream(file) << "limits.conections = 11\n";
  status = control.control(client::ControlAction::reload);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::failed_precondition);
  EXPECT_NE(status.error().message.find("did you mean 'limits.connections'?"), std::string::npos)
      << status.error().message;

  // The command line, on another connection.
  const std::string cellar =
      fmt::format("{} --addr {} ", (bin() / "cellar").string(), node->address());
  std::ofstream(file) << "limits.connections = 12\n";
  std::string said;
  EXPECT_EQ(run(cellar + "reload", said), 0) << said;
  EXPECT_NE(said.find("limits.connections: 9 -> 12\n"), std::string::npos) << said;
  EXPECT_EQ(run(cellar + "drain --wait within=300ms", said), 5) << said;
  EXPECT_NE(said.find("1 others are still connected"), std::string::npos) << said;
  EXPECT_EQ(control.control(client::ControlAction::status)->state, "draining");
  EXPECT_EQ(run(cellar + "drain --undo", said), 0) << said;
  EXPECT_EQ(control.control(client::ControlAction::status)->state, "ready");
  EXPECT_EQ(node->terminate().value(), 0);
}

TEST_F(Operate, ADrainEndsItsWaitWhenTheOthersHaveLeft) {
  auto node = make();
  ASSERT_TRUE(node->start());
  auto other = std::make_unique<client::SyncClient>(options_of(*node));
  ASSERT_TRUE(other->ping());
  std::thread leaves([&other] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    other.reset();
  });
  std::string said;
  EXPECT_EQ(run(fmt::format("{} --addr {} drain --wait within=1m", (bin() / "cellar").string(),
                            node->address()),
                said),
            0)
      << said;
  leaves.join();
  EXPECT_NE(said.find("draining: an operator drains the node; 1 connections"), std::string::npos)
      << said;
  EXPECT_EQ(node->terminate().value(), 0);
}

TEST_F(Operate, TheRestoreDrill) {
  const std::string backups = path("backups");
  auto node = make({"--backup-directories", backups});
  ASSERT_TRUE(node->start());
  Rows first, second;
  {
    client::SyncClient client(options_of(*node));
    create(client);
    write(client, "a", 300);
    write(client, "z", 300);
    first = read(client, "t");
    auto taken = run_job(client, take(backups + "/n1", "first"));
    ASSERT_TRUE(taken) << taken.error().message;
    const uint64_t copied = taken->copied_bytes;
    write(client, "b", 30);
    second = read(client, "t");
    taken = run_job(client, take(backups + "/n1", "second"));
    ASSERT_TRUE(taken) << taken.error().message;
    EXPECT_LT(taken->copied_bytes, copied);
    EXPECT_FALSE(client.backup(take("/etc")));
    EXPECT_FALSE(client.backup(take(backups + "/../x")));
    EXPECT_EQ(client.backup(list(backups + "/never")).error().code, Errc::not_found);
    EXPECT_FALSE(fs::exists(backups + "/never")) << "to look makes no directory";
    fs::create_directories(path("elsewhere"));
    fs::create_directory_symlink(path("elsewhere"), backups + "/link");
    EXPECT_EQ(client.backup(take(backups + "/link")).error().code, Errc::permission_denied);
    EXPECT_EQ(client.backup(list(backups + "/link")).error().code, Errc::permission_denied);
    write(client, "c", 300);
  }
  // kill -9 during a backup whose rate makes it last.
  node->kill_now();
  node = make({"--backup-directories", backups, "--backup-rate", "20KiB"});
  ASSERT_TRUE(node->start());
  {
    client::SyncClient client(options_of(*node));
    auto begun = client.backup(take(backups + "/n1", "third"));
    ASSERT_TRUE(begun);
    for (int i = 0; i < 500 && begun && begun->phase != "copying"; ++i) {
      client.sleep_us(10'000);
      begun = client.backup({});
    }
    EXPECT_TRUE(begun && begun->running);
  }
  node->kill_now();
  node = make({"--backup-directories", backups});
  ASSERT_TRUE(node->start());
  {
    client::SyncClient client(options_of(*node));
    const auto there = client.backup(list(backups + "/n1"));
    ASSERT_TRUE(there) << there.error().message;
    ASSERT_EQ(there->backups.size(), 2u);
    for (const auto& [name, rows] : {std::pair{"first", &first}, std::pair{"second", &second}}) {
      ASSERT_TRUE(run_job(
          client,
          {.action = client::BackupAction::verify, .directory = backups + "/n1", .name = name}));
      const std::string table = std::string("from_") + name;
      const auto restored = run_job(client, {.action = client::BackupAction::restore,
                                             .directory = backups + "/n1",
                                             .name = name,
                                             .table = "t",
                                             .new_table = table});
      ASSERT_TRUE(restored) << restored.error().message;
      EXPECT_EQ(read(client, table), *rows);
    }
  }
  EXPECT_EQ(node->terminate().value(), 0);
  // A new node from the newest backup.
  std::string said;
  EXPECT_EQ(run(fmt::format("{} --data-dir {} --restore-from {}/n1", (bin() / "cellard").string(),
                            path("other"), backups),
                said),
            0)
      << said;
  EXPECT_NE(said.find("holds backup 'second'"), std::string::npos) << said;
  auto other = make({}, "other");
  ASSERT_TRUE(other->start());
  client::SyncClient client(options_of(*other));
  EXPECT_EQ(read(client, "t"), second);
}

std::map<std::string, std::pair<std::string, fs::file_time_type>> everything(const fs::path& root) {
  std::map<std::string, std::pair<std::string, fs::file_time_type>> all;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    all[entry.path()] = {entry.is_regular_file() ? read_all(entry.path()) : "",
                         entry.last_write_time()};
  }
  return all;
}

TEST_F(Operate, ADirectoryOfANewerFormatIsRefusedAndNothingInItIsTouched) {
  auto node = make();
  ASSERT_TRUE(node->start());
  {
    client::SyncClient client(options_of(*node));
    create(client);
    write(client, "a", 5);
  }
  EXPECT_EQ(node->terminate().value(), 0);
  const fs::path format = fs::path(path("data")) / "FORMAT";
  const auto now = engine::decode_format(read_all(format));
  ASSERT_TRUE(now) << now.error().message;
  std::ofstream(format, std::ios::binary)
      << engine::encode_format({engine::kFormats.newest + 1, now->id});
  const auto before = everything(path("data"));
  std::string said;
  for (const char* flags :
       {"--listen 127.0.0.1:0 --shards 1", "--upgrade-format", "--restore-from /nowhere"}) {
    EXPECT_EQ(
        run(fmt::format("{} --data-dir {} {}", (bin() / "cellard").string(), path("data"), flags),
            said),
        1);
    EXPECT_EQ(everything(path("data")), before) << flags;
  }
  std::ofstream(format, std::ios::binary) << engine::encode_format(*now);
  EXPECT_EQ(run(fmt::format("{} --data-dir {} --upgrade-format", (bin() / "cellard").string(),
                            path("data")),
                said),
            0)
      << said;
  ASSERT_TRUE(node->start());
  client::SyncClient client(options_of(*node));
  EXPECT_EQ(read(client, "t").size(), 5u);
}

// Written by the first program with formats; every later one opens it.
TEST_F(Operate, TheGoldenDirectoryOfFormatOneIsOpened) {
  std::string said;
  ASSERT_EQ(unpack_golden(1, said), 0) << said;
  auto node = make({}, "golden");
  ASSERT_TRUE(node->start());
  client::SyncClient client(options_of(*node));
  const Rows rows = read(client, "t");
  EXPECT_EQ(rows.size(), 20u);
  EXPECT_EQ(rows.begin()->first, "flushed00000");
  EXPECT_EQ(rows.rbegin()->first, "logged00009");
  EXPECT_EQ(rows.rbegin()->second, "logged" + std::string(2000, 'j'));
}

// A directory of format 1 stays in that format until an upgrade is requested.
TEST_F(Operate, TheGoldenDirectoryOfFormatOneStaysOneUntilItIsUpgraded) {
  std::string said;
  ASSERT_EQ(unpack_golden(1, said), 0) << said;
  const std::string cellar = bin() / "cellar";
  const auto format = [this] {
    return read_all(fs::path(path("golden")) / "FORMAT").substr(0, 15);
  };
  auto node = make({}, "golden");
  ASSERT_TRUE(node->start());
  const std::string alter =
      fmt::format("{} --addr {} altertable t bottom-compression=zstd", cellar, node->address());
  EXPECT_NE(run(alter, said), 0);
  EXPECT_NE(said.find("--upgrade-format"), std::string::npos) << said;
  EXPECT_EQ(node->terminate().value(), 0);
  EXPECT_EQ(format(), "cellar format 1");
  EXPECT_EQ(run(fmt::format("{} --data-dir {} --upgrade-format", (bin() / "cellard").string(),
                            path("golden")),
                said),
            0)
      << said;
  EXPECT_EQ(format(), "cellar format 4");
  ASSERT_TRUE(node->start());
  for (const char* command : {"altertable t bottom-compression=zstd", "compact t"}) {
    EXPECT_EQ(run(fmt::format("{} --addr {} {}", cellar, node->address(), command), said), 0)
        << said;
  }
  client::SyncClient client(options_of(*node));
  EXPECT_EQ(read(client, "t").size(), 20u);
}

// Written by the first program with format 2: Zstandard tables, one with a dictionary, an option
// that only this format has, and a log.
TEST_F(Operate, TheGoldenDirectoryOfFormatTwoIsOpened) {
  std::string said;
  ASSERT_EQ(unpack_golden(2, said), 0) << said;
  const std::string cellar = bin() / "cellar";
  EXPECT_EQ(run(fmt::format("{}-inspect verify {}", cellar, path("golden")), said), 0) << said;
  EXPECT_EQ(run(fmt::format("{0}-inspect dump {1}/blob/*.sst", cellar, path("golden")), said), 0);
  EXPECT_NE(said.find("(zstd with dictionary; "), std::string::npos);
  auto node = make({}, "golden");
  ASSERT_TRUE(node->start());
  client::SyncClient client(options_of(*node));
  const Rows rows = read(client, "t");
  EXPECT_EQ(rows.size(), 1010u);
  EXPECT_EQ(rows.begin()->first, "packed00000");
  EXPECT_EQ(rows.rbegin()->first, "written00009");
  EXPECT_EQ(run(fmt::format("{} --addr {} describe t", cellar, node->address()), said), 0);
  EXPECT_NE(said.find("at the bottom zstd"), std::string::npos) << said;
}

// Written by the first program with format 3: a table with a partitioned index, and a log.
TEST_F(Operate, TheGoldenDirectoryOfFormatThreeIsOpened) {
  std::string said;
  ASSERT_EQ(unpack_golden(3, said), 0) << said;
  const std::string cellar = bin() / "cellar";
  EXPECT_EQ(run(fmt::format("{}-inspect verify {}", cellar, path("golden")), said), 0) << said;
  EXPECT_EQ(run(fmt::format("{0}-inspect dump {1}/blob/*.sst", cellar, path("golden")), said), 0);
  EXPECT_NE(said.find("  part 1 from "), std::string::npos);
  auto node = make({}, "golden");
  ASSERT_TRUE(node->start());
  client::SyncClient client(options_of(*node));
  const Rows rows = read(client, "t");
  EXPECT_EQ(rows.size(), 3010u);
  EXPECT_EQ(rows.begin()->first, "parted00000");
  EXPECT_EQ(rows.rbegin()->first, "written00009");
}

// Written by the first program with format 4: range deletes with tokens, of one tablet in the
// manifest, of another in the log.
TEST_F(Operate, TheGoldenDirectoryOfFormatFourIsOpened) {
  std::string said;
  ASSERT_EQ(unpack_golden(4, said), 0) << said;
  const std::string cellar = bin() / "cellar";
  EXPECT_EQ(run(fmt::format("{}-inspect verify {}", cellar, path("golden")), said), 0) << said;
  EXPECT_EQ(
      run(fmt::format("{0}-inspect dump --entries {1}/log/*.seg", cellar, path("golden")), said),
      0);
  EXPECT_NE(said.find("cellarlogged\" of 1 range deletes"), std::string::npos);
  auto node = make({}, "golden");
  ASSERT_TRUE(node->start());
  client::SyncClient client(options_of(*node));
  const Rows rows = read(client, "t");
  EXPECT_EQ(rows.size(), 10u);
  EXPECT_EQ(rows.begin()->first, "kept00000");
  EXPECT_EQ(rows.rbegin()->first, "kept00009");
  EXPECT_EQ(
      run(fmt::format("{} --addr {} droprows t prefix=kept token=now", cellar, node->address()),
          said),
      0)
      << said;
  EXPECT_TRUE(read(client, "t").empty());
}

TEST_F(Operate, TheDoctorLooksAtADirectoryAndAtANode) {
  auto node = make();
  ASSERT_TRUE(node->start());
  const std::string cellar = bin() / "cellar";
  std::string said;
  int code = run(fmt::format("{} doctor --json {}", cellar, path("data")), said);
  EXPECT_TRUE(code == 0 || code == 7 || code == 1) << said;  // the machine's disk may be full
  EXPECT_NE(said.find(R"("check":"format","what":"is of format 4")"), std::string::npos) << said;
  EXPECT_NE(said.find("a node has it open"), std::string::npos) << said;
  code = run(fmt::format("{} --addr {} doctor", cellar, node->address()), said);
  EXPECT_TRUE(code == 0 || code == 7 || code == 1) << said;
  EXPECT_NE(said.find("every shard takes writes"), std::string::npos) << said;
  const std::string address = node->address();
  EXPECT_EQ(node->terminate().value(), 0);
  EXPECT_EQ(run(fmt::format("{} --addr {} --timeout 2s doctor", cellar, address), said), 5) << said;
  EXPECT_NE(said.find("problem"), std::string::npos);
  EXPECT_EQ(run(fmt::format("{} doctor {}", cellar, path("nothing")), said), 1) << said;
}

}  // namespace
}  // namespace cellar::process
