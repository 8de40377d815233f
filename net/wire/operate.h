// The bodies of schema/operate.fbs and their identifiers. A separate header, so that the common one
// stays small.
#pragma once

#include "net/wire/body_id.h"
#include "schema/operate_generated.h"

namespace cellar::wire {

template <>
inline constexpr const char* kBodyId<fb::BackupRequest> = "QBAK";
template <>
inline constexpr const char* kBodyId<fb::BackupReply> = "RBAK";

template <>
inline constexpr const char* kBodyId<fb::ControlRequest> = "QCTL";
template <>
inline constexpr const char* kBodyId<fb::ControlReply> = "RCTL";
template <>
inline constexpr const char* kBodyId<fb::ReclaimRequest> = "QRCL";
template <>
inline constexpr const char* kBodyId<fb::ReclaimReply> = "RRCL";

inline constexpr uint16_t kReclaimOp = static_cast<uint16_t>(fb::OperateOp::Reclaim);
inline constexpr uint16_t kBackupOp = static_cast<uint16_t>(fb::OperateOp::Backup);
inline constexpr uint16_t kControlOp = static_cast<uint16_t>(fb::OperateOp::Control);

}  // namespace cellar::wire
