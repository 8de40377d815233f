// TLS handshakes of a shard: the bound on how many are in progress at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "net/server/accept/tls_accept.h"
#include "tests/net/secure/secure_bed.h"

namespace cellar::server {
namespace {

namespace fs = std::filesystem;

class Opening : public testing::Test {
 protected:
  Opening()
      : scratch(fs::temp_directory_path() / fmt::format("opening_test.{}", getpid())),
        authority(scratch, "authority") {
    authority.issue("node");
    bed = std::make_unique<SecureBed>("", 1, server_context());
  }
  ~Opening() override {
    bed.reset();
    fs::remove_all(scratch);
  }
  std::shared_ptr<const TlsContext> server_context() {
    auto made = TlsContext::make_server({authority.cert("node"), authority.key("node"), {}});
    CHECK(made, "{}", made.error().message);
    return *made;
  }
  std::unique_ptr<Peer> peer_with(std::string bytes) {
    auto peer = std::make_unique<Peer>(*bed, false);
    peer->send(std::move(bytes));
    return peer;
  }
  // The beginning of a hello whose rest never comes: a handshake in progress.
  std::unique_ptr<Peer> slow_peer() {
    return peer_with(std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11));
  }
  // A certificate in place of a hello: the handshake fails as soon as it is read.
  std::unique_ptr<Peer> bent_peer() {
    return peer_with(std::string("\x16\x03\x01\x00\x04\x0b\x00\x00\x00", 9));
  }
  void run_for(int64_t us) { bed->world().run_for_us(us); }

  fs::path scratch;
  test::Authority authority;
  std::unique_ptr<SecureBed> bed;
};

TEST_F(Opening, HandshakesPastTheBoundWaitInLineWithinTheirTime) {
  // A failed handshake lingers for a second, so that its alert is delivered.
  constexpr int64_t kLingerUs = 1'200'000;
  std::vector<std::unique_ptr<Peer>> slow;
  for (uint64_t i = 0; i + 1 < kMaxHandshakes; ++i) slow.push_back(slow_peer());
  // The last place is free: this handshake is read and refused at once.
  auto bent = bent_peer();
  run_for(kLingerUs);
  EXPECT_TRUE(bent->closed());
  EXPECT_EQ(bed->counters().tls_handshake_failures, 1u);

  slow.push_back(slow_peer());
  run_for(1000);
  bent = bent_peer();
  run_for(kLingerUs);
  EXPECT_FALSE(bent->closed()) << "there are more than kMaxHandshakes under way";
  // A peer that disconnects frees its place.
  slow.front()->hang_up();
  run_for(kLingerUs);
  EXPECT_TRUE(bent->closed());

  // A peer that waits for a place for the whole timeout is closed like a slow one.
  slow.push_back(slow_peer());
  run_for(1000);
  EXPECT_EQ(bed->counters().tls_handshake_timeouts, 0u);
  bent = bent_peer();
  run_for(2 * NetOptions().handshake_timeout_us);
  EXPECT_TRUE(bent->closed());
  EXPECT_GE(bed->counters().tls_handshake_timeouts, kMaxHandshakes);
}

}  // namespace
}  // namespace cellar::server
