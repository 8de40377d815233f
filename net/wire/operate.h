// The bodies of schema/operate.fbs, with their identifiers. A header of its own, so that what every
// request includes stays small.
#pragma once

#include "net/wire/body_id.h"
#include "schema/operate_generated.h"

namespace cellar::wire {

template <>
inline constexpr const char* kBodyId<fb::BackupRequest> = "QBAK";
template <>
inline constexpr const char* kBodyId<fb::BackupReply> = "RBAK";

inline constexpr uint16_t kBackupOp = static_cast<uint16_t>(fb::OperateOp::Backup);

}  // namespace cellar::wire
