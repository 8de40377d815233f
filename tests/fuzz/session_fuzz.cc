// A connection of a whole node in memory: any bytes in any pieces, before and after the hello, with
// and without principals. The node must go on serving others.
#include "io/base/check.h"
#include "net/client/codec/encode.h"
#include "net/wire/point_codec.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/net/secure/secure_bed.h"
#include "tests/net/wire/wire_bodies.h"

namespace cellar::fuzz {
namespace {

using server::Peer;
using server::SecureBed;
using server::ServerBed;
namespace fb = wire::fb;

constexpr int64_t kPieceUs = 500;       // between two pieces
constexpr int64_t kAnswersUs = 50'000;  // for the last answers
constexpr uint8_t kSecured = 1;         // bits of the first byte: the node has principals
constexpr uint8_t kGreeted = 2;         // the peer has logged in before the input

std::string principals() {
  return server::principal_text("all", "", R"("read", "write", "schema", "retention", "admin")") +
         server::principal_text("reader", "t", R"("read")");
}

std::unique_ptr<Peer> stranger(ServerBed& bed) {
  auto peer = std::make_unique<Peer>(bed, false);
  std::string preface;
  wire::append_preface(preface, {});
  peer->send(preface);
  return peer;
}

// The peer that has every role.
std::unique_ptr<Peer> owner(ServerBed& bed, bool secured) {
  return secured ? server::come_as(bed, "all") : std::make_unique<Peer>(bed);
}

void play(ServerBed& bed, uint8_t how, size_t piece, Bytes input) {
  const bool secured = how & kSecured;
  CHECK(owner(bed, secured)->code_of(fb::Op::CreateTable, wire::create_table_body("t", {"f"})) ==
        Errc::ok);
  auto peer = how & kGreeted ? owner(bed, secured) : stranger(bed);
  while (!input.empty() && !peer->closed()) {
    const Bytes part = input.substr(0, piece);
    peer->send(std::string(part));
    input.remove_prefix(part.size());
    bed.world().run_for_us(kPieceUs);
  }
  bed.world().run_for_us(kAnswersUs);
  peer->hang_up();
  auto other = owner(bed, secured);
  CHECK(other->code_of(fb::Op::Ping, "") == Errc::ok, "the node serves nobody any more");
  (void)server::read_all(*other, "t");
}

// Two bytes say how, the others are sent.
void fuzz_session(Bytes input) {
  if (input.size() < 2) return;
  const auto how = static_cast<uint8_t>(input[0]);
  const size_t piece = 1 + static_cast<size_t>(static_cast<uint8_t>(input[1])) * 16;
  input.remove_prefix(2);
  if (how & kSecured) {
    SecureBed bed(principals());
    return play(bed, how, piece, input);
  }
  ServerBed bed;
  play(bed, how, piece, input);
}

std::string seed_of(uint8_t how, uint8_t piece, const std::string& bytes) {
  return std::string{static_cast<char>(how), static_cast<char>(piece)} + bytes;
}

// Rows by name and by handle: what is written is read, deleted, and read again.
std::string rows_session() {
  wire::DecodedGet get;
  get.row = "r";
  std::string got;
  wire::append_get(got, get);
  Mutation cell;
  cell.family = "f";
  cell.qualifier = "q";
  cell.value = "value";
  std::string put;
  wire::append_put(put, {"r", {&cell, 1}}, std::nullopt);
  return wire::bind_frame(1, {.table = "t"}) +
         wire::request_frame(fb::Op::Put, 2, put, wire::FrameKind::request, 0, 1) +
         wire::request_frame(fb::Op::Get, 3, got, wire::FrameKind::request, 0, 1) +
         wire::request_frame(fb::Op::MutateRow, 4, wire::set_body("t", "s", "f", "q", "v", 1000)) +
         wire::request_frame(fb::Op::ReadRows, 5, wire::read_rows_body("t", {.credits = 1})) +
         wire::request_frame(fb::Op::None, 5, "", wire::FrameKind::cancel) +
         wire::request_frame(fb::Op::DropRowRange, 6, wire::drop_rows_body("t", "s"));
}

// Requests of an operator, made by the client's encoder.
std::string operator_session() {
  namespace cl = client;
  cl::Encoder encoder(1);
  cl::FamilySpec family;
  family.name = "g";
  family.rule_given = true;
  family.rule = cl::RetentionRule::max_versions(3);
  cl::TableSpec table;
  table.name = "u";
  table.families = {family};
  table.splits = {"m"};
  std::string all;
  for (auto request :
       {encoder.create_table(table), encoder.describe_table("u"), encoder.rule_history("u", "g"),
        encoder.flush_table("t"), encoder.compact_table("t"),
        encoder.split_tablet({.table = "u", .row = "b"}), encoder.server_info(),
        encoder.confirm_time(1'000'000), encoder.control(cl::ControlAction::status),
        encoder.backup({}), encoder.reclaim_report({}), encoder.audit_log({}),
        encoder.list_tables({}), encoder.drop_table("u"), encoder.restore_table("u")}) {
    all += request.frame;
  }
  return all;
}

std::vector<std::string> session_seeds() {
  const auto hello = [](std::string_view token) {
    return wire::request_frame(fb::Op::Hello, 1, server::hello_body(token));
  };
  return {
      seed_of(kGreeted, 255, rows_session()),
      seed_of(kGreeted, 0, rows_session()),
      seed_of(kGreeted | kSecured, 4, rows_session()),
      seed_of(kGreeted, 16, operator_session()),
      seed_of(kGreeted | kSecured, 255, operator_session()),
      seed_of(kSecured, 255, hello("token-reader") + rows_session()),
      seed_of(kSecured, 2, hello("token-nobody") + rows_session()),
      seed_of(0, 1, hello("") + hello("") + rows_session()),
      seed_of(0, 255, rows_session()),
  };
}

}  // namespace

const FuzzTarget kSessionTarget = {"session", &fuzz_session, &session_seeds};

}  // namespace cellar::fuzz
