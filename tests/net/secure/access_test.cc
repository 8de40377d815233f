// Every operation by every role, against expectations stated here independently of the table.
#include "net/server/access/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>

#include "net/server/requests/op_table.h"
#include "net/wire/point_codec.h"
#include "tests/net/secure/secure_bed.h"

namespace cellar::server {
namespace {

namespace fb = wire::fb;
using fb::Op;
using security::Role;
using security::Roles;
using testing::HasSubstr;

// A body that names `table`, if the operation has one; permissions do not depend on the rest.
template <class Root>
std::string finished(flatbuffers::FlatBufferBuilder& b, flatbuffers::Offset<Root> root) {
  return std::string(wire::finish_body(b, root));
}
std::string body_of_op(Op op, std::string_view table) {
  flatbuffers::FlatBufferBuilder b;
  const auto name = b.CreateString(table.data(), table.size());
  const auto family = b.CreateString("f");
  const fb::Span row(0, 1);
  const auto bytes = wire::bytes_vector(b, "r");
  switch (op) {
    case Op::MutateRow:
      return wire::set_body(table, "r", "f", "q", "v", 1000);
    case Op::MutateRows: {
      const auto entries = b.CreateVectorOfStructs(std::vector<fb::EntryRec>());
      const auto mutations = b.CreateVectorOfStructs(std::vector<fb::MutationRec>());
      fb::MutateRowsRequestBuilder request(b);
      request.add_table(name);
      request.add_entries(entries);
      request.add_mutations(mutations);
      request.add_arena(bytes);
      return finished(b, request.Finish());
    }
    case Op::ReadRow:
      return wire::read_row_body(table, "r");
    case Op::ReadRows:
      return wire::read_rows_body(table, {});
    case Op::CheckAndMutateRow: {
      fb::CheckAndMutateRowRequestBuilder request(b);
      request.add_table(name);
      request.add_row(&row);
      request.add_arena(bytes);
      return finished(b, request.Finish());
    }
    case Op::ReadModifyWriteRow: {
      const auto rules = b.CreateVectorOfStructs(std::vector<fb::ModifyRec>());
      fb::ReadModifyWriteRowRequestBuilder request(b);
      request.add_rules(rules);
      request.add_table(name);
      request.add_row(&row);
      request.add_arena(bytes);
      return finished(b, request.Finish());
    }
    case Op::DropRowRange:
      return wire::drop_rows_body(table, "zzz");
    case Op::SampleRowKeys: {
      fb::SampleRowKeysRequestBuilder request(b);
      request.add_table(name);
      return finished(b, request.Finish());
    }
    case Op::CreateTable:
      return wire::create_table_body(table, {"f"});
    case Op::DropTable:
      return finished(b, fb::CreateDropTableRequest(b, name));
    case Op::RestoreTable:
      return finished(b, fb::CreateRestoreTableRequest(b, name));
    case Op::DescribeTable:
      return finished(b, fb::CreateDescribeTableRequest(b, name));
    case Op::PreviewRule:
      return finished(b, fb::CreatePreviewRuleRequest(b, name, family));
    case Op::FlushTable:
      return finished(b, fb::CreateFlushTableRequest(b, name));
    case Op::CompactTable:
      return finished(b, fb::CreateCompactTableRequest(b, name));
    case Op::SplitTablet: {
      fb::SplitTabletRequestBuilder request(b);
      request.add_table(name);
      request.add_row(bytes);
      return finished(b, request.Finish());
    }
    case Op::MergeTablets:
      return finished(b, fb::CreateMergeTabletsRequest(b, name, 1, 2));
    case Op::MoveTablet:
      return finished(b, fb::CreateMoveTabletRequest(b, name, 1, 99));
    case Op::ListTablets:
      return finished(b, fb::CreateListTabletsRequest(b, name));
    case Op::RuleHistory:
      return finished(b, fb::CreateRuleHistoryRequest(b, name, family));
    case Op::UndoRule:
      return finished(b, fb::CreateUndoRuleRequest(b, name, family));
    case Op::AuditLog:
      return finished(b, fb::CreateAuditLogRequest(b, name));
    case Op::ReadIndex:
      return wire::read_index_body(table, "i");
    case Op::CreateIndex:
      return wire::create_index_body(table, "i");
    case Op::DropIndex:
      return finished(b, fb::CreateDropIndexRequest(b, name, family));
    case Op::DescribeIndexes:
      return finished(b, fb::CreateDescribeIndexesRequest(b, name));
    case Op::CheckIndex:
      return finished(b, fb::CreateCheckIndexRequest(b, name, family));
    default:
      return "";
  }
}

// The answer to a request that names `table`: in its body or, in the fixed layout, by a handle.
std::optional<Answer> ask_about(Peer& peer, Op op, std::string_view table) {
  std::string body;
  if (op == Op::Get) {
    wire::DecodedGet get;
    get.row = "r";
    wire::append_get(body, get);
  } else if (op == Op::Put) {
    Mutation cell;
    cell.family = "f";
    wire::append_put(body, {"r", {&cell, 1}}, std::nullopt);
  } else {
    return peer.ask(op, body_of_op(op, table));
  }
  static uint64_t id = 500'000;
  peer.send(wire::bind_frame(9, {.table = std::string(table)}) +
            wire::request_frame(op, ++id, body, wire::FrameKind::request, 0, 9));
  return peer.answer(id);
}

bool in_fixed_layout(Op op) { return op == Op::Get || op == Op::Put; }

enum class Part { storage, families, rules, reclaim };
std::string alter_body(std::string_view table, std::vector<Part> parts) {
  flatbuffers::FlatBufferBuilder b;
  const auto name = b.CreateString(table.data(), table.size());
  std::vector<flatbuffers::Offset<fb::FamilySpec>> specs;
  specs.push_back(fb::CreateFamilySpec(b, b.CreateString("f")));
  const auto families = b.CreateVector(specs);
  fb::TableOptionsBuilder options(b);
  for (const Part part : parts) {
    if (part == Part::storage) options.add_block_bytes(8192);
    if (part == Part::reclaim) options.add_reclaim_within_us(1'000'000);
  }
  const auto option_table = options.Finish();
  fb::AlterTableRequestBuilder alter(b);
  alter.add_name(name);
  alter.add_options(option_table);
  for (const Part part : parts) {
    if (part == Part::families) alter.add_add(families);
    if (part == Part::rules) alter.add_alter(families);
  }
  return finished(b, alter.Finish());
}

// The expected permissions, by the letters r(ead) w(rite) s(chema) g (retention) m(onitor) a(dmin).
// "r" and "w" together in `all_of`: both are needed.
struct Permitted {
  Op op;
  const char* any_of;  // one of these is enough, or
  const char* all_of;  // all of these are needed
  const char* shown;   // the role named by a refusal
};
const Permitted kPermitted[] = {
    {Op::MutateRow, "w", "", "write"},
    {Op::MutateRows, "w", "", "write"},
    {Op::ReadRow, "r", "", "read"},
    {Op::ReadRows, "r", "", "read"},
    {Op::CheckAndMutateRow, "", "rw", "read and write"},
    {Op::ReadModifyWriteRow, "", "rw", "read and write"},
    {Op::DropRowRange, "w", "", "write"},
    {Op::SampleRowKeys, "r", "", "read"},
    {Op::Get, "r", "", "read"},
    {Op::Put, "w", "", "write"},
    {Op::CreateTable, "s", "", "schema"},
    {Op::DropTable, "s", "", "schema"},
    {Op::RestoreTable, "s", "", "schema"},
    {Op::DescribeTable, "rwsgma", "", "read or write or schema or retention or monitor or admin"},
    {Op::PreviewRule, "", "rg", "read and retention"},
    {Op::FlushTable, "a", "", "admin"},
    {Op::CompactTable, "a", "", "admin"},
    {Op::SplitTablet, "a", "", "admin"},
    {Op::MergeTablets, "a", "", "admin"},
    {Op::MoveTablet, "a", "", "admin"},
    {Op::ListTablets, "ma", "", "monitor or admin"},
    {Op::RuleHistory, "rwsgma", "", "read or write or schema or retention or monitor or admin"},
    {Op::UndoRule, "g", "", "retention"},
    {Op::AuditLog, "ma", "", "monitor or admin"},
    {Op::ReadIndex, "r", "", "read"},
    {Op::CreateIndex, "s", "", "schema"},
    {Op::DropIndex, "s", "", "schema"},
    {Op::DescribeIndexes, "rwsgma", "", "read or write or schema or retention or monitor or admin"},
    {Op::CheckIndex, "rma", "", "read or monitor or admin"},
    // Permissions on the node, not on a table:
    {Op::ServerInfo, "", "", "monitor or admin"},
    {Op::ConfirmTime, "", "", "monitor or admin"},
    {Op::ListTables, "rwsgma", "", ""},
    // Tested separately:
    {Op::AlterTable, "", "", ""},
    {Op::AlterIndex, "", "", ""},
    {Op::Hello, "", "", ""},
    {Op::Ping, "", "", ""},
};
const std::pair<char, const char*> kLetters[] = {{'r', "read"},    {'w', "write"},
                                                 {'s', "schema"},  {'g', "retention"},
                                                 {'m', "monitor"}, {'a', "admin"}};

std::string grants(std::string_view prefix, std::string_view letters) {
  std::string roles;
  for (const auto& [letter, role] : kLetters) {
    if (!letters.contains(letter)) continue;
    roles += fmt::format("{}\"{}\"", roles.empty() ? "" : ", ", role);
  }
  return fmt::format("[[principal.grant]]\nprefix = \"{}\"\nroles = [{}]\n", prefix, roles);
}
std::string principal(std::string_view name, const std::string& grant_text) {
  return fmt::format("[[principal]]\nname = \"{}\"\ntokens = [\"{}\"]\n{}", name,
                     security::hash_text(fmt::format("token-{}", name)), grant_text);
}

bool refused(std::optional<Answer>& answer) {
  CHECK(answer.has_value(), "the connection was closed");
  return answer->code() == Errc::permission_denied;
}

// Every set of at most two roles, and all: principals "on-rw" with a grant of "mine.".
std::vector<std::string> sets() {
  std::vector<std::string> all = {"r", "w", "s", "g", "m", "a", "rwsgma"};
  for (size_t i = 0; i < std::size(kLetters); ++i) {
    for (size_t j = i + 1; j < std::size(kLetters); ++j) {
      all.push_back(std::string{kLetters[i].first, kLetters[j].first});
    }
  }
  return all;
}

class Access : public testing::Test {
 protected:
  Access() : bed(everybody(), 1) {
    auto all = come_as(bed, "everything");
    for (const char* table : {"mine.a", "Mine.a", "other.a"}) {
      CHECK(all->code_of(Op::CreateTable, wire::create_table_body(table, {"f"})) == Errc::ok);
    }
  }
  static std::string everybody() {
    std::string text = principal("everything", grants("", "rwsgma"));
    text += principal("nothing", "");
    for (const std::string& set : sets()) text += principal("on-" + set, grants("mine.", set));
    for (const auto& [letter, role] : kLetters) {
      text += principal(fmt::format("node-{}", letter), grants("", {&letter, 1}));
    }
    return text;
  }
  static bool may(const Permitted& expected, std::string_view held) {
    const auto has = [held](char c) { return held.contains(c); };
    const std::string_view all = expected.all_of;
    if (!all.empty()) return std::all_of(all.begin(), all.end(), has);
    const std::string_view any = expected.any_of;
    return std::any_of(any.begin(), any.end(), has);
  }

  SecureBed bed;
};

TEST_F(Access, TheExpectationKnowsEveryOperationOnce) {
  for (const Op op : fb::EnumValuesOp()) {
    if (op == Op::None) continue;
    EXPECT_EQ(std::count_if(std::begin(kPermitted), std::end(kPermitted),
                            [op](const Permitted& one) { return one.op == op; }),
              1)
        << wire::op_name(static_cast<uint16_t>(op));
  }
}

TEST_F(Access, EveryOperationByEveryRole) {
  size_t asked = 0;
  for (const std::string& set : sets()) {
    auto peer = come_as(bed, "on-" + set);
    for (const Permitted& expected : kPermitted) {
      const bool of_table = *expected.any_of != '\0' || *expected.all_of != '\0';
      if (!of_table || expected.op == Op::ListTables) continue;
      ASSERT_TRUE(in_fixed_layout(expected.op) || !body_of_op(expected.op, "mine.absent").empty())
          << fb::EnumNameOp(expected.op);
      auto own = ask_about(*peer, expected.op, "mine.absent");
      EXPECT_EQ(refused(own), !may(expected, set))
          << fb::EnumNameOp(expected.op) << " by " << set << ": " << own->message();
      // CreateTable may have created it.
      if (expected.op == Op::CreateTable && !own->error()) {
        EXPECT_EQ(peer->code_of(Op::DropTable, body_of_op(Op::DropTable, "mine.absent")), Errc::ok);
      }
      for (const char* other : {"Mine.a", "other.a", "mine", "other.absent", " mine.a"}) {
        auto answer = ask_about(*peer, expected.op, other);
        ASSERT_TRUE(refused(answer)) << fb::EnumNameOp(expected.op) << " on " << other;
        EXPECT_THAT(answer->message(), HasSubstr(fb::EnumNameOp(expected.op)));
        EXPECT_THAT(answer->message(), HasSubstr(fmt::format("needs the role {} on table '{}'",
                                                             expected.shown, other)));
        ++asked;
      }
    }
  }
  EXPECT_GT(asked, 1000u);
}

TEST_F(Access, WhatChangesAnIndexNeedsRetention) {
  const auto alter = [](bool age, bool base) {
    flatbuffers::FlatBufferBuilder b;
    const auto table = b.CreateString("mine.a");
    const auto name = b.CreateString("i");
    fb::AlterIndexRequestBuilder request(b);
    request.add_table(table);
    request.add_name(name);
    if (age) request.add_max_age_given(true);
    if (base) request.add_tighter_base(fb::TighterBase::Refuse);
    return finished(b, request.Finish());
  };
  const auto code = [&](const char* who, bool age, bool base) {
    return come_as(bed, who)->code_of(Op::AlterIndex, alter(age, base));
  };
  EXPECT_EQ(code("on-g", true, false), Errc::not_found);
  EXPECT_EQ(code("on-g", false, true), Errc::not_found);
  EXPECT_EQ(code("on-g", false, false), Errc::permission_denied);
  EXPECT_EQ(code("on-s", true, false), Errc::permission_denied);
  EXPECT_EQ(code("on-s", false, true), Errc::permission_denied);
  EXPECT_EQ(code("on-sg", false, false), Errc::not_found);
  EXPECT_EQ(code("on-rw", true, true), Errc::permission_denied);
}

TEST_F(Access, ARefusalIsTheSameWhetherTheTableIsThereOrNot) {
  auto peer = come_as(bed, "on-rwsgma");
  auto all = come_as(bed, "everything");
  auto listed = all->ask(Op::ListTables, "");
  uint64_t other_id = 0;
  for (const auto* table : *listed->root<fb::ListTablesReply>()->tables()) {
    if (wire::text(table->name()) == "other.a") other_id = table->table_id();
  }
  ASSERT_NE(other_id, 0u);
  for (const Permitted& expected : kPermitted) {
    if (body_of_op(expected.op, "x").empty() && !in_fixed_layout(expected.op)) continue;
    auto there = ask_about(*peer, expected.op, "other.a");
    auto absent = ask_about(*peer, expected.op, "other.b");
    std::string one = there->message();
    std::string two = absent->message();
    one.replace(one.find("other.a"), 7, "?");
    two.replace(two.find("other.b"), 7, "?");
    EXPECT_EQ(one, two);
    EXPECT_EQ(there->code(), absent->code());
  }
  // Nor by number.
  const auto by_id = [&](uint64_t id) {
    const std::string bind =
        wire::bind_frame(1, {.table_id = id, .instance = ServerBed::kInstance});
    peer->send(bind + wire::request_frame(Op::ReadRow, 77 + id, wire::read_row_body("", "r"),
                                          wire::FrameKind::request, 0, 1));
    auto answer = peer->answer(77 + id);
    return fmt::format("{} {}", errc_name(answer->code()), answer->message());
  };
  EXPECT_EQ(by_id(other_id),
            fmt::format("PERMISSION_DENIED ReadRow needs the role read on table {}, which "
                        "'on-rwsgma' does not have",
                        other_id));
  EXPECT_THAT(by_id(9999),
              HasSubstr("PERMISSION_DENIED ReadRow needs the role read on table 9999"));
  // A principal that may read all tables is told that it does not exist.
  EXPECT_EQ(come_as(bed, "node-r")->code_of(Op::ReadRow, wire::read_row_body("other.b", "r")),
            Errc::not_found);
}

TEST_F(Access, ATabletOfAnotherTableIsNotReachedByItsNumber) {
  auto peer = come_as(bed, "on-rwsgma");
  auto all = come_as(bed, "everything");
  auto described = all->ask(Op::DescribeTable, body_of_op(Op::DescribeTable, "other.a"));
  const auto* tablets = described->root<fb::TableDescription>()->tablets();
  const uint64_t tablet = tablets->Get(0)->tablet_id();
  flatbuffers::FlatBufferBuilder b;
  const auto row = wire::bytes_vector(b, "m");
  EXPECT_EQ(
      peer->code_of(Op::SplitTablet, finished(b, fb::CreateSplitTabletRequest(b, 0, tablet, row))),
      Errc::permission_denied);
  b.Clear();
  EXPECT_EQ(
      peer->code_of(Op::MoveTablet, finished(b, fb::CreateMoveTabletRequest(b, 0, tablet, 0))),
      Errc::permission_denied);
  b.Clear();
  EXPECT_EQ(peer->code_of(Op::MergeTablets,
                          finished(b, fb::CreateMergeTabletsRequest(b, 0, tablet, tablet + 1))),
            Errc::permission_denied);
  // The name of an own table does not give access by another table's number.
  b.Clear();
  const auto name = b.CreateString("mine.a");
  EXPECT_EQ(
      peer->code_of(Op::MoveTablet, finished(b, fb::CreateMoveTabletRequest(b, name, tablet, 0))),
      Errc::not_found);
}

// The handle decides, for access as for the table that is worked on, whatever the body says.
TEST_F(Access, AHandleOfANameReachesNoOtherTable) {
  auto all = come_as(bed, "everything");
  ASSERT_EQ(all->code_of(Op::MutateRow, wire::set_body("other.a", "r", "f", "q", "v", 1000)),
            Errc::ok);
  auto described = all->ask(Op::DescribeTable, body_of_op(Op::DescribeTable, "other.a"));
  const uint64_t tablet = described->root<fb::TableDescription>()->tablets()->Get(0)->tablet_id();
  auto peer = come_as(bed, "on-rwsgma");
  uint64_t id = 900'000;
  const auto code_by_handle = [&](Op op, const std::string& body) {
    peer->send(wire::bind_frame(3, {.table = "mine.nothere"}) +
               wire::request_frame(op, ++id, body, wire::FrameKind::request, 0, 3));
    auto answer = peer->answer(id);
    return answer ? answer->code() : Errc::cancelled;
  };
  size_t asked = 0;
  for (const Permitted& expected : kPermitted) {
    const std::string body = body_of_op(expected.op, "other.a");
    if (body.empty()) continue;
    EXPECT_NE(code_by_handle(expected.op, body), Errc::ok) << fb::EnumNameOp(expected.op);
    ++asked;
  }
  EXPECT_GT(asked, 15u);
  flatbuffers::FlatBufferBuilder b;
  EXPECT_EQ(
      code_by_handle(Op::MoveTablet, finished(b, fb::CreateMoveTabletRequest(b, 0, tablet, 0))),
      Errc::not_found);
  auto row = all->ask(Op::ReadRow, wire::read_row_body("other.a", "r"));
  EXPECT_EQ(cells_of(*row).size(), 1u);
}

// Nor does the name in the body lend its rights to the table of the handle.
TEST_F(Access, AHandleOfAnotherTableIsNotReachedByAnOwnNameInTheBody) {
  auto peer = come_as(bed, "on-rwsgma");
  uint64_t id = 950'000;
  for (const Permitted& expected : kPermitted) {
    const std::string body = body_of_op(expected.op, "mine.a");
    if (body.empty() || expected.op == Op::DropTable) continue;
    peer->send(wire::bind_frame(3, {.table = "other.a"}) +
               wire::request_frame(expected.op, ++id, body, wire::FrameKind::request, 0, 3));
    auto answer = peer->answer(id);
    ASSERT_TRUE(answer) << fb::EnumNameOp(expected.op);
    if (expected.op != Op::DescribeTable) continue;
    ASSERT_EQ(answer->code(), Errc::ok);
    EXPECT_EQ(wire::text(answer->root<fb::TableDescription>()->name()), "mine.a");
  }
  auto all = come_as(bed, "everything");
  auto other = all->ask(Op::DescribeTable, body_of_op(Op::DescribeTable, "other.a"));
  ASSERT_EQ(other->code(), Errc::ok);
  EXPECT_EQ(other->root<fb::TableDescription>()->tablets()->size(), 1u);
}

TEST_F(Access, WhatAnAlterationNeedsDependsOnWhatItChanges) {
  const auto refused_as = [&](const char* who, std::vector<Part> parts) {
    auto peer = come_as(bed, who);
    auto answer = peer->ask(Op::AlterTable, alter_body("mine.absent", std::move(parts)));
    return answer->code() == Errc::permission_denied ? answer->message() : "";
  };
  EXPECT_EQ(refused_as("on-s", {Part::storage}), "");
  EXPECT_EQ(refused_as("on-s", {Part::families}), "");
  EXPECT_THAT(refused_as("on-s", {Part::rules}), HasSubstr("the role retention on"));
  EXPECT_THAT(refused_as("on-s", {Part::reclaim}), HasSubstr("the role retention on"));
  EXPECT_THAT(refused_as("on-g", {Part::storage}), HasSubstr("the role schema on"));
  EXPECT_THAT(refused_as("on-g", {Part::families}), HasSubstr("the role schema on"));
  EXPECT_EQ(refused_as("on-g", {Part::rules, Part::reclaim}), "");
  EXPECT_THAT(refused_as("on-g", {Part::rules, Part::families}),
              HasSubstr("the role schema and retention on"));
  EXPECT_EQ(refused_as("on-sg", {Part::rules, Part::families}), "");
  EXPECT_THAT(refused_as("on-s", {}), HasSubstr("schema and retention"));
  for (const char* who : {"on-r", "on-w", "on-a", "on-rw", "nothing"}) {
    for (const Part part : {Part::storage, Part::families, Part::rules, Part::reclaim}) {
      EXPECT_NE(refused_as(who, {part}), "") << who;
    }
  }
}

// The fields of a table of admin.fbs, in the order of their ids.
std::vector<std::string> fields_of(const std::string& table) {
  std::ifstream in(CELLAR_SOURCE_DIR "/schema/admin.fbs", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const size_t begin = text.find("table " + table + " {");
  CHECK(begin != std::string::npos, "no table {}", table);
  const std::string body = text.substr(begin, text.find('}', begin) - begin);
  static const std::regex kField(R"(\n\s*(\w+)\s*:)");
  std::vector<std::string> names;
  for (std::sregex_iterator at(body.begin(), body.end(), kField), end; at != end; ++at) {
    names.push_back((*at)[1]);
  }
  return names;
}

enum class In : uint8_t { request, options };

// The roles required for an alteration that sets this field, alone or together with a known one.
// `size`: the bytes of a scalar; 0: a vector of one empty table or string.
Roles asked_for(In in, size_t field, size_t size, bool beside_known = false) {
  flatbuffers::FlatBufferBuilder b;
  const auto at = static_cast<flatbuffers::voffset_t>(4 + 2 * field);
  const auto name = b.CreateString("t");
  const auto string = b.CreateVectorOfStrings(std::vector<std::string>{"f"});
  fb::FamilySpecBuilder family(b);
  family.add_name(name);
  const auto families = b.CreateVector(std::vector{family.Finish()});
  const auto set = [&] {
    if (size == 1) b.AddElement<uint8_t>(at, 1);
    if (size == 4) b.AddElement<uint32_t>(at, 4096);
    if (size == 8) b.AddElement<uint64_t>(at, 4096);
  };
  flatbuffers::Offset<fb::TableOptions> options;
  if (in == In::options) {
    const auto start = b.StartTable();
    if (beside_known) b.AddElement<uint8_t>(fb::TableOptions::VT_DURABILITY, 1);
    set();
    options = b.EndTable(start);
  }
  const auto start = b.StartTable();
  b.AddOffset(fb::AlterTableRequest::VT_NAME, name);
  if (in == In::request && beside_known) b.AddOffset(fb::AlterTableRequest::VT_ALTER, families);
  if (in == In::options) b.AddOffset(fb::AlterTableRequest::VT_OPTIONS, options);
  if (in == In::request && size > 0) set();
  if (in == In::request && size == 0 && at == fb::AlterTableRequest::VT_DROP) {
    b.AddOffset(at, string);
  } else if (in == In::request && size == 0) {
    b.AddOffset(at, families);
  }
  const flatbuffers::Offset<fb::AlterTableRequest> root = b.EndTable(start);
  const std::string body(wire::finish_body(b, root));
  const std::string aligned = body;  // the string's own memory is 16-byte aligned
  CHECK(wire::verified<fb::AlterTableRequest>(aligned) != nullptr, "field {} of {} bytes", field,
        size);
  return need_of(spec_of(Op::AlterTable), aligned).roles;
}

// Every current field by name: a field added to the schema fails this test until its role is
// decided. Until then, and in requests of later clients, it requires all roles.
TEST(AlterTable, EveryFieldTakesItsRoleAndAnUnknownOneAll) {
  const Roles schema{Role::schema};
  const Roles retention{Role::retention};
  const Roles both{Role::schema, Role::retention};
  struct Field {
    const char* name;
    size_t size;
    Roles roles;
  };
  const Field options[] = {
      {"durability", 1, schema},    {"compression", 1, schema},
      {"block_bytes", 4, schema},   {"reclaim_within_us", 8, retention},
      {"dead_slack", 8, retention}, {"reclaim_share", 8, retention},
      {"compaction", 1, schema},    {"bottom_compression", 1, schema},
  };
  const std::vector<std::string> option_names = fields_of("TableOptions");
  ASSERT_EQ(option_names.size(), std::size(options)) << "a field of TableOptions is new";
  for (size_t i = 0; i < std::size(options); ++i) {
    EXPECT_EQ(option_names[i], options[i].name);
    EXPECT_EQ(asked_for(In::options, i, options[i].size), options[i].roles) << options[i].name;
  }
  const Field request[] = {
      {"name", SIZE_MAX, {}}, {"add", 0, schema},        {"alter", 0, retention},
      {"drop", 0, schema},    {"options", SIZE_MAX, {}}, {"close_oldest_undo_window", 1, retention},
  };
  const std::vector<std::string> request_names = fields_of("AlterTableRequest");
  ASSERT_EQ(request_names.size(), std::size(request)) << "a field of AlterTableRequest is new";
  for (size_t i = 0; i < std::size(request); ++i) {
    EXPECT_EQ(request_names[i], request[i].name);
    if (request[i].size == SIZE_MAX) continue;
    EXPECT_EQ(asked_for(In::request, i, request[i].size), request[i].roles) << request[i].name;
  }
  for (const size_t later : {std::size(options), size_t{20}, size_t{63}}) {
    EXPECT_EQ(asked_for(In::options, later, 1), both) << later;
    EXPECT_EQ(asked_for(In::request, later, 1), both) << later;
    EXPECT_EQ(asked_for(In::options, later, 1, true), both) << later << " beside durability";
    EXPECT_EQ(asked_for(In::request, later, 1, true), both) << later << " beside a rule";
  }
}

TEST_F(Access, TheNodeAsAWholeNeedsAGrantOfEveryTable) {
  const auto backup = static_cast<Op>(fb::OperateOp::Backup);
  const auto control = static_cast<Op>(fb::OperateOp::Control);
  const auto reclaim = static_cast<Op>(fb::OperateOp::Reclaim);
  for (const Op op : {Op::ServerInfo, Op::ConfirmTime, Op::AuditLog, backup, control, reclaim}) {
    // This node takes no backups and has no program, and says so to principals with permission.
    const bool absent = op == backup || op == control;
    for (const char* who : {"node-a", "node-m"}) {
      EXPECT_EQ(come_as(bed, who)->code_of(op, ""), absent ? Errc::unimplemented : Errc::ok)
          << wire::op_name(static_cast<uint16_t>(op)) << " by " << who;
    }
    for (const char* who : {"on-rwsgma", "on-a", "node-r", "node-w", "node-s", "node-g"}) {
      auto peer = come_as(bed, who);
      auto answer = peer->ask(op, "");
      EXPECT_TRUE(refused(answer)) << wire::op_name(static_cast<uint16_t>(op)) << " by " << who;
      EXPECT_THAT(answer->message(), HasSubstr("role monitor or admin on the whole node"));
    }
  }
  // An operation that does not exist counts as the node's.
  auto peer = come_as(bed, "on-rwsgma");
  EXPECT_EQ(peer->code_of(static_cast<Op>(0xff00), ""), Errc::permission_denied);
}

// A monitor sees the state of the clock, of jobs and of the node, and changes none.
TEST_F(Access, AMonitorChangesNothing) {
  flatbuffers::FlatBufferBuilder b;
  const auto control = [&b](fb::ControlAction action) {
    b.Clear();
    return finished(b, fb::CreateControlRequest(b, action));
  };
  const auto backup = [&b](fb::BackupAction action) {
    b.Clear();
    return finished(b, fb::CreateBackupRequest(b, action));
  };
  const auto release = [&b] {
    b.Clear();
    return finished(b, fb::CreateConfirmTimeRequest(b, true));
  };
  const auto control_op = static_cast<Op>(fb::OperateOp::Control);
  const auto backup_op = static_cast<Op>(fb::OperateOp::Backup);
  struct Change {
    Op op;
    std::string body;
    bool permitted = false;
  };
  std::vector<Change> changes = {{Op::ConfirmTime, release()}};
  for (const fb::ControlAction action : fb::EnumValuesControlAction()) {
    changes.push_back({control_op, control(action), action == fb::ControlAction::Status});
  }
  for (const fb::BackupAction action : fb::EnumValuesBackupAction()) {
    const bool reports = action == fb::BackupAction::Status || action == fb::BackupAction::List;
    changes.push_back({backup_op, backup(action), reports});
  }
  auto monitor = come_as(bed, "node-m");
  auto admin = come_as(bed, "node-a");
  for (const Change& change : changes) {
    const std::string_view name = wire::op_name(static_cast<uint16_t>(change.op));
    auto answer = monitor->ask(change.op, change.body);
    EXPECT_EQ(refused(answer), !change.permitted) << name << ": " << answer->message();
    if (!change.permitted) {
      EXPECT_THAT(answer->message(), HasSubstr("role admin on the whole node"));
    }
    auto allowed = admin->ask(change.op, change.body);
    EXPECT_FALSE(refused(allowed)) << name;
  }
}

TEST_F(Access, ListsShowWhatOneMaySee) {
  const auto tables = [&](const char* who) {
    auto peer = come_as(bed, who);
    auto answer = peer->ask(Op::ListTables, "");
    std::vector<std::string> names;
    if (answer->error()) return std::vector<std::string>{std::string(errc_name(answer->code()))};
    for (const auto* table : *answer->root<fb::ListTablesReply>()->tables()) {
      names.emplace_back(wire::text(table->name()));
    }
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(tables("everything"), (Names{"Mine.a", "mine.a", "other.a"}));
  EXPECT_EQ(tables("on-w"), Names{"mine.a"});
  EXPECT_EQ(tables("nothing"), Names{"PERMISSION_DENIED"});
  // The tablets of all tables, and in pages.
  auto peer = come_as(bed, "on-a");
  auto answer = peer->ask(Op::ListTablets, "");
  const auto* list = answer->root<fb::ListTabletsReply>();
  ASSERT_EQ(list->tables()->size(), 1u);
  EXPECT_EQ(wire::text(list->tables()->Get(0)->name()), "mine.a");
  EXPECT_EQ(list->tablets()->size(), 1u);
  EXPECT_EQ(list->next_table(), 0u);
  EXPECT_EQ(come_as(bed, "on-r")->code_of(Op::ListTablets, ""), Errc::permission_denied);
}

TEST_F(Access, ANodeWithoutPrincipalsAsksNobody) {
  ServerBed open(1);
  Peer peer(open);
  EXPECT_EQ(peer.code_of(Op::CreateTable, wire::create_table_body("t", {"f"})), Errc::ok);
  EXPECT_EQ(peer.code_of(Op::ServerInfo, ""), Errc::ok);
}

}  // namespace
}  // namespace cellar::server
