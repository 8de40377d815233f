#include "net/server/accept/tls_accept.h"

#include <array>

#include "io/net/stream_deadline.h"
#include "net/wire/body.h"
#include "net/wire/frame.h"
#include "net/wire/status.h"

namespace cellar::server {
namespace {

constexpr uint8_t kTlsHandshakeRecord = 0x16;
constexpr uint8_t kTlsMajorVersion = 0x03;
constexpr size_t kFirstBytes = wire::kPrefaceBytes + wire::kHeaderBytes;
constexpr int64_t kLingerUs = 200'000;

bool may_be_tls(Bytes begun) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(begun[i]); };
  return (begun.size() < 1 || byte(0) == kTlsHandshakeRecord) &&
         (begun.size() < 2 || byte(1) == kTlsMajorVersion);
}

// Reads enough to distinguish TLS from the plain protocol, and of the latter the preface and first
// header.
Async<Result<std::string>> first_bytes(ByteStream& stream) {
  std::string begun;
  std::array<std::byte, kFirstBytes> buffer;
  while (begun.size() < (may_be_tls(begun) ? 2 : kFirstBytes)) {
    const auto room = std::span(buffer).first(kFirstBytes - begun.size());
    const Result<size_t> n = co_await stream.read_some(room);
    if (!n) co_return std::unexpected(n.error());
    if (*n == 0) break;
    begun += as_bytes_view(room.first(*n));
    wire::Preface preface;
    if (!may_be_tls(begun) && !wire::parse_preface(Bytes(begun).substr(0, 16), preface)) break;
  }
  if (begun.empty()) co_return fail(Errc::unavailable, "{} sent nothing", stream.peer());
  co_return begun;
}

// The error reply to the first request of a plain-text client of this protocol; empty for others.
std::string plain_refusal(Bytes begun) {
  wire::Preface preface;
  if (begun.size() < kFirstBytes || !wire::parse_preface(begun.substr(0, 16), preface)) return {};
  const auto header =
      wire::parse_header(begun.substr(wire::kPrefaceBytes), wire::kHandshakeFrameBytes);
  if (!header) return {};
  flatbuffers::FlatBufferBuilder builder;
  const Error error(Errc::failed_precondition,
                    "this address speaks TLS only: connect with TLS (cellar --tls)");
  const Bytes body = wire::build_status(builder, error, nullptr);
  wire::FrameHeader reply;
  reply.kind = wire::FrameKind::reply;
  reply.op = header->op;
  reply.flags = wire::kFrameError;
  reply.request_id = header->request_id;
  reply.body_bytes = static_cast<uint32_t>(body.size());
  std::string frame;
  wire::append_header(frame, reply);
  frame += body;
  return frame;
}

Async<void> refuse_plain(StreamDeadline& deadline, ByteStream& stream, std::string begun) {
  const std::string answer = plain_refusal(begun);
  if (answer.empty()) co_return;
  const Bytes part = answer;
  const auto written = co_await stream.write({&part, 1});
  if (!written) co_return;
  co_await deadline.linger(kLingerUs, SIZE_MAX);
}

}  // namespace

Async<Result<Opened>> open_tls(Timers& timers, Semaphore& handshakes,
                               std::unique_ptr<ByteStream> stream,
                               std::shared_ptr<const TlsContext> tls, int64_t timeout_us) {
  const std::string peer = stream->peer();
  std::string begun;
  int64_t left_us = timeout_us;
  Semaphore::Lease lease;
  {
    StreamDeadline deadline(timers, *stream, timeout_us);
    auto first = co_await first_bytes(*stream);
    if (first && !may_be_tls(*first)) {
      co_await refuse_plain(deadline, *stream, *first);
      co_return fail(Errc::failed_precondition, "{} does not speak TLS", peer);
    }
    if (first) lease = co_await handshakes.take(1);
    if (deadline.passed()) {
      co_return fail(Errc::deadline_exceeded, "{} did not finish its TLS handshake within {} ms",
                     peer, timeout_us / 1000);
    }
    if (!first) co_return std::unexpected(std::move(first).error());
    begun = std::move(*first);
    left_us = deadline.left_us();
  }
  CO_TRY(auto secured, co_await tls_handshake(timers, std::move(stream), std::move(tls),
                                              std::move(begun), {}, left_us));
  Opened opened;
  opened.facts = {true, secured->peer_subject()};
  opened.resumed = secured->resumed();
  opened.stream = std::move(secured);
  co_return opened;
}

}  // namespace cellar::server
