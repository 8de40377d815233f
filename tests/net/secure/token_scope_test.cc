// The scope of an idempotency token: the principal and the client id of the hello together.
#include <gtest/gtest.h>

#include "tests/net/secure/secure_bed.h"

namespace cellar::server {
namespace {

namespace fb = wire::fb;
using fb::Op;

constexpr const char* kWritePermissions = "\"read\", \"write\", \"schema\"";

// Appends "x" to f:q of row "r" under a token.
std::string token_append_body(std::string_view token, int64_t issued_us) {
  flatbuffers::FlatBufferBuilder builder;
  wire::ArenaText arena;
  const fb::Span row = arena.put("r");
  const fb::Span family = arena.put("f");
  const fb::Span qualifier = arena.put("q");
  const fb::Span value = arena.put("x");
  const auto name = builder.CreateString("t");
  const auto bytes = wire::bytes_vector(builder, token);
  const auto one = fb::CreateToken(builder, bytes, issued_us);
  const fb::MutationRec set(1000, 0, family, qualifier, value,
                            static_cast<uint8_t>(fb::MutationKind::SetCell),
                            static_cast<uint8_t>(fb::MutationFlag::HasTimestamp), 0, 0);
  const auto list = builder.CreateVectorOfStructs(&set, 1);
  const auto text = wire::bytes_vector(builder, arena.bytes);
  const auto root = fb::CreateMutateRowRequest(builder, name, &row, list, text,
                                               fb::Durability::TableDefault, one);
  return std::string(wire::finish_body(builder, root));
}

struct Session {
  std::unique_ptr<Peer> peer;
  int64_t now_us = 0;

  Session(SecureBed& bed, std::string_view secret, std::string_view client_id) {
    std::optional<Answer> answer;
    peer = come(bed, hello_body(secret, "test", client_id), &answer);
    now_us = answer->root<fb::HelloReply>()->now_us();
  }
  // "new", "again", or the error code.
  std::string write(std::string_view token) {
    auto answer = peer->ask(Op::MutateRow, token_append_body(token, now_us));
    if (answer->error()) return std::string(errc_name(answer->code()));
    if (answer->body.empty()) return "new";
    return answer->root<fb::MutateRowReply>()->repeated() ? "again" : "new";
  }
};

TEST(TokenScope, IsThePrincipalAndTheClientIdTogether) {
  SecureBed bed(principal_text("ab", "", kWritePermissions) +
                principal_text("a", "", kWritePermissions));
  auto admin = come_as(bed, "ab");
  ASSERT_EQ(admin->code_of(Op::CreateTable, wire::create_table_body("t", {"f"})), Errc::ok);
  Session first(bed, "token-ab", "client");
  EXPECT_EQ(first.write("token"), "new");
  EXPECT_EQ(first.write("token"), "again");
  EXPECT_EQ(Session(bed, "token-ab", "client").write("token"), "again") << "another connection";
  EXPECT_EQ(Session(bed, "token-ab", "other").write("token"), "new");
  EXPECT_EQ(Session(bed, "token-a", "client").write("token"), "new") << "another principal";
  EXPECT_EQ(Session(bed, "token-a", "client").write("token"), "again");
  // Pairs whose concatenated bytes are equal are distinct.
  EXPECT_EQ(Session(bed, "token-a", "bclient").write("token"), "new");
  EXPECT_EQ(Session(bed, "token-ab", "").write("token"), "INVALID_ARGUMENT") << "no client id";
}

TEST(TokenScope, IsTheClientIdOnANodeWithoutPrincipals) {
  ServerBed open(1);
  Peer admin(open);
  ASSERT_EQ(admin.code_of(Op::CreateTable, wire::create_table_body("t", {"f"})), Errc::ok);
  const auto write = [&](std::string_view client_id) {
    std::optional<Answer> answer;
    auto peer = come(open, hello_body("", "test", client_id), &answer);
    const int64_t now_us = answer->root<fb::HelloReply>()->now_us();
    auto said = peer->ask(Op::MutateRow, token_append_body("token", now_us));
    return !said->body.empty() && said->root<fb::MutateRowReply>()->repeated();
  };
  EXPECT_FALSE(write("one"));
  EXPECT_TRUE(write("one"));
  EXPECT_FALSE(write("two"));
}

}  // namespace
}  // namespace cellar::server
