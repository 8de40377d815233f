// The current schema against every released one (schema/released), and proof that the check refuses
// changes that break released clients or nodes.
#include "tests/net/evolution/conform.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "net/wire/body_id.h"
#include "net/wire/frame.h"
#include "net/wire/operate.h"

namespace cellar::evolution {
namespace {

namespace fb = wire::fb;

const std::string kSchema = std::string(CELLAR_SOURCE_DIR) + "/schema";
constexpr const char* kFiles[] = {"common.fbs", "data.fbs", "admin.fbs", "operate.fbs"};

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

TEST(Conform, TheSchemaKeepsWhatEveryReleasePromised) {
  size_t releases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kSchema + "/released")) {
    ++releases;
    for (const char* file : kFiles) {
      const auto released = parse_schema(read_schema(entry.path(), file), entry.path());
      const auto now = parse_schema(read_schema(kSchema, file), kSchema);
      EXPECT_EQ(joined(broken_promises(*released, *now)), "") << entry.path() << " " << file;
    }
  }
  EXPECT_GE(releases, 1u);
}

// A replacement in a file of the schema, and whether it is allowed.
struct Change {
  const char* what;
  const char* file;
  const char* from;
  const char* to;
  bool allowed;
};

constexpr Change kChanges[] = {
    {"a field changes its type", "common.fbs", "retry_after_ms:uint", "retry_after_ms:ulong",
     false},
    {"a default changes", "common.fbs", "retry_after_ms:uint = 4294967295",
     "retry_after_ms:uint = 0", false},
    {"two fields swap ids", "data.fbs", "tablets:uint (id: 0);",
     "other:uint (id: 0); tablets:uint (id: 1);", false},
    {"a field is renamed", "data.fbs", "repeated:bool (id: 1);  ", "again:bool (id: 1);", false},
    {"a field goes", "data.fbs", "  cells:ulong (id: 1);", "", false},
    {"a field becomes required", "data.fbs", "client_name:string (id: 2);",
     "client_name:string (id: 2, required);", false},
    {"a required field becomes optional", "data.fbs", "row:Span (id: 1, required);",
     "row:Span (id: 1);", false},
    {"a new field is required", "data.fbs", "listener:string (id: 6);",
     "listener:string (id: 6); zone:string (id: 7, required);", false},
    {"a struct grows", "data.fbs", "bytes_before:ulong;", "bytes_before:ulong; more:ulong;", false},
    {"a struct's fields swap", "common.fbs", "  at:uint;\n  size:uint;", "  size:uint;\n  at:uint;",
     false},
    {"a struct's field changes its type", "data.fbs", "label_set:ushort;", "label_set:short;",
     false},
    {"an operation is renumbered", "common.fbs", "ReadRows = 19", "ReadRows = 200", false},
    {"an operation goes", "common.fbs", "  CompactTable = 40,\n", "", false},
    {"an enum gets wider", "common.fbs", "enum Applied : ubyte", "enum Applied : ushort", false},
    {"a table goes", "data.fbs", "table ReadEnd {", "table ReadFinish {", false},
    {"a field is added", "data.fbs", "listener:string (id: 6);",
     "listener:string (id: 6); zone:string (id: 7);", true},
    {"an operation is added", "common.fbs", "  CompactTable = 40,\n",
     "  CompactTable = 40, Another = 200,\n", true},
    {"a reserved field is put to use", "data.fbs", "reserved:ushort;                     // 0\n}",
     "depth:ushort;\n}", true},
    {"an operation of a node is renumbered", "operate.fbs", "Reclaim = 66", "Reclaim = 67", false},
    {"a reason is renumbered", "operate.fbs", "InVain = 18", "InVain = 19", false},
    {"a table is added", "data.fbs", "table ReadEnd {",
     "table Another { x:uint (id: 0); }\ntable ReadEnd {", true},
};

TEST(Conform, TheCheckRefusesEachKindOfBreak) {
  for (const Change& change : kChanges) {
    const std::string released_folder = kSchema + "/released/1";
    const std::string before = read_schema(released_folder, change.file);
    std::string after = before;
    const size_t at = after.find(change.from);
    ASSERT_NE(at, std::string::npos) << change.what;
    after.replace(at, std::string(change.from).size(), change.to);
    const auto released = parse_schema(before, released_folder);
    const auto changed = parse_schema(after, released_folder);
    EXPECT_EQ(broken_promises(*released, *changed).empty(), change.allowed)
        << change.what << "\n"
        << joined(broken_promises(*released, *changed));
  }
}

// ---- rules beyond the .fbs files

std::string hex(Bytes bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<uint8_t>(c));
  return out;
}

TEST(Conform, PrefaceAndHeaderLieAsTheyWereReleased) {
  std::string bytes;
  wire::append_preface(bytes, {.routing_hint = 0x0807060504030201});
  EXPECT_EQ(hex(bytes), "010203040506070843454c4c41520200");
  wire::FrameHeader header;
  header.body_bytes = 0x14131210;
  header.kind = wire::FrameKind::reply;
  header.op = 0x21;
  header.flags = wire::kFrameError;
  header.request_id = 0x54535251;
  header.handle = 0x64636261;
  header.deadline_ms = 0x44434241;
  header.checksum = 0x74737271;
  bytes.clear();
  wire::append_header(bytes, header);
  EXPECT_EQ(hex(bytes),
            "1012131402210100"
            "5152535461626364"
            "4142434471727374");
}

TEST(Conform, KindsFlagsAndStatusCodesKeepTheirNumbers) {
  const wire::FrameKind kinds[] = {
      wire::FrameKind::request, wire::FrameKind::reply,  wire::FrameKind::chunk,
      wire::FrameKind::end,     wire::FrameKind::cancel, wire::FrameKind::credit,
      wire::FrameKind::goaway,  wire::FrameKind::bind,   wire::FrameKind::stale};
  for (size_t i = 0; i < std::size(kinds); ++i) EXPECT_EQ(static_cast<size_t>(kinds[i]), i + 1);
  EXPECT_EQ(wire::kFrameError, 1u);
  EXPECT_EQ(wire::kFrameChecked, 2u);
  EXPECT_EQ(static_cast<int>(Errc::ok), 0);
  EXPECT_EQ(static_cast<int>(Errc::cancelled), 1);
  EXPECT_EQ(static_cast<int>(Errc::invalid_argument), 3);
  EXPECT_EQ(static_cast<int>(Errc::deadline_exceeded), 4);
  EXPECT_EQ(static_cast<int>(Errc::not_found), 5);
  EXPECT_EQ(static_cast<int>(Errc::already_exists), 6);
  EXPECT_EQ(static_cast<int>(Errc::resource_exhausted), 8);
  EXPECT_EQ(static_cast<int>(Errc::failed_precondition), 9);
  EXPECT_EQ(static_cast<int>(Errc::aborted), 10);
  EXPECT_EQ(static_cast<int>(Errc::out_of_range), 11);
  EXPECT_EQ(static_cast<int>(Errc::unimplemented), 12);
  EXPECT_EQ(static_cast<int>(Errc::internal), 13);
  EXPECT_EQ(static_cast<int>(Errc::unavailable), 14);
  EXPECT_EQ(static_cast<int>(Errc::data_loss), 15);
  EXPECT_EQ(static_cast<int>(Errc::unauthenticated), 16);
}

TEST(Conform, BodiesKeepTheirIdentifiers) {
  const std::pair<const char*, const char*> ids[] = {
      {wire::kBodyId<fb::HelloRequest>, "QHEL"},
      {wire::kBodyId<fb::HelloReply>, "RHEL"},
      {wire::kBodyId<fb::PingRequest>, "QPNG"},
      {wire::kBodyId<fb::PingReply>, "RPNG"},
      {wire::kBodyId<fb::ServerInfoRequest>, "QSIN"},
      {wire::kBodyId<fb::ServerInfoReply>, "RSIN"},
      {wire::kBodyId<fb::MutateRowRequest>, "QMUR"},
      {wire::kBodyId<fb::MutateRowReply>, "RMUR"},
      {wire::kBodyId<fb::MutateRowsRequest>, "QMRS"},
      {wire::kBodyId<fb::MutateRowsReply>, "RMRS"},
      {wire::kBodyId<fb::ReadRowRequest>, "QRDR"},
      {wire::kBodyId<fb::ReadRowsRequest>, "QRRS"},
      {wire::kBodyId<fb::ReadChunk>, "RCHK"},
      {wire::kBodyId<fb::ReadEnd>, "REND"},
      {wire::kBodyId<fb::CheckAndMutateRowRequest>, "QCAM"},
      {wire::kBodyId<fb::CheckAndMutateRowReply>, "RCAM"},
      {wire::kBodyId<fb::ReadModifyWriteRowRequest>, "QRMW"},
      {wire::kBodyId<fb::DropRowRangeRequest>, "QDRR"},
      {wire::kBodyId<fb::DropRowRangeReply>, "RDRR"},
      {wire::kBodyId<fb::SampleRowKeysRequest>, "QSRK"},
      {wire::kBodyId<fb::SampleRowKeysReply>, "RSRK"},
      {wire::kBodyId<fb::CreateTableRequest>, "QCRT"},
      {wire::kBodyId<fb::AlterTableRequest>, "QALT"},
      {wire::kBodyId<fb::DropTableRequest>, "QDRT"},
      {wire::kBodyId<fb::RestoreTableRequest>, "QRST"},
      {wire::kBodyId<fb::ListTablesRequest>, "QLST"},
      {wire::kBodyId<fb::ListTablesReply>, "RLST"},
      {wire::kBodyId<fb::DescribeTableRequest>, "QDSC"},
      {wire::kBodyId<fb::TableDescription>, "RDSC"},
      {wire::kBodyId<fb::PreviewRuleRequest>, "QPRV"},
      {wire::kBodyId<fb::PreviewRuleReply>, "RPRV"},
      {wire::kBodyId<fb::FlushTableRequest>, "QFLU"},
      {wire::kBodyId<fb::CompactTableRequest>, "QCMP"},
      {wire::kBodyId<fb::Credit>, "QCRD"},
      {wire::kBodyId<fb::Bind>, "QBND"},
      {wire::kBodyId<fb::BackupRequest>, "QBAK"},
      {wire::kBodyId<fb::BackupReply>, "RBAK"},
      {wire::kBodyId<fb::ControlRequest>, "QCTL"},
      {wire::kBodyId<fb::ControlReply>, "RCTL"},
      {wire::kBodyId<fb::ReclaimRequest>, "QRCL"},
      {wire::kBodyId<fb::ReclaimReply>, "RRCL"},
      {wire::kBodyId<fb::Status>, "RSTA"},
  };
  for (const auto& [is, was] : ids) EXPECT_STREQ(is, was);
}

}  // namespace
}  // namespace cellar::evolution
