// The options that a table's profile gives its families, and their change when the meaning of the
// timestamps is altered (SEMANTICS 8): a default that the new meaning forbids is dropped; a part
// that was set explicitly makes the alteration fail.
#include <gtest/gtest.h>

#include "tests/engine/node/alter_bed.h"

namespace cellar::support {
namespace {

using engine::FamilySpec;

constexpr int64_t kDayUs = 86'400'000'000;
const WriteWindow kTablestoreWindow{kDayUs, kDayUs, WriteWindow::Unit::seconds};

engine::TableSpec table_of(Profile profile, std::vector<FamilySpec> families) {
  engine::TableSpec spec;
  spec.name = "t";
  spec.profile = profile;
  spec.families = std::move(families);
  return spec;
}

FamilySpec family_of(std::string name) {
  FamilySpec family;
  family.name = std::move(name);
  return family;
}

FamilySpec meaning(TimestampMeaning timestamps) {
  FamilySpec family = family_of("f");
  family.timestamps = timestamps;
  if (timestamps == TimestampMeaning::expiry) family.rule = RetentionRule::max_age_us(1'000'000);
  return family;
}

class AlterProfile : public ::testing::Test {
 protected:
  // "OK" or the status.
  std::string create(Profile profile, FamilySpec family) {
    const auto made = node_.create_table(table_of(profile, {std::move(family)}));
    return made ? "OK" : std::string(errc_name(made.error().code));
  }
  std::string alter(FamilySpec family) {
    TableChange change = of_table();
    change.alter.push_back(std::move(family));
    const auto made = node_.alter_table(std::move(change));
    return made ? "OK" : std::string(errc_name(made.error().code));
  }
  FamilySchema family(const std::string& name = "f") {
    return *node_.table("t")->schema.find_family(name);
  }
  void crash() {
    node_.crash(CrashPolicy::none);
    ASSERT_TRUE(node_.reopen()) << node_.open_error()->to_string();
  }

  TestNode node_{shards(2)};
};

TEST_F(AlterProfile, AnotherMeaningDropsTheWindowOfTablestore) {
  ASSERT_EQ(create(Profile::tablestore, family_of("f")), "OK");
  EXPECT_EQ(family().window, kTablestoreWindow);
  crash();
  ASSERT_EQ(alter(meaning(TimestampMeaning::sequence)), "OK");
  EXPECT_EQ(family().window, WriteWindow());
  EXPECT_EQ(family().rule, RetentionRule::max_versions(1)) << "the new meaning allows it";
  EXPECT_TRUE(node_.set("t", "r", "f:q", 1000, "a number")) << "far before the window";
  crash();
  EXPECT_EQ(family().window, WriteWindow());
  ASSERT_EQ(alter(meaning(TimestampMeaning::time)), "OK");
  EXPECT_EQ(family().window, WriteWindow()) << "what was dropped does not come back by itself";
}

TEST_F(AlterProfile, TheWindowOfTablestoreIsForTimesOnly) {
  ASSERT_EQ(create(Profile::tablestore, family_of("f")), "OK");
  ASSERT_EQ(alter(meaning(TimestampMeaning::expiry)), "OK");
  EXPECT_EQ(family().window, WriteWindow());
}

TEST_F(AlterProfile, AnotherMeaningDropsTheAcceptanceOfBigtable) {
  ASSERT_EQ(create(Profile::bigtable, family_of("f")), "OK");
  EXPECT_EQ(family().born_dead, BornDead::accept);
  crash();
  ASSERT_EQ(alter(meaning(TimestampMeaning::expiry)), "OK");
  EXPECT_EQ(family().born_dead, BornDead::refuse);
  crash();
  EXPECT_EQ(family().born_dead, BornDead::refuse);
  EXPECT_EQ(node_.set("t", "r", "f:q", 1000, "long dead").error().code, Errc::out_of_range);
}

TEST_F(AlterProfile, WhatWasNamedIsNeverDropped) {
  FamilySpec named = family_of("f");
  named.window = kTablestoreWindow;
  named.born_dead = BornDead::accept;
  ASSERT_EQ(create(Profile::tablestore, named), "OK");
  crash();
  EXPECT_EQ(alter(meaning(TimestampMeaning::sequence)), "INVALID_ARGUMENT");
  EXPECT_EQ(alter(meaning(TimestampMeaning::expiry)), "INVALID_ARGUMENT");
  EXPECT_EQ(family().window, kTablestoreWindow);
  // Cleared in the same change, it does not prevent the change.
  FamilySpec cleared = meaning(TimestampMeaning::sequence);
  cleared.window = WriteWindow();
  EXPECT_EQ(alter(cleared), "OK");
}

TEST_F(AlterProfile, ADefaultThatARequestNamesCountsAsNamed) {
  ASSERT_EQ(create(Profile::bigtable, family_of("f")), "OK");
  FamilySpec named = family_of("f");
  named.born_dead = BornDead::accept;
  const uint64_t before = node_.table("t")->schema.version;
  ASSERT_EQ(alter(named), "OK");
  EXPECT_EQ(node_.table("t")->schema.version, before + 1);
  crash();
  EXPECT_EQ(alter(meaning(TimestampMeaning::expiry)), "INVALID_ARGUMENT");
}

TEST_F(AlterProfile, AFamilyThatIsAddedLaterIsFilledTheSameWay) {
  ASSERT_EQ(create(Profile::tablestore, family_of("f")), "OK");
  TableChange change = of_table();
  change.add.push_back(family_of("late"));
  change.add.push_back(family_of("numbers"));
  change.add.back().timestamps = TimestampMeaning::sequence;
  change.add.push_back(family_of("own"));
  change.add.back().window = WriteWindow{kDayUs, {}, WriteWindow::Unit::exact};
  ASSERT_TRUE(node_.alter_table(change));
  crash();
  EXPECT_EQ(family("late").window, kTablestoreWindow);
  EXPECT_TRUE(family("late").from_profile.window);
  EXPECT_EQ(family("late").rule, RetentionRule::max_versions(1));
  EXPECT_EQ(family("numbers").window, WriteWindow());
  EXPECT_FALSE(family("own").from_profile.window);
  change = of_table();
  change.alter.push_back(family_of("late"));
  change.alter.back().timestamps = TimestampMeaning::sequence;
  EXPECT_TRUE(node_.alter_table(change));
  EXPECT_EQ(family("late").window, WriteWindow());
}

TEST_F(AlterProfile, AWindowOnNumbersIsRefused) {
  FamilySpec numbers = meaning(TimestampMeaning::sequence);
  numbers.window = WriteWindow{{}, 5, WriteWindow::Unit::exact};
  EXPECT_EQ(create(Profile::none, numbers), "INVALID_ARGUMENT");
  ASSERT_EQ(create(Profile::none, meaning(TimestampMeaning::sequence)), "OK");
  FamilySpec window = family_of("f");
  window.window = WriteWindow{5, {}, WriteWindow::Unit::seconds};
  EXPECT_EQ(alter(window), "INVALID_ARGUMENT");
  TableChange change = of_table();
  numbers.name = "g";
  change.add.push_back(numbers);
  EXPECT_EQ(node_.alter_table(change).error().code, Errc::invalid_argument);
}

TEST_F(AlterProfile, AcceptanceOfWhatIsBornDeadIsRefusedForDatesOfDeath) {
  FamilySpec dates = meaning(TimestampMeaning::expiry);
  dates.born_dead = BornDead::accept;
  EXPECT_EQ(create(Profile::none, dates), "INVALID_ARGUMENT");
  ASSERT_EQ(create(Profile::bigtable, meaning(TimestampMeaning::expiry)), "OK");
  EXPECT_EQ(family().born_dead, BornDead::refuse);
  FamilySpec accept = family_of("f");
  accept.born_dead = BornDead::accept;
  EXPECT_EQ(alter(accept), "INVALID_ARGUMENT");
}

}  // namespace
}  // namespace cellar::support
