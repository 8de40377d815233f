#include "net/server/requests/named_table.h"

#include "net/wire/body.h"

namespace cellar::server {
namespace {

namespace fb = wire::fb;

template <class Request>
std::string_view by_table(const wire::Frame& frame) {
  const auto* request = wire::verified<Request>(frame.body);
  return request == nullptr ? std::string_view() : wire::text(request->table());
}

template <class Request>
std::string_view by_name(const wire::Frame& frame) {
  const auto* request = wire::verified<Request>(frame.body);
  return request == nullptr ? std::string_view() : wire::text(request->name());
}

}  // namespace

std::string_view named_table(const wire::Frame& frame) {
  switch (static_cast<fb::Op>(frame.header.op)) {
    case fb::Op::MutateRow:
      return by_table<fb::MutateRowRequest>(frame);
    case fb::Op::MutateRows:
      return by_table<fb::MutateRowsRequest>(frame);
    case fb::Op::ReadRow:
      return by_table<fb::ReadRowRequest>(frame);
    case fb::Op::ReadRows:
      return by_table<fb::ReadRowsRequest>(frame);
    case fb::Op::CheckAndMutateRow:
      return by_table<fb::CheckAndMutateRowRequest>(frame);
    case fb::Op::ReadModifyWriteRow:
      return by_table<fb::ReadModifyWriteRowRequest>(frame);
    case fb::Op::DropRowRange:
      return by_table<fb::DropRowRangeRequest>(frame);
    case fb::Op::SampleRowKeys:
      return by_table<fb::SampleRowKeysRequest>(frame);
    case fb::Op::CreateTable:
      return by_name<fb::CreateTableRequest>(frame);
    case fb::Op::AlterTable:
      return by_name<fb::AlterTableRequest>(frame);
    case fb::Op::DropTable:
      return by_name<fb::DropTableRequest>(frame);
    case fb::Op::RestoreTable:
      return by_name<fb::RestoreTableRequest>(frame);
    case fb::Op::DescribeTable:
      return by_name<fb::DescribeTableRequest>(frame);
    default:
      return {};  // about this node only
  }
}

}  // namespace cellar::server
