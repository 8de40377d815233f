#include "net/wire/status.h"

namespace cellar::wire {

Bytes build_status(flatbuffers::FlatBufferBuilder& builder, const Error& error,
                   const TabletHint* hint) {
  builder.Clear();
  const std::string_view message =
      std::string_view(error.message).substr(0, kMaxStatusMessageBytes);
  const auto text = builder.CreateString(message.data(), message.size());
  const bool elsewhere = hint != nullptr && !hint->owner.empty();
  const auto owner = elsewhere ? builder.CreateString(hint->owner) : 0;
  fb::StatusBuilder status(builder);
  if (elsewhere) status.add_owner(owner);
  status.add_code(static_cast<uint8_t>(error.code));
  status.add_applied(static_cast<fb::Applied>(error.applied));
  status.add_retry_after_ms(error.retry_after_ms);
  status.add_message(text);
  if (hint != nullptr) {
    status.add_table_id(hint->table.value());
    status.add_tablet_id(hint->tablet.value());
    status.add_epoch(hint->epoch.value());
    status.add_shard(hint->shard);
  }
  return finish_body(builder, status.Finish());
}

Errc errc_of(uint8_t code) {
  return code <= static_cast<uint8_t>(Errc::unauthenticated) ? static_cast<Errc>(code)
                                                             : Errc::unknown;
}

Applied applied_of(uint8_t applied) {
  return applied <= static_cast<uint8_t>(Applied::applied) ? static_cast<Applied>(applied)
                                                           : Applied::maybe_applied;
}

std::optional<TabletHint> hint_of(const fb::Status& status) {
  const std::string_view owner = text(status.owner());
  const bool told = status.tablet_id() != 0 || !owner.empty();
  if (errc_of(status.code()) != Errc::aborted || !told) return std::nullopt;
  return TabletHint{TableId{status.table_id()}, TabletId{status.tablet_id()}, Epoch{status.epoch()},
                    status.shard(), std::string(owner)};
}

Error error_of(const fb::Status& status) {
  Error error(errc_of(status.code()), std::string(text(status.message())));
  error.applied = applied_of(static_cast<uint8_t>(status.applied()));
  error.retry_after_ms = status.retry_after_ms();
  return error;
}

}  // namespace cellar::wire
