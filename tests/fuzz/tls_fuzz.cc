// What comes before the session of a node with TLS in memory: the header of a proxy, the handshake,
// the first records. Either any bytes in any pieces, or those of a real client, some of which are
// changed. The node must go on serving others.
#include <unistd.h>

#include <filesystem>

#include "io/base/check.h"
#include "io/net/stream_deadline.h"
#include "net/server/accept/proxy_header.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/net/secure/secure_bed.h"
#include "tests/net/server/raw_peer.h"

namespace cellar::fuzz {
namespace {

namespace fs = std::filesystem;
namespace fb = wire::fb;
using server::RawPeer;
using server::ServerBed;

constexpr const char* kHost = "127.0.0.1";
constexpr int64_t kPieceUs = 500;          // between two pieces
constexpr int64_t kAnswersUs = 2'000'000;  // for the last answers: a failed handshake lingers
constexpr uint8_t kProxied = 1;            // bits of the first byte: the peer is a trusted proxy
constexpr uint8_t kRequired = 2;           // a header is required of proxies
constexpr uint8_t kMutual = 4;             // the node asks for certificates of clients
constexpr uint8_t kClient = 8;             // the input bends a real client's bytes
constexpr uint8_t kResumes = 16;           // the client resumes a session

// Made once; the directory lasts as long as the process.
class Certificates {
 public:
  Certificates()
      : directory_(fs::temp_directory_path() / fmt::format("tls_fuzz.{}", getpid())),
        authority_(directory_, "authority") {
    authority_.issue("node");
    authority_.issue("client", {.name = "a client"});
    for (const bool mutual : {false, true}) {
      auto made = TlsContext::make_server({.certificate = authority_.cert("node"),
                                           .key = authority_.key("node"),
                                           .client_ca = mutual ? authority_.ca() : ""});
      CHECK(made, "{}", made.error().message);
      servers_[mutual] = *std::move(made);
    }
  }
  ~Certificates() { fs::remove_all(directory_); }
  Certificates(const Certificates&) = delete;
  Certificates& operator=(const Certificates&) = delete;

  std::shared_ptr<const TlsContext> server(bool mutual) const { return servers_[mutual]; }
  std::shared_ptr<const TlsContext> client() const {
    auto made = TlsContext::make_client({.ca = authority_.ca(),
                                         .certificate = authority_.cert("client"),
                                         .key = authority_.key("client")});
    CHECK(made, "{}", made.error().message);
    return *std::move(made);
  }

 private:
  const fs::path directory_;
  test::Authority authority_;
  std::shared_ptr<const TlsContext> servers_[2];
};

const Certificates& certificates() {
  static const Certificates kMade;
  return kMade;
}

// Changes written bytes at places that the input names: three bytes each, how many bytes to skip
// (little-endian) and what to combine the next one with by exclusive or.
class BentStream final : public ByteStream {
 public:
  BentStream(std::unique_ptr<ByteStream> below, Bytes bends)
      : below_(std::move(below)), bends_(bends) {
    next_bend();
  }
  bool changed() const { return changed_; }

  Async<Result<size_t>> read_some(std::span<std::byte> into) override {
    co_return co_await below_->read_some(into);
  }
  Async<Result<void>> write(std::span<const Bytes> parts) override {
    std::string bytes;
    for (const Bytes part : parts) bytes += part;
    for (char& c : bytes) bend(c);
    const Bytes whole = bytes;
    co_return co_await below_->write({&whole, 1});
  }
  // Nothing is written without waiting, so that every byte passes write() once.
  Result<size_t> try_write(std::span<const Bytes> /*parts*/) override { return 0; }
  void close() override { below_->close(); }
  std::string peer() const override { return below_->peer(); }

 private:
  void next_bend() {
    if (bends_.size() < 3) {
      with_ = 0;
      return;
    }
    const auto byte = [this](size_t i) { return static_cast<uint8_t>(bends_[i]); };
    skip_ = byte(0) + (uint32_t{byte(1)} << 8);
    with_ = byte(2);
    bends_.remove_prefix(3);
    ended_ = false;
  }
  void bend(char& c) {
    if (ended_ || skip_-- > 0) return;
    c = static_cast<char>(c ^ with_);
    changed_ = changed_ || with_ != 0;
    ended_ = true;
    next_bend();
  }

  const std::unique_ptr<ByteStream> below_;
  Bytes bends_;
  uint32_t skip_ = 0;
  uint8_t with_ = 0;
  bool ended_ = true;  // no further bend
  bool changed_ = false;
};

std::string greeting() {
  std::string bytes;
  wire::append_preface(bytes, {});
  bytes += wire::request_frame(fb::Op::Hello, 1, server::hello_body(""));
  return bytes + wire::request_frame(fb::Op::Ping, 2, "");
}

std::string proxy_header() {
  return std::string(server::kProxySignature) +
         std::string("\x21\x11\0\x0c\x0a\0\0\1\x0a\0\0\2\x1f\x90\x1c\xfc", 16);
}

struct Told {
  size_t answers = 0;
  bool changed = false;
};

// A client that shakes hands, says hello and pings; returns what it was told.
Async<Told> visit(ServerBed& bed, std::shared_ptr<const TlsContext> context, std::string first,
                  Bytes bends) {
  Told told;
  SimNetwork network(bed.fabric(), bed.client_loop());
  auto stream = co_await network.connect(kHost, ServerBed::kPort, 1'000'000);
  CHECK(stream, "no connection: {}", stream.error().message);
  if (!first.empty()) {
    const Bytes part = first;
    (void)co_await (*stream)->write({&part, 1});
  }
  auto bent = std::make_unique<BentStream>(*std::move(stream), bends);
  const BentStream& below = *bent;
  TlsStream tls(std::move(bent), std::move(context));
  StreamDeadline deadline(bed.client_loop().timers(), tls, kAnswersUs);
  const Result<void> shaken = co_await tls.handshake({}, kHost);
  if (shaken) {
    const std::string bytes = greeting();
    const Bytes part = bytes;
    (void)co_await tls.write({&part, 1});
    wire::FrameReader frames(wire::kLargestFrameBytes);
    while (told.answers < 2) {
      const Result<size_t> n = co_await tls.read_some(frames.space());
      if (!n || *n == 0) break;
      frames.received(*n);
      while (true) {
        const auto frame = frames.next();
        CHECK(frame, "the node sent garbage: {}", frame.error().message);
        if (*frame == nullptr) break;
        ++told.answers;
      }
    }
  }
  told.changed = below.changed();
  tls.close();
  co_return told;
}

Told come(ServerBed& bed, std::shared_ptr<const TlsContext> context, const std::string& first,
          Bytes bends) {
  return bed.world().block_on(bed.client_loop(), visit(bed, std::move(context), first, bends));
}

void send_raw(ServerBed& bed, size_t piece, Bytes input) {
  RawPeer peer(bed, kHost, ServerBed::kPort);
  while (!input.empty() && !peer.closed()) {
    const Bytes part = input.substr(0, piece);
    peer.send(std::string(part));
    input.remove_prefix(part.size());
    bed.world().run_for_us(kPieceUs);
  }
  bed.world().run_for_us(kAnswersUs);
}

server::ServerOptions options_of(uint8_t how) {
  server::ServerOptions options;
  if (how & kProxied) {
    options.net.proxy = {.trusted = *server::NetworkList::parse("127.0.0.0/8"),
                         .required = (how & kRequired) != 0};
  }
  return options;
}

// Two bytes say how, the others are sent or bend what is sent.
void fuzz_tls(Bytes input) {
  if (input.size() < 2) return;
  const auto how = static_cast<uint8_t>(input[0]);
  const size_t piece = 1 + static_cast<size_t>(static_cast<uint8_t>(input[1])) * 16;
  input.remove_prefix(2);
  ServerBed bed(1, options_of(how), 1, 100, kHost);
  bed.shard(0).set_policy({nullptr, certificates().server((how & kMutual) != 0)});
  const std::string first = how & kProxied ? proxy_header() : "";
  auto context = certificates().client();
  if (how & kResumes) CHECK(come(bed, context, first, {}).answers == 2, "no first session");
  if (how & kClient) {
    const Told told = come(bed, context, first, input);
    CHECK(told.changed || told.answers == 2, "a client whose bytes arrive is not served");
  } else {
    send_raw(bed, piece, input);
  }
  CHECK(come(bed, context, first, {}).answers == 2, "the node serves nobody any more");
}

// Keeps what is written; nothing arrives.
class Recorder final : public ByteStream {
 public:
  explicit Recorder(std::string& into) : into_(into) {}
  Async<Result<size_t>> read_some(std::span<std::byte> /*into*/) override {
    co_return fail(Errc::unavailable, "the recording ends");
  }
  Async<Result<void>> write(std::span<const Bytes> parts) override {
    for (const Bytes part : parts) into_ += part;
    co_return Result<void>();
  }
  Result<size_t> try_write(std::span<const Bytes> /*parts*/) override { return 0; }
  void close() override {}
  std::string peer() const override { return "nobody"; }

 private:
  std::string& into_;
};

std::string client_hello() {
  std::string bytes;
  SimWorld world;
  TlsStream tls(std::make_unique<Recorder>(bytes), certificates().client());
  (void)world.block_on(world.add_loop(), tls.handshake({}, kHost));
  CHECK(!bytes.empty(), "no hello");
  return bytes;
}

std::string seed_of(int how, uint8_t piece, const std::string& bytes) {
  return std::string{static_cast<char>(how), static_cast<char>(piece)} + bytes;
}

std::vector<std::string> tls_seeds() {
  const std::string hello = client_hello();
  const auto bend = [](uint16_t skip, uint8_t with) {
    return std::string{static_cast<char>(skip), static_cast<char>(skip >> 8),
                       static_cast<char>(with)};
  };
  // An alert, a certificate in place of a hello, application data.
  const std::string alert("\x15\x03\x03\0\2\2\x28", 7);
  const std::string certificate("\x16\x03\x01\0\4\x0b\0\0\0", 9);
  const std::string data("\x17\x03\x03\0\5hello", 10);
  return {
      seed_of(0, 255, hello),
      seed_of(0, 0, hello),
      seed_of(kMutual, 255, hello + hello),
      seed_of(0, 255, hello + data + alert),
      seed_of(0, 255, certificate),
      seed_of(0, 255, alert),
      seed_of(0, 255, greeting()),
      seed_of(kProxied, 255, proxy_header() + hello),
      seed_of(kProxied | kRequired, 0, proxy_header() + hello),
      seed_of(kProxied | kRequired, 255, hello),
      seed_of(kProxied, 255, "PROXY TCP4 10.0.0.1 10.0.0.2 8080 7420\r\n"),
      seed_of(kClient, 0, ""),
      seed_of(kClient | kMutual, 0, bend(0, 0)),
      seed_of(kClient | kProxied, 0, bend(3, 1)),
      seed_of(kClient | kResumes, 0, bend(200, 1) + bend(70, 255)),
      seed_of(kClient | kMutual, 0, bend(600, 3)),
      seed_of(kClient, 0, bend(static_cast<uint16_t>(hello.size() + 20), 8)),
      seed_of(kClient | kMutual | kResumes, 0, bend(static_cast<uint16_t>(hello.size() + 6), 1)),
  };
}

}  // namespace

const FuzzTarget kTlsTarget = {"tls", &fuzz_tls, &tls_seeds};

}  // namespace cellar::fuzz
