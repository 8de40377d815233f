#include "tests/net/server/server_bed.h"

#include <algorithm>

#include "net/server/requests/dispatch.h"

namespace cellar::server {

using wire::FrameKind;
namespace fb = wire::fb;

ServerBed::ServerBed(uint32_t shards, ServerOptions options, uint64_t seed, int64_t disk_latency_us,
                     std::string host)
    : options_(std::move(options)),
      host_(std::move(host)),
      world_(seed),
      fabric_(world_),
      mailboxes_(shards),
      client_loop_(&world_.add_loop()),
      parts_(shards) {
  options_.shards = shards;
  options_.engine.log_segment_bytes = 1u << 20;
  if (options_.engine.memory_bytes == engine::EngineOptions().memory_bytes) {
    options_.engine.memory_bytes = 64u << 20;
  }
  for (uint32_t i = 0; i < shards; ++i) {
    Part& part = parts_[i];
    part.loop = &world_.add_loop();
    mailboxes_.attach(ShardId{i}, *part.loop);
    part.shard = std::make_unique<Shard>(ShardId{i}, *part.loop, mailboxes_.of(ShardId{i}),
                                         world_.clock(), seed + i);
    part.runtime.emplace(part.shard->runtime());
    auto fs = std::make_unique<MemFs>(part.loop->executor(), disk_,
                                      MemFsOptions{.timers = &part.loop->timers(),
                                                   .min_latency_us = disk_latency_us,
                                                   .max_latency_us = disk_latency_us});
    part.fs = std::make_unique<FaultyFs>(part.loop->executor(), std::move(fs), faults_,
                                         &part.loop->timers());
    engine::LogOptions log;
    log.segment_bytes = options_.engine.log_segment_bytes;
    part.logs = engine::make_local_log_store(*part.fs, *part.runtime, log);
    part.blobs = engine::make_local_blob_store(*part.fs, &part.runtime->timers);
    part.network = std::make_unique<SimNetwork>(fabric_, *part.loop);
  }
  const Result<void> opened = world_.block_on(*parts_[0].loop, open());
  CHECK(opened, "the node does not open: {}", opened.error().message);
}

Async<Result<void>> ServerBed::open() {
  CO_TRY(manifest_,
         co_await engine::open_local_manifest_store(*parts_[0].fs, engine::ManifestOptions()));
  std::vector<engine::ShardEnv> envs;
  for (Part& part : parts_) envs.push_back({*part.runtime, *part.logs, *part.blobs});
  CO_TRY(node_,
         co_await engine::Node::open(options_.engine, std::move(envs), *manifest_, mailboxes_));
  shared_ = std::make_unique<NodeShared>(facts_, options_, 1);
  for (size_t i = 0; i < parts_.size(); ++i) {
    parts_[i].server = std::make_unique<ShardServer>(*parts_[i].shard, *node_, options_, *shared_,
                                                     world_.clock(), request_handler());
    shared_->shards[i] = parts_[i].server.get();
  }
  for (Part& part : parts_) {
    CO_TRY(auto listener, co_await part.network->listen(host_, kPort, true));
    part.server->listen(std::move(listener));
  }
  co_return Result<void>();
}

size_t ServerBed::blobs_on_disk() {
  const auto blobs = world_.block_on(*parts_[0].loop, parts_[0].blobs->list());
  CHECK(blobs, "the blobs cannot be listed: {}", blobs.error().message);
  return blobs->size();
}

void ServerBed::stop() {
  if (stopped_) return;
  stopped_ = true;
  size_t left = parts_.size();
  for (Part& part : parts_) {
    auto stop_one = [](ShardServer& server, size_t& count) -> Async<void> {
      co_await server.stop();
      --count;
    };
    spawn(part.loop->executor(), stop_one(*part.server, left));
  }
  CHECK(world_.run_until([&] { return left == 0; }), "the servers do not stop");
  const Result<void> closed = world_.block_on(*parts_[0].loop, node_->close());
  CHECK(closed, "the node does not close: {}", closed.error().message);
}

ServerBed::~ServerBed() {
  stop();
  for (Part& part : parts_) part.server.reset();
  node_.reset();
  manifest_.reset();
  world_.crash();
}

Errc Answer::code() {
  if (!error()) return Errc::ok;
  const auto* status = root<fb::Status>();
  return status == nullptr ? Errc::unknown : wire::errc_of(status->code());
}

std::string Answer::message() {
  const auto* status = error() ? root<fb::Status>() : nullptr;
  return status == nullptr ? std::string() : std::string(wire::text(status->message()));
}

Peer::Peer(ServerBed& bed, bool greet, const std::string& hello)
    : bed_(bed), network_(bed.fabric(), bed.client_loop()) {
  const Result<void> connected = bed_.world().block_on(bed_.client_loop(), connect());
  CHECK(connected, "cannot connect: {}", connected.error().message);
  spawn(bed_.client_loop().executor(), read_loop());
  if (!greet) return;
  std::string preface;
  wire::append_preface(preface, {});
  send(preface + wire::request_frame(fb::Op::Hello, 1, hello));
  CHECK(answer(1).has_value(), "no answer to the hello");
}

Peer::~Peer() {
  hang_up();
  bed_.world().run_until([&] { return coroutines_ == 0; });
}

Async<Result<void>> Peer::connect() {
  CO_TRY(stream_, co_await network_.connect(bed_.host(), ServerBed::kPort, 1'000'000));
  co_return Result<void>();
}

void Peer::hang_up() {
  stream_->close();
  resume_reading();
}

void Peer::resume_reading() {
  paused_ = false;
  resumed_.set();
}

Async<void> Peer::read_loop() {
  ++coroutines_;
  wire::FrameReader frames(wire::kLargestFrameBytes);
  while (true) {
    if (paused_) {
      resumed_.reset();
      co_await resumed_.wait();
    }
    const Result<size_t> n = co_await stream_->read_some(frames.space());
    if (!n || *n == 0) break;
    frames.received(*n);
    while (true) {
      const auto frame = frames.next();
      CHECK(frame, "the server sent garbage: {}", frame.error().message);
      if (*frame == nullptr) break;
      received.push_back({(*frame)->header, {}, std::string((*frame)->body)});
    }
  }
  closed_ = true;
  --coroutines_;
}

Async<void> Peer::write_one(std::string bytes) {
  ++coroutines_;
  {
    const AsyncMutex::Lock lock = co_await writing_.lock();
    const Bytes part = bytes;
    (void)co_await stream_->write({&part, 1});
  }
  --coroutines_;
}

void Peer::send(std::string bytes) {
  spawn(bed_.client_loop().executor(), write_one(std::move(bytes)));
}

std::optional<Answer> Peer::answer(uint64_t id) {
  const auto last = [&] {
    return std::find_if(received.begin(), received.end(), [&](const Answer& a) {
      return a.header.request_id == id &&
             (a.header.kind == FrameKind::reply || a.header.kind == FrameKind::end);
    });
  };
  constexpr int64_t kPatienceUs = 600'000'000;
  bed_.world().run_until([&] { return closed_ || last() != received.end(); }, kPatienceUs);
  const auto found = last();
  if (found == received.end()) return std::nullopt;
  Answer answer = std::move(*found);
  received.erase(found);
  return answer;
}

std::optional<Answer> Peer::ask(fb::Op op, std::string body) {
  const uint64_t id = next_id_++;
  send(wire::request_frame(op, id, body));
  return answer(id);
}

Errc Peer::code_of(fb::Op op, std::string body) {
  auto got = ask(op, std::move(body));
  return got ? got->code() : Errc::unknown;
}

bool Peer::closes() {
  return bed_.world().run_until([&] { return closed_; }, 60'000'000);
}

std::vector<std::string> cells_of(Answer& chunk) {
  std::vector<std::string> out;
  if (chunk.body.empty()) return out;
  const auto* root = chunk.root<fb::ReadChunk>();
  CHECK(root != nullptr, "a chunk does not verify");
  const Bytes arena = wire::bytes_of(root->arena());
  uint32_t next = 0;
  for (const fb::RowRec* row : *root->rows()) {
    const Bytes key = arena.substr(row->key().at(), row->key().size());
    for (uint32_t i = 0; i < row->cell_count(); ++i) {
      const fb::CellRec* cell = root->cells()->Get(next++);
      out.push_back(
          fmt::format("{} {}:{}@{}={}", key, arena.substr(cell->family_at(), cell->family_size()),
                      arena.substr(cell->qualifier_at(), cell->qualifier_size()), cell->timestamp(),
                      arena.substr(cell->value_at(), cell->value_size())));
    }
  }
  return out;
}

std::vector<std::string> read_all(Peer& peer, std::string_view table, wire::ReadRowsShape shape) {
  shape.credits = wire::kMaxChunkCredits;
  peer.received.clear();
  auto end = peer.ask(fb::Op::ReadRows, wire::read_rows_body(table, shape));
  std::vector<std::string> out;
  for (Answer& chunk : peer.received) {
    for (std::string& cell : cells_of(chunk)) out.push_back(std::move(cell));
  }
  if (!end) out.push_back("closed");
  if (end && end->error()) out.push_back("!" + std::string(errc_name(end->code())));
  return out;
}

}  // namespace cellar::server
