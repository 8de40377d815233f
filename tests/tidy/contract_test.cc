// The contract and the acceptance cases are kept in the repository. If a shared directory with the
// originals is beside the checkout, the copies must equal them; otherwise only their presence is
// checked. Cases of what is being built stand in another folder there (cases_next); of those that
// are here already, the section of the format stands at the end of the README here.
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
  for (const char* folder : {"cases", "cases_next"}) {
    if (!fs::exists(shared / folder)) continue;
    const bool all = std::string_view(folder) == "cases";
    for (const auto& entry : fs::directory_iterator(shared / folder)) {
      const fs::path copy = source_root() / "tests/cases" / entry.path().filename();
      if (entry.path().extension() != ".json" || (!all && !fs::exists(copy))) continue;
      expect_copy(entry.path(), copy);
      ++compared;
    }
  }
  EXPECT_GT(compared, 5u);
}

TEST(Contract, TheFormatOfTheCasesEqualsTheOriginalToo) {
  const fs::path shared = source_root().parent_path() / "shared";
  if (!fs::exists(shared / "cases")) GTEST_SKIP() << "no shared folder beside this checkout";
  const std::string original = read_text(shared / "cases/README.md");
  const std::string copy = read_text(source_root() / "tests/cases/README.md");
  ASSERT_TRUE(copy.starts_with(original)) << "tests/cases/README.md differs from the original";
  if (copy == original) return;
  const std::string next = read_text(shared / "cases_next/README.md");
  EXPECT_TRUE(next.ends_with(copy.substr(original.size() + 1)))
      << "the last section of tests/cases/README.md differs from that of cases_next";
}

}  // namespace
}  // namespace cellar::tidy
