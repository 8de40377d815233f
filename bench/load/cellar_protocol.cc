#include <optional>

#include "bench/load/protocol.h"
#include "net/wire/body.h"
#include "net/wire/frame.h"
#include "net/wire/point_codec.h"

namespace cellar::bench {
namespace {

namespace fb = wire::fb;

constexpr Bytes kFamily = "f";
constexpr uint32_t kHelloId = UINT32_MAX;
constexpr uint32_t kTableId = kHelloId - 1;  // of the request that checks that there is the table
constexpr uint32_t kMaxIds = 1 << 16;        // of other requests
constexpr uint32_t kTableHandle = 1;

// Appends a request frame. `handle`: 0 for a request without a table.
void append_request(std::string& out, fb::Op op, uint64_t id, Bytes body,
                    uint32_t handle = kTableHandle) {
  wire::FrameHeader header;
  header.op = static_cast<uint16_t>(op);
  header.request_id = static_cast<uint32_t>(id);
  header.handle = handle;
  header.body_bytes = static_cast<uint32_t>(body.size());
  wire::append_header(out, header);
  out += body;
}

// Most requests of a run have a key and a value of the same lengths, so their body is built once
// and only its key and value change.
class BodyTemplate {
 public:
  BodyTemplate(Bytes body, Bytes key, Bytes value, uint64_t life_us)
      : body_(body), key_bytes_(key.size()), value_bytes_(value.size()), life_us_(life_us) {
    key_at_ = body.find(key);
    if (!value.empty()) value_at_ = body.find(value);
  }
  bool fits(Bytes key, Bytes value, uint64_t life_us) const {
    return key.size() == key_bytes_ && value.size() == value_bytes_ && life_us == life_us_;
  }
  Bytes body(Bytes key, Bytes value) {
    std::memcpy(body_.data() + key_at_, key.data(), key.size());
    if (!value.empty()) std::memcpy(body_.data() + value_at_, value.data(), value.size());
    return body_;
  }

 private:
  std::string body_;
  size_t key_bytes_;
  size_t value_bytes_;
  uint64_t life_us_;
  size_t key_at_ = 0;
  size_t value_at_ = 0;
};

// A MutateRow that deletes the row.
std::string remove_body(Bytes key) {
  wire::ArenaBuilder arena;
  const fb::Span row = arena.add(key);
  const fb::MutationRec record(0, 0, fb::Span(), fb::Span(), fb::Span(),
                               static_cast<uint8_t>(fb::MutationKind::DeleteFromRow), 0, 0, 0);
  flatbuffers::FlatBufferBuilder builder;
  const auto mutations = builder.CreateVectorOfStructs(&record, 1);
  const auto bytes = arena.finish(builder);
  fb::MutateRowRequestBuilder request(builder);
  request.add_row(&row);
  request.add_mutations(mutations);
  request.add_arena(bytes);
  return std::string(wire::finish_body(builder, request.Finish()));
}

// A Put of the fields.
std::string write_body(const Request& write) {
  std::vector<Mutation> cells;
  for (const FieldValue& field : write.fields) {
    Mutation& cell = cells.emplace_back();
    cell.family = kFamily;
    cell.qualifier = field.name;
    cell.value = field.value;
    if (write.life_us != 0) cell.ttl_us = static_cast<int64_t>(write.life_us);
  }
  std::string body;
  wire::append_put(body, {write.key, cells}, std::nullopt);
  return body;
}

// Only the newest version: writes leave older versions, which other stores do not return either.
std::string read_body(Bytes key, const std::vector<std::string>& columns) {
  wire::DecodedGet get;
  for (const std::string& column : columns) get.columns.push_back({kFamily, column});
  get.row = key;
  get.versions = 1;
  std::string body;
  wire::append_get(body, get);
  return body;
}
fb::FilterNode newest_version() {
  return {1, 0, 0, {}, {}, {}, 0, static_cast<uint8_t>(fb::FilterKind::CellsPerColumnLimit), 0, 0};
}

std::string scan_body(const Request& scan) {
  wire::ArenaBuilder arena;
  const fb::Span start = arena.add(scan.key);
  const fb::Span end = arena.add(scan.within_prefix ? prefix_successor(scan.key) : std::string());
  auto flags = static_cast<uint32_t>(fb::RangeFlag::HasStart);
  if (end.size() > 0) flags |= static_cast<uint32_t>(fb::RangeFlag::HasEnd);
  const fb::RangeRec range(start, end, static_cast<uint8_t>(flags), 0, 0);
  const fb::FilterNode newest = newest_version();
  flatbuffers::FlatBufferBuilder builder;
  const auto ranges = builder.CreateVectorOfStructs(&range, 1);
  const auto filter = builder.CreateVectorOfStructs(&newest, 1);
  const auto bytes = arena.finish(builder);
  fb::ReadRowsRequestBuilder request(builder);
  request.add_ranges(ranges);
  request.add_filter(filter);
  request.add_arena(bytes);
  request.add_row_limit(scan.rows);
  request.add_credits(wire::kMaxChunkCredits);
  return std::string(wire::finish_body(builder, request.Finish()));
}

class CellarProtocol final : public Protocol {
 public:
  explicit CellarProtocol(CellarTarget target) : target_(std::move(target)) {}

  bool wants(Bytes key) const override {
    return target_.route == Route::any ||
           (target_.shard_of(key) == shard_) == (target_.route == Route::direct);
  }
  bool can(Operation) const override { return true; }
  bool ready() const override { return greeted_; }
  bool leaving() const override { return leaving_; }

  void greet(std::string& out) override {
    leaving_ = false;
    greeted_ = false;
    wire::append_preface(out, {.routing_hint = target_.routing_hint});
    flatbuffers::FlatBufferBuilder builder;
    const auto name = builder.CreateString("cellar-bench");
    const auto secret = wire::byte_vector(builder, target_.token);
    fb::HelloRequestBuilder request(builder);
    request.add_client_name(name);
    if (!target_.token.empty()) request.add_auth_token(secret);
    if (target_.shard) request.add_shard(*target_.shard);
    append_request(out, fb::Op::Hello, kHelloId, wire::finish_body(builder, request.Finish()), 0);
    bind_table(out);
    ask_for_table(out);
  }

  void encode(std::string& out, uint64_t id, const Request& request) override {
    switch (request.operation) {
      case Operation::scan:
        return append_request(out, fb::Op::ReadRows, id, scan_body(request));
      case Operation::read:
      case Operation::modify:
        if (!read_ || !read_->fits(request.key, {}, 0))
          read_.emplace(read_body(request.key, target_.columns), request.key, Bytes(), 0);
        return append_request(out, fb::Op::Get, id, read_->body(request.key, {}));
      case Operation::remove:
        return append_request(out, fb::Op::MutateRow, id, remove_body(request.key));
      default:
        return encode_write(out, id, request);
    }
  }

  Result<size_t> parse(Bytes in, std::string& out, ReplySink& sink) override {
    size_t consumed = 0;
    while (in.size() - consumed >= wire::kHeaderBytes) {
      TRY(const wire::FrameHeader header,
          wire::parse_header(in.substr(consumed, wire::kHeaderBytes), wire::kLargestFrameBytes));
      const size_t size = wire::kHeaderBytes + header.body_bytes;
      if (in.size() - consumed < size) break;
      const Bytes body = in.substr(consumed + wire::kHeaderBytes, header.body_bytes);
      consumed += size;
      TRY_VOID(handle(header, body, out, sink));
    }
    return consumed;
  }

 private:
  void encode_write(std::string& out, uint64_t id, const Request& request) {
    const bool is_one_value = request.fields.size() == 1 && request.fields[0].value.size() > 8;
    if (!is_one_value) return append_request(out, fb::Op::Put, id, write_body(request));
    const FieldValue& field = request.fields[0];
    if (!write_ || !write_->fits(request.key, field.value, request.life_us) ||
        write_field_ != field.name) {
      write_.emplace(write_body(request), request.key, field.value, request.life_us);
      write_field_ = field.name;
    }
    append_request(out, fb::Op::Put, id, write_->body(request.key, field.value));
  }

  Result<void> handle(const wire::FrameHeader& header, Bytes body, std::string& out,
                      ReplySink& sink) {
    const bool ok = (header.flags & wire::kFrameError) == 0;
    const bool is_greeting = header.request_id == kHelloId || header.request_id == kTableId;
    if (!is_greeting && header.request_id >= kMaxIds)
      return fail(Errc::internal, "an answer to no request");
    switch (header.kind) {
      case wire::FrameKind::goaway:
        if (!ok) return fail(Errc::unavailable, "the server ends the connection: {}", text(body));
        leaving_ = true;
        return {};
      case wire::FrameKind::chunk:
        if (header.op == static_cast<uint16_t>(fb::Op::Get)) {
          take_row(header.request_id, body, sink);
          return {};
        }
        take_rows(header.request_id, body, sink);
        grant_chunks(header, out);
        return {};
      case wire::FrameKind::reply:
      case wire::FrameKind::end:
        break;
      default:
        return fail(Errc::unavailable, "the server sends a frame of kind {}",
                    static_cast<int>(header.kind));
    }
    if (header.request_id == kHelloId) return take_greeting(ok, body);
    if (header.request_id == kTableId) return take_table(ok, body);
    if (ok && header.op == static_cast<uint16_t>(fb::Op::Get))
      take_row(header.request_id, body, sink);
    Answer answer{.ok = ok};
    if (!ok) answer.error = text(body);
    if (header.request_id < streams_.size())
      answer.rows = std::exchange(streams_[header.request_id], {}).rows;
    sink.reply(header.request_id, answer);
    return {};
  }

  // By name: connections through a proxy may reach nodes that number their tables differently.
  void bind_table(std::string& out) const {
    flatbuffers::FlatBufferBuilder builder;
    const auto name = builder.CreateString(target_.table);
    const Bytes body = wire::finish_body(builder, fb::CreateBind(builder, name));
    wire::FrameHeader header;
    header.kind = wire::FrameKind::bind;
    header.handle = kTableHandle;
    header.body_bytes = static_cast<uint32_t>(body.size());
    wire::append_header(out, header);
    out += body;
  }

  // A node without the table ends the run before its first request.
  void ask_for_table(std::string& out) const {
    flatbuffers::FlatBufferBuilder builder;
    const auto name = builder.CreateString(target_.table);
    const Bytes body = wire::finish_body(builder, fb::CreateDescribeTableRequest(builder, name));
    append_request(out, fb::Op::DescribeTable, kTableId, body, 0);
  }
  Result<void> take_table(bool ok, Bytes body) {
    if (!ok) return fail(Errc::not_found, "{}", text(body));
    greeted_ = true;
    return {};
  }

  // The hello tells the shard of the connection.
  Result<void> take_greeting(bool ok, Bytes body) {
    if (!ok) return fail(Errc::unavailable, "{}", text(body));
    const auto* hello = wire::verified<fb::HelloReply>(aligned(body));
    if (hello == nullptr) return fail(Errc::internal, "the server's hello cannot be read");
    shard_ = hello->shard();
    return {};
  }

  // A part of the row of a Get.
  void take_row(uint64_t id, Bytes body, ReplySink& sink) {
    if (streams_.size() <= id) streams_.resize(id + 1);
    wire::GotReader reader(body);
    for (wire::GotCell cell; reader.next(cell);) {
      streams_[id].rows = 1;
      if (!target_.wants_values) return;
      sink.value(id, {}, cell.qualifier, cell.value);
    }
  }

  // Counts the rows that end in the chunk.
  void take_rows(uint64_t id, Bytes body, ReplySink& sink) {
    const auto* chunk = wire::verified<fb::ReadChunk>(aligned(body));
    if (chunk == nullptr || chunk->rows() == nullptr) return;
    if (streams_.size() <= id) streams_.resize(id + 1);
    size_t cell = 0;
    for (const fb::RowRec* row : *chunk->rows()) {
      if ((row->flags() & static_cast<uint16_t>(fb::RowFlag::Complete)) != 0) ++streams_[id].rows;
      if (target_.wants_values) take_values(id, *chunk, *row, cell, sink);
      cell += row->cell_count();
    }
  }
  void take_values(uint64_t id, const fb::ReadChunk& chunk, const fb::RowRec& row, size_t first,
                   ReplySink& sink) {
    const Bytes arena = wire::bytes_of(chunk.arena());
    const auto* cells = chunk.cells();
    Bytes key;
    if (cells == nullptr || !wire::view(row.key(), arena, key)) return;
    for (size_t i = first; i < first + row.cell_count() && i < cells->size(); ++i) {
      const fb::CellRec* cell = cells->Get(static_cast<uint32_t>(i));
      Bytes qualifier;
      Bytes value;
      if (!wire::view(fb::Span(cell->qualifier_at(), cell->qualifier_size()), arena, qualifier) ||
          !wire::view(fb::Span(cell->value_at(), cell->value_size()), arena, value))
        continue;
      sink.value(id, key, qualifier, value);
    }
  }
  // Repays the credits of consumed chunks, half of them at a time.
  void grant_chunks(const wire::FrameHeader& chunk, std::string& out) {
    constexpr uint32_t kGrant = wire::kMaxChunkCredits / 2;
    if (streams_.size() <= chunk.request_id) streams_.resize(chunk.request_id + 1);
    if (++streams_[chunk.request_id].chunks % kGrant != 0) return;
    flatbuffers::FlatBufferBuilder builder;
    fb::CreditBuilder credit(builder);
    credit.add_chunks(kGrant);
    const Bytes body = wire::finish_body(builder, credit.Finish());
    wire::FrameHeader header;
    header.kind = wire::FrameKind::credit;
    header.op = chunk.op;
    header.request_id = chunk.request_id;
    header.body_bytes = static_cast<uint32_t>(body.size());
    wire::append_header(out, header);
    out += body;
  }

  // A body that is not aligned in the receive buffer is copied.
  Bytes aligned(Bytes body) {
    if (reinterpret_cast<uintptr_t>(body.data()) % 8 == 0) return body;
    copy_.assign((body.size() + 7) / 8, 0);
    std::memcpy(copy_.data(), body.data(), body.size());
    return {reinterpret_cast<const char*>(copy_.data()), body.size()};
  }
  Bytes text(Bytes body) {
    const auto* status = wire::verified<fb::Status>(aligned(body));
    return status == nullptr ? Bytes("an answer that cannot be read")
                             : Bytes(wire::text(status->message()));
  }

  const CellarTarget target_;
  std::optional<BodyTemplate> read_;
  std::optional<BodyTemplate> write_;
  std::string write_field_;
  std::vector<uint64_t> copy_;
  struct Stream {
    uint64_t rows = 0;
    uint32_t chunks = 0;
  };
  std::vector<Stream> streams_;  // by request: received so far
  bool greeted_ = false;
  uint32_t shard_ = 0;  // that serves this connection
  bool leaving_ = false;
};

}  // namespace

std::unique_ptr<Protocol> make_cellar_protocol(CellarTarget target) {
  return std::make_unique<CellarProtocol>(std::move(target));
}

}  // namespace cellar::bench
