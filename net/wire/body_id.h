// The FlatBuffers identifier of each root table, so that a body is never decoded as another type.
// On the wire: never change one.
#pragma once

#include "schema/admin_generated.h"
#include "schema/data_generated.h"

namespace cellar::wire {

template <class Root>
inline constexpr const char* kBodyId = nullptr;

// Requests begin with Q, replies with R.
template <>
inline constexpr const char* kBodyId<fb::HelloRequest> = "QHEL";
template <>
inline constexpr const char* kBodyId<fb::PingRequest> = "QPNG";
template <>
inline constexpr const char* kBodyId<fb::ServerInfoRequest> = "QSIN";
template <>
inline constexpr const char* kBodyId<fb::MutateRowRequest> = "QMUR";
template <>
inline constexpr const char* kBodyId<fb::MutateRowsRequest> = "QMRS";
template <>
inline constexpr const char* kBodyId<fb::ReadRowRequest> = "QRDR";
template <>
inline constexpr const char* kBodyId<fb::ReadRowsRequest> = "QRRS";
template <>
inline constexpr const char* kBodyId<fb::CheckAndMutateRowRequest> = "QCAM";
template <>
inline constexpr const char* kBodyId<fb::ReadModifyWriteRowRequest> = "QRMW";
template <>
inline constexpr const char* kBodyId<fb::DropRowRangeRequest> = "QDRR";
template <>
inline constexpr const char* kBodyId<fb::SampleRowKeysRequest> = "QSRK";
template <>
inline constexpr const char* kBodyId<fb::CreateTableRequest> = "QCRT";
template <>
inline constexpr const char* kBodyId<fb::AlterTableRequest> = "QALT";
template <>
inline constexpr const char* kBodyId<fb::DropTableRequest> = "QDRT";
template <>
inline constexpr const char* kBodyId<fb::RestoreTableRequest> = "QRST";
template <>
inline constexpr const char* kBodyId<fb::ListTablesRequest> = "QLST";
template <>
inline constexpr const char* kBodyId<fb::DescribeTableRequest> = "QDSC";
template <>
inline constexpr const char* kBodyId<fb::PreviewRuleRequest> = "QPRV";
template <>
inline constexpr const char* kBodyId<fb::RuleHistoryRequest> = "QRUL";
template <>
inline constexpr const char* kBodyId<fb::UndoRuleRequest> = "QUND";
template <>
inline constexpr const char* kBodyId<fb::AuditLogRequest> = "QAUD";
template <>
inline constexpr const char* kBodyId<fb::FlushTableRequest> = "QFLU";
template <>
inline constexpr const char* kBodyId<fb::CompactTableRequest> = "QCMP";
template <>
inline constexpr const char* kBodyId<fb::SplitTabletRequest> = "QSPL";
template <>
inline constexpr const char* kBodyId<fb::MergeTabletsRequest> = "QMRG";
template <>
inline constexpr const char* kBodyId<fb::MoveTabletRequest> = "QMOV";
template <>
inline constexpr const char* kBodyId<fb::ListTabletsRequest> = "QLTB";
template <>
inline constexpr const char* kBodyId<fb::ConfirmTimeRequest> = "QCLK";
template <>
inline constexpr const char* kBodyId<fb::ReadIndexRequest> = "QRIX";
template <>
inline constexpr const char* kBodyId<fb::CreateIndexRequest> = "QCIX";
template <>
inline constexpr const char* kBodyId<fb::AlterIndexRequest> = "QAIX";
template <>
inline constexpr const char* kBodyId<fb::DropIndexRequest> = "QXIX";
template <>
inline constexpr const char* kBodyId<fb::DescribeIndexesRequest> = "QDIX";
template <>
inline constexpr const char* kBodyId<fb::CheckIndexRequest> = "QKIX";
template <>
inline constexpr const char* kBodyId<fb::Credit> = "QCRD";
template <>
inline constexpr const char* kBodyId<fb::Bind> = "QBND";
template <>
inline constexpr const char* kBodyId<fb::Stale> = "RSTL";

template <>
inline constexpr const char* kBodyId<fb::Status> = "RSTA";
template <>
inline constexpr const char* kBodyId<fb::HelloReply> = "RHEL";
template <>
inline constexpr const char* kBodyId<fb::PingReply> = "RPNG";
template <>
inline constexpr const char* kBodyId<fb::ServerInfoReply> = "RSIN";
template <>
inline constexpr const char* kBodyId<fb::MutateRowReply> = "RMUR";
template <>
inline constexpr const char* kBodyId<fb::MutateRowsReply> = "RMRS";
template <>
inline constexpr const char* kBodyId<fb::CheckAndMutateRowReply> = "RCAM";
template <>
inline constexpr const char* kBodyId<fb::DropRowRangeReply> = "RDRR";
template <>
inline constexpr const char* kBodyId<fb::ReadChunk> = "RCHK";
template <>
inline constexpr const char* kBodyId<fb::ReadEnd> = "REND";
template <>
inline constexpr const char* kBodyId<fb::SampleRowKeysReply> = "RSRK";
template <>
inline constexpr const char* kBodyId<fb::ListTablesReply> = "RLST";
template <>
inline constexpr const char* kBodyId<fb::TableDescription> = "RDSC";
template <>
inline constexpr const char* kBodyId<fb::PreviewRuleReply> = "RPRV";
template <>
inline constexpr const char* kBodyId<fb::RuleHistoryReply> = "RRUL";
template <>
inline constexpr const char* kBodyId<fb::PreviewProgress> = "RPRP";
template <>
inline constexpr const char* kBodyId<fb::AuditLogReply> = "RAUD";
template <>
inline constexpr const char* kBodyId<fb::ReshapeReply> = "RRSH";
template <>
inline constexpr const char* kBodyId<fb::ListTabletsReply> = "RLTB";
template <>
inline constexpr const char* kBodyId<fb::ClockReply> = "RCLK";
template <>
inline constexpr const char* kBodyId<fb::DescribeIndexesReply> = "RDIX";
template <>
inline constexpr const char* kBodyId<fb::CheckIndexReply> = "RKIX";

}  // namespace cellar::wire
