// What every operation requires and logs, written out: the table of operations says the same.
#include "net/server/requests/op_table.h"

#include <gtest/gtest.h>

#include <set>

namespace cellar::server {
namespace {

namespace fb = wire::fb;
using fb::Op;
using fb::OperateOp;
using security::Need;
using security::Role;
using security::Roles;

struct Expected {
  uint16_t op;
  Scope scope;
  Need need;
  Logged logged = Logged::no;

  Expected(Op number, Scope where, Need what, Logged log = Logged::no)
      : op(static_cast<uint16_t>(number)), scope(where), need(what), logged(log) {}
  Expected(OperateOp number, Scope where, Need what, Logged log = Logged::no)
      : op(static_cast<uint16_t>(number)), scope(where), need(what), logged(log) {}
};

const Need kRead{{Role::read}};
const Need kWrite{{Role::write}};
const Need kBoth{{Role::read, Role::write}};
const Need kSchema{{Role::schema}};
const Need kAdmin{{Role::admin}};
const Need kMonitor{{Role::monitor, Role::admin}, true};
const Need kAnyRole{
    {Role::read, Role::write, Role::schema, Role::retention, Role::monitor, Role::admin}, true};

const Expected kExpected[] = {
    {Op::Hello, Scope::open, {}},
    {Op::Ping, Scope::open, {}},
    {Op::ServerInfo, Scope::node, kMonitor},
    {Op::MutateRow, Scope::table, kWrite},
    {Op::MutateRows, Scope::table, kWrite},
    {Op::ReadRow, Scope::table, kRead},
    {Op::ReadRows, Scope::table, kRead},
    {Op::CheckAndMutateRow, Scope::table, kBoth},
    {Op::ReadModifyWriteRow, Scope::table, kBoth},
    {Op::DropRowRange, Scope::table, kWrite},
    {Op::SampleRowKeys, Scope::table, kRead},
    {Op::Get, Scope::table, kRead},
    {Op::Put, Scope::table, kWrite},
    {Op::CreateTable, Scope::table, kSchema, Logged::schema},
    {Op::AlterTable, Scope::table, {{Role::schema, Role::retention}}, Logged::schema},
    {Op::DropTable, Scope::table, kSchema, Logged::schema},
    {Op::RestoreTable, Scope::table, kSchema, Logged::schema},
    {Op::ListTables, Scope::list, kAnyRole},
    {Op::DescribeTable, Scope::table, kAnyRole},
    {Op::PreviewRule, Scope::table, {{Role::read, Role::retention}}},
    {Op::FlushTable, Scope::table, kAdmin, Logged::admin},
    {Op::CompactTable, Scope::table, kAdmin, Logged::admin},
    {Op::SplitTablet, Scope::table, kAdmin, Logged::admin},
    {Op::MergeTablets, Scope::table, kAdmin, Logged::admin},
    {Op::MoveTablet, Scope::table, kAdmin, Logged::admin},
    {Op::ListTablets, Scope::list, kMonitor},
    {Op::RuleHistory, Scope::table, kAnyRole},
    {Op::UndoRule, Scope::table, {{Role::retention}}, Logged::retention},
    {Op::AuditLog, Scope::table, kMonitor},
    {Op::ConfirmTime, Scope::node, kMonitor, Logged::admin},
    {Op::ReadIndex, Scope::table, kRead},
    {Op::CreateIndex, Scope::table, kSchema, Logged::schema},
    {Op::AlterIndex, Scope::table, {{Role::schema, Role::retention}}, Logged::schema},
    {Op::DropIndex, Scope::table, kSchema, Logged::schema},
    {Op::DescribeIndexes, Scope::table, kAnyRole},
    {Op::CheckIndex, Scope::table, {{Role::read, Role::monitor, Role::admin}, true}},
    {OperateOp::Backup, Scope::node, kMonitor, Logged::admin},
    {OperateOp::Control, Scope::node, kMonitor, Logged::admin},
    {OperateOp::Reclaim, Scope::table, kMonitor},
};

TEST(OpTable, EveryEntryIsWhatIsExpected) {
  for (const Expected& one : kExpected) {
    const OpSpec* spec = find_op(one.op);
    ASSERT_NE(spec, nullptr) << one.op;
    EXPECT_EQ(spec->scope, one.scope) << one.op;
    EXPECT_EQ(spec->need.roles, one.need.roles) << one.op;
    EXPECT_EQ(spec->need.any, one.need.any) << one.op;
    EXPECT_EQ(spec->logged, one.logged) << one.op;
  }
}

TEST(OpTable, ANumberOfNoSchemaHasNoEntry) {
  size_t entries = 0;
  for (uint32_t op = 0; op <= UINT16_MAX; ++op) {
    const OpSpec* spec = find_op(static_cast<uint16_t>(op));
    if (spec == nullptr) continue;
    ++entries;
    EXPECT_EQ(spec->op, op);
    EXPECT_FALSE(wire::op_name(spec->op).empty()) << op;
  }
  EXPECT_EQ(entries, std::size(kExpected));
}

// Which requests name a table by a handle, too, and which ones a node refuses whose
// table another node has.
TEST(OpTable, HowARequestNamesItsTable) {
  const std::set<Op> by_id = {
      Op::MutateRow,         Op::MutateRows,         Op::ReadRow,      Op::ReadRows,
      Op::CheckAndMutateRow, Op::ReadModifyWriteRow, Op::DropRowRange, Op::SampleRowKeys,
      Op::ListTables,        Op::SplitTablet,        Op::MergeTablets, Op::MoveTablet,
      Op::ListTablets,       Op::RuleHistory,        Op::Get,          Op::Put,
      Op::ReadIndex};
  const std::set<Op> owned = {Op::MutateRow,
                              Op::MutateRows,
                              Op::ReadRow,
                              Op::ReadRows,
                              Op::CheckAndMutateRow,
                              Op::ReadModifyWriteRow,
                              Op::DropRowRange,
                              Op::SampleRowKeys,
                              Op::CreateTable,
                              Op::AlterTable,
                              Op::DropTable,
                              Op::RestoreTable,
                              Op::DescribeTable,
                              Op::PreviewRule,
                              Op::FlushTable,
                              Op::CompactTable,
                              Op::SplitTablet,
                              Op::MergeTablets,
                              Op::MoveTablet,
                              Op::ListTablets,
                              Op::RuleHistory,
                              Op::UndoRule,
                              Op::AuditLog,
                              Op::Get,
                              Op::Put,
                              Op::ReadIndex,
                              Op::CreateIndex,
                              Op::AlterIndex,
                              Op::DropIndex,
                              Op::DescribeIndexes,
                              Op::CheckIndex,
                              static_cast<Op>(OperateOp::Reclaim)};
  for (const Expected& one : kExpected) {
    const TableRef& table = find_op(one.op)->table;
    const auto op = static_cast<Op>(one.op);
    EXPECT_EQ(table.by_id, by_id.contains(op)) << one.op;
    EXPECT_EQ(table.has_owner, owned.contains(op)) << one.op;
    EXPECT_EQ(table.in_body != nullptr, one.scope != Scope::open && one.scope != Scope::node &&
                                            op != Op::ListTables && op != Op::Get && op != Op::Put)
        << one.op;
  }
}

TEST(OpTable, WhichRequestsWaitForTime) {
  const std::set<Op> timed = {
      Op::MutateRow,          Op::MutateRows,   Op::ReadRow, Op::ReadRows, Op::CheckAndMutateRow,
      Op::ReadModifyWriteRow, Op::DropRowRange, Op::Get,     Op::Put,      Op::ReadIndex};
  for (const OpSpec& spec : kOpTable) {
    EXPECT_EQ(spec.needs_time, timed.contains(static_cast<Op>(spec.op))) << spec.op;
  }
}

// The features of the hello that are operations.
TEST(OpTable, EveryFeatureOfAnOperation) {
  std::set<std::string_view> features;
  for (const OpSpec& spec : kOpTable) {
    if (!spec.feature.empty()) features.insert(spec.feature);
  }
  const std::set<std::string_view> expected = {
      "drop_row_range", "alter_table", "sample_row_keys", "tablets", "clock",   "rule_history",
      "indexes",        "preview",        "audit_log",   "restore_table",   "backups", "control", "reclaim"};
  EXPECT_EQ(features, expected);
}

TEST(OpTable, EveryOperationOfBothSchemasIsExpectedOnce) {
  std::multiset<uint16_t> declared;
  for (const Op op : fb::EnumValuesOp()) {
    if (op != Op::None) declared.insert(static_cast<uint16_t>(op));
  }
  for (const OperateOp op : fb::EnumValuesOperateOp()) {
    if (op != OperateOp::None) declared.insert(static_cast<uint16_t>(op));
  }
  std::multiset<uint16_t> expected;
  for (const Expected& one : kExpected) expected.insert(one.op);
  EXPECT_EQ(declared, expected);
}

}  // namespace
}  // namespace cellar::server
