// The header of the PROXY protocol: which peers may send it, and which headers are refused.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "io/base/coding.h"
#include "io/base/crc32c.h"
#include "io/base/random.h"
#include "net/server/accept/proxy_header.h"
#include "net/server/config/network_list.h"
#include "net/server/server.h"
#include "tests/net/server/server_bed.h"
#include "tests/support/socket_choice.h"

namespace cellar::server {
namespace {

using wire::fb::Op;

enum Family : uint8_t {
  kUnspecified = 0x00,
  kTcp4 = 0x11,
  kUdp4 = 0x12,
  kTcp6 = 0x21,
  kUnix = 0x31
};

std::string big_endian(uint16_t v) {
  return {static_cast<char>(v >> 8), static_cast<char>(v & 0xff)};
}

std::string header(uint8_t version_command, uint8_t family, const std::string& rest) {
  std::string bytes(kProxySignature);
  bytes.push_back(static_cast<char>(version_command));
  bytes.push_back(static_cast<char>(family));
  return bytes + big_endian(static_cast<uint16_t>(rest.size())) + rest;
}

// 203.0.113.7:51234 to 10.0.0.1:7420.
std::string addresses4() {
  return std::string("\xcb\x00\x71\x07\x0a\x00\x00\x01", 8) + big_endian(51234) + big_endian(7420);
}
std::string tcp4(const std::string& tlvs = "") { return header(0x21, kTcp4, addresses4() + tlvs); }
std::string tlv(uint8_t type, const std::string& value) {
  return std::string(1, static_cast<char>(type)) + big_endian(static_cast<uint16_t>(value.size())) +
         value;
}

Result<ProxyHeader> parse(const std::string& bytes) { return parse_proxy_header(bytes); }

TEST(ProxyHeader, TellsTheClientOfBothFamilies) {
  EXPECT_EQ(parse(tcp4())->source, "203.0.113.7:51234");
  std::string v6("\x20\x01\x0d\xb8", 4);
  v6.resize(15);
  v6 += '\x05';
  v6 += v6.substr(0, 16) + big_endian(443) + big_endian(7420);
  EXPECT_EQ(parse(header(0x21, kTcp6, v6))->source, "[2001:db8::5]:443");
  std::string mapped(10, '\0');
  mapped += std::string("\xff\xff\xc0\x00\x02\x01", 6);
  mapped += mapped.substr(0, 16) + big_endian(443) + big_endian(7420);
  EXPECT_EQ(parse(header(0x21, kTcp6, mapped))->source, "192.0.2.1:443");
}

TEST(ProxyHeader, WhatTellsNoAddressIsTakenWithoutOne) {
  EXPECT_EQ(parse(header(0x20, kUnspecified, ""))->source, "");
  EXPECT_EQ(parse(header(0x20, kTcp4, addresses4()))->source, "") << "LOCAL: the proxy itself";
  EXPECT_EQ(parse(header(0x20, 0xff, "anything"))->source, "");
  EXPECT_EQ(parse(header(0x21, kUnspecified, "whatever it is"))->source, "");
  EXPECT_EQ(parse(header(0x21, kUnix, std::string(216, 'u')))->source, "");
}

TEST(ProxyHeader, WhatCannotBeIsRefused) {
  for (const std::string& bad :
       {header(0x11, kTcp4, addresses4()), header(0x31, kTcp4, addresses4()),
        header(0x22, kTcp4, addresses4()), header(0x2f, kTcp4, addresses4()),
        header(0x21, 0x41, addresses4()), header(0x21, 0x13, addresses4()),
        header(0x21, kUdp4, addresses4()), header(0x21, kTcp4, addresses4().substr(1)),
        header(0x21, kTcp6, addresses4()), header(0x21, kUnix, std::string(215, 'u')),
        header(0x21, kTcp4, std::string(kMaxProxyBytes, 'x')), tcp4("x"),
        tcp4(std::string(2, '\0')), tcp4(tlv(1, "abc").substr(0, 5)), tcp4(tlv(3, "abc")),
        tcp4(tlv(3, "abcd")), "X" + tcp4().substr(1), tcp4() + "x"}) {
    EXPECT_FALSE(parse(bad)) << escape_bytes(bad);
  }
}

// Loopback clients have more rights than others, so a proxy must not name a loopback source.
TEST(ProxyHeader, ASourceThatIsNoClientsIsRefused) {
  const auto v4 = [](const std::string& source) {
    return parse(header(0x21, kTcp4, source + source + big_endian(1) + big_endian(2)));
  };
  const auto v6 = [](std::string source) {
    source.insert(0, 16 - source.size(), '\0');
    return parse(header(0x21, kTcp6, source + source + big_endian(1) + big_endian(2)));
  };
  const std::string mapped("\xff\xff", 2);
  for (const auto& [name, parsed] :
       {std::pair{"127.0.0.1", v4(std::string("\x7f\0\0\1", 4))},
        {"127.255.255.254", v4("\x7f\xff\xff\xfe")},
        {"0.0.0.0", v4(std::string(4, '\0'))},
        {"::1", v6("\1")},
        {"::", v6("")},
        {"::ffff:127.0.0.1", v6(mapped + std::string("\x7f\0\0\1", 4))},
        {"::ffff:127.1.2.3", v6(mapped + "\x7f\1\2\3")},
        {"::ffff:0.0.0.0", v6(mapped + std::string(4, '\0'))}}) {
    ASSERT_FALSE(parsed) << name << " became " << parsed->source;
    EXPECT_EQ(parsed.error().code, Errc::invalid_argument) << name;
    EXPECT_NE(parsed.error().message.find("no address of a client"), std::string::npos) << name;
  }
  EXPECT_TRUE(v4("\x7e\1\1\1"));
  EXPECT_TRUE(v6(mapped + "\x80\1\1\1"));
}

TEST(ProxyHeader, TlvsAreReadOverAndTheirChecksumHolds) {
  EXPECT_EQ(parse(tcp4(tlv(1, "h2") + tlv(0x20, std::string(300, 't'))))->source,
            "203.0.113.7:51234");
  std::string whole = tcp4(tlv(4, "pad") + tlv(3, std::string(4, '\0')));
  const uint32_t crc = crc32c(whole);
  const std::string right = big_endian(static_cast<uint16_t>(crc >> 16)) +
                            big_endian(static_cast<uint16_t>(crc & 0xffff));
  whole.replace(whole.size() - 4, 4, right);
  EXPECT_TRUE(parse(whole));
  const size_t kind_of_sum = whole.size() - 7;  // a TLV of another kind is not a checksum
  for (size_t i = 16; i < whole.size(); ++i) {
    if (i == kind_of_sum) continue;
    std::string wrong = whole;
    wrong[i] = static_cast<char>(wrong[i] ^ 1);
    EXPECT_FALSE(parse(wrong)) << i;
  }
}

TEST(ProxyHeader, NoBytesAtAllEndTheProcess) {
  Random random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = tcp4(tlv(1, "ab"));
    bytes.resize(random.below(bytes.size() + 1));
    for (size_t flips = random.below(4); flips > 0 && !bytes.empty(); --flips) {
      bytes[random.below(bytes.size())] = static_cast<char>(random.next());
    }
    (void)parse(bytes);
  }
}

TEST(NetworkList, HoldsWhatIsInItsNetworks) {
  const auto list = NetworkList::parse("10.0.0.0/8, 192.0.2.7 ,fd00::/8,::1");
  ASSERT_TRUE(list) << list.error().message;
  for (const char* in : {"10.0.0.1:5", "10.255.255.255:1", "192.0.2.7:80", "[fd12::1]:5", "[::1]:9",
                         "[::ffff:10.1.2.3]:5"}) {
    EXPECT_TRUE(list->contains(in)) << in;
  }
  for (const char* out : {"11.0.0.1:5", "9.255.255.255:1", "192.0.2.8:80", "[fe80::1]:5", "[::2]:9",
                          "host:80", "10.0.0.1", "", "disconnected peer"}) {
    EXPECT_FALSE(list->contains(out)) << out;
  }
  EXPECT_EQ(NetworkList::parse(list->to_string())->to_string(), list->to_string());
  EXPECT_FALSE(NetworkList().contains("10.0.0.1:5"));
  EXPECT_TRUE(NetworkList::parse("0.0.0.0/0")->contains("8.8.8.8:53"));
  for (const char* bad : {"10.0.0.0/33", "fd00::/129", "host", "10.0.0/8", "1.2.3.4,x", "/8"}) {
    EXPECT_FALSE(NetworkList::parse(bad)) << bad;
  }
}

// ---- a node behind a proxy, over real sockets ----

// A blocking connection from one of this machine's loopback addresses.
class Raw {
 public:
  Raw(const std::string& to, const char* from) {
    const auto address = parse_address(to);
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in own{AF_INET, 0, {inet_addr(from)}, {}};
    sockaddr_in node{AF_INET, htons(address->port), {inet_addr(address->host.c_str())}, {}};
    const timeval patience{5, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    const int one = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    CHECK(bind(fd_, reinterpret_cast<sockaddr*>(&own), sizeof own) == 0);
    CHECK(connect(fd_, reinterpret_cast<sockaddr*>(&node), sizeof node) == 0);
  }
  ~Raw() { ::close(fd_); }

  // False: the node has closed the connection.
  bool send(std::string_view bytes) {
    return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  // The next frame; none: the connection was closed.
  std::optional<Answer> receive() {
    while (true) {
      const auto frame = reader_.next();
      if (!frame) return std::nullopt;
      if (*frame != nullptr) return Answer{(*frame)->header, {}, std::string((*frame)->body)};
      const auto space = reader_.space();
      const ssize_t n = recv(fd_, space.data(), space.size(), 0);
      if (n <= 0) {
        ended_ = n == 0 || errno == ECONNRESET;
        return std::nullopt;
      }
      reader_.received(static_cast<size_t>(n));
    }
  }
  // The node closes the connection without an answer.
  bool is_closed() { return !receive().has_value() && ended_; }
  bool greets() {
    const auto answer = receive();
    return answer.has_value() && !answer->error();
  }

 private:
  int fd_ = -1;
  bool ended_ = false;
  wire::FrameReader reader_{wire::kDefaultFrameBytes};
};

constexpr const char* kProxy = "127.0.0.1";
constexpr const char* kStranger = "127.0.0.9";

std::string opening(const std::string& hello = "") {
  std::string bytes;
  wire::append_preface(bytes, {});
  return bytes + wire::request_frame(Op::Hello, 1, hello);
}

class ProxyTest : public testing::Test {
 protected:
  explicit ProxyTest(bool required = false, uint32_t shards = 1) {
    dir_ = std::filesystem::temp_directory_path() / fmt::format("cellar-proxy-{}", ::getpid());
    ServerOptions options;
    options.data_dir = (dir_ / "data").string();
    options.listen = "127.0.0.1:0";
    options.shards = shards;
    options.pin = false;
    options.io = IoBackend::threads;
    options.sockets = socket_choice();
    options.net.proxy = {*NetworkList::parse("127.0.0.1, 10.0.0.0/8"), required};
    options.net.handshake_timeout_us = 300'000;
    auto started = Server::start(options, clock_);
    CHECK(started.has_value(), "{}", started.error().to_string());
    server_ = *std::move(started);
  }
  ~ProxyTest() override {
    server_.reset();
    std::filesystem::remove_all(dir_);
  }
  Raw proxy() { return Raw(server_->address(), kProxy); }
  // Whether the node answers a hello after these bytes.
  bool serves(const std::string& before) {
    Raw raw(server_->address(), kProxy);
    return raw.send(before + opening()) && raw.greets();
  }
  bool closes(const std::string& bytes, const char* from = kProxy) {
    Raw raw(server_->address(), from);
    raw.send(bytes);
    return raw.is_closed();
  }
  // The author in the audit trail of a change made after these bytes.
  std::string author_behind(const std::string& before, const std::string& table,
                            const std::string& hello = "") {
    Raw raw(server_->address(), kProxy);
    raw.send(before + opening(hello) +
             wire::request_frame(Op::CreateTable, 2, wire::create_table_body(table, {"f"}, {})));
    if (!raw.greets() || !raw.greets()) return "no answer";
    raw.send(wire::request_frame(Op::AuditLog, 3, ""));
    auto answer = raw.receive();
    const auto* log = answer ? answer->root<wire::fb::AuditLogReply>() : nullptr;
    if (log == nullptr || log->entries()->size() == 0) return "no trail";
    return std::string(wire::text(log->entries()->Get(0)->address()));
  }

  SystemClock clock_;
  std::filesystem::path dir_;
  std::unique_ptr<Server> server_;
};

class RequiredProxyTest : public ProxyTest {
 protected:
  RequiredProxyTest() : ProxyTest(true) {}
};

TEST_F(ProxyTest, TheClientThatATrustedProxyNamesIsWhoDidIt) {
  const std::string via = author_behind(tcp4(), "named");
  EXPECT_TRUE(via.starts_with("203.0.113.7:51234 via 127.0.0.1:")) << via;
  const std::string local = author_behind(header(0x20, kUnspecified, ""), "local");
  EXPECT_TRUE(local.starts_with("127.0.0.1:")) << local;
  EXPECT_EQ(local.find("via"), std::string::npos);
}

class ManyShardsProxyTest : public ProxyTest {
 protected:
  ManyShardsProxyTest() : ProxyTest(false, 4) {}
};

TEST_F(ManyShardsProxyTest, AConnectionThatIsHandedOverKeepsItsClientAndItsProxy) {
  for (uint32_t shard = 0; shard < 4; ++shard) {
    const std::string hello = wire::hello_to(shard);
    const std::string table = fmt::format("t{}", shard);
    const std::string via = author_behind(tcp4(), table, hello);
    EXPECT_TRUE(via.starts_with("203.0.113.7:51234 via 127.0.0.1:")) << via;
    const std::string plain = author_behind("", "plain" + table, hello);
    EXPECT_TRUE(plain.starts_with("127.0.0.1:")) << plain;
  }
}

TEST_F(ProxyTest, TrustedPeersMaySendOneOrNone) {
  EXPECT_TRUE(serves(""));
  EXPECT_TRUE(serves(tcp4()));
  EXPECT_TRUE(serves(tcp4(tlv(1, "x") + tlv(0x20, std::string(1000, 't')))));
  EXPECT_TRUE(serves(header(0x20, kTcp4, addresses4()))) << "LOCAL";
  EXPECT_TRUE(serves(header(0x21, kUnix, std::string(216, 'u'))));
  EXPECT_TRUE(serves(header(0x21, kUnspecified, "")));
}

TEST_F(ProxyTest, ByteByByteIsTheSame) {
  Raw raw = proxy();
  for (const char byte : tcp4(tlv(1, "abc")) + opening()) {
    ASSERT_TRUE(raw.send({&byte, 1}));
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  EXPECT_TRUE(raw.greets());
}

TEST_F(ProxyTest, FromAnyOtherNetworkItIsAnError) {
  EXPECT_TRUE(closes(tcp4() + opening(), kStranger));
  EXPECT_TRUE(closes(header(0x20, kUnspecified, "") + opening(), kStranger));
  EXPECT_TRUE(closes("PROXY TCP4 203.0.113.7 10.0.0.1 51234 7420\r\n" + opening(), kStranger));
  Raw honest(server_->address(), kStranger);
  EXPECT_TRUE(honest.send(opening()) && honest.greets());
}

TEST_F(ProxyTest, WhatIsNoHeaderEndsTheConnection) {
  for (const std::string& bad :
       {std::string("PROXY TCP4 203.0.113.7 10.0.0.1 51234 7420\r\n"),
        header(0x21, kTcp4, std::string(kMaxProxyBytes, 'x')), header(0x21, kUdp4, addresses4()),
        header(0x31, kTcp4, addresses4()), header(0x21, kTcp6, addresses4()), tcp4("x"),
        std::string(kProxySignature).replace(11, 1, "X") + tcp4().substr(12), tcp4() + tcp4()}) {
    EXPECT_TRUE(closes(bad + opening())) << escape_bytes(bad.substr(0, 64));
  }
  EXPECT_TRUE(serves(tcp4()));
}

// A cut header at any byte: the connection is closed at once if the peer ends it, otherwise at the
// timeout.
TEST_F(ProxyTest, ACutHeaderIsNotWaitedForLongerThanTheHandshake) {
  const std::string whole = tcp4(tlv(1, "ab"));
  std::vector<std::unique_ptr<Raw>> cut;
  for (size_t n = 0; n < whole.size(); n += 3) {
    cut.push_back(std::make_unique<Raw>(server_->address(), kProxy));
    cut.back()->send(whole.substr(0, n));
  }
  const auto began = std::chrono::steady_clock::now();
  for (const auto& one : cut) EXPECT_TRUE(one->is_closed());
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(4));
  EXPECT_TRUE(serves(tcp4()));
}

TEST_F(ProxyTest, ANodeStopsWithHeadersHalfReceived) {
  Raw raw = proxy();
  raw.send(tcp4().substr(0, 20));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_TRUE(server_->stop());
  EXPECT_TRUE(raw.is_closed());
}

TEST_F(RequiredProxyTest, WithoutAHeaderATrustedPeerIsRefused) {
  EXPECT_TRUE(closes(opening()));
  EXPECT_TRUE(serves(tcp4()));
  EXPECT_TRUE(serves(header(0x20, kUnspecified, "")));
  Raw other(server_->address(), kStranger);
  EXPECT_TRUE(other.send(opening()) && other.greets()) << "only listed networks must";
}

}  // namespace
}  // namespace cellar::server
