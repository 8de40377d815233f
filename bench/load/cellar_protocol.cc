#include <optional>

#include "bench/load/protocol.h"
#include "net/wire/body.h"
#include "net/wire/frame.h"

namespace cellar::bench {
namespace {

namespace fb = wire::fb;

constexpr Bytes kFamily = "f";
constexpr Bytes kQualifier = "q";
constexpr uint64_t kGreetingId = UINT64_MAX;

// All keys of a run have one length, and so have all values, so a request is built once and only
// its key, value and id change.
class RequestTemplate {
 public:
  RequestTemplate(fb::Op op, uint64_t table_id, Bytes body, Bytes key, Bytes value)
      : key_bytes_(key.size()), value_bytes_(value.size()) {
    wire::FrameHeader header;
    header.op = static_cast<uint16_t>(op);
    header.table_id = table_id;
    header.body_bytes = static_cast<uint32_t>(body.size());
    wire::append_header(frame_, header);
    key_at_ = frame_.size() + body.find(key);
    if (!value.empty()) value_at_ = frame_.size() + body.find(value);
    frame_ += body;
  }
  bool fits(Bytes key, Bytes value) const {
    return key.size() == key_bytes_ && value.size() == value_bytes_;
  }
  void append(std::string& out, uint64_t id, Bytes key, Bytes value) const {
    const size_t at = out.size();
    out += frame_;
    std::memcpy(out.data() + at + offsetof(wire::FrameHeader, request_id), &id, sizeof id);
    std::memcpy(out.data() + at + key_at_, key.data(), key.size());
    if (!value.empty()) std::memcpy(out.data() + at + value_at_, value.data(), value.size());
  }

 private:
  std::string frame_;
  size_t key_bytes_;
  size_t value_bytes_;
  size_t key_at_ = 0;
  size_t value_at_ = 0;
};

fb::Span put(std::string& arena, Bytes b) {
  const fb::Span span(static_cast<uint32_t>(arena.size()), static_cast<uint32_t>(b.size()));
  arena += b;
  return span;
}

RequestTemplate write_template(uint64_t table_id, Bytes key, Bytes value) {
  std::string arena;
  const fb::Span row = put(arena, key);
  const fb::Span family = put(arena, kFamily);
  const fb::Span qualifier = put(arena, kQualifier);
  const fb::Span data = put(arena, value);
  const fb::MutationRec record(0, 0, family, qualifier, data,
                               static_cast<uint8_t>(fb::MutationKind::SetCell), 0, 0, 0);
  flatbuffers::FlatBufferBuilder builder;
  const auto mutations = builder.CreateVectorOfStructs(&record, 1);
  const auto bytes =
      builder.CreateVector(reinterpret_cast<const uint8_t*>(arena.data()), arena.size());
  fb::MutateRowRequestBuilder request(builder);
  request.add_row(&row);
  request.add_mutations(mutations);
  request.add_arena(bytes);
  const Bytes body = wire::finish_body(builder, request.Finish());
  return RequestTemplate(fb::Op::MutateRow, table_id, body, key, value);
}

// Only the newest version: writes leave older versions, which other stores do not return either.
RequestTemplate read_template(uint64_t table_id, Bytes key) {
  const fb::Span row(0, static_cast<uint32_t>(key.size()));
  const fb::FilterNode newest(1, 0, 0, {}, {}, {}, 0,
                              static_cast<uint8_t>(fb::FilterKind::CellsPerColumnLimit), 0, 0);
  flatbuffers::FlatBufferBuilder builder;
  const auto filter = builder.CreateVectorOfStructs(&newest, 1);
  const auto bytes = builder.CreateVector(reinterpret_cast<const uint8_t*>(key.data()), key.size());
  fb::ReadRowRequestBuilder request(builder);
  request.add_row(&row);
  request.add_filter(filter);
  request.add_arena(bytes);
  const Bytes body = wire::finish_body(builder, request.Finish());
  return RequestTemplate(fb::Op::ReadRow, table_id, body, key, {});
}

class CellarProtocol final : public Protocol {
 public:
  CellarProtocol(uint64_t table_id, Route route, ShardOf shard_of, std::string token)
      : table_id_(table_id),
        route_(route),
        shard_of_(std::move(shard_of)),
        token_(std::move(token)) {}

  bool wants(Bytes key) const override {
    return route_ == Route::any || (shard_of_(key) == shard_) == (route_ == Route::direct);
  }

  void encode_greeting(std::string& out) override {
    leaving_ = false;
    wire::append_preface(out, {});
    flatbuffers::FlatBufferBuilder builder;
    const auto name = builder.CreateString("cellar-bench");
    const auto secret =
        builder.CreateVector(reinterpret_cast<const uint8_t*>(token_.data()), token_.size());
    fb::HelloRequestBuilder request(builder);
    request.add_client_name(name);
    if (!token_.empty()) request.add_auth_token(secret);
    const Bytes body = wire::finish_body(builder, request.Finish());
    wire::FrameHeader header;
    header.op = static_cast<uint16_t>(fb::Op::Hello);
    header.request_id = kGreetingId;
    header.body_bytes = static_cast<uint32_t>(body.size());
    wire::append_header(out, header);
    out += body;
  }
  int greetings() const override { return 1; }
  bool leaving() const override { return leaving_; }

  void encode_write(std::string& out, uint64_t id, Bytes key, Bytes value) override {
    if (!write_ || !write_->fits(key, value)) write_.emplace(write_template(table_id_, key, value));
    write_->append(out, id, key, value);
  }
  void encode_read(std::string& out, uint64_t id, Bytes key) override {
    if (!read_ || !read_->fits(key, {})) read_.emplace(read_template(table_id_, key));
    read_->append(out, id, key, {});
  }

  Result<size_t> parse(Bytes in, ReplySink& sink) override {
    size_t consumed = 0;
    while (in.size() - consumed >= wire::kHeaderBytes) {
      TRY(const wire::FrameHeader header,
          wire::parse_header(in.substr(consumed, wire::kHeaderBytes), wire::kLargestFrameBytes));
      const size_t size = wire::kHeaderBytes + header.body_bytes;
      if (in.size() - consumed < size) break;
      const Bytes body = in.substr(consumed + wire::kHeaderBytes, header.body_bytes);
      consumed += size;
      if (header.kind == wire::FrameKind::goaway) {
        leaving_ = true;
        continue;
      }
      if (header.kind != wire::FrameKind::reply)
        return fail(Errc::unavailable, "the server sends a frame of kind {}",
                    static_cast<int>(header.kind));
      const bool ok = (header.flags & wire::kFrameError) == 0;
      if (ok && header.request_id == kGreetingId) learn_shard(body);
      sink.reply(header.request_id, ok, ok ? Bytes() : describe(body));
    }
    return consumed;
  }

 private:
  // The receive buffer is not aligned, so the body is copied first.
  Bytes aligned(Bytes body) {
    copy_.assign((body.size() + 7) / 8, 0);
    std::memcpy(copy_.data(), body.data(), body.size());
    return {reinterpret_cast<const char*>(copy_.data()), body.size()};
  }
  void learn_shard(Bytes body) {
    const auto* hello = wire::verified<fb::HelloReply>(aligned(body));
    if (hello != nullptr) shard_ = hello->shard();
  }
  Bytes describe(Bytes body) {
    const auto* status = wire::verified<fb::Status>(aligned(body));
    return status == nullptr ? Bytes("an answer that cannot be read")
                             : Bytes(wire::text(status->message()));
  }

  const uint64_t table_id_;
  std::optional<RequestTemplate> write_;
  std::optional<RequestTemplate> read_;
  std::vector<uint64_t> copy_;
  const Route route_;
  const ShardOf shard_of_;
  const std::string token_;
  uint32_t shard_ = 0;  // the shard that serves this connection
  bool leaving_ = false;
};

}  // namespace

std::unique_ptr<Protocol> make_cellar_protocol(uint64_t table_id, Route route, ShardOf shard_of,
                                               std::string token) {
  return std::make_unique<CellarProtocol>(table_id, route, std::move(shard_of), std::move(token));
}

}  // namespace cellar::bench
