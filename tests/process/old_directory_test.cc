// Data of another format is refused with its number and left untouched: data directories, tables
// and backups of older formats, a directory of a newer format, and one without FORMAT.
#include "engine/backup/backup_file.h"
#include "engine/store/local/format_file.h"
#include "tests/process/support/operate_bed.h"

namespace cellar::process {
namespace {

class OldDirectory : public Operate {
 protected:
  // Expects that every program that opens the directory fails with `sentence` and changes nothing.
  void expect_refused(const std::string& directory, const std::string& sentence) {
    const auto before = everything(directory);
    const std::string cellard = bin() / "cellard";
    const std::string cellar = bin() / "cellar";
    const std::string named = fmt::format("data directory '{}': ", directory);
    for (const auto& [command, message] : {
             std::pair{fmt::format("timeout 20 {} --data-dir {} --listen 127.0.0.1:0 --http-listen "
                                   "127.0.0.1:0 --shards 1",
                                   cellard, directory),
                       named + sentence},
             std::pair{fmt::format("timeout 20 {} --data-dir {} --restore-from {}", cellard,
                                   directory, path("backups")),
                       named + sentence},
             std::pair{fmt::format("{}-inspect verify {}", cellar, directory), sentence},
         }) {
      std::string said;
      const int code = run(command, said);
      EXPECT_TRUE(code != 0 && code != 124) << command << " ended with " << code;
      EXPECT_NE(said.find(message), std::string::npos) << command << "\n" << said;
      EXPECT_EQ(everything(directory), before) << command;
    }
    std::string said;
    EXPECT_NE(run(fmt::format("{} doctor --json {}", cellar, directory), said), 0);
    EXPECT_NE(said.find(R"("level":"problem","check":"format")"), std::string::npos) << said;
    EXPECT_EQ(everything(directory), before);
  }
  static std::string of_format(uint32_t version) {
    return fmt::format(
        "FORMAT says that the data is of format {}; this program reads format {} only", version,
        engine::kDirectoryFormat);
  }
};

TEST_F(OldDirectory, EveryOlderOneIsRefusedAndNothingInItIsTouched) {
  const std::pair<const char*, uint32_t> kOlder[] = {
      {"data_directory_format_1", 1}, {"data_directory_format_1_compaction", 1},
      {"data_directory_format_2", 2}, {"data_directory_format_3", 3},
      {"data_directory_format_4", 4}, {"data_directory_format_5", 5}};
  for (const auto& [name, version] : kOlder) {
    SCOPED_TRACE(name);
    unpack(name);
    expect_refused(path("golden"), of_format(version));
    fs::remove_all(path("golden"));
  }
}

TEST_F(OldDirectory, ANewerOneADamagedFormatAndDataWithoutOneAreRefused) {
  unpack("data_directory_format_6");
  const fs::path format = fs::path(path("golden")) / "FORMAT";
  const std::string whole = read_all(format);
  const auto now = engine::decode_format(whole);
  ASSERT_TRUE(now) << now.error().message;
  EXPECT_EQ(now->version, engine::kDirectoryFormat);
  std::ofstream(format, std::ios::binary)
      << engine::encode_format({engine::kDirectoryFormat + 1, now->id});
  expect_refused(path("golden"), of_format(engine::kDirectoryFormat + 1));
  std::ofstream(format, std::ios::binary) << whole.substr(0, whole.size() / 2);
  expect_refused(path("golden"), "FORMAT is damaged; this program reads format 6 only");
  fs::remove(format);
  expect_refused(path("golden"), "FORMAT is missing, though there is data");
  // Without the lock file too: none is created.
  fs::remove(fs::path(path("golden")) / "LOCK");
  expect_refused(path("golden"), "FORMAT is missing, though there is data");
  std::ofstream(format, std::ios::binary) << whole;
  auto node = make({}, "golden");
  EXPECT_TRUE(node->start());
}

TEST_F(OldDirectory, ATableOfAnOlderFormatIsNamedWithItsNumber) {
  for (const int version : {1, 2, 3}) {
    SCOPED_TRACE(version);
    unpack(fmt::format("data_directory_format_{}", version));
    const auto before = everything(path("golden"));
    std::string said;
    EXPECT_NE(run(fmt::format("{}-inspect dump {}/blob/*.sst", (bin() / "cellar").string(),
                              path("golden")),
                  said),
              0);
    EXPECT_NE(
        said.find(fmt::format("has table format {}; this program reads format 4 only", version)),
        std::string::npos)
        << said;
    EXPECT_EQ(everything(path("golden")), before);
    fs::remove_all(path("golden"));
  }
}

TEST_F(OldDirectory, ABackupOfAnOlderFormatIsRefusedAndNothingInItIsTouched) {
  auto node = make({"--backup-directories", scratch_.string()});
  ASSERT_TRUE(node->start());
  for (const int format : {4, 5}) {
    SCOPED_TRACE(format);
    unpack(fmt::format("backup_format_{}", format));
    const auto before = everything(path("backup"));
    const std::string sentence =
        fmt::format("backups/last.backup is of format {}; this program reads format {} only",
                    format, engine::BackupFile::kVersion);
    std::string said;
    EXPECT_EQ(run(fmt::format("{} --data-dir {} --restore-from {}", (bin() / "cellard").string(),
                              path("new"), path("backup")),
                  said),
              1);
    EXPECT_NE(said.find(sentence), std::string::npos) << said;
    for (const char* words :
         {"ls {}", "verify {} last", "restore {} t backup=last as=copy", "prune {} keep=1"}) {
      const std::string command =
          fmt::format("{} --addr {} backup {}", (bin() / "cellar").string(), node->address(),
                      fmt::format(fmt::runtime(words), path("backup")));
      EXPECT_NE(run(command, said), 0) << command;
      EXPECT_NE(said.find(sentence), std::string::npos) << command << "\n" << said;
    }
    EXPECT_EQ(everything(path("backup")), before);
    fs::remove_all(path("backup"));
    fs::remove_all(path("new"));
  }
}

}  // namespace
}  // namespace cellar::process
