// Tokens as bytes: the golden example of FORMATS.md, round trips, damage, and which contents are
// distinguished.
#include "engine/model/token.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "engine/model/content_hash.h"

namespace cellar {
namespace {

std::string hex(Bytes bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

TEST(Token, HasTheBytesOfFormatsMd) {
  std::string key;
  append_token(key, "r", token_id("me", "t"), CommitStamp{9});
  EXPECT_EQ(hex(key), "72000103026d65740001fffffffffffffff6");
  std::string value;
  append_token_record(value, {.until_us = 5000, .content = {1, 2}, .matched = true, .cells = {}});
  EXPECT_EQ(hex(value), "0101904e0100000000000000020000000000000000");
}

TEST(Token, AnIdComesApartAgain) {
  for (const auto& [client, token] : std::vector<std::pair<std::string, std::string>>{
           {"me", "t"}, {"", "t"}, {std::string(64, 'c'), std::string("\0\xff", 2)}}) {
    Bytes c;
    Bytes t;
    const std::string id = token_id(client, token);
    ASSERT_TRUE(split_token_id(id, c, t));
    EXPECT_EQ(c, client);
    EXPECT_EQ(t, token);
  }
  EXPECT_NE(token_id("m", "et"), token_id("me", "t"));
  Bytes none;
  EXPECT_FALSE(split_token_id("", none, none));
  EXPECT_FALSE(split_token_id("\x03me", none, none));
}

TEST(Token, ARecordComesBackAsItWasAndNoPartOfItDoes) {
  TokenRecord record;
  record.until_us = -7;
  record.content = {UINT64_MAX, 5};
  Mutation& cell = record.cells.emplace_back();
  cell.family = "f";
  cell.qualifier = "";
  cell.timestamp_us = 1234;
  cell.value = "value";
  std::string bytes;
  append_token_record(bytes, record);
  TokenRecord back;
  ASSERT_TRUE(parse_token_record(bytes, back));
  EXPECT_EQ(back.until_us, -7);
  EXPECT_EQ(back.content, record.content);
  EXPECT_FALSE(back.matched || back.cells_left_out);
  ASSERT_EQ(back.cells.size(), 1u);
  EXPECT_EQ(back.cells[0].family, "f");
  EXPECT_EQ(back.cells[0].timestamp_us, 1234);
  EXPECT_EQ(back.cells[0].value, "value");
  int64_t until_us = 0;
  EXPECT_TRUE(parse_token_until(bytes, until_us));
  EXPECT_EQ(until_us, -7);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(parse_token_record(Bytes(bytes).substr(0, size), back)) << size;
  }
  EXPECT_FALSE(parse_token_record(bytes + "x", back));
  bytes[0] = 2;
  EXPECT_FALSE(parse_token_record(bytes, back) || parse_token_until(bytes, until_us));
}

TEST(ContentHash, TellsApartWhateverDiffers) {
  Mutation set;
  set.family = "f";
  set.qualifier = "q";
  set.value = "v";
  const std::vector<std::function<void(Mutation&)>> changes = {
      [](Mutation&) {},
      [](Mutation& m) { m.family = "g"; },
      [](Mutation& m) { m.qualifier = "qv", m.value = ""; },
      [](Mutation& m) { m.value = "w"; },
      [](Mutation& m) { m.timestamp_us = 1; },
      [](Mutation& m) { m.expire_at_us = 1; },
      [](Mutation& m) { m.ttl_us = 1; },
      [](Mutation& m) { m.kind = Mutation::Kind::delete_from_column; },
      [](Mutation& m) { m.kind = Mutation::Kind::delete_from_column, m.start_us = 1; },
      [](Mutation& m) { m.kind = Mutation::Kind::delete_from_column, m.end_us = 1; },
  };
  std::vector<ContentHash> hashes;
  const auto add = [&hashes](const ContentHash& hash) {
    for (const ContentHash& other : hashes) EXPECT_NE(hash, other) << hashes.size();
    hashes.push_back(hash);
  };
  for (const auto& change : changes) {
    Mutation m = set;
    change(m);
    add(hash_of_mutations({&m, 1}));
    EXPECT_EQ(hash_of_mutations({&m, 1}), hashes.back());
  }
  const Mutation twice[] = {set, set};
  add(hash_of_mutations(twice));
  add(hash_of_check({}, {&set, 1}, {}));
  add(hash_of_check({}, {}, {&set, 1}));
  FilterSpec pass;
  pass.nodes.emplace_back();
  add(hash_of_check(pass, {&set, 1}, {}));
  pass.nodes[0].has_start = true;
  add(hash_of_check(pass, {&set, 1}, {}));
  pass.nodes[0].sample = 0.5;
  add(hash_of_check(pass, {&set, 1}, {}));
  ModifyRule rule{ModifyRule::Kind::increment, "f", "q", "", 1};
  add(hash_of_modify({&rule, 1}));
  rule.by = 2;
  add(hash_of_modify({&rule, 1}));
  rule.kind = ModifyRule::Kind::append;
  add(hash_of_modify({&rule, 1}));
}

}  // namespace
}  // namespace cellar
