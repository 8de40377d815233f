#include "net/wire/frame.h"

#include <gtest/gtest.h>

#include <array>

#include "io/base/coding.h"
#include "io/base/random.h"
#include "tests/net/wire/wire_bodies.h"

namespace cellar::wire {
namespace {

void feed(FrameReader& reader, Bytes bytes) {
  while (!bytes.empty()) {
    const std::span<std::byte> space = reader.space();
    const size_t n = std::min(space.size(), bytes.size());
    std::memcpy(space.data(), bytes.data(), n);
    reader.received(n);
    bytes.remove_prefix(n);
  }
}

TEST(Preface, IsReadBackWithItsHint) {
  std::string bytes;
  append_preface(bytes, {.routing_hint = 0x1122334455667788, .version = 2});
  ASSERT_EQ(bytes.size(), kPrefaceBytes);
  Preface preface;
  ASSERT_TRUE(parse_preface(bytes, preface));
  EXPECT_EQ(preface.routing_hint, 0x1122334455667788u);
  EXPECT_EQ(preface.version, 2);
}

TEST(Preface, OfAnotherProtocolIsRefusedAtTheFirstWrongByte) {
  Preface preface;
  EXPECT_TRUE(parse_preface("GET / HT", preface));
  EXPECT_FALSE(parse_preface("GET / HTT", preface));
  EXPECT_FALSE(parse_preface("12345678CELLARS!", preface).has_value() &&
               preface.version == kProtocolVersion);
  const std::string tls("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03", 10);
  EXPECT_FALSE(parse_preface(tls, preface));
}

TEST(Preface, OfAnotherVersionIsRefused) {
  for (const int version : {0, 1, 3, 65535}) {
    std::string bytes;
    append_preface(bytes, {.version = static_cast<uint16_t>(version)});
    Preface preface;
    EXPECT_FALSE(parse_preface(bytes, preface)) << version;
  }
}

TEST(Header, TellsErrorsInRepliesAndGoawaysAlone) {
  for (int kind = 1; kind <= static_cast<int>(FrameKind::stale); ++kind) {
    FrameHeader header;
    header.kind = static_cast<FrameKind>(kind);
    header.flags = kFrameError;
    std::string bytes;
    append_header(bytes, header);
    const bool tells = header.kind == FrameKind::reply || header.kind == FrameKind::goaway;
    EXPECT_EQ(parse_header(bytes, 64).has_value(), tells) << kind;
  }
}

TEST(Header, ThatCannotBeIsRefused) {
  const auto refused = [](auto change) {
    FrameHeader header;
    change(header);
    std::string bytes;
    append_header(bytes, header);
    return !parse_header(bytes, 64).has_value();
  };
  EXPECT_FALSE(refused([](FrameHeader&) {}));
  EXPECT_FALSE(refused([](FrameHeader& h) { h.body_bytes = 64; }));
  EXPECT_TRUE(refused([](FrameHeader& h) { h.body_bytes = 72; }));
  EXPECT_TRUE(refused([](FrameHeader& h) { h.body_bytes = 63; }));
  EXPECT_FALSE(refused([](FrameHeader& h) { h.handle = kMaxHandles; }));
  EXPECT_TRUE(refused([](FrameHeader& h) { h.handle = kMaxHandles + 1; }));
  EXPECT_TRUE(refused([](FrameHeader& h) { h.kind = static_cast<FrameKind>(0); }));
  EXPECT_TRUE(refused([](FrameHeader& h) { h.kind = static_cast<FrameKind>(10); }));
  EXPECT_TRUE(refused([](FrameHeader& h) { h.flags = 4; }));
}

TEST(Header, FieldsAreReadBack) {
  FrameHeader header;
  header.body_bytes = 48;
  header.kind = FrameKind::request;
  header.op = 255;
  header.flags = kFrameChecked;
  header.request_id = 0x81828384;
  header.handle = 1000;
  header.deadline_ms = 0x91929394;
  header.checksum = 0xa1a2a3a4;
  std::string bytes;
  append_header(bytes, header);
  ASSERT_EQ(bytes.size(), kHeaderBytes);
  const auto read = parse_header(bytes, 64);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->body_bytes, header.body_bytes);
  EXPECT_EQ(read->kind, header.kind);
  EXPECT_EQ(read->op, header.op);
  EXPECT_EQ(read->flags, header.flags);
  EXPECT_EQ(read->request_id, header.request_id);
  EXPECT_EQ(read->handle, header.handle);
  EXPECT_EQ(read->deadline_ms, header.deadline_ms);
  EXPECT_EQ(read->checksum, header.checksum);
}

TEST(Checksum, ABodyThatDiffersEndsTheStream) {
  const std::string sent = request_frame(fb::Op::Ping, 1, "12345678");
  for (size_t flipped = 0; flipped <= 8; ++flipped) {
    std::string bytes = sent;
    add_checksum(bytes, 0);
    if (flipped < 8) bytes[kHeaderBytes + flipped] ^= 1;
    FrameReader reader(64);
    feed(reader, bytes);
    const auto frame = reader.next();
    EXPECT_EQ(frame.has_value() && *frame != nullptr, flipped == 8) << flipped;
  }
}

class FrameReaderOf : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Bases, FrameReaderOf,
                         testing::Values(FrameReader::kSmallBytes, FrameReader::kInitialBytes));

TEST_P(FrameReaderOf, PassesOverFramesThatAreNotWantedHoweverTheyAreCut) {
  Random random(12);
  std::string stream;
  std::vector<std::string> bodies;
  for (uint64_t i = 0; i < 300; ++i) {
    bodies.emplace_back(8 * random.below(i % 5 == 0 ? 20'000 : 64),
                        static_cast<char>('a' + i % 26));
    stream += request_frame(fb::Op::Ping, i, bodies.back());
  }
  FrameReader reader(1 << 20, GetParam());
  uint64_t expected = 0;
  size_t skipped = 0;
  for (size_t at = 0; at < stream.size();) {
    const size_t n = std::min<size_t>(1 + random.below(30'000), stream.size() - at);
    feed(reader, Bytes(stream).substr(at, n));
    at += n;
    while (true) {
      const auto frame = reader.next();
      ASSERT_TRUE(frame) << frame.error().message;
      if (*frame == nullptr) break;
      ASSERT_EQ((*frame)->header.request_id, expected);
      ASSERT_EQ((*frame)->body, bodies[expected]);
      EXPECT_EQ(reinterpret_cast<uintptr_t>((*frame)->body.data()) % 8, 0u);
      ++expected;
    }
    if (reader.begun_bytes() != 0 && random.below(2) == 0) {
      EXPECT_EQ(reader.begun_header().request_id, expected++);
      reader.skip_frame();
      EXPECT_EQ(reader.begun_bytes(), 0u);
      ++skipped;
    }
    reader.shrink();
    EXPECT_LE(reader.begun_bytes() == 0 ? reader.buffer_bytes() : 0, GetParam());
  }
  EXPECT_EQ(expected, bodies.size());
  EXPECT_GT(skipped, 10u);
}

TEST(FrameReader, TellsWhatItsBufferWillTake) {
  FrameReader reader(64 << 20, FrameReader::kSmallBytes);
  EXPECT_EQ(reader.next_buffer_bytes(), FrameReader::kSmallBytes);
  const std::string frame = request_frame(fb::Op::Ping, 1, std::string(4 << 20, 'x'));
  for (size_t at = 0; at < frame.size();) {
    const size_t promised = reader.next_buffer_bytes();
    const std::span<std::byte> space = reader.space();
    EXPECT_EQ(reader.buffer_bytes(), promised);
    EXPECT_LE(promised,
              std::max<size_t>(2 * at + 2 * FrameReader::kMinSpaceBytes, FrameReader::kSmallBytes))
        << "no more than twice what has come";
    const size_t n = std::min({space.size(), frame.size() - at, size_t{100'000}});
    std::memcpy(space.data(), frame.data() + at, n);
    reader.received(n);
    at += n;
    ASSERT_TRUE(reader.next());
  }
}

TEST_P(FrameReaderOf, GivesFramesInOrderHoweverTheyAreCut) {
  Random random(11);
  std::string stream;
  std::vector<std::string> bodies;
  for (uint64_t i = 0; i < 200; ++i) {
    bodies.emplace_back(8 * random.below(i % 20 == 0 ? 20'000 : 64),
                        static_cast<char>('a' + i % 26));
    stream += request_frame(fb::Op::Ping, i, bodies.back());
  }
  FrameReader reader(1 << 20, GetParam());
  size_t at = 0;
  size_t seen = 0;
  while (at < stream.size()) {
    const size_t n = std::min<size_t>(1 + random.below(30'000), stream.size() - at);
    feed(reader, Bytes(stream).substr(at, n));
    at += n;
    while (true) {
      std::array<Frame, 3> ahead;
      const size_t peeked = reader.peek(ahead);
      for (size_t i = 0; i < peeked; ++i) {
        EXPECT_EQ(ahead[i].header.request_id, seen + i);
        ASSERT_EQ(ahead[i].body, bodies[seen + i]);
      }
      const auto frame = reader.next();
      ASSERT_TRUE(frame) << frame.error().message;
      EXPECT_EQ(*frame == nullptr, peeked == 0);
      if (*frame == nullptr) break;
      EXPECT_EQ((*frame)->header.request_id, seen);
      ASSERT_EQ((*frame)->body, bodies[seen]);
      EXPECT_EQ(reinterpret_cast<uintptr_t>((*frame)->body.data()) % 8, 0u);
      ++seen;
    }
  }
  EXPECT_EQ(seen, bodies.size());
}

// A length that is none ends it; next() says why.
TEST(FrameReader, PeeksNoFurtherThanTheBytes) {
  FrameHeader header;
  header.body_bytes = UINT32_MAX;
  std::string bytes = request_frame(fb::Op::Ping, 1, std::string(8, 'x'));
  append_header(bytes, header);
  bytes += std::string(100, 'y');
  FrameReader reader(4096);
  feed(reader, bytes);
  std::array<Frame, 3> ahead;
  EXPECT_EQ(reader.peek(ahead), 1u);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.peek(ahead), 0u);
  EXPECT_FALSE(reader.next());
}

TEST(FrameReader, TakesMemoryForBytesNotForDeclaredLengths) {
  FrameHeader header;
  header.body_bytes = 64u << 20;
  std::string bytes;
  append_header(bytes, header);
  FrameReader reader(128u << 20);
  feed(reader, bytes);
  ASSERT_TRUE(reader.next().has_value());
  feed(reader, std::string(1000, 'x'));
  EXPECT_EQ(reader.buffer_bytes(), FrameReader::kInitialBytes);
}

TEST(FrameReader, GivesLargeBuffersBackWhenTheyAreEmpty) {
  FrameReader reader(1 << 20);
  feed(reader, request_frame(fb::Op::Ping, 1, std::string(512 * 1024, 'x')));
  ASSERT_NE(*reader.next(), nullptr);
  EXPECT_GT(reader.buffer_bytes(), FrameReader::kInitialBytes);
  reader.shrink();
  EXPECT_LE(reader.buffer_bytes(), FrameReader::kInitialBytes);
}

TEST(FrameReader, RefusesABodyOneStepOverTheBound) {
  FrameReader reader(4096);
  feed(reader, request_frame(fb::Op::Ping, 1, std::string(4096, 'x')));
  ASSERT_TRUE(reader.next());
  feed(reader, request_frame(fb::Op::Ping, 2, std::string(4104, 'x')));
  const auto refused = reader.next();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::invalid_argument);
}

// The credit is for a request that begins between two holds.
TEST(FrameReader, AnotherHoldLooksAgainAtWhatWasNotTaken) {
  for (const bool taken_at_once : {false, true}) {
    SCOPED_TRACE(taken_at_once);
    FrameReader reader(4096);
    for (const uint64_t id : {1, 2, 3}) feed(reader, request_frame(fb::Op::Ping, id, ""));
    feed(reader, request_frame(fb::Op::None, 2, "", FrameKind::credit));
    feed(reader, request_frame(fb::Op::Ping, 4, ""));
    const auto next_id = [&reader]() -> uint32_t {
      const auto frame = reader.next();
      return frame && *frame != nullptr ? (*frame)->header.request_id : 0;
    };
    const auto ahead = [&reader]() -> std::string {
      const auto frame = reader.look_ahead();
      if (!frame || *frame == nullptr) return "none";
      return fmt::format("{}{}", (*frame)->header.kind == FrameKind::credit ? "credit " : "",
                         (*frame)->header.request_id);
    };
    ASSERT_EQ(next_id(), 1u);
    reader.put_back();
    EXPECT_EQ(ahead(), "2");
    EXPECT_EQ(ahead(), "3");
    EXPECT_EQ(ahead(), "credit 2");
    if (taken_at_once) reader.take_ahead();
    EXPECT_EQ(ahead(), "4");
    EXPECT_EQ(ahead(), "none");
    reader.take_front();
    ASSERT_EQ(next_id(), 2u);
    ASSERT_EQ(next_id(), 3u);
    reader.put_back();
    if (!taken_at_once) {
      EXPECT_EQ(ahead(), "credit 2");
      reader.take_ahead();
    }
    EXPECT_EQ(ahead(), "4");
    reader.take_front();
    EXPECT_EQ(next_id(), 4u) << "what was taken is passed over";
    EXPECT_EQ(next_id(), 0u);
  }
}

}  // namespace
}  // namespace cellar::wire
