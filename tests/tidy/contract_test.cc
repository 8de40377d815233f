// The contract and the acceptance cases are kept in the repository. If a shared directory with the
// originals is beside the checkout, the copies must equal them; otherwise only their presence is
// checked.
#include <gtest/gtest.h>

#include "tests/tidy/source_tree.h"

namespace cellar::tidy {
namespace {
namespace fs = std::filesystem;

void expect_copy(const fs::path& original, const fs::path& copy) {
  ASSERT_TRUE(fs::exists(copy)) << copy;
  EXPECT_EQ(read_text(original), read_text(copy)) << copy << " differs from " << original;
}

TEST(Contract, IsKeptInTheRepository) {
  EXPECT_GT(fs::file_size(source_root() / "engine/SEMANTICS.md"), 1000u);
  EXPECT_TRUE(fs::exists(source_root() / "tests/cases/README.md"));
}

TEST(Contract, EqualsTheOriginalWhereThereIsOne) {
  const fs::path shared = source_root().parent_path() / "shared";
  if (!fs::exists(shared / "SEMANTICS.md")) GTEST_SKIP() << "no shared folder beside this checkout";
  expect_copy(shared / "SEMANTICS.md", source_root() / "engine/SEMANTICS.md");
  size_t compared = 0;
  for (const auto& entry : fs::directory_iterator(shared / "cases")) {
    expect_copy(entry.path(), source_root() / "tests/cases" / entry.path().filename());
    ++compared;
  }
  EXPECT_GT(compared, 5u);
}

}  // namespace
}  // namespace cellar::tidy
