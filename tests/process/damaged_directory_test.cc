// Messages about a damaged directory, and about a machine with too few resources.
#include "tests/process/support/operate_bed.h"

namespace cellar::process {
namespace {

class DamagedDirectory : public Operate {
 protected:
  int verify(std::string& said) {
    return run(fmt::format("{} verify {}", (bin() / "cellar-inspect").string(), path("data")),
               said);
  }
  static void flip(const fs::path& file, std::streamoff at) {
    std::fstream io(file, std::ios::binary | std::ios::in | std::ios::out);
    io.seekg(at);
    const char was = static_cast<char>(io.get());
    io.seekp(at);
    io.put(static_cast<char>(was ^ 0x10));
  }
};

TEST_F(DamagedDirectory, WithoutItsFormatItIsRefusedByName) {
  const auto node = make();
  ASSERT_TRUE(node->start());
  ASSERT_EQ(node->terminate().value(), 0);
  std::string said;
  EXPECT_EQ(verify(said), 0) << said;
  const std::string format = read_all(path("data/FORMAT"));
  fs::remove(path("data/FORMAT"));
  EXPECT_EQ(verify(said), 1);
  EXPECT_NE(said.find("FORMAT is missing"), std::string::npos) << said;
  ASSERT_FALSE(node->start());
  EXPECT_NE(read_all(path("data.log")).find("FORMAT is missing"), std::string::npos);
  std::ofstream(path("data/FORMAT")) << format;
  EXPECT_TRUE(node->start());
}

TEST_F(DamagedDirectory, ATableWithoutItsFooterIsInQuarantineAndTheOthersAreServed) {
  const auto node = make();
  ASSERT_TRUE(node->start());
  {
    client::SyncClient client(options_of(*node));
    create(client);  // rows before m are one tablet, the others another
    write(client, "a", 100);
    write(client, "z", 100);
  }
  ASSERT_EQ(node->terminate().value(), 0);
  std::vector<fs::path> tables;
  for (const auto& entry : fs::directory_iterator(path("data/blob"))) tables.push_back(entry);
  ASSERT_EQ(tables.size(), 2u);
  flip(tables[0], static_cast<std::streamoff>(fs::file_size(tables[0])) - 10);
  std::string said;
  EXPECT_EQ(verify(said), 1);
  ASSERT_TRUE(node->start());
  client::SyncClient client(options_of(*node));
  int lost = 0;
  for (const char* row : {"a00000", "a00099", "z00000", "z00099"}) {
    const auto read = client.read_row("t", client::ReadRow{row, {}, {}});
    if (read) continue;
    ++lost;
    EXPECT_EQ(read.error().code, Errc::data_loss);
    EXPECT_NE(read.error().message.find(tables[0].filename()), std::string::npos)
        << read.error().message;
  }
  EXPECT_EQ(lost, 2);
  EXPECT_NE(read_all(path("data.log")).find("table in quarantine"), std::string::npos);
}

TEST_F(DamagedDirectory, IsRepairedIntoANewOneThatANodeServes) {
  const auto repair = [&](const std::string& to, std::string& said) {
    return run(
        fmt::format("{} repair {} {}", (bin() / "cellar-inspect").string(), path("data"), path(to)),
        said);
  };
  const auto node = make();
  ASSERT_TRUE(node->start());
  {
    client::SyncClient client(options_of(*node));
    create(client);
    write(client, "a", 100);
    write(client, "z", 100);
  }
  std::string said;
  EXPECT_EQ(repair("early", said), 2);
  EXPECT_NE(said.find("a node has it open"), std::string::npos) << said;
  EXPECT_FALSE(fs::exists(path("early")));
  EXPECT_EQ(run(fmt::format("{} repair {} {}", (bin() / "cellar-inspect").string(), path("backups"),
                            path("early")),
                said),
            2);
  EXPECT_NE(said.find("no data directory"), std::string::npos) << said;
  EXPECT_FALSE(fs::exists(path("early")));
  // A path that cannot be looked at is told, and does not end the program by a signal.
  EXPECT_EQ(repair(std::string(300, 'x'), said), 2) << said;
  EXPECT_NE(said.find("cannot be reached"), std::string::npos) << said;
  ASSERT_EQ(node->terminate().value(), 0);
  EXPECT_EQ(repair("data", said), 2) << said;
  EXPECT_EQ(repair("data/new", said), 2) << said;
  EXPECT_EQ(repair("whole", said), 0) << said;
  EXPECT_NE(said.find("nothing is lost"), std::string::npos) << said;
  fs::path table;
  for (const auto& entry : fs::directory_iterator(path("data/blob"))) table = entry;
  flip(table, 200);  // in its first block
  const auto before = everything(path("data"));
  EXPECT_EQ(repair("new", said), 1) << said;
  EXPECT_NE(said.find("LOST blob/" + table.filename().string()), std::string::npos) << said;
  EXPECT_NE(said.find("next: cellar-inspect verify"), std::string::npos) << said;
  EXPECT_EQ(everything(path("data")), before);
  EXPECT_EQ(repair("new", said), 2) << said;
  EXPECT_NE(said.find("not an empty directory"), std::string::npos) << said;
  fs::remove_all(path("data"));
  fs::rename(path("new"), path("data"));
  EXPECT_EQ(verify(said), 0) << said;
  ASSERT_TRUE(node->start());
  client::SyncClient client(options_of(*node));
  const Rows rows = read(client, "t");
  EXPECT_LT(rows.size(), 200u);
  EXPECT_GT(rows.size(), 150u);
  write(client, "y", 1);
}

TEST_F(DamagedDirectory, AMachineThatGivesTooLittleMemoryIsToldInWords) {
#ifdef CELLAR_SANITIZED
  GTEST_SKIP() << "a sanitizer's shadow memory is not the node's";
#endif
  for (const int mib : {120, 250, 400, 700}) {
    std::string said;
    const int code = run(fmt::format("bash -c 'ulimit -v {}; exec timeout 5 {} --data-dir {} "
                                     "--listen 127.0.0.1:0 --http-listen 127.0.0.1:0'",
                                     mib * 1024, (bin() / "cellard").string(), path("small")),
                         said);
    EXPECT_LT(code, 128) << mib << " MiB, ended by a signal: " << said;
    if (code == 1) EXPECT_NE(said.find("cellard: "), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace cellar::process
