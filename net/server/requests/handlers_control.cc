// Control: operator commands and status of the node.
#include "net/server/control/readiness.h"
#include "net/server/control/reload_queue.h"
#include "net/server/requests/dispatch.h"
#include "net/server/shard/shard_server.h"
#include "net/wire/operate.h"

namespace cellar::server {

using wire::Frame;
using wire::FrameHeader;
namespace fb = wire::fb;

namespace {

using Builder = flatbuffers::FlatBufferBuilder;

Async<uint64_t> connections_of_all(LocalShard& shard, const NodeShared& node) {
  uint64_t all = 0;
  for (ShardServer* peer : node.shards) {
    auto look = [peer, &all]() -> Async<void> {
      all += peer->admission().connections();
      co_return;
    };
    co_await shard.mailbox().call_on(peer->id(), look);
  }
  co_return all;
}

flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fb::SettingChange>>> put_changes(
    Builder& builder, const std::vector<ChangedSetting>& changes) {
  std::vector<flatbuffers::Offset<fb::SettingChange>> all;
  for (const ChangedSetting& one : changes) {
    const auto name = builder.CreateString(one.name.data(), one.name.size());
    const auto before = builder.CreateString(one.before);
    const auto after = builder.CreateString(one.after);
    all.push_back(fb::CreateSettingChange(builder, name, before, after));
  }
  return builder.CreateVector(all);
}

// Splits a comma-separated setting.
std::vector<std::string> parts_of(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const size_t end = std::min(list.find(','), list.size());
    if (end > 0) parts.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return parts;
}

void reply_control(LocalShard& shard, const Readiness& readiness, const TlsContext* tls,
                   Session& session, const FrameHeader& header, const ReloadPlan& plan,
                   uint64_t connections) {
  Builder& builder = shard.builder();
  builder.Clear();
  const std::string_view name = name_of(readiness.state());
  const auto state = builder.CreateString(name.data(), name.size());
  const auto reason = builder.CreateString(readiness.reason());
  const auto changed = put_changes(builder, plan.changed);
  const auto need_restart = put_changes(builder, plan.need_restart);
  const auto directories =
      builder.CreateVectorOfStrings(parts_of(shard.options().backup.directories));
  fb::ControlReplyBuilder reply(builder);
  reply.add_state(state);
  reply.add_reason(reason);
  reply.add_connections(connections);
  reply.add_changed(changed);
  reply.add_need_restart(need_restart);
  if (tls != nullptr) reply.add_certificate_expires_us(tls->expires_s() * 1'000'000);
  reply.add_backup_directories(directories);
  session.reply(header, wire::finish_body(builder, reply.Finish()));
}

Async<void> control(LocalShard& shard, NodeShared& node, ShardSecurity& security, Session& session,
                    FrameHeader header, fb::ControlAction action) {
  Readiness& readiness = *node.control.readiness;
  ReloadPlan plan;
  if (action == fb::ControlAction::Drain) readiness.drain(true);
  if (action == fb::ControlAction::TakeWork) readiness.drain(false);
  if (action == fb::ControlAction::Reload) {
    ReloadQueue& desk = *node.control.reloads;
    auto there = [&desk] { return desk.reload(); };
    auto done = co_await shard.mailbox().call_on(ShardId{0}, there);
    if (!done) co_return session.reply_error(header, done.error());
    plan = std::move(*done);
  }
  const uint64_t connections = co_await connections_of_all(shard, node);
  reply_control(shard, readiness, security.policy().tls.get(), session, header, plan, connections);
}

}  // namespace

void handle_control(LocalShard& shard, NodeShared& node, ShardSecurity& security, Session& session,
                    const Frame& frame) {
  if (node.control.readiness == nullptr || node.control.reloads == nullptr) {
    return session.reply_error(
        frame.header, Error(Errc::unimplemented, "this node has nobody who would hear it"));
  }
  fb::ControlAction action = fb::ControlAction::Status;
  if (!frame.body.empty()) {
    const auto* request = wire::verified<fb::ControlRequest>(frame.body);
    if (request == nullptr) {
      return session.reply_malformed(
          frame.header, Error(Errc::invalid_argument, "the body is no Control request"));
    }
    action = request->action();
  }
  if (action > fb::ControlAction::MAX) {
    return session.reply_error(frame.header, Error(Errc::invalid_argument, "no such action"));
  }
  spawn(shard.executor(), control(shard, node, security, session, frame.header, action));
}

}  // namespace cellar::server
