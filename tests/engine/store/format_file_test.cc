// The format of a data directory: a new directory gets the present one. Any other number, a damaged
// file and a missing file beside data are refused, and the directory is left untouched.
#include "engine/store/local/format_file.h"

#include <gtest/gtest.h>

#include <map>

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
  void write(const std::string& content) {
    ASSERT_TRUE(disk_.write_all(std::string(kFormatPath), content));
  }
  void expect_refused(Errc code, const std::string& sentence) {
    const auto before = contents();
    for (const Error& error :
         {run(read_format(fs_)).error(), run(resolve_format(fs_, kId)).error()}) {
      EXPECT_EQ(error.code, code);
      EXPECT_TRUE(error.message.starts_with(sentence)) << error.message;
    }
    EXPECT_EQ(contents(), before);
  }

  SimWorld world_{1};
  SimLoop& loop_ = world_.add_loop();
  MemDisk disk_;
  MemFs fs_{loop_.executor(), disk_};
};

TEST_F(Format, IsAsItStandsInTheDocument) {
  EXPECT_EQ(encode_format({.id = kId}),
            "cellar format 6 id 0123456789abcdef0123456789abcdef 3a19222a\n");
  EXPECT_EQ(decode_format(encode_format({7, kId})).value(), (DirectoryFormat{7, kId}));
  for (const char* bad : {"", "x", "cellar format 1 id 00 00000000\n"}) {
    EXPECT_EQ(decode_format(bad).error().code, Errc::data_loss) << bad;
  }
  std::string damaged = encode_format({1, kId});
  damaged[14] = '2';
  EXPECT_EQ(decode_format(damaged).error().code, Errc::data_loss);
}

TEST_F(Format, ANewDirectoryGetsItOnceAndKeepsItsId) {
  EXPECT_EQ(run(read_format(fs_)).value(), std::nullopt);
  ASSERT_TRUE(disk_.create_dir("manifest"));
  ASSERT_TRUE(disk_.create_dir("log"));
  ASSERT_TRUE(disk_.create_dir("blob"));
  ASSERT_TRUE(disk_.write_all("LOCK", ""));
  const DirectoryFormat wanted{6, kId};
  EXPECT_EQ(run(resolve_format(fs_, kId)).value(), wanted);
  EXPECT_EQ(run(resolve_format(fs_, std::string(32, 'f'))).value(), wanted);
  EXPECT_EQ(run(read_format(fs_)).value(), wanted);
}

TEST_F(Format, DataWithoutItIsRefusedAndNothingIsTouched) {
  for (const char* path :
       {"manifest/CURRENT", "log/0000000000010000-00000000.seg", "blob/0000000004000001.sst"}) {
    const std::string folder(path, std::string_view(path).find('/'));
    ASSERT_TRUE(disk_.create_dir(folder));
    ASSERT_TRUE(disk_.write_all(path, "x"));
    expect_refused(Errc::data_loss, "FORMAT is missing, though there is data");
    ASSERT_TRUE(disk_.remove(path));
  }
}

TEST_F(Format, AnyOtherNumberIsRefusedAndNothingIsTouched) {
  for (const uint32_t version : {0, 1, 2, 3, 4, 5, 7, 100}) {
    write(encode_format({version, kId}));
    expect_refused(Errc::failed_precondition,
                   fmt::format("FORMAT says that the data is of format {}; this program reads "
                               "format 6 only. Nothing was touched",
                               version));
  }
}

TEST_F(Format, ADamagedOneIsRefusedAndNothingIsTouched) {
  const std::string whole = encode_format({.id = kId});
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    write(damaged);
    expect_refused(Errc::data_loss, "FORMAT is damaged; this program reads format 6 only");
    write(whole.substr(0, i));
    expect_refused(Errc::data_loss, "FORMAT is damaged; this program reads format 6 only");
  }
}

}  // namespace
}  // namespace cellar::engine
