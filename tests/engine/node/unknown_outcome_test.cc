// Edits of the manifest whose answers are lost. A store that can tell an outcome is asked again,
// and nobody notices more than a late answer; one that cannot has failed.
#include <gtest/gtest.h>

#include "engine/files/settled_manifest.h"
#include "tests/support/manifest_double.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

using engine::SettledManifest;
using Loss = ManifestDouble::Loss;

class UnknownOutcome : public testing::TestWithParam<Loss> {
 protected:
  UnknownOutcome() : node_(options()) {}
  TestNodeOptions options() {
    TestNodeOptions options;
    options.shards = 2;
    options.wrap_manifest = [this](std::unique_ptr<engine::ManifestStore> store) {
      auto manifest = std::make_unique<ManifestDouble>(std::move(store));
      manifest->set_reads_outcomes_back(reads_outcomes_back_);
      manifest_ = manifest.get();
      return manifest;
    };
    return options;
  }
  // The next edit is unknown that often.
  void lose(size_t times) {
    const size_t before = manifest_->lost();
    manifest_->lose_next(std::deque<Loss>(times, GetParam()));
    lost_ = before + times;
  }
  void expect_asked_again() { EXPECT_EQ(manifest_->lost(), lost_) << "no edit was made"; }
  TabletId tablet(size_t i = 0) { return node_.table("t")->tablets.at(i).id; }

  bool reads_outcomes_back_ = true;
  ManifestDouble* manifest_ = nullptr;
  TestNode node_;
  size_t lost_ = 0;
};

TEST_P(UnknownOutcome, OfEachKindOfEditIsAskedForUntilItIsKnown) {
  lose(3);
  ASSERT_TRUE(node_.create_table("t", {"f"}));
  expect_asked_again();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(node_.set("t", fmt::format("row{:02}", i), "f:q", 5, std::to_string(i)));
  }
  lose(2);
  ASSERT_TRUE(node_.flush("t"));
  expect_asked_again();
  lose(2);
  ASSERT_TRUE(node_.split(tablet(), "row10"));
  expect_asked_again();
  lose(1);
  ASSERT_TRUE(node_.move(tablet(), 1 - node_.table("t")->tablets.at(0).shard.value()));
  expect_asked_again();
  lose(1);
  ASSERT_TRUE(node_.move(tablet(), node_.table("t")->tablets.at(1).shard.value()));
  expect_asked_again();
  lose(2);
  ASSERT_TRUE(node_.merge(tablet(0), tablet(1)));
  expect_asked_again();
  ASSERT_TRUE(node_.set("t", "row00", "f:q", 6, "a second table to merge"));
  ASSERT_TRUE(node_.flush("t"));
  lose(2);
  ASSERT_TRUE(node_.compact("t"));
  expect_asked_again();
  lose(2);
  ASSERT_TRUE(node_.create_table("other", {"f"}));
  expect_asked_again();
  lose(2);
  ASSERT_TRUE(node_.drop_table("other"));
  expect_asked_again();
  if (GetParam() == Loss::answer) {
    EXPECT_GE(manifest_->repeated(), lost_ / 2);
  } else {
    EXPECT_EQ(manifest_->repeated(), 0u);
  }

  EXPECT_EQ(node_.cells("t").size(), 21u);
  ASSERT_TRUE(node_.set("t", "after", "f:q", 5, "x")) << "writes go on";
  ASSERT_TRUE(node_.close());
  ASSERT_TRUE(node_.reopen());
  EXPECT_EQ(node_.cells("t").size(), 22u);
  EXPECT_EQ(node_.node().recovery().orphans_removed, 0u);
}

// Every edit of a start, too.
TEST_P(UnknownOutcome, OfTheEditsOfAStartIsAskedFor) {
  ASSERT_TRUE(node_.create_table("t", {"f"}, {"m"}));
  ASSERT_TRUE(node_.set("t", "a", "f:q", 5, "1"));
  ASSERT_TRUE(node_.set("t", "z", "f:q", 5, "2"));
  node_.kill();
  TestNodeOptions again = options();
  again.wrap_manifest = [this, wrap = again.wrap_manifest](auto store) {
    auto manifest = wrap(std::move(store));
    manifest_->lose_next({GetParam(), Loss::none, GetParam(), Loss::none, GetParam(), GetParam()});
    return manifest;
  };
  TestNode other(again, node_.disk().clone());
  ASSERT_TRUE(other.is_open()) << other.open_error()->to_string();
  EXPECT_EQ(manifest_->lost(), 4u);
  EXPECT_EQ(other.cells("t").size(), 2u);
  ASSERT_TRUE(other.set("t", "n", "f:q", 5, "3"));
}

TEST_P(UnknownOutcome, ThatStaysUnknownIsAFailureOfTheManifest) {
  ASSERT_TRUE(node_.create_table("t", {"f"}));
  ASSERT_TRUE(node_.set("t", "a", "f:q", 5, "1"));
  manifest_->lose_next({}, GetParam());
  const int64_t began_us = node_.world().now_us();
  EXPECT_FALSE(node_.flush("t"));
  EXPECT_GE(node_.world().now_us() - began_us, SettledManifest::kGiveUpUs);
  const size_t asked = manifest_->lost();
  EXPECT_GE(asked, 60u);
  EXPECT_LE(asked, 100u) << "with pauses";
  const auto refused = node_.set("t", "b", "f:q", 5, "2");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unavailable);
  manifest_->lose_next({});
  EXPECT_FALSE(node_.create_table("late", {"f"}));
  EXPECT_EQ(manifest_->lost(), asked) << "no edit is tried any more";
  EXPECT_EQ(node_.cells("t").size(), 1u) << "reads go on";
  node_.kill();
  ASSERT_TRUE(node_.reopen());
  EXPECT_EQ(node_.cells("t").size(), 1u);
  ASSERT_TRUE(node_.set("t", "b", "f:q", 5, "2"));
}

// A store that refuses the second attempt says nothing about the first one: what that names stays.
TEST_P(UnknownOutcome, StaysUnknownIfTheNextAttemptIsRefused) {
  ASSERT_TRUE(node_.create_table("t", {"f"}));
  ASSERT_TRUE(node_.set("t", "a", "f:q", 5, "1"));
  manifest_->lose_next({GetParam()}, Loss::refusal);
  EXPECT_FALSE(node_.flush("t"));
  EXPECT_FALSE(node_.set("t", "b", "f:q", 5, "2"));
  EXPECT_EQ(node_.cells("t").size(), 1u);
  node_.kill();
  ASSERT_TRUE(node_.reopen()) << node_.open_error()->message;
  EXPECT_EQ(node_.cells("t").size(), 1u);
}

// A store that cannot tell, as the local one: one unknown outcome, and it is not asked again.
TEST_P(UnknownOutcome, OfAStoreThatCannotTellIsNotAskedFor) {
  ASSERT_TRUE(node_.create_table("t", {"f"}));
  ASSERT_TRUE(node_.close());
  reads_outcomes_back_ = false;
  ASSERT_TRUE(node_.reopen());
  ASSERT_TRUE(node_.set("t", "a", "f:q", 5, "1"));
  lose(1);
  EXPECT_FALSE(node_.split(tablet(), "m"));
  expect_asked_again();
  EXPECT_EQ(manifest_->repeated(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Lost, UnknownOutcome, testing::Values(Loss::edit, Loss::answer),
                         [](const auto& info) {
                           return info.param == Loss::edit ? "Edit" : "Answer";
                         });

}  // namespace
}  // namespace cellar::support
