// The bound on connections leaves descriptors for files.
#include "io/loop/descriptors.h"

#include <gtest/gtest.h>

#include "tests/net/server/server_bed.h"

namespace cellar::server {
namespace {

TEST(Descriptors, ConnectionsGetWhatFilesLeave) {
  const DescriptorPlan plenty = plan_descriptors(1'048'576, 40, 16, 10'000);
  EXPECT_EQ(plenty.connections, 10'000u);
  const DescriptorPlan tight = plan_descriptors(20'000, 40, 2, 10'000);
  EXPECT_EQ(tight.files, 5'000u);
  EXPECT_EQ(tight.connections, 7'480u);
  const DescriptorPlan none = plan_descriptors(32, 30, 4, 10'000);
  EXPECT_EQ(none.connections, 1u) << "a node without connections is of no use";
}

TEST(Descriptors, TheBoundOfAShardOutlastsAReload) {
  ServerOptions options;
  ServerBed bed(1, options);
  bed.shard(0).bound_connections(2);
  options.net.connections = 100;
  bed.shard(0).reconfigure(options);
  Peer first(bed);
  Peer second(bed);
  Peer third(bed, false);
  EXPECT_TRUE(third.closes());
  EXPECT_EQ(first.code_of(wire::fb::Op::Ping, ""), Errc::ok);
}

TEST(Descriptors, AShortageIsNoReasonToGiveUp) {
  EXPECT_TRUE(os_error(EMFILE, "open").retryable());
  EXPECT_TRUE(os_error(ENFILE, "open").retryable());
}

}  // namespace
}  // namespace cellar::server
