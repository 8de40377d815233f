#include "tests/net/client/client_fake_server.h"

#include <algorithm>
#include <array>

#include "net/client/api/cells.h"

namespace cellar::client {

FakeServer::FakeServer(SimFabric& fabric, SimLoop& loop) : loop_(loop), network_(fabric, loop) {}

void FakeServer::listen(uint16_t port) {
  auto open = [](FakeServer& self, uint16_t number) -> Async<void> {
    auto listener = co_await self.network_.listen("127.0.0.1", number, false);
    CHECK(listener.has_value(), "listen");
    self.listener_ = std::move(*listener);
    co_await accept_loop(self);
  };
  spawn(loop_.executor(), open(*this, port));
}

void FakeServer::stop_listening() {
  if (listener_) listener_->close();
}

void FakeServer::cut() {
  for (auto& weak : streams_) {
    if (auto stream = weak.lock()) stream->close();
  }
}

void FakeServer::send(std::string bytes) { send_on(streams_.size(), std::move(bytes)); }

void FakeServer::send_on(size_t connection, std::string bytes) {
  auto write = [](std::shared_ptr<ByteStream> stream, std::string text) -> Async<void> {
    const std::array<Bytes, 1> parts = {Bytes(text)};
    (void)co_await stream->write(parts);
  };
  if (auto stream = streams_[connection - 1].lock()) {
    spawn(loop_.executor(), write(std::move(stream), std::move(bytes)));
  }
}

Async<void> FakeServer::accept_loop(FakeServer& self) {
  while (true) {
    auto stream = co_await self.listener_->accept();
    if (!stream) co_return;
    std::shared_ptr<ByteStream> shared = std::move(*stream);
    self.streams_.push_back(shared);
    spawn(self.loop_.executor(), serve(self, shared, ++self.connections));
  }
}

uint32_t FakeServer::chosen_shard(const Received& hello) const {
  const uint32_t wanted = BodyOf<fb::HelloRequest>(hello)->shard();
  const bool chooses = std::ranges::count(features, "shard_choice") > 0 && wanted < shards;
  return chooses ? wanted : static_cast<uint32_t>(hello.connection - 1) % shards;
}

std::string FakeServer::answer(const Received& received) {
  if (received.header.op == static_cast<uint16_t>(fb::Op::Hello)) {
    if (!answer_hello) return {};
    flatbuffers::FlatBufferBuilder b;
    const auto limits = fb::CreateLimits(b, 1u << 20, 0, 0, 0, 0, 0, in_flight_limit);
    const auto shard = says_shard.value_or(chosen_shard(received));
    shard_of[received.connection] = shard;
    const auto names = b.CreateVectorOfStrings(features);
    const Bytes body =
        wire::finish_body(b, fb::CreateHelloReply(b, wire::kProtocolVersion, 0, shard, shards,
                                                  limits, fb::Compression::None, now_us, names));
    return frame(wire::FrameKind::reply, received.header, body);
  }
  requests.push_back(received);
  return script ? script(received) : std::string();
}

Async<void> FakeServer::serve(FakeServer& self, std::shared_ptr<ByteStream> stream, size_t number) {
  wire::FrameReader reader(1u << 20);
  std::map<uint32_t, Received> handles;
  bool greeted = false;
  while (true) {
    auto n = co_await stream->read_some(reader.space());
    if (!n || *n == 0) break;
    reader.received(*n);
    if (self.swallow) continue;
    if (!greeted) {
      wire::Preface preface;
      const auto parsed = wire::parse_preface(reader.unread(), preface);
      CHECK(parsed.has_value(), "the client's preface: {}", parsed.error().message);
      if (reader.unread().size() < wire::kPrefaceBytes) continue;
      reader.consume(wire::kPrefaceBytes);
      greeted = true;
    }
    while (true) {
      auto next = reader.next();
      CHECK(next.has_value(), "a frame of the client: {}", next.error().message);
      if (*next == nullptr) break;
      Received received{(*next)->header, std::string((*next)->body), {}, number};
      if (received.header.kind == wire::FrameKind::bind) {
        const BodyOf<fb::Bind> bind(received);
        received.table = wire::text(bind->table());
        received.header.tablet_id = bind->tablet_id();
        received.header.epoch = bind->epoch();
        handles[received.header.handle] = received;
        continue;
      }
      if (received.header.handle != 0) {
        const auto target = handles.find(received.header.handle);
        CHECK(target != handles.end(), "handle {} is not bound", received.header.handle);
        received.table = target->second.table;
        received.header.tablet_id = target->second.header.tablet_id;
        received.header.epoch = target->second.header.epoch;
      }
      const std::string reply = self.answer(received);
      if (reply.empty()) continue;
      const std::array<Bytes, 1> parts = {Bytes(reply)};
      auto written = co_await stream->write(parts);
      if (!written) co_return;
    }
  }
}

namespace {

bool is(const wire::FrameHeader& header, fb::Op op) {
  return header.op == static_cast<uint16_t>(op);
}

// The cells of a ReadChunk in the layout of Get.
std::string got_body(Bytes chunk) {
  std::string out;
  wire::GotBuilder row(out, SIZE_MAX);
  if (!chunk.empty()) {
    const auto block = CellBlock::decode(chunk);
    CHECK(block.has_value(), "a chunk of the test cannot be read");
    for (const Cell& cell : block->cells()) {
      row.cell({.row = {},
                .family = cell.family,
                .qualifier = cell.qualifier,
                .timestamp_us = cell.timestamp_us,
                .value = cell.value});
    }
  }
  row.finish();
  return out;
}

std::string in_layout(const wire::FrameHeader& request, Bytes body, uint16_t flags) {
  if (flags & wire::kFrameError) return std::string(body);
  if (is(request, fb::Op::Get)) return got_body(body);
  if (is(request, fb::Op::Put)) return std::string(wire::put_reply({}));
  return std::string(body);
}

// The cells of a write of one row.
wire::DecodedWrites written(const Received& received) {
  wire::DecodedWrites writes;
  CHECK(is(received.header, fb::Op::Put), "not a Put");
  CHECK(wire::decode_put(received.body, writes).has_value(), "a Put that cannot be read");
  return writes;
}

}  // namespace

std::string written_row(const Received& received) {
  if (is(received.header, fb::Op::Put)) return std::string(written(received).rows[0].row);
  const BodyOf<fb::MutateRowRequest> body(received);
  return std::string(wire::bytes_of(body->arena()).substr(body->row()->at(), body->row()->size()));
}

std::string frame(wire::FrameKind kind, const wire::FrameHeader& request, Bytes answer,
                  uint16_t flags) {
  const std::string body = in_layout(request, answer, flags);
  wire::FrameHeader header;
  header.kind = kind;
  header.op = request.op;
  header.request_id = request.request_id;
  header.flags = flags;
  header.body_bytes = static_cast<uint32_t>(body.size());
  std::string out;
  wire::append_header(out, header);
  out.append(body);
  return out;
}

std::string error_frame(const wire::FrameHeader& request, Errc code, std::string message) {
  flatbuffers::FlatBufferBuilder b;
  return frame(wire::FrameKind::reply, request,
               wire::build_status(b, Error(code, std::move(message))), wire::kFrameError);
}

std::string chunk_body(Bytes row, Bytes value, bool continued, bool complete) {
  flatbuffers::FlatBufferBuilder b;
  const std::string arena = std::string(row) + "fq" + std::string(value);
  const auto row_size = static_cast<uint32_t>(row.size());
  const std::vector<fb::RowRec> rows = {
      fb::RowRec(fb::Span(0, row_size), 1,
                 static_cast<uint16_t>((continued ? 1 : 0) | (complete ? 2 : 0)), 0)};
  const std::vector<fb::CellRec> cells = {fb::CellRec(7000, row_size, row_size + 1, row_size + 2,
                                                      static_cast<uint32_t>(value.size()), 1, 1, 0,
                                                      0, 0)};
  const auto row_vector = b.CreateVectorOfStructs(rows);
  const auto cell_vector = b.CreateVectorOfStructs(cells);
  const auto bytes = b.CreateVector(reinterpret_cast<const uint8_t*>(arena.data()), arena.size());
  return std::string(wire::finish_body(b, fb::CreateReadChunk(b, row_vector, cell_vector, bytes)));
}

std::string mutate_reply(const Received& received) {
  return frame(wire::FrameKind::reply, received.header, {});
}

}  // namespace cellar::client
