// TLS over a network in memory: what is delivered, what is refused, and which error the peer sees.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "io/base/random.h"
#include "io/loop/event.h"
#include "io/net/tls_stream.h"
#include "io/sim/sim_transport.h"
#include "tests/support/certificates.h"

namespace cellar {
namespace {

using test::Authority;
using testing::HasSubstr;
namespace fs = std::filesystem;
using TlsPtr = std::unique_ptr<TlsStream>;
using Shaken = Result<TlsPtr>;

constexpr int64_t kTimeoutUs = 5'000'000;

Async<Result<void>> write_text(ByteStream& stream, std::string text) {
  const std::array<Bytes, 1> parts = {text};
  co_return co_await stream.write(parts);
}

Async<Result<std::string>> read_all(ByteStream& stream) {
  std::string all;
  std::array<std::byte, 5'000> buffer;
  for (;;) {
    CO_TRY(const size_t n, co_await stream.read_some(buffer));
    if (n == 0) co_return all;
    all += as_bytes_view(std::span(buffer).first(n));
  }
}

Async<Result<std::string>> read_exactly(ByteStream& stream, size_t wanted) {
  std::string all;
  std::array<std::byte, 5'000> buffer;
  while (all.size() < wanted) {
    const size_t room = std::min(buffer.size(), wanted - all.size());
    CO_TRY(const size_t n, co_await stream.read_some(std::span(buffer).first(room)));
    if (n == 0) break;
    all += as_bytes_view(std::span(buffer).first(n));
  }
  co_return all;
}

class TlsTest : public testing::Test {
 protected:
  TlsTest()
      : scratch(fs::temp_directory_path() / fmt::format("tls_test.{}", getpid())),
        authority(scratch, "authority") {
    authority.issue("node");
    authority.issue("client", {.name = "ingest", .organisation = "Example"});
  }
  ~TlsTest() override {
    world.crash();
    fs::remove_all(scratch);
  }

  TlsServerFiles server_files(const std::string& name = "node") {
    return {authority.cert(name), authority.key(name), {}};
  }
  static std::shared_ptr<const TlsContext> must(Result<std::shared_ptr<const TlsContext>> context) {
    CHECK(context, "{}", context.error().message);
    return *context;
  }
  std::shared_ptr<const TlsContext> client_context() {
    return must(TlsContext::make_client({.ca = authority.ca()}));
  }

  struct Ends {
    std::unique_ptr<ByteStream> client, server;
  };
  Ends connect() {
    Ends ends;
    auto dial = [](SimNetwork& network, Ends& out, uint16_t port) -> Async<void> {
      auto listener = co_await network.listen("node", port, true);
      auto client = co_await network.connect("node", (*listener)->port(), kTimeoutUs);
      auto server = co_await (*listener)->accept();
      out.client = std::move(*client);
      out.server = std::move(*server);
    };
    world.block_on(loop, dial(network, ends, 0));
    return ends;
  }
  struct Outcome {
    std::optional<Shaken> client, server;
  };
  void start(Shaken& into, bool& done, std::unique_ptr<ByteStream> below,
             std::shared_ptr<const TlsContext> context, std::string name) {
    auto shake = [](Timers& timers, std::unique_ptr<ByteStream> b,
                    std::shared_ptr<const TlsContext> c, std::string n, Shaken& out,
                    bool& ready) -> Async<void> {
      out =
          co_await tls_handshake(timers, std::move(b), std::move(c), "", std::move(n), kTimeoutUs);
      ready = true;
    };
    spawn(loop.executor(),
          shake(loop.timers(), std::move(below), std::move(context), std::move(name), into, done));
  }
  // Runs both handshakes concurrently.
  void shake(std::shared_ptr<const TlsContext> server, std::shared_ptr<const TlsContext> client,
             const std::string& name = "node") {
    Ends ends = connect();
    bool one = false;
    bool two = false;
    start(server_end, one, std::move(ends.server), std::move(server), "");
    start(client_end, two, std::move(ends.client), std::move(client), name);
    ASSERT_TRUE(world.run_until([&] { return one && two; }, 60'000'000));
  }
  template <class T>
  T run(Async<T> work) {
    return world.block_on(loop, std::move(work));
  }

  fs::path scratch;
  Authority authority;
  SimWorld world{7};
  SimLoop& loop = world.add_loop();
  SimFabric fabric{world};
  SimNetwork network{fabric, loop};
  Shaken server_end = fail(Errc::unknown, "none");
  Shaken client_end = fail(Errc::unknown, "none");
};

TEST_F(TlsTest, WhatIsWrittenArrivesAndTheEndIsSaid) {
  shake(must(TlsContext::make_server(server_files())), client_context());
  ASSERT_TRUE(client_end) << client_end.error().message;
  ASSERT_TRUE(server_end) << server_end.error().message;
  EXPECT_EQ((*client_end)->version(), "TLSv1.3");
  EXPECT_EQ((*client_end)->peer_subject(), "CN=node,O=Cellar");
  EXPECT_EQ((*server_end)->peer_subject(), "");
  EXPECT_TRUE(run(write_text(**client_end, "hello ")));
  EXPECT_TRUE(run(write_text(**client_end, "there")));
  (*client_end)->close();
  EXPECT_EQ(run(read_all(**server_end)).value(), "hello there");
}

TEST_F(TlsTest, AnEndWithoutAGoodbyeIsNoEnd) {
  fabric.faults().cut_after_bytes = 5'000;  // after the handshake
  shake(must(TlsContext::make_server(server_files())), client_context());
  ASSERT_TRUE(client_end && server_end);
  (void)run(write_text(**client_end, std::string(10'000, 'x')));
  EXPECT_FALSE(run(read_all(**server_end)));
}

TEST_F(TlsTest, MegabytesArriveWholeBothWaysAtOnce) {
  shake(must(TlsContext::make_server(server_files())), client_context());
  ASSERT_TRUE(client_end && server_end);
  Random random(8);
  std::string data(3 << 20, '\0');
  for (char& c : data) c = static_cast<char>(random.next());
  int written = 0;
  const auto send = [&](ByteStream& stream) -> Async<void> {
    EXPECT_TRUE(co_await write_text(stream, data));
    ++written;
  };
  std::string got[2];
  const auto receive = [&](ByteStream& stream, std::string& into) -> Async<void> {
    auto all = co_await read_exactly(stream, data.size());
    into = std::move(all).value();
    ++written;
  };
  spawn(loop.executor(), [&]() { return send(**client_end); });
  spawn(loop.executor(), [&]() { return send(**server_end); });
  spawn(loop.executor(), [&]() { return receive(**client_end, got[0]); });
  spawn(loop.executor(), [&]() { return receive(**server_end, got[1]); });
  ASSERT_TRUE(world.run_until([&] { return written == 4; }, 600'000'000));
  EXPECT_TRUE(got[0] == data && got[1] == data);
}

// Like a session: try_write() first, and the rest when there is room.
TEST_F(TlsTest, WhatTryWriteDidNotTakeIsSentOnceByTheNextWrite) {
  shake(must(TlsContext::make_server(server_files())), client_context());
  ASSERT_TRUE(client_end && server_end);
  Random random(9);
  std::string data(2 << 20, '\0');
  for (char& c : data) c = static_cast<char>(random.next());
  size_t sent = 0;
  int waits = 0;
  const auto send = [&]() -> Async<void> {
    while (sent < data.size()) {
      const size_t n = 1 + random.below(100'000);
      const Bytes piece = Bytes(data).substr(sent, n);
      const size_t cut = random.below(piece.size() + 1);
      const std::array<Bytes, 2> parts{piece.substr(0, cut), piece.substr(cut)};
      const auto taken = (*server_end)->try_write(parts);
      EXPECT_TRUE(taken);
      sent += *taken;
      if (*taken == piece.size()) continue;
      ++waits;
      const Bytes rest = Bytes(data).substr(sent, 1 + random.below(100'000));
      EXPECT_TRUE(co_await (*server_end)->write({&rest, 1}));
      sent += rest.size();
    }
    (*server_end)->close();
  };
  spawn(loop.executor(), [&]() { return send(); });
  EXPECT_TRUE(run(read_all(**client_end)).value() == data);
  EXPECT_GT(waits, 0);
}

TEST_F(TlsTest, CloseWakesAPendingReadWithCancelled) {
  shake(must(TlsContext::make_server(server_files())), client_context());
  ASSERT_TRUE(client_end && server_end);
  std::optional<Errc> code;
  spawn(loop.executor(), [&]() -> Async<void> {
    std::array<std::byte, 10> buffer;
    const auto result = co_await (*server_end)->read_some(buffer);
    code = result.error().code;
  });
  world.run_for_us(1000);
  EXPECT_FALSE(code);
  (*server_end)->close();
  world.run_for_us(1000);
  EXPECT_EQ(code, Errc::cancelled);
}

TEST_F(TlsTest, AServerThatIsNotBelievedIsRefusedByName) {
  const auto refused = [&](const TlsServerFiles& files, const std::string& name) -> std::string {
    shake(must(TlsContext::make_server(files)), client_context(), name);
    EXPECT_FALSE(client_end);
    if (client_end) return "accepted";
    EXPECT_EQ(client_end.error().code, Errc::unauthenticated);
    EXPECT_EQ(server_end.has_value() ? Errc::ok : server_end.error().code, Errc::unauthenticated);
    return client_end.error().message;
  };
  EXPECT_THAT(refused(server_files(), "other"), HasSubstr("hostname mismatch"));
  EXPECT_THAT(refused(server_files(), "10.0.0.1"), HasSubstr("IP address mismatch"));
  authority.issue("old", {.valid_from_s = -7200, .valid_to_s = -3600});
  EXPECT_THAT(refused(server_files("old"), "node"), HasSubstr("expired"));
  authority.issue("early", {.valid_from_s = 3600});
  EXPECT_THAT(refused(server_files("early"), "node"), HasSubstr("not yet valid"));
  Authority stranger(scratch, "stranger");
  stranger.issue("fake");
  EXPECT_THAT(refused({stranger.cert("fake"), stranger.key("fake"), {}}, "node"),
              HasSubstr("not trusted"));
}

TEST_F(TlsTest, AnAddressIsAsGoodAsAName) {
  shake(must(TlsContext::make_server(server_files())), client_context(), "127.0.0.1");
  EXPECT_TRUE(client_end);
}

TEST_F(TlsTest, AClientsCertificateTellsWhoItIs) {
  TlsServerFiles files = server_files();
  files.client_ca = authority.ca();
  const auto server = must(TlsContext::make_server(files));
  shake(server, must(TlsContext::make_client({.ca = authority.ca(),
                                              .certificate = authority.cert("client"),
                                              .key = authority.key("client")})));
  ASSERT_TRUE(server_end) << server_end.error().message;
  EXPECT_EQ((*server_end)->peer_subject(), "CN=ingest,O=Example");
  // Without a certificate it is anonymous; accepting that is the caller's decision.
  shake(server, client_context());
  ASSERT_TRUE(server_end);
  EXPECT_EQ((*server_end)->peer_subject(), "");
}

TEST_F(TlsTest, AClientsCertificateThatIsNotBelievedIsTold) {
  TlsServerFiles files = server_files();
  files.client_ca = authority.ca();
  const auto server = must(TlsContext::make_server(files));
  const auto told = [&](Authority& by, const std::string& name) -> Errc {
    shake(server, must(TlsContext::make_client(
                      {.ca = authority.ca(), .certificate = by.cert(name), .key = by.key(name)})));
    EXPECT_FALSE(server_end);
    if (server_end || !client_end) return Errc::ok;
    // With TLS 1.3 the client has finished by then and gets the error at its first read.
    const auto read = run(read_all(**client_end));
    return read ? Errc::ok : read.error().code;
  };
  authority.issue("late", {.name = "ingest", .valid_from_s = -7200, .valid_to_s = -60});
  EXPECT_EQ(told(authority, "late"), Errc::unauthenticated);
  Authority stranger(scratch, "stranger");
  stranger.issue("fake", {.name = "ingest"});
  EXPECT_EQ(told(stranger, "fake"), Errc::unauthenticated);
}

TEST_F(TlsTest, ASecondConnectionResumesTheSessionOfTheFirst) {
  const auto server = must(TlsContext::make_server(server_files()));
  const auto client = client_context();
  const auto once = [&]() -> bool {
    shake(server, client);
    if (!client_end || !server_end) return false;
    EXPECT_TRUE(run(write_text(**server_end, "x")));
    // and the ticket that precedes it
    EXPECT_EQ(run(read_exactly(**client_end, 1)).value_or(""), "x");
    return (*server_end)->resumed() && (*client_end)->resumed();
  };
  EXPECT_FALSE(once());
  EXPECT_TRUE(once());
  EXPECT_TRUE(once());
  // Tickets are void once their context is replaced: after a reload certificates are presented
  // again.
  shake(must(TlsContext::make_server(server_files())), client);
  ASSERT_TRUE(server_end);
  EXPECT_FALSE((*server_end)->resumed());
}

TEST_F(TlsTest, GarbageAndSilenceEndTheHandshakeWithinItsTime) {
  const auto server = must(TlsContext::make_server(server_files()));
  const auto meets = [&](const std::string& bytes) {
    Ends ends = connect();
    bool done = false;
    start(server_end, done, std::move(ends.server), server, "");
    if (!bytes.empty()) EXPECT_TRUE(run(write_text(*ends.client, bytes)));
    EXPECT_TRUE(world.run_until([&] { return done; }, kTimeoutUs + 2'000'000));
    EXPECT_FALSE(server_end);
    ends.client->close();
    return server_end ? Errc::ok : server_end.error().code;
  };
  EXPECT_EQ(meets(""), Errc::deadline_exceeded);
  EXPECT_EQ(meets("\x16\x03\x01"), Errc::deadline_exceeded);
  EXPECT_EQ(meets("GET / HTTP/1.1\r\n\r\n"), Errc::unavailable);
  EXPECT_EQ(meets(std::string(64, '\0')), Errc::unavailable);
  // A record, and a message, that declare more than their bounds.
  EXPECT_EQ(meets(std::string("\x16\x03\x01\xff\xff", 5) + std::string(70'000, 'x')),
            Errc::unavailable);
  EXPECT_EQ(
      meets(std::string("\x16\x03\x01\x40\x00\x01\xff\xff\xff", 9) + std::string(16'500, 'x')),
      Errc::unavailable);
}

// A hello that OpenSSL would accept and that never ends.
std::string endless_hello(size_t bytes) {
  constexpr size_t kMessageBytes = 131'396;  // the longest that OpenSSL accepts
  constexpr size_t kRecordBytes = 8'192;
  std::string message("\x01", 1);
  for (const int shift : {16, 8, 0}) message.push_back(static_cast<char>(kMessageBytes >> shift));
  message.resize(4 + kMessageBytes, 'x');
  std::string records;
  for (size_t at = 0; records.size() < bytes; at += kRecordBytes) {
    const size_t size = std::min(kRecordBytes, message.size() - at);
    records += std::string("\x16\x03\x01", 3);
    records.push_back(static_cast<char>(size >> 8));
    records.push_back(static_cast<char>(size));
    records += message.substr(at, size);
  }
  return records.substr(0, bytes);
}

TEST_F(TlsTest, AHandshakeIsTakenUpToItsBoundAndNotOneByteFurther) {
  const auto server = must(TlsContext::make_server(server_files()));
  const auto meets = [&](size_t bytes) {
    Ends ends = connect();
    bool done = false;
    start(server_end, done, std::move(ends.server), server, "");
    EXPECT_TRUE(run(write_text(*ends.client, endless_hello(bytes))));
    EXPECT_TRUE(world.run_until([&] { return done; }, kTimeoutUs + 2'000'000));
    ends.client->close();
    return server_end ? Error(Errc::ok, "") : server_end.error();
  };
  const Error at = meets(TlsStream::kMaxHandshakeBytes);
  EXPECT_EQ(at.code, Errc::deadline_exceeded) << at.message;
  const Error past = meets(TlsStream::kMaxHandshakeBytes + 1);
  EXPECT_EQ(past.code, Errc::unavailable);
  EXPECT_THAT(past.message, HasSubstr("sent more than 131072 bytes of TLS handshake"));
}

TEST_F(TlsTest, BentHandshakesEndAndHarmNobody) {
  Random random(11);
  for (int round = 0; round < 60; ++round) {
    Ends ends = connect();
    bool done = false;
    start(server_end, done, std::move(ends.server), must(TlsContext::make_server(server_files())),
          "");
    std::string hello("\x16\x03\x01\x00\x80\x01\x00\x00\x7c\x03\x03", 11);
    for (int i = 0; i < 122; ++i) hello.push_back(static_cast<char>(random.next()));
    EXPECT_TRUE(run(write_text(*ends.client, hello)));
    ends.client->close();
    EXPECT_TRUE(world.run_until([&] { return done; }, kTimeoutUs * 2));
    EXPECT_FALSE(server_end);
  }
}

TEST_F(TlsTest, FilesThatCannotBeAreNamed) {
  const auto says = [](const TlsServerFiles& files) -> std::string {
    const auto made = TlsContext::make_server(files);
    return made ? "made" : made.error().message;
  };
  EXPECT_THAT(says({scratch / "none.pem", authority.key("node"), {}}), HasSubstr("none.pem"));
  EXPECT_THAT(says({authority.cert("node"), authority.key("client"), {}}),
              HasSubstr("key values mismatch"));
  EXPECT_THAT(says({authority.cert("node"), "", {}}), HasSubstr("the key is missing"));
  EXPECT_THAT(says({authority.cert("node"), authority.key("node"), authority.key("node")}),
              HasSubstr("node.key.pem"));
  const auto good = must(TlsContext::make_server(server_files()));
  EXPECT_EQ(good->fingerprint().size(), 16u);
  EXPECT_GT(good->expires_s(), 1'700'000'000);
}

}  // namespace
}  // namespace cellar
