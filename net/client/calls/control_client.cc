#include "net/client/calls/control_client.h"

#include "net/client/calls/operate_loop.h"
#include "net/wire/body.h"
#include "net/wire/operate.h"
#include "net/wire/status.h"

namespace cellar::client {

namespace fb = wire::fb;

namespace {

std::vector<SettingChange> changes_of(
    const flatbuffers::Vector<flatbuffers::Offset<fb::SettingChange>>* all) {
  std::vector<SettingChange> changes;
  if (all == nullptr) return changes;
  for (const auto* one : *all) {
    changes.push_back({std::string(wire::text(one->name())), std::string(wire::text(one->before())),
                       std::string(wire::text(one->after()))});
  }
  return changes;
}

Result<ControlStatus> decode_control(const Answer& answer) {
  const auto* reply = wire::verified<fb::ControlReply>(answer.last.body);
  if (reply == nullptr) return fail(Errc::internal, "the server's answer cannot be read");
  ControlStatus status;
  status.state = wire::text(reply->state());
  status.reason = wire::text(reply->reason());
  status.connections = reply->connections();
  status.changed = changes_of(reply->changed());
  status.need_restart = changes_of(reply->need_restart());
  status.certificate_expires_us = reply->certificate_expires_us();
  if (const auto* directories = reply->backup_directories()) {
    for (const auto* one : *directories) status.backup_directories.emplace_back(wire::text(one));
  }
  return status;
}

ClientOptions one_connection(ClientOptions options) {
  options.connections = 1;
  options.route_by_shard = false;
  return options;
}

}  // namespace

struct ControlClient::Inside {
  explicit Inside(ClientOptions options) : loop(one_connection(std::move(options))) {}

  Result<ControlStatus> ask(fb::ControlAction action) {
    flatbuffers::FlatBufferBuilder builder;
    const Bytes body = wire::finish_body(builder, fb::CreateControlRequest(builder, action));
    // Idempotent, so it may be sent twice.
    return loop.ask<ControlStatus>(wire::kControlOp, body, true, &decode_control);
  }

  OperateLoop loop;
};

ControlClient::ControlClient(ClientOptions options)
    : inside_(std::make_unique<Inside>(std::move(options))) {}

ControlClient::~ControlClient() = default;

Result<ControlStatus> ControlClient::status() { return inside_->ask(fb::ControlAction::Status); }

Result<ControlStatus> ControlClient::reload() { return inside_->ask(fb::ControlAction::Reload); }

Result<ControlStatus> ControlClient::drain() { return inside_->ask(fb::ControlAction::Drain); }

Result<ControlStatus> ControlClient::take_work() {
  return inside_->ask(fb::ControlAction::TakeWork);
}

void ControlClient::sleep_us(int64_t us) { inside_->loop.sleep_us(us); }

}  // namespace cellar::client
