// Control: operator commands and status of the node.
#include "net/server/config/backup_directories.h"
#include "net/server/control/readiness.h"
#include "net/server/control/reload.h"
#include "net/server/requests/dispatch.h"
#include "net/server/shard/shard_server.h"
#include "net/wire/operate.h"

namespace cellar::server {

using wire::Frame;
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

Bytes build_status(LocalShard& shard, const Readiness& readiness, const TlsContext* tls,
                   const ReloadPlan& plan, uint64_t connections) {
  Builder& builder = shard.builder();
  builder.Clear();
  const std::string_view name = name_of(readiness.state());
  const auto state = builder.CreateString(name.data(), name.size());
  const auto reason = builder.CreateString(readiness.reason());
  const auto changed = put_changes(builder, plan.changed);
  const auto need_restart = put_changes(builder, plan.need_restart);
  const auto directories =
      builder.CreateVectorOfStrings(directories_of(shard.options().backup.directories));
  fb::ControlReplyBuilder reply(builder);
  reply.add_state(state);
  reply.add_reason(reason);
  reply.add_connections(connections);
  reply.add_changed(changed);
  reply.add_need_restart(need_restart);
  if (tls != nullptr) reply.add_certificate_expires_us(tls->expires_s() * 1'000'000);
  reply.add_backup_directories(directories);
  return wire::finish_body(builder, reply.Finish());
}

Async<Result<Bytes>> control(LocalShard& shard, NodeShared& node, ShardSecurity& security,
                             fb::ControlAction action) {
  Readiness& readiness = *node.control.readiness;
  ReloadPlan plan;
  if (action == fb::ControlAction::Drain) readiness.drain(true);
  if (action == fb::ControlAction::TakeWork) readiness.drain(false);
  if (action == fb::ControlAction::Reload) {
    ReloadQueue& desk = *node.control.reloads;
    auto there = [&desk] { return desk.reload(); };
    CO_TRY(plan, co_await shard.mailbox().call_on(ShardId{0}, there));
  }
  const uint64_t connections = co_await connections_of_all(shard, node);
  co_return build_status(shard, readiness, security.policy().tls.get(), plan, connections);
}

}  // namespace

Handled handle_control(LocalShard& shard, NodeShared& node, ShardSecurity& security,
                       Session& session, const Frame& frame) {
  if (node.control.readiness == nullptr || node.control.reloads == nullptr) {
    return fail(Errc::unimplemented, "this node has nobody who would hear it");
  }
  fb::ControlAction action = fb::ControlAction::Status;
  if (!frame.body.empty()) {
    TRY(const auto* request, body_of<fb::ControlRequest>(frame));
    action = request->action();
  }
  if (action > fb::ControlAction::MAX) {
    return fail(Errc::invalid_argument, "no such action");
  }
  return answer_with(shard, session, frame.header, control(shard, node, security, action));
}

}  // namespace cellar::server
