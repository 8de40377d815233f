// The format of a data directory and its upgrade: a newer format is refused and left untouched; an
// older one stays until an upgrade is requested.
#include "engine/store/format_file.h"

#include <gtest/gtest.h>

#include <map>

#include "engine/store/manifest_file.h"
#include "io/sim/mem_fs.h"
#include "io/sim/sim_loop.h"

namespace cellar::engine {
namespace {

const std::string kId = "0123456789abcdef0123456789abcdef";

class Format : public testing::Test {
 protected:
  template <class T>
  T run(Async<T> work) {
    return world_.block_on(loop_, std::move(work));
  }
  std::map<std::string, std::string> contents() const {
    std::map<std::string, std::string> all;
    for (const std::string& file : disk_.all_files()) all[file] = disk_.read_all(file).value();
    return all;
  }
  void write(uint32_t version) {
    ASSERT_TRUE(disk_.write_all(std::string(kFormatPath), encode_format({version, kId})));
  }

  SimWorld world_{1};
  SimLoop& loop_ = world_.add_loop();
  MemDisk disk_;
  MemFs fs_{loop_.executor(), disk_};
};

TEST_F(Format, IsAsItStandsInTheDocument) {
  EXPECT_EQ(encode_format({1, kId}),
            "cellar format 1 id 0123456789abcdef0123456789abcdef cdfb9ba6\n");
  EXPECT_EQ(decode_format(encode_format({7, kId})).value(), (DirectoryFormat{7, kId}));
  for (const char* bad : {"", "x", "cellar format 1 id 00 00000000\n"}) {
    EXPECT_EQ(decode_format(bad).error().code, Errc::data_loss) << bad;
  }
  std::string damaged = encode_format({1, kId});
  damaged[14] = '2';
  EXPECT_EQ(decode_format(damaged).error().code, Errc::data_loss);
}

TEST_F(Format, ANewDirectoryBeginsWithTheNewestAndOneWithAManifestHasLostIt) {
  EXPECT_EQ(run(settle_format(fs_, kId, {1, 3})).value().version, 3u);
  EXPECT_EQ(run(settle_format(fs_, std::string(32, 'f'), {1, 3})).value().id, kId);  // it stays
  ASSERT_TRUE(disk_.remove(kFormatPath));
  ASSERT_TRUE(disk_.create_dir("manifest"));
  ASSERT_TRUE(disk_.write_all("manifest/CURRENT", encode_current(1)));
  const auto before = contents();
  for (const auto& refused :
       {run(settle_format(fs_, kId, {1, 3})).error(), run(upgrade_format(fs_, {1, 3})).error()}) {
    EXPECT_EQ(refused.code, Errc::data_loss);
    EXPECT_TRUE(refused.message.starts_with("FORMAT is missing")) << refused.message;
  }
  EXPECT_EQ(contents(), before);
}

TEST_F(Format, ANewerOneIsRefusedAndNothingIsTouched) {
  write(4);
  const auto before = contents();
  for (const auto& error :
       {run(read_format(fs_, {1, 3})).error(), run(settle_format(fs_, kId, {1, 3})).error(),
        run(upgrade_format(fs_, {1, 3})).error()}) {
    EXPECT_EQ(error.code, Errc::failed_precondition);
    EXPECT_NE(error.message.find("format 4"), std::string::npos) << error.message;
    EXPECT_NE(error.message.find("formats 1 to 3"), std::string::npos) << error.message;
  }
  EXPECT_EQ(contents(), before);
  EXPECT_EQ(run(read_format(fs_, {5, 6})).error().code, Errc::failed_precondition);  // too old
}

TEST_F(Format, StaysUntilItIsAskedToMoveAndNeverGoesBack) {
  write(1);
  // The next program serves it unchanged, and the previous one can still open it.
  EXPECT_EQ(run(settle_format(fs_, kId, {1, 2})).value().version, 1u);
  EXPECT_EQ(run(settle_format(fs_, kId, {1, 1})).value().version, 1u);
  EXPECT_EQ(run(upgrade_format(fs_, {1, 2})).value(), 1u);
  EXPECT_EQ(run(settle_format(fs_, kId, {1, 2})).value(), (DirectoryFormat{2, kId}));
  EXPECT_EQ(run(upgrade_format(fs_, {1, 2})).value(), 2u);  // a second upgrade does nothing
  EXPECT_EQ(run(read_format(fs_, {1, 1})).error().code, Errc::failed_precondition);
}

}  // namespace
}  // namespace cellar::engine
