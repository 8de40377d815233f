// SimEtcd where it has to be as unkind as etcd.
#include "io/sim/remote/sim_etcd.h"

#include <gtest/gtest.h>

#include "io/sim/remote/sim_etcd_port.h"
#include "tests/support/seeds.h"

namespace cellar::test {
namespace {

using namespace etcd;

constexpr int64_t kSecondUs = 1'000'000;

TEST(SimEtcdLeases, ALeaseGoesThoughAnotherOneEndsWhenItIsLookedAt) {
  for (const uint64_t seed : test_seeds(10)) {
    SimWorld world(seed);
    SimEtcd etcd(world);
    ASSERT_TRUE(etcd.grant(LeaseId(1), 10).has_value());
    world.run_for_us(kSecondUs);
    etcd.lose_leader(2 * kSecondUs);  // lease 1 lasts until 13
    world.run_for_us(7 * kSecondUs);
    ASSERT_TRUE(etcd.grant(LeaseId(2), 2).has_value());
    world.run_for_us(2 * kSecondUs + SimEtcd::kExpiryLateUs + 1);
    EXPECT_EQ(etcd.leases(), std::vector<LeaseId>{LeaseId(1)}) << "CELLAR_SEED=" << seed;
    world.run_for_us(3 * kSecondUs);
    EXPECT_TRUE(etcd.leases().empty()) << "CELLAR_SEED=" << seed;
    world.crash();
  }
}

TEST(SimEtcdLeases, NothingExpiresWithoutALeader) {
  for (const uint64_t seed : test_seeds(10)) {
    SimWorld world(seed);
    SimEtcd etcd(world);
    ASSERT_TRUE(etcd.grant(LeaseId(1), 4).has_value());
    world.run_for_us(4 * kSecondUs + 1);  // due, and to go within kExpiryLateUs
    etcd.lose_leader(3 * kSecondUs);
    world.run_for_us(2 * kSecondUs);
    EXPECT_EQ(etcd.leases().size(), 1u) << "CELLAR_SEED=" << seed;
    world.run_for_us(2 * kSecondUs);
    EXPECT_TRUE(etcd.keep_alive(LeaseId(1)).has_value()) << "CELLAR_SEED=" << seed;
    world.run_for_us(5 * kSecondUs);
    EXPECT_TRUE(etcd.leases().empty()) << "CELLAR_SEED=" << seed;
    world.crash();
  }
}

TEST(SimEtcdFaultsTest, AFullQuotaIsUnknownAndSometimesApplied) {
  SimWorld world(1);
  SimEtcd etcd(world);
  etcd.faults().full = 1000;
  SimLoop& loop = world.add_loop();
  SimEtcdPort port(etcd, loop);
  int applied = 0;
  for (int i = 0; i < 40; ++i) {
    const Revision before = etcd.revision();
    Txn txn;
    txn.then.push_back(Put{"a", "v"});
    const auto outcome = world.block_on(loop, port.txn(std::move(txn), kSecondUs));
    ASSERT_TRUE(outcome && std::holds_alternative<Unknown>(*outcome));
    EXPECT_EQ(std::get<Unknown>(*outcome).why.code, Errc::resource_exhausted);
    applied += etcd.revision() > before ? 1 : 0;
  }
  EXPECT_GT(applied, 5);
  EXPECT_LT(applied, 35);
  world.crash();
}

}  // namespace
}  // namespace cellar::test
