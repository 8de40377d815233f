#include "engine/model/session_set.h"

#include <gtest/gtest.h>

#include <set>

#include "io/base/random.h"

namespace cellar {
namespace {

TEST(SessionSet, TellsTheSessionOfAnId) {
  constexpr SessionEpoch kLast{(1u << 30) - 1};
  EXPECT_EQ(session_of(make_blob_id(kLast, 1023, kBlobIdsPerSession - 1)), kLast);
  EXPECT_EQ(session_of(make_blob_id(SessionEpoch{1}, 0, 0)), SessionEpoch{1});
  EXPECT_EQ(session_of(make_log_id(SessionEpoch{UINT32_MAX}, 0xffff)), SessionEpoch{UINT32_MAX});
  EXPECT_EQ(session_of(make_log_id(SessionEpoch{1}, 0)), SessionEpoch{1});
}

TEST(SessionSet, ContainsWhatWasAddedAndConsecutiveOnesAreOneRange) {
  EXPECT_FALSE(SessionSet().contains(SessionEpoch{0}));
  EXPECT_EQ(SessionSet().last(), SessionEpoch{});
  EXPECT_EQ(SessionSet::up_to(SessionEpoch{}), SessionSet());
  Random random(3);
  for (int round = 0; round < 100; ++round) {
    SessionSet set;
    std::set<uint32_t> model;
    uint32_t at = 0;
    size_t ranges = 0;
    for (int i = 0; i < 30; ++i) {
      const uint32_t next = at + 1 + static_cast<uint32_t>(random.below(3));
      ranges += at == 0 || next != at + 1 ? 1 : 0;
      set.add(SessionEpoch{next});
      model.insert(next);
      at = next;
      EXPECT_EQ(set.last(), SessionEpoch{at});
    }
    EXPECT_EQ(set.ranges().size(), ranges);
    for (uint32_t session = 0; session < at + 5; ++session) {
      EXPECT_EQ(set.contains(SessionEpoch{session}), model.contains(session)) << session;
    }
  }
}

TEST(SessionSet, ForgetsTheOldestRangeBeyondItsBound) {
  SessionSet set;
  for (uint32_t i = 0; i < SessionSet::kMaxSessionRanges; ++i) set.add(SessionEpoch{2 * i + 1});
  EXPECT_TRUE(set.contains(SessionEpoch{1}));
  set.add(SessionEpoch{10'000});
  EXPECT_EQ(set.ranges().size(), SessionSet::kMaxSessionRanges);
  EXPECT_FALSE(set.contains(SessionEpoch{1}));
  EXPECT_TRUE(set.contains(SessionEpoch{3}));
  EXPECT_TRUE(set.contains(SessionEpoch{10'000}));
}

}  // namespace
}  // namespace cellar
