// Login: tokens, rotation and revocation, limits on attempts, and the security log. On a node in
// memory.
#include "net/server/access/login.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/sim/faulty_fs.h"
#include "net/security/audit_chain.h"
#include "tests/net/secure/secure_bed.h"

namespace cellar::server {
namespace {

namespace fb = wire::fb;
using fb::Op;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kAll = "\"read\", \"write\", \"schema\", \"retention\", \"admin\"";

std::string with_tokens(std::string_view name, std::vector<std::string> tokens,
                        std::string_view prefix = "", std::string_view roles = kAll) {
  std::string list;
  for (const std::string& token : tokens) {
    list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", security::hash_text(token));
  }
  return fmt::format(
      "[[principal]]\nname = \"{}\"\ntokens = [{}]\n[[principal.grant]]\nprefix = \"{}\"\n"
      "roles = [{}]\n",
      name, list, prefix, roles);
}

class Login : public testing::Test {
 protected:
  Errc hello(ServerBed& at, std::string_view token) {
    std::optional<Answer> answer;
    come(at, hello_body(token), &answer);
    return answer ? answer->code() : Errc::cancelled;
  }
  bool works(Peer& peer) { return peer.code_of(Op::ListTables, "") == Errc::ok; }

  SecureBed bed{with_tokens("a", {"old", "new"}) + with_tokens("b", {"other"}, "b.")};
};

TEST_F(Login, OnlyATokenOfTheNodeComesIn) {
  EXPECT_EQ(hello(bed, "old"), Errc::ok);
  EXPECT_EQ(hello(bed, "new"), Errc::ok);
  for (const char* wrong : {"", "Old", "old ", "ol", "a"}) {
    EXPECT_EQ(hello(bed, wrong), Errc::unauthenticated) << wrong;
  }
  EXPECT_EQ(bed.counters().logins, 2u);
  EXPECT_EQ(bed.counters().login_failures, 5u);
}

TEST_F(Login, ThereIsOneHelloOnAConnection) {
  auto peer = come(bed, hello_body("old"));
  EXPECT_EQ(peer->code_of(Op::Hello, hello_body("other")), Errc::failed_precondition);
  EXPECT_EQ(bed.counters().logins, 1u);
  EXPECT_TRUE(works(*peer)) << "as before";
}

TEST_F(Login, WithoutOneNothingIsServed) {
  auto peer = come(bed, hello_body("wrong"));
  EXPECT_EQ(peer->code_of(Op::ListTables, ""), Errc::failed_precondition);
  EXPECT_EQ(peer->code_of(Op::CreateTable, wire::create_table_body("t", {"f"})),
            Errc::failed_precondition);
  EXPECT_EQ(peer->code_of(Op::Ping, ""), Errc::ok);
  // Also while the answer to a wrong token is pending.
  auto second = std::make_unique<Peer>(bed, false);
  std::string preface;
  wire::append_preface(preface, {});
  second->send(preface + wire::request_frame(Op::Hello, 1, hello_body("wrong")) +
               wire::request_frame(Op::ListTables, 2, ""));
  EXPECT_EQ(second->answer(2)->code(), Errc::failed_precondition);
  EXPECT_EQ(second->answer(1)->code(), Errc::unauthenticated);
}

TEST_F(Login, ATokenIsGoodOnManyConnectionsAtOnce) {
  auto one = come(bed, hello_body("old"));
  auto two = come(bed, hello_body("old"));
  EXPECT_TRUE(works(*one) && works(*two));
}

// A hello counts only on its own connection.
TEST_F(Login, AHelloOfAnotherConnectionDoesNotCount) {
  auto one = come(bed, hello_body("old"));
  auto two = come(bed, "");
  EXPECT_TRUE(works(*one));
  EXPECT_EQ(two->code_of(Op::ListTables, ""), Errc::failed_precondition);
}

TEST_F(Login, ARotationDropsNobodyAndTheOldTokenEnds) {
  auto by_old = come(bed, hello_body("old"));
  auto by_new = come(bed, hello_body("new"));
  bed.set_principals(with_tokens("a", {"new", "newer"}));
  EXPECT_TRUE(works(*by_new));
  EXPECT_TRUE(by_old->closes());
  EXPECT_EQ(hello(bed, "old"), Errc::unauthenticated);
  EXPECT_EQ(hello(bed, "newer"), Errc::ok);
  EXPECT_EQ(bed.counters().sessions_revoked, 1u);
}

TEST_F(Login, ARevokedPrincipalIsOutAtOnce) {
  auto a = come(bed, hello_body("old"));
  auto b = come(bed, hello_body("other"));
  bed.set_principals(with_tokens("a", {"old"}));
  EXPECT_TRUE(b->closes());
  EXPECT_TRUE(works(*a));
}

TEST_F(Login, RightsThatGrowAreThereAndRightsThatShrinkEndTheSession) {
  auto b = come(bed, hello_body("other"));
  EXPECT_EQ(b->code_of(Op::CreateTable, wire::create_table_body("c.t", {"f"})),
            Errc::permission_denied);
  bed.set_principals(with_tokens("b", {"other"}, ""));
  EXPECT_EQ(b->code_of(Op::CreateTable, wire::create_table_body("c.t", {"f"})), Errc::ok);
  bed.set_principals(with_tokens("b", {"other"}, "", "\"read\""));
  EXPECT_TRUE(b->closes());
}

TEST_F(Login, FailuresAreAnsweredLaterAndLater) {
  std::vector<int64_t> took_us;
  for (int i = 0; i < 6; ++i) {
    const int64_t from_us = bed.client_loop().timers().now_us();
    EXPECT_EQ(hello(bed, "wrong"), Errc::unauthenticated);
    took_us.push_back(bed.client_loop().timers().now_us() - from_us);
  }
  EXPECT_GE(took_us[0], PeerLimiter::kFirstDelayUs);
  EXPECT_LT(took_us[0], 2 * PeerLimiter::kFirstDelayUs);
  for (size_t i = 1; i < 5; ++i) EXPECT_GT(took_us[i], took_us[i - 1] * 3 / 2);
  EXPECT_LT(took_us[5], PeerLimiter::kMaxDelayUs + 100'000);
}

TEST_F(Login, AfterTooManyAnAddressIsRefusedForAWhileAndThenForgiven) {
  // Several at once: concurrent attempts all count.
  std::vector<std::unique_ptr<Peer>> peers;
  for (int i = 0; i < PeerLimiter::kMaxFailures; ++i) {
    peers.push_back(std::make_unique<Peer>(bed, false));
    std::string preface;
    wire::append_preface(preface, {});
    peers.back()->send(preface + wire::request_frame(Op::Hello, 1, hello_body("wrong")));
  }
  bed.world().run_for_us(10'000);
  std::optional<Answer> answer;
  come(bed, hello_body("wrong too"), &answer);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->code(), Errc::resource_exhausted);
  EXPECT_GT(answer->root<fb::Status>()->retry_after_ms(), 0u);
  EXPECT_LE(answer->root<fb::Status>()->retry_after_ms(), 60'000u);
  EXPECT_EQ(bed.counters().logins_refused, 1u);
  EXPECT_EQ(hello(bed, "old"), Errc::ok) << "a valid token does not pay for others";
  bed.world().run_for_us(PeerLimiter::kForgiveUs + 100'000);
  EXPECT_EQ(hello(bed, "wrong again"), Errc::unauthenticated);
}

TEST_F(Login, OfManyFailuresInOneWriteThreeCount) {
  Peer peer(bed, false);
  std::string frames;
  wire::append_preface(frames, {});
  for (uint64_t i = 1; i <= 8; ++i) {
    frames += wire::request_frame(Op::Hello, i, hello_body(fmt::format("wrong {}", i)));
  }
  peer.send(frames);
  bed.world().run_for_us(10'000'000);
  EXPECT_EQ(bed.counters().login_failures, static_cast<uint64_t>(kMaxLogins));
  EXPECT_TRUE(peer.closed());
}

TEST_F(Login, TheThirdFailureOfAConnectionClosesIt) {
  Peer peer(bed, false);
  std::string preface;
  wire::append_preface(preface, {});
  peer.send(preface + wire::request_frame(Op::Hello, 1, hello_body("x")));
  EXPECT_EQ(peer.answer(1)->code(), Errc::unauthenticated);
  peer.send(wire::request_frame(Op::Hello, 2, hello_body("y")));
  EXPECT_EQ(peer.answer(2)->code(), Errc::unauthenticated);
  EXPECT_FALSE(peer.closed());
  peer.send(wire::request_frame(Op::Hello, 3, hello_body("z")));
  auto last = peer.answer(3);
  EXPECT_TRUE(!last || last->code() == Errc::unauthenticated);
  EXPECT_TRUE(peer.closes());
  static_assert(kMaxLogins == 3);
}

TEST_F(Login, BeforeTheHelloFewRequestsAreServed) {
  Peer peer(bed, false);
  std::string bytes;
  wire::append_preface(bytes, {});
  for (uint64_t i = 0; i < 8; ++i) bytes += wire::request_frame(Op::Ping, i + 1, "");
  peer.send(bytes);
  EXPECT_EQ(peer.answer(8)->code(), Errc::ok);
  peer.send(wire::request_frame(Op::Ping, 9, ""));
  EXPECT_TRUE(peer.closes());
}

TEST_F(Login, ATokenInPlainTextFromAnotherMachineIsRefused) {
  SecureBed far(with_tokens("a", {"old"}), 1, nullptr, "node");
  std::optional<Answer> answer;
  come(far, hello_body("old"), &answer);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->code(), Errc::unauthenticated);
  EXPECT_THAT(answer->message(), HasSubstr("plain text"));
}

TEST(AddressBounds, ConnectionsOfAnAddressBeforeTheirHelloAreBounded) {
  ServerBed bed(2);
  std::vector<std::unique_ptr<Peer>> silent;
  for (uint32_t i = 0; i < PeerLimiter::kMaxOpening; ++i) {
    silent.push_back(std::make_unique<Peer>(bed, false));
  }
  bed.world().run_for_us(1000);
  EXPECT_FALSE(silent.back()->closed());
  Peer more(bed, false);
  EXPECT_TRUE(bed.world().run_until([&] { return more.closed(); }, 1'000'000));
  // A hello frees a place, and so does a disconnect.
  silent.front()->hang_up();
  bed.world().run_for_us(1000);
  Peer greeted(bed);
  Peer another(bed);
  EXPECT_EQ(another.code_of(Op::Ping, ""), Errc::ok);
}

TEST(AddressBounds, FailuresAreForgivenOneByOne) {
  auto table = std::make_unique<PeerLimiter>(1);
  int64_t now_us = 1'000'000'000;
  const auto refused = [&](const char* peer) { return table->refused_for_us(peer, now_us) > 0; };
  for (int i = 0; i < PeerLimiter::kMaxFailures; ++i) {
    EXPECT_FALSE(refused("10.0.0.1:5"));
    table->login_failed("10.0.0.1:1", now_us);
  }
  EXPECT_TRUE(refused("10.0.0.1:9"));
  EXPECT_FALSE(refused("10.0.0.2:9"));
  now_us += PeerLimiter::kForgiveUs;
  EXPECT_FALSE(refused("10.0.0.1:9"));
  table->login_failed("10.0.0.1:1", now_us);
  EXPECT_TRUE(refused("10.0.0.1:9"));
}

TEST(AddressBounds, CountTheNetworkOfASiteAsOneAddress) {
  EXPECT_EQ(network_of("192.0.2.7:80"), "192.0.2.7");
  EXPECT_EQ(network_of("[::ffff:192.0.2.7]:80"), "192.0.2.7");
  EXPECT_EQ(network_of("[2001:db8:0:1::7]:80"), "2001:db8:0:1::/64");
  EXPECT_EQ(network_of("[2001:db8:0:1:ffff:ffff:ffff:ffff]:9"), "2001:db8:0:1::/64");
  EXPECT_EQ(network_of("[fe80::1%eth0]:80"), "fe80::/64");
  EXPECT_NE(network_of("[2001:db8:0:2::7]:80"), "2001:db8:0:1::/64");
  EXPECT_EQ(network_of("host:80"), "host");

  auto table = std::make_unique<PeerLimiter>(1);
  std::vector<PeerLimiter::Opening> open;
  const auto opens = [&](const std::string& peer) {
    auto opening = table->open(peer);
    if (!opening) return false;
    open.push_back(*std::move(opening));
    return true;
  };
  for (uint32_t i = 0; i < PeerLimiter::kMaxOpening; ++i) {
    EXPECT_TRUE(opens(fmt::format("[2001:db8:0:1::{:x}]:80", i + 1)));
  }
  EXPECT_FALSE(opens("[2001:db8:0:1:ffff::1]:80")) << "another address of the same network";
  EXPECT_TRUE(opens("[2001:db8:0:2::1]:80"));
  const int64_t now_us = 1'000'000'000;
  for (int i = 0; i < PeerLimiter::kMaxFailures; ++i) {
    table->login_failed(fmt::format("[2001:db8:0:3::{:x}]:80", i + 1), now_us);
  }
  EXPECT_GT(table->refused_for_us("[2001:db8:0:3:1::]:80", now_us), 0);
  EXPECT_EQ(table->refused_for_us("[2001:db8:0:4::1]:80", now_us), 0);
}

// ---- the security log ----

class SecurityLog : public Login {
 protected:
  SecurityLog() { reopen({}); }
  ~SecurityLog() override {
    if (log) bed.world().block_on(bed.loop(0), log->close());
  }
  void reopen(AuditOptions options) {
    if (log) bed.world().block_on(bed.loop(0), log->close());
    auto opened = bed.world().block_on(
        bed.loop(0), AuditLog::open(bed.loop(0).executor(), bed.loop(0).timers(), bed.fs(0),
                                    bed.world().clock(), options));
    CHECK(opened, "{}", opened.error().message);
    log = *opened;
    for (uint32_t i = 0; i < 2; ++i) bed.shard(i).security().set_log(log);
  }
  std::vector<std::string> names() {
    const auto entries = bed.world().block_on(bed.loop(0), bed.fs(0).list("security"));
    std::vector<std::string> all;
    for (const DirEntry& entry : *entries) all.push_back("security/" + entry.name);
    return all;
  }
  std::string read(const std::string& name) {
    return bed.world().block_on(bed.loop(0), read_file(bed.fs(0), name)).value();
  }
  // Everything written so far, complete.
  std::string text() {
    bed.world().run_for_us(100'000);
    std::string all;
    security::ChainReader reader;
    for (const std::string& name : names()) {
      const std::string part = read(name);
      const auto whole = security::read_chain(reader, part);
      EXPECT_TRUE(whole) << name << ": " << whole.error().message;
      all += part;
    }
    return all;
  }
  std::shared_ptr<AuditLog> log;
};

TEST_F(SecurityLog, TellsWhoCameInWhoDidNotAndWhatWasRefusedAndChanged) {
  auto b = come(bed, hello_body("other", "loader 1"));
  come(bed, hello_body("secret-that-is-wrong"));
  EXPECT_EQ(b->code_of(Op::DropTable,
                       [] {
                         flatbuffers::FlatBufferBuilder builder;
                         const auto name = builder.CreateString("hidden");
                         return std::string(
                             wire::finish_body(builder, fb::CreateDropTableRequest(builder, name)));
                       }()),
            Errc::permission_denied);
  EXPECT_EQ(b->code_of(Op::CreateTable, wire::create_table_body("b.t", {"f"})), Errc::ok);
  EXPECT_EQ(b->code_of(Op::CreateTable, wire::create_table_body("b.t", {"f"})),
            Errc::already_exists);
  EXPECT_EQ(b->code_of(Op::MutateRow, wire::set_body("b.t", "rowkey", "f", "q", "thevalue", 1000)),
            Errc::ok);
  EXPECT_EQ(b->code_of(Op::FlushTable, wire::flush_body("b.t")), Errc::ok);
  const std::string lines = text();
  EXPECT_THAT(lines, HasSubstr(R"("event":"start")"));
  EXPECT_THAT(lines, HasSubstr(R"("event":"login","principal":"b","address":"127.0.0.1:)"));
  EXPECT_THAT(lines, HasSubstr(R"(client \"loader 1\", token )"));
  EXPECT_THAT(lines, HasSubstr(R"("event":"login_failed","address")"));
  EXPECT_THAT(lines, HasSubstr(R"("event":"denied","principal":"b")"));
  EXPECT_THAT(lines, HasSubstr(R"("operation":"DropTable","outcome":"PERMISSION_DENIED")"));
  EXPECT_THAT(lines,
              HasSubstr(R"("operation":"CreateTable","object":"table 'b.t'","outcome":"OK")"));
  EXPECT_THAT(
      lines,
      HasSubstr(R"("operation":"CreateTable","object":"table 'b.t'","outcome":"ALREADY_EXISTS")"));
  EXPECT_THAT(lines, HasSubstr(R"("operation":"FlushTable")"));
  for (const char* secret : {"secret-that-is-wrong", "rowkey", "thevalue"}) {
    EXPECT_THAT(lines, Not(HasSubstr(secret)));
  }
}

// For every failing operation and every position of the failure: once the disk works again no line
// is missing or repeated.
TEST(SecurityLogFaults, NothingIsLostWhileTheDiskTakesNothing) {
  for (const std::string fault :
       {"write path=security/* nth=2 error=ENOSPC", "write path=security/* nth=2 error=EIO short",
        "sync path=security/* nth=2 error=EIO", "create path=security/* nth=2 error=ENOSPC",
        "sync_dir path=security nth=2 error=EIO"}) {
    SCOPED_TRACE(fault);
    SimWorld world(1);
    SimLoop& loop = world.add_loop();
    MemDisk disk;
    FaultRules rules;
    FaultyFs fs(loop.executor(), std::make_unique<MemFs>(loop.executor(), disk), rules,
                &loop.timers());
    auto opened = world.block_on(
        loop, AuditLog::open(loop.executor(), loop.timers(), fs, world.clock(), {.file_bytes = 1}));
    ASSERT_TRUE(opened) << opened.error().message;
    world.run_for_us(100'000);
    ASSERT_TRUE(rules.add(fault));
    constexpr int kEvents = 4;
    for (int i = 0; i < kEvents; ++i) {
      security::AuditEvent event;
      event.event = fmt::format("event-{}", i);
      (*opened)->record(std::move(event));
      world.run_for_us(100'000);
    }
    world.run_for_us(3 * AuditLog::kRetryUs);
    EXPECT_EQ(rules.hits(), 1u);
    world.block_on(loop, (*opened)->close());
    security::ChainReader reader;
    std::string all;
    const auto entries = world.block_on(loop, fs.list("security"));
    for (const DirEntry& entry : *entries) {
      const std::string part = *world.block_on(loop, read_file(fs, "security/" + entry.name));
      EXPECT_TRUE(security::read_chain(reader, part)) << entry.name;
      all += part;
    }
    for (int i = 0; i < kEvents; ++i) EXPECT_THAT(all, HasSubstr(fmt::format("event-{}", i)));
    EXPECT_EQ(reader.lines(), kEvents + 2u);  // and start and stop
  }
}

TEST_F(SecurityLog, GoesOnAfterARestartAndInFurtherFiles) {
  come(bed, hello_body("old"));
  const uint64_t before = log->end().sequence;
  reopen({.file_bytes = 1, .files = 100});
  come(bed, hello_body("old"));
  bed.world().run_for_us(100'000);
  come(bed, hello_body("new"));
  EXPECT_THAT(text(), HasSubstr(R"("event":"stop")"));
  EXPECT_GT(log->end().sequence, before + 3);
  EXPECT_GT(names().size(), 2u);
  reopen({.file_bytes = 1, .files = 2});
  come(bed, hello_body("old"));
  bed.world().run_for_us(100'000);
  EXPECT_EQ(names().size(), 2u);
}

// A crash at every byte of the last line, followed by a start.
TEST_F(SecurityLog, ACrashInTheMiddleOfALineIsToldAndTheChainHolds) {
  come(bed, hello_body("old"));
  bed.world().run_for_us(100'000);
  bed.world().block_on(bed.loop(0), log->close());
  log = nullptr;
  const std::string name = names().back();
  const std::string whole = read(name);
  const size_t last = whole.rfind('\n', whole.size() - 2) + 1;
  for (size_t cut = last; cut <= whole.size(); cut += 5) {
    const auto replaced =
        bed.world().block_on(bed.loop(0), replace_file(bed.fs(0), name, whole.substr(0, cut)));
    ASSERT_TRUE(replaced);
    reopen({});
    const bool torn = cut != last && cut < whole.size() - 1;
    const std::string told = fmt::format(R"("event":"resumed","count":{})", cut - last);
    EXPECT_EQ(text().contains(torn ? told : "resumed"), torn) << cut;
    bed.world().block_on(bed.loop(0), log->close());
    log = nullptr;
  }
}

TEST_F(SecurityLog, AFloodOfDenialsIsCountedNotWritten) {
  auto b = come(bed, hello_body("other"));
  bed.world().run_for_us(2'000'000);
  std::string frames;
  for (uint64_t i = 0; i < 250; ++i) {
    frames += wire::request_frame(Op::ReadRow, 100 + i, wire::read_row_body("hidden", "r"));
  }
  b->send(frames);
  EXPECT_EQ(b->answer(349)->code(), Errc::permission_denied);
  bed.world().run_for_us(1'500'000);
  EXPECT_EQ(b->code_of(Op::ReadRow, wire::read_row_body("hidden", "r")), Errc::permission_denied);
  const std::string lines = text();
  size_t denied = 0;
  for (size_t at = 0; (at = lines.find("\"denied\"", at)) != std::string::npos; ++at) ++denied;
  EXPECT_LE(denied, 202u);
  EXPECT_THAT(lines, HasSubstr(R"("event":"left_out")"));
  EXPECT_EQ(bed.counters().denials, 251u);
}

}  // namespace
}  // namespace cellar::server
