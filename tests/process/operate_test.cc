// The real program in operation: controlled by signals, watched by a service manager, backed up and
// restored.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "io/base/random.h"
#include "tests/process/support/operate_bed.h"

namespace cellar::process {
namespace {

client::BackupCommand take(const std::string& directory, const std::string& name = "") {
  return {.action = client::BackupAction::take, .directory = directory, .name = name};
}
client::BackupCommand list(const std::string& directory) {
  return {.action = client::BackupAction::list, .directory = directory};
}

}  // namespace

// Two backups, the end of the node during a third, both restored into new tables and the newer one
// into a new node; every row is compared with what was read when the backup was taken.
void Operate::drill(const std::string& place, const std::vector<std::string>& flags) {
  auto node = make(flags);
  ASSERT_TRUE(node->start());
  Rows first, second;
  {
    client::SyncClient client(options_of(*node));
    create(client);
    write(client, "a", 300);
    write(client, "z", 300);
    first = read(client, "t");
    auto taken = run_job(client, take(place, "first"));
    ASSERT_TRUE(taken) << taken.error().message;
    const uint64_t copied = taken->copied_bytes;
    write(client, "b", 30);
    second = read(client, "t");
    taken = run_job(client, take(place, "second"));
    ASSERT_TRUE(taken) << taken.error().message;
    EXPECT_LT(taken->copied_bytes, copied);
    write(client, "c", 300);
  }
  // kill -9 during a backup whose rate makes it last.
  node->kill_now();
  std::vector<std::string> slow = flags;
  slow.insert(slow.end(), {"--backup-rate", "20KiB"});
  node = make(slow);
  ASSERT_TRUE(node->start());
  {
    client::SyncClient client(options_of(*node));
    auto begun = client.backup(take(place, "third"));
    ASSERT_TRUE(begun);
    for (int i = 0; i < 500 && begun && begun->phase != "copying"; ++i) {
      client.sleep_us(10'000);
      begun = client.backup({});
    }
    EXPECT_TRUE(begun && begun->running);
  }
  node->kill_now();
  node = make(flags);
  ASSERT_TRUE(node->start());
  {
    client::SyncClient client(options_of(*node));
    const auto there = client.backup(list(place));
    ASSERT_TRUE(there) << there.error().message;
    ASSERT_EQ(there->backups.size(), 2u);
    for (const auto& [name, rows] : {std::pair{"first", &first}, std::pair{"second", &second}}) {
      ASSERT_TRUE(run_job(
          client, {.action = client::BackupAction::verify, .directory = place, .name = name}));
      const std::string table = std::string("from_") + name;
      const auto restored = run_job(client, {.action = client::BackupAction::restore,
                                             .directory = place,
                                             .name = name,
                                             .table = "t",
                                             .new_table = table});
      ASSERT_TRUE(restored) << restored.error().message;
      EXPECT_EQ(read(client, table), *rows);
    }
    EXPECT_TRUE(run_job(client, {.action = client::BackupAction::prune, .directory = place}));
  }
  EXPECT_EQ(node->terminate().value(), 0);
  // A new node from the newest backup.
  std::string command = fmt::format("{} --data-dir {} --restore-from {}",
                                    (bin() / "cellard").string(), path("other"), place);
  for (const std::string& flag : flags) command += " " + flag;
  std::string said;
  EXPECT_EQ(run(command, said), 0) << said;
  EXPECT_NE(said.find("holds backup 'second'"), std::string::npos) << said;
  auto other = make({}, "other");
  ASSERT_TRUE(other->start());
  client::SyncClient client(options_of(*other));
  EXPECT_EQ(read(client, "t"), second);
}

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
  drill(backups + "/n1", {"--backup-directories", backups});
}

// In the pool of a real cluster (tests/io/remote/rados_bodies.h).
TEST_F(Operate, TheRestoreDrillInCeph) {
  const char* const config = std::getenv("CELLAR_TEST_CEPH_CONF");
  const char* const pool = std::getenv("CELLAR_TEST_CEPH_POOL");
  if (config == nullptr || pool == nullptr) {
    GTEST_SKIP() << "CELLAR_TEST_CEPH_CONF and CELLAR_TEST_CEPH_POOL name no pool";
  }
  const char* const client = std::getenv("CELLAR_TEST_CEPH_CLIENT");
  drill(fmt::format("rados:{}/test-{:016x}", pool, entropy_seed()),
        {"--backup-directories", fmt::format("rados:{}", pool), "--ceph-config", config,
         "--ceph-client", client != nullptr ? client : "client.admin"});
}

TEST_F(Operate, APlaceInCephIsRefusedWithWhatIsMissing) {
  auto node = make({"--backup-directories", "rados:backup"});
  ASSERT_TRUE(node->start());
  client::SyncClient client(options_of(*node));
  const auto taken = client.backup(take("rados:backup/n1"));
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, Errc::failed_precondition);
  const std::string& message = taken.error().message;
  const bool names_what_is_missing = message.find("ceph.config") != std::string::npos ||
                                     message.find("libcellar_cluster.so") != std::string::npos;
  EXPECT_TRUE(names_what_is_missing) << message;
  EXPECT_EQ(client.backup(take("rados:other/n1")).error().code, Errc::permission_denied);
  EXPECT_EQ(client.backup(take("rados:backup")).error().code, Errc::invalid_argument);
}

TEST_F(Operate, BackupsStayWithinTheirDirectories) {
  const std::string backups = path("backups");
  auto node = make({"--backup-directories", backups});
  ASSERT_TRUE(node->start());
  client::SyncClient client(options_of(*node));
  create(client);
  ASSERT_TRUE(run_job(client, take(backups + "/n1", "first")));
  EXPECT_FALSE(client.backup(take("/etc")));
  EXPECT_FALSE(client.backup(take(backups + "/../x")));
  EXPECT_EQ(client.backup(list(backups + "/never")).error().code, Errc::not_found);
  EXPECT_FALSE(fs::exists(backups + "/never")) << "to look makes no directory";
  fs::create_directories(path("elsewhere"));
  fs::create_directory_symlink(path("elsewhere"), backups + "/link");
  EXPECT_EQ(client.backup(take(backups + "/link")).error().code, Errc::permission_denied);
  EXPECT_EQ(client.backup(list(backups + "/link")).error().code, Errc::permission_denied);
}

// Of four or more that are taken, one a second, the newest two are kept; a restart continues.
TEST_F(Operate, BackupsAreTakenBySchedule) {
  const std::string into = path("backups") + "/n1";
  const std::vector<std::string> flags = {"--backup-directories", path("backups"),
                                          "--backup-every",       "1s",
                                          "--backup-into",        into,
                                          "--backup-keep",        "2"};
  const auto newest_after = [&](client::SyncClient& client, size_t turns) {
    std::string newest;
    for (int i = 0; i < 300 && turns > 0; ++i) {
      client.sleep_us(50'000);
      const auto there = client.backup(list(into));
      if (!there || there->backups.empty() || there->backups.back().name == newest) continue;
      newest = there->backups.back().name;
      --turns;
    }
    EXPECT_EQ(turns, 0u);
    return newest;
  };
  std::string before;
  for (int start = 0; start < 2; ++start) {
    auto node = make(flags);
    ASSERT_TRUE(node->start());
    client::SyncClient client(options_of(*node));
    if (start == 0) create(client);
    const std::string newest = newest_after(client, 3);
    EXPECT_GT(newest, before) << "names are times";
    before = newest;
    // The one that is being pruned may still be listed.
    const auto there = client.backup(list(into));
    ASSERT_TRUE(there) << there.error().message;
    EXPECT_LE(there->backups.size(), 3u);
    EXPECT_GE(there->backups.size(), 2u);
    EXPECT_EQ(node->terminate().value(), 0);
  }
  std::string said;
  EXPECT_EQ(run(fmt::format("{} --data-dir {} --restore-from {}", (bin() / "cellard").string(),
                            path("other"), into),
                said),
            0)
      << said;
}

// What a failed restore leaves is no store: no node starts on it, and the restore is begun again.
TEST_F(Operate, AFailedRestoreIsNoStoreAndIsBegunAgain) {
  const std::string place = path("backups");
  fs::create_directories(place);
  Rows rows;
  {
    auto node = make({"--backup-directories", place});
    ASSERT_TRUE(node->start());
    client::SyncClient client(options_of(*node));
    create(client);
    write(client, "a", 300);
    rows = read(client, "t");
    ASSERT_TRUE(run_job(client, take(place, "b")));
    EXPECT_EQ(node->terminate().value(), 0);
  }
  const std::string restore = fmt::format("{} --data-dir {} --restore-from {}",
                                          (bin() / "cellard").string(), path("other"), place);
  std::vector<fs::path> blobs;
  for (const auto& file : fs::directory_iterator(fs::path(place) / "blob")) {
    blobs.push_back(file.path());
  }
  ASSERT_FALSE(blobs.empty());
  std::ranges::sort(blobs);
  const std::string whole = read_all(blobs.back());
  std::ofstream(blobs.back(), std::ios::binary) << whole.substr(0, whole.size() - 1);
  std::string said;
  EXPECT_NE(run(restore, said), 0) << said;
  EXPECT_NE(
      run(fmt::format("timeout 20 {} --data-dir {} --listen 127.0.0.1:0 --http-listen 127.0.0.1:0",
                      (bin() / "cellard").string(), path("other")),
          said),
      0);
  EXPECT_NE(said.find("FORMAT is missing: a restore or a repair"), std::string::npos) << said;
  std::ofstream(fs::path(path("other")) / "blob" / "00000004000000ff.sst") << "of another attempt";
  std::ofstream(blobs.back(), std::ios::binary) << whole;
  EXPECT_EQ(run(restore, said), 0) << said;
  EXPECT_FALSE(fs::exists(fs::path(path("other")) / "blob" / "00000004000000ff.sst"));
  auto other = make({}, "other");
  ASSERT_TRUE(other->start());
  client::SyncClient client(options_of(*other));
  EXPECT_EQ(read(client, "t"), rows);
  EXPECT_NE(run(restore, said), 0);
}

TEST_F(Operate, AScheduleOutsideTheDirectoriesIsRefused) {
  std::string said;
  EXPECT_EQ(run(fmt::format("{} --data-dir {} --backup-directories /backup --backup-every 1d "
                            "--backup-into /backups/n1 --check-config",
                            (bin() / "cellard").string(), path("other")),
                said),
            2)
      << said;
  EXPECT_NE(said.find("backup.into ('/backups/n1') is no absolute path and no rados:POOL/NAME "
                      "within backup.directories ('/backup')"),
            std::string::npos)
      << said;
}

// Tables of Zstandard with a dictionary, of LZ4, with their index whole and in parts; range deletes
// with tokens, in the manifest and in the log; a dropped table, a rule that was changed, a log.
TEST_F(Operate, TheGoldenDirectoryIsOpened) {
  unpack("data_directory_format_6");
  const std::string cellar = bin() / "cellar";
  const auto says = [&](const std::string& command) {
    std::string said;
    EXPECT_EQ(run(command, said), 0) << command << "\n" << said;
    return said;
  };
  const auto has = [](const std::string& said, std::string_view part) {
    EXPECT_NE(said.find(part), std::string::npos) << part;
  };
  says(fmt::format("{}-inspect verify {}", cellar, path("golden")));
  const std::string tables =
      says(fmt::format("{}-inspect dump {}/blob/*.sst", cellar, path("golden")));
  has(tables, "(zstd with dictionary; ");
  has(tables, "  part 1 from ");
  has(tables, "00 00 00 00                                      index: 0 whole");
  has(says(fmt::format("{}-inspect dump --entries {}/log/*.seg", cellar, path("golden"))),
      "cellarlogged\" of 1 range deletes");
  auto node = make({}, "golden");
  ASSERT_TRUE(node->start());
  client::SyncClient client(options_of(*node));
  const auto cli = [&](const std::string& words) {
    return says(fmt::format("{} --addr {} {}", cellar, node->address(), words));
  };
  const Rows rows = read(client, "t");
  EXPECT_EQ(rows.size(), 5020u);
  EXPECT_EQ(rows.begin()->first, "flushed00000");
  EXPECT_EQ(rows.rbegin()->first, "written00009");
  const std::string described = cli("describe t");
  has(described, "at the bottom zstd");
  has(described, "compaction   tiered");
  has(cli("gc show t f"), "maxversions=3");
  EXPECT_EQ(cli("ls").find("dropped"), std::string::npos);
  cli("droprows t prefix=packed token=now --yes");
  EXPECT_EQ(read(client, "t").size(), 20u);
}

TEST_F(Operate, TheDoctorLooksAtADirectoryAndAtANode) {
  auto node = make();
  ASSERT_TRUE(node->start());
  const std::string cellar = bin() / "cellar";
  std::string said;
  int code = run(fmt::format("{} doctor --json {}", cellar, path("data")), said);
  EXPECT_TRUE(code == 0 || code == 7 || code == 1) << said;  // the machine's disk may be full
  EXPECT_NE(said.find(R"("check":"format","what":"is of format 6")"), std::string::npos) << said;
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
