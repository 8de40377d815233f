// Operations on the connection and the node: Hello, Ping, ServerInfo, ConfirmTime.
#include <algorithm>

#include "engine/node/clock_keeper.h"
#include "engine/shard_figures.h"
#include "io/base/time_text.h"
#include "net/server/access/login.h"
#include "net/server/requests/dispatch.h"
#include "net/server/requests/op_table.h"
#include "net/server/shard/shard_server.h"

namespace cellar::server {

using wire::Frame;
namespace fb = wire::fb;

namespace {

constexpr size_t kMaxClientIdBytes = 64;
constexpr size_t kShownClientNameBytes = 64;  // longer names are cut
constexpr size_t kMaxEchoBytes = 1024;

// Supported features that are no operation (op_table.h has those), by the names of PROTOCOL.md.
constexpr std::string_view kFeatures[] = {
    "filters",      "splits",       "reversed", "explain",
    "include_dead", "with_expiry",  "tokens",   "drop_row_range_tokens",
    "shard_choice", "stale_handles"};

Result<void> check_hello(const fb::HelloRequest& hello) {
  if (hello.min_version() > wire::kProtocolVersion ||
      hello.max_version() < wire::kProtocolVersion) {
    return fail(Errc::failed_precondition,
                "the client speaks protocol versions {} to {}, the node version {}",
                hello.min_version(), hello.max_version(), wire::kProtocolVersion);
  }
  if (wire::bytes_of(hello.client_id()).size() > kMaxClientIdBytes) {
    return fail(Errc::invalid_argument, "a client id of {} bytes is over the limit of {}",
                hello.client_id()->size(), kMaxClientIdBytes);
  }
  return {};
}

flatbuffers::Offset<fb::Limits> limits_of(flatbuffers::FlatBufferBuilder& builder,
                                          uint32_t frame_bytes, const ServerOptions& options) {
  const MutationLimits& limits = options.engine.limits;
  return fb::CreateLimits(builder, frame_bytes, static_cast<uint32_t>(limits.cell_bytes),
                          static_cast<uint32_t>(limits.row_bytes), kMaxRowKeyBytes,
                          kMaxQualifierBytes, kMaxMutationsPerRow, options.net.in_flight,
                          wire::ChunkBuilder::kDefaultChunkBytes, wire::kDefaultChunkCredits);
}

using Names = std::vector<flatbuffers::Offset<flatbuffers::String>>;
Names put_features(flatbuffers::FlatBufferBuilder& builder) {
  std::vector<std::string_view> features(std::begin(kFeatures), std::end(kFeatures));
  for (const OpSpec& spec : kOpTable) {
    const bool known = std::ranges::find(features, spec.feature) != features.end();
    if (!spec.feature.empty() && !known) features.push_back(spec.feature);
  }
  Names names;
  for (const std::string_view name : features) {
    names.push_back(builder.CreateString(name.data(), name.size()));
  }
  return names;
}

// One shard's part of ServerInfo, in addition to the engine's.
struct Served {
  uint32_t connections = 0;
  ShardServer::Counters counters;
  engine::ShardFigures figures;
};

Async<std::vector<Served>> served_by_all(LocalShard& shard, const NodeShared& node) {
  std::vector<Served> all(node.shards.size());
  for (size_t i = 0; i < all.size(); ++i) {
    ShardServer& peer = *node.shards[i];
    auto look = [&peer, &served = all[i]]() -> Async<void> {
      served = {peer.admission().connections(), peer.counters(), peer.engine().shard_figures()};
      co_return;
    };
    co_await shard.mailbox().call_on(peer.id(), look);
  }
  co_return all;
}

fb::ShardStats shard_stats(const engine::EngineStats& e, const Served& served) {
  return fb::ShardStats(e.tablets, e.tables_on_disk, e.table_bytes, e.log_bytes, e.memtable_bytes,
                        e.cache_bytes, e.metadata_bytes, e.commits, e.flushes, e.compactions,
                        e.torn_tail_bytes, e.replayed_commits, e.read_only, 0, 0,
                        served.connections, served.counters.requests, served.counters.handed_over);
}

using Storage = std::vector<flatbuffers::Offset<fb::ShardStorage>>;
Storage storage_of(flatbuffers::FlatBufferBuilder& builder, const std::vector<Served>& all) {
  Storage storage;
  for (const Served& one : all) {
    const engine::MemoryFigures& memory = one.figures.memory;
    storage.push_back(fb::CreateShardStorage(
        builder, one.figures.cache_packed_bytes, one.figures.zstd_bytes, memory.released_bytes,
        memory.token_bytes, memory.free_bytes, memory.row_bytes, one.figures.row_hits,
        one.figures.row_misses, memory.withheld_bytes));
  }
  return storage;
}

Async<Result<Bytes>> server_info(LocalShard& shard, const NodeShared& node) {
  const std::vector<engine::EngineStats> engines = co_await shard.node().stats(shard.id());
  const engine::ClockReport clock = co_await shard.node().clock_report(shard.id());
  const std::vector<Served> served = co_await served_by_all(shard, node);
  std::vector<fb::ShardStats> stats;
  for (size_t i = 0; i < engines.size(); ++i) stats.push_back(shard_stats(engines[i], served[i]));

  auto& builder = shard.builder();
  builder.Clear();
  const engine::EngineOptions& options = shard.options().engine;
  const engine::RecoveryReport& found = shard.node().recovery();
  const auto version = builder.CreateString(node.facts.version);
  const auto backend = builder.CreateString(node.facts.io_backend);
  const auto reason = builder.CreateString(node.facts.io_reason);
  const auto list = builder.CreateVectorOfStructs(stats);
  const auto limits =
      fb::CreateServerLimits(builder, options.memory_bytes, options.memtable_bytes,
                             options.limits.cell_bytes, options.limits.row_bytes, node.frame_bytes);
  const auto recovery =
      fb::CreateRecovery(builder, found.replayed_commits, found.replayed_bytes,
                         found.torn_tail_bytes, found.orphans_removed, found.elapsed_us);
  const auto data_dir = builder.CreateString(shard.options().data_dir);
  const auto storage = builder.CreateVector(storage_of(builder, served));
  fb::ServerInfoReplyBuilder reply(builder);
  reply.add_version(version);
  reply.add_shards(static_cast<uint32_t>(engines.size()));
  reply.add_io_backend(backend);
  reply.add_io_reason(reason);
  reply.add_uptime_us(shard.wall().boot_us() - shard.started_us());
  reply.add_stats(list);
  reply.add_limits(limits);
  reply.add_recovery(recovery);
  reply.add_now_us(clock.trusted_us);
  reply.add_wall_us(clock.wall_us);
  reply.add_held_us(clock.held_us);
  reply.add_lag_us(clock.lag_us);
  reply.add_stands(clock.stands);
  reply.add_data_dir(data_dir);
  reply.add_storage(storage);
  reply.add_requests_bytes(node.memory.requests());
  reply.add_answers_bytes(node.memory.answers());
  co_return wire::finish_body(builder, reply.Finish());
}

Bytes build_clock(LocalShard& shard, const engine::ClockReport& report) {
  auto& builder = shard.builder();
  builder.Clear();
  const auto reply = fb::CreateClockReply(builder, report.trusted_us, report.wall_us,
                                          report.held_us, report.synchronised, report.steady_us,
                                          report.release_after_us, report.lag_us, report.stands);
  return wire::finish_body(builder, reply);
}

// `max_held_us`: release up to this; absent: report only.
Async<Result<Bytes>> clock_report(LocalShard& shard, std::optional<int64_t> max_held_us) {
  const engine::ClockReport report = co_await shard.node().clock_report(shard.id());
  if (!max_held_us || report.held_us == 0) co_return build_clock(shard, report);
  // Trusted time may lag by the clocks' drift between two readings.
  if (*max_held_us < report.held_us - engine::ClockKeeper::kSlackUs) {
    co_return fail(Errc::failed_precondition,
                   "{} are held, more than the {} that are to be released",
                   duration_text(report.held_us), duration_text(*max_held_us));
  }
  CO_TRY(const auto released, co_await shard.node().release_held_time(shard.id()));
  co_return build_clock(shard, released);
}

}  // namespace

Handled handle_hello(LocalShard& shard, NodeShared& node, ShardSecurity& security, Session& session,
                     const Frame& frame) {
  // A second one would log in again, under the requests of the first.
  if (session.greeted()) {
    return fail(Errc::failed_precondition, "the hello of this connection was answered before");
  }
  std::string client_name;
  Bytes client_id;
  Bytes token;
  bool stale_handles = false;
  if (!frame.body.empty()) {
    TRY(const auto* hello, body_of<fb::HelloRequest>(frame));
    TRY_VOID(check_hello(*hello));
    client_name = escape_bytes(wire::text(hello->client_name()), kShownClientNameBytes);
    client_id = wire::bytes_of(hello->client_id());
    token = wire::bytes_of(hello->auth_token());
    stale_handles = hello->stale_handles();
  }
  if (security.has_principals() &&
      !log_in(shard, security, node.addresses, session, frame.header, token, client_name)) {
    return {};
  }
  session.greet(std::move(client_name), client_id);
  if (stale_handles) session.hear_of_stale_handles();
  auto& builder = shard.builder();
  builder.Clear();
  const auto features = builder.CreateVector(put_features(builder));
  const auto limits = limits_of(builder, node.frame_bytes, shard.options());
  const auto version = builder.CreateString(node.facts.version);
  const std::string& address = shard.options().advertise;
  const auto advertise = address.empty() ? 0 : builder.CreateString(address);
  fb::HelloReplyBuilder reply(builder);
  if (!address.empty()) reply.add_advertise(advertise);
  reply.add_instance(node.facts.instance);
  reply.add_version(wire::kProtocolVersion);
  reply.add_server_version(version);
  reply.add_shard(shard.id().value());
  reply.add_shards(shard.options().shards);
  reply.add_limits(limits);
  reply.add_now_us(shard.clock().expected_us());
  reply.add_features(features);
  session.reply(frame.header, wire::finish_body(builder, reply.Finish()));
  return {};
}

Handled handle_ping(LocalShard& shard, Session& session, const Frame& frame) {
  Bytes echo;
  if (!frame.body.empty()) {
    TRY(const auto* ping, body_of<fb::PingRequest>(frame));
    echo = wire::bytes_of(ping->echo());
  }
  if (echo.size() > kMaxEchoBytes) {
    return fail(Errc::invalid_argument, "an echo of {} bytes is over the limit of {}", echo.size(),
                kMaxEchoBytes);
  }
  auto& builder = shard.builder();
  builder.Clear();
  const auto bytes = wire::byte_vector(builder, echo);
  const auto reply = fb::CreatePingReply(builder, bytes, shard.clock().expected_us());
  session.reply(frame.header, wire::finish_body(builder, reply));
  return {};
}

Handled handle_server_info(LocalShard& shard, NodeShared& node, Session& session,
                           const Frame& frame) {
  if (!frame.body.empty()) TRY_VOID(body_of<fb::ServerInfoRequest>(frame));
  return answer_with(shard, session, frame.header, server_info(shard, node));
}

Handled handle_confirm_time(LocalShard& shard, Session& session, const Frame& frame) {
  std::optional<int64_t> max_held_us;
  if (!frame.body.empty()) {
    TRY(const auto* confirm, body_of<fb::ConfirmTimeRequest>(frame));
    if (confirm->release()) max_held_us = confirm->max_held_us();
  }
  return answer_with(shard, session, frame.header, clock_report(shard, max_held_us));
}

}  // namespace cellar::server
