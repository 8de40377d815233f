// A directory that a restore or a repair fills: no start accepts it before the end, whatever it was
// and wherever the filling was interrupted.
#include "engine/store/local/unfinished_directory.h"

#include <gtest/gtest.h>

#include "engine/store/blob/blob_files.h"
#include "engine/store/local/format_file.h"
#include "io/sim/mem_fs.h"
#include "io/sim/sim_loop.h"

namespace cellar::engine {
namespace {

const std::string kDirectoryId = "0123456789abcdef0123456789abcdef";

class Unfinished : public testing::Test {
 protected:
  template <class T>
  T run(Async<T> work) {
    return world_.block_on(loop_, std::move(work));
  }
  bool unfinished() { return run(is_unfinished(fs_)).value(); }
  bool is_accepted() { return run(read_format(fs_)).has_value(); }

  SimWorld world_{1};
  SimLoop& loop_ = world_.add_loop();
  MemDisk disk_;
  MemFs fs_{loop_.executor(), disk_};
};

TEST_F(Unfinished, IsRefusedUntilItsEnd) {
  EXPECT_FALSE(unfinished());
  ASSERT_TRUE(run(begin_directory(fs_)));
  EXPECT_TRUE(unfinished());
  EXPECT_FALSE(is_accepted());
  ASSERT_TRUE(run(finish_directory(fs_, kDirectoryId)));
  EXPECT_FALSE(unfinished());
  EXPECT_EQ(run(read_format(fs_)).value()->id, kDirectoryId);
  EXPECT_FALSE(disk_.read_all(std::string(kUnfinishedPath)).has_value());
}

TEST_F(Unfinished, OneThatHadAFormatIsRefusedToo) {
  ASSERT_TRUE(run(resolve_format(fs_, kDirectoryId)));
  ASSERT_TRUE(run(begin_directory(fs_)));
  EXPECT_TRUE(unfinished());
  EXPECT_FALSE(is_accepted());
}

// What an interrupted restore copied has ids that the next node would give again.
TEST_F(Unfinished, NothingOfAnEarlierAttemptStays) {
  ASSERT_TRUE(run(begin_directory(fs_)));
  const std::vector<std::string> left = {
      blob_path(make_blob_id(SessionEpoch{1}, 0, 0)),
      unsealed_blob_path(make_blob_id(SessionEpoch{7}, 0, 0)),
      "manifest/0000000000000001.manifest",
      "log/0000000000010000.0.log",
  };
  for (const std::string& path : left) ASSERT_TRUE(disk_.write_all(path, "content")) << path;
  ASSERT_TRUE(run(begin_directory(fs_)));
  ASSERT_TRUE(run(clear_unfinished(fs_)));
  EXPECT_TRUE(unfinished());
  EXPECT_EQ(disk_.all_files(), std::vector<std::string>{std::string(kUnfinishedPath)});
}

}  // namespace
}  // namespace cellar::engine
