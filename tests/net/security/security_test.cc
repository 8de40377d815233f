// Principals, tokens, roles and the chain of the security log, without a node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/base/check.h"
#include "net/security/audit_chain.h"
#include "net/security/authorizer.h"

namespace cellar::security {
namespace {

using testing::HasSubstr;

std::string one(std::string_view name, std::string_view token, std::string_view rest = "") {
  return fmt::format("[[principal]]\nname = \"{}\"\ntokens = [\"{}\"]\n{}\n", name,
                     hash_text(token), rest);
}
std::string grant(std::string_view prefix, std::string_view roles) {
  return fmt::format("[[principal.grant]]\nprefix = \"{}\"\nroles = [{}]\n", prefix, roles);
}
std::shared_ptr<const Principals> must(const std::string& text) {
  auto parsed = Principals::parse(text, "principals.toml");
  CHECK(parsed, "{}", parsed.error().message);
  return *parsed;
}
std::string refusal(const std::string& text) {
  const auto parsed = Principals::parse(text, "principals.toml");
  return parsed ? "accepted" : parsed.error().message;
}

TEST(Token, IsRandomAndKnownByItsHashOnly) {
  const std::string a = create_token().value();
  const std::string b = create_token().value();
  EXPECT_NE(a, b);
  EXPECT_EQ(a.size(), kTokenPrefix.size() + 2 * kTokenSecretBytes);
  EXPECT_TRUE(a.starts_with(kTokenPrefix));
  EXPECT_EQ(hash_text(a).size(), 7u + 64u);
  EXPECT_EQ(hash_text(a).find(a.substr(kTokenPrefix.size())), std::string::npos);
  EXPECT_EQ(parse_hash_text(hash_text(a)).value(), sha256(a));
}

TEST(Token, HashIsSha256) {
  // FIPS 180-2, the one block message.
  EXPECT_EQ(to_hex(sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Digest other = sha256("abc");
  EXPECT_TRUE(equal_in_constant_time(other, sha256("abc")));
  other.back() ^= 1;
  EXPECT_FALSE(equal_in_constant_time(other, sha256("abc")));
}

TEST(Token, TextThatIsNoHashIsRefused) {
  const std::string good = hash_text("x");
  EXPECT_FALSE(parse_hash_text(good.substr(1)));
  EXPECT_FALSE(parse_hash_text(good + "0"));
  EXPECT_FALSE(parse_hash_text("sha256:" + std::string(64, 'g')));
  EXPECT_FALSE(parse_hash_text("cellar-0123"));
}

TEST(Principals, GrantsReachTablesOfTheirPrefixOnly) {
  const auto all = must(one("a", "t",
                            grant("logs/", "\"read\"") + grant("", "\"admin\"") +
                                grant("logs/2026", "\"write\", \"schema\"")));
  const Principal& a = *all->named("a");
  EXPECT_EQ(a.roles_on("logs/x"), (Roles{Role::read, Role::admin}));
  EXPECT_EQ(a.roles_on("logs/2026-1"), (Roles{Role::read, Role::admin, Role::write, Role::schema}));
  // Prefixes are bytes: another case, a shorter name or a preceding byte make another table.
  for (const char* other : {"Logs/x", "LOGS/x", "logs", "xlogs/x", " logs/x", "logS/2026", ""}) {
    EXPECT_EQ(a.roles_on(other), Roles{Role::admin}) << other;
  }
  EXPECT_EQ(a.roles_on(std::string_view("logs\0/x", 7)), Roles{Role::admin});
  EXPECT_EQ(a.roles_everywhere(), Roles{Role::admin});
}

TEST(Principals, NoRoleImpliesAnother) {
  for (const Role role : kAllRoles) {
    const auto all = must(one("a", "t", grant("t", fmt::format("\"{}\"", role_name(role)))));
    for (const Role other : kAllRoles) {
      EXPECT_EQ(all->named("a")->roles_on("t").has(other), role == other);
    }
  }
}

TEST(Principals, AFileThatIsNotUnderstoodIsRefusedWhole) {
  EXPECT_THAT(refusal("[[principals]]\n"), HasSubstr("line 1"));
  EXPECT_THAT(refusal("x = 1\n"), HasSubstr("no 'x'"));
  EXPECT_THAT(refusal(one("a", "t", "tokns = []")), HasSubstr("no 'tokns'"));
  EXPECT_THAT(refusal(one("a", "t", grant("x", "\"reed\""))), HasSubstr("there is no role 'reed'"));
  EXPECT_THAT(refusal(one("a", "t", "[[principal.grant]]\nroles = [\"read\"]")),
              HasSubstr("no prefix"));
  EXPECT_THAT(refusal(one("a", "t", "[[principal.grant]]\nprefix = \"\"\nroles = []")),
              HasSubstr("no roles"));
  EXPECT_THAT(refusal(one("a", "t") + one("a", "u")), HasSubstr("two principals 'a'"));
  EXPECT_THAT(refusal(one("a", "t") + one("b", "t")), HasSubstr("the same token"));
  EXPECT_THAT(refusal("[[principal]]\nname = \"a\"\n"), HasSubstr("nothing proves"));
  EXPECT_THAT(refusal("[[principal]]\nname = \"a b\"\ntokens = []\n"), HasSubstr("letters"));
  EXPECT_THAT(refusal("[[principal]]\nname = \"a\"\ntokens = [\"cellar-secret\"]\n"),
              HasSubstr("begins with 'sha256:'"));
  EXPECT_THAT(refusal(fmt::format("[[principal]]\nname = \"a\"\ntokens = [\"{}\", \"{}\", \"{}\"]",
                                  hash_text("1"), hash_text("2"), hash_text("3"))),
              HasSubstr("more than 2"));
  EXPECT_THAT(refusal("[[principal]\n"), HasSubstr("principals.toml: line 1"));
  EXPECT_THAT(refusal(std::string(Principals::kMaxFileBytes + 1, '#')), HasSubstr("more than"));
  EXPECT_EQ(refusal(""), "accepted");  // no principal can log in
}

TEST(Principals, ARefusalOfAFileShowsNoSecret) {
  EXPECT_THAT(refusal("[[principal]]\nname = \"a\"\ntokens = [\"cellar-geheim\"]\n"),
              testing::Not(HasSubstr("geheim")));
}

TEST(Authorizer, BothTokensOfARotationAreGood) {
  const std::string text = fmt::format("[[principal]]\nname = \"a\"\ntokens = [\"{}\", \"{}\"]\n",
                                       hash_text("old"), hash_text("new"));
  const Authorizer authorizer(must(text));
  EXPECT_EQ(authorizer.by_token("old")->principal->name, "a");
  EXPECT_EQ(authorizer.by_token("new")->principal->name, "a");
  for (const std::string& wrong : {std::string(), std::string("olD"), std::string("old "),
                                   hash_text("old"), std::string(kMaxTokenBytes + 1, 'x')}) {
    const auto refused = authorizer.by_token(wrong);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::unauthenticated);
    EXPECT_EQ(refused.error().message, authorizer.by_token("else").error().message);
  }
}

TEST(Authorizer, AnIdentityHoldsAsLongAsItsProof) {
  const auto file = [](std::string_view tokens, std::string_view certificates = "") {
    return Authorizer(
        must(fmt::format("[[principal]]\nname = \"a\"\ntokens = [{}]\ncertificates = [{}]\n"
                         "[[principal]]\nname = \"b\"\ntokens = [\"{}\"]\n",
                         tokens, certificates, hash_text("b"))));
  };
  const std::string quoted = fmt::format("\"{}\"", hash_text("one"));
  const std::string other = fmt::format("\"{}\"", hash_text("two"));
  const Identity by_token = file(quoted).by_token("one").value();
  EXPECT_TRUE(file(quoted).renew(by_token));
  EXPECT_TRUE(file(other + "," + quoted).renew(by_token));
  EXPECT_FALSE(file(other).renew(by_token));
  EXPECT_FALSE(file("", "\"CN=a\"").renew(by_token));
  EXPECT_FALSE(Authorizer(must("")).renew(by_token));
  const Identity by_certificate = file("", "\"CN=a\"").by_certificate("CN=a").value();
  EXPECT_TRUE(file(other, "\"CN=a\"").renew(by_certificate));
  EXPECT_FALSE(file(other, "\"CN=b\"").renew(by_certificate));
  EXPECT_FALSE(file("", "\"CN=a\"").by_certificate("CN=A"));
}

TEST(Authorizer, ARefusalNamesOperationRoleAndTable) {
  const auto all = must(one("a", "t", grant("x", "\"read\"")));
  const Principal& a = *all->named("a");
  const auto refused = allow(a, "DropTable", {Roles{Role::schema}}, a.roles_on("x1"), "table 'x1'");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::permission_denied);
  EXPECT_EQ(refused.error().message,
            "DropTable needs the role schema on table 'x1', which 'a' does not have");
  EXPECT_TRUE(allow(a, "ReadRow", {Roles{Role::read}}, a.roles_on("x1"), "table 'x1'"));
  EXPECT_TRUE(allow(a, "DescribeTable", {Roles::all(), true}, a.roles_on("x1"), "table 'x1'"));
  EXPECT_FALSE(allow_node(a, "ServerInfo", {Roles{Role::admin}}));
}

TEST(Principal, CoversAnotherWhenNothingIsTakenAway) {
  const auto p = [](const std::string& grants) { return must(one("a", "t", grants))->named("a"); };
  const auto wide = p(grant("", "\"read\", \"write\""));
  const auto narrow = p(grant("logs/", "\"read\""));
  EXPECT_TRUE(wide->covers(*narrow));
  EXPECT_FALSE(narrow->covers(*wide));
  EXPECT_TRUE(narrow->covers(*p("")));
  EXPECT_FALSE(p(grant("logs/", "\"write\""))->covers(*narrow));
}

// ---- the chain ----

std::string chain(int lines, ChainEnd* end = nullptr) {
  ChainEnd at;
  std::string text;
  for (int i = 0; i < lines; ++i) {
    AuditEvent event;
    event.event = "login";
    event.principal = fmt::format("p{}", i);
    text += append_line(at, 1000 + i, event);
  }
  if (end) *end = at;
  return text;
}
std::string verdict(const std::string& text) {
  ChainReader reader;
  const auto read = read_chain(reader, text);
  return read ? "whole" : read.error().message;
}

TEST(AuditChain, IsWholeAsWritten) {
  ChainEnd end;
  const std::string text = chain(20, &end);
  ChainReader reader;
  ASSERT_TRUE(read_chain(reader, text));
  EXPECT_EQ(reader.lines(), 20u);
  EXPECT_EQ(reader.end(), end);
  EXPECT_EQ(verdict(""), "whole");
}

TEST(AuditChain, EveryChangedByteShowsAtItsLineOrTheNext) {
  const std::string text = chain(4);
  const size_t last = text.rfind('\n', text.size() - 2) + 1;
  size_t found = 0;
  // the last line has no successor: its hash is stored elsewhere
  for (size_t i = 0; i < last; ++i) {
    std::string bent = text;
    bent[i] ^= 1;
    found += verdict(bent) != "whole";
  }
  EXPECT_EQ(found, last);
}

TEST(AuditChain, ALineLeftOutPutInOrMovedShows) {
  const std::string text = chain(5);
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t newline = text.find('\n', at);
    lines.push_back(text.substr(at, newline + 1 - at));
    at = newline + 1;
  }
  const auto join = [](const std::vector<std::string>& parts) {
    std::string all;
    for (const auto& part : parts) all += part;
    return all;
  };
  auto without = lines;
  without.erase(without.begin() + 2);
  EXPECT_THAT(verdict(join(without)), HasSubstr("line 3: entry 4 follows entry 2"));
  auto twice = lines;
  twice.insert(twice.begin() + 2, lines[1]);
  EXPECT_THAT(verdict(join(twice)), HasSubstr("line 3"));
  auto swapped = lines;
  std::swap(swapped[1], swapped[2]);
  EXPECT_THAT(verdict(join(swapped)), HasSubstr("line 2"));
  // A later file alone may begin anywhere.
  EXPECT_EQ(verdict(join({lines.begin() + 2, lines.end()})), "whole");
  // But not if the beginning is there.
  ChainReader reader;
  ASSERT_TRUE(read_chain(reader, lines[0]));
  EXPECT_FALSE(read_chain(reader, join({lines.begin() + 2, lines.end()})));
}

TEST(AuditChain, ACutInALineShowsAndOneBetweenLinesByItsEnd) {
  ChainEnd end;
  const std::string text = chain(3, &end);
  for (size_t n = 1; n < text.size(); ++n) {
    const std::string cut = text.substr(0, n);
    ChainReader reader;
    const auto read = read_chain(reader, cut);
    if (cut.back() == '\n') {
      EXPECT_TRUE(read);
      EXPECT_NE(reader.end(), end);
    } else {
      EXPECT_FALSE(read) << n;
    }
  }
}

TEST(AuditChain, ACrashInALineIsToldByTheNextAndOnlySo) {
  const std::string text = chain(3);
  for (size_t cut = text.size() - 40; cut < text.size() - 1; ++cut) {
    std::string torn = text.substr(0, cut);
    const ChainTail tail = tail_of(torn);
    EXPECT_EQ(tail.end.sequence, 2u);
    EXPECT_EQ(tail.torn_bytes, torn.size() - torn.rfind('\n') - 1);
    ChainEnd end = tail.end;
    AuditEvent event;
    event.event = "login";
    EXPECT_NE(verdict(torn + "\n" + append_line(end, 5, event)), "whole");
    end = tail.end;
    event.event = "resumed";
    event.count = tail.torn_bytes;
    torn += "\n" + append_line(end, 5, event);
    event = {.event = "login",
             .principal = {},
             .address = {},
             .operation = {},
             .object = {},
             .outcome = {},
             .detail = {}};
    EXPECT_EQ(verdict(torn + append_line(end, 6, event)), "whole");
  }
  // Only its newline is missing: the line counts.
  const ChainTail whole = tail_of(Bytes(text).substr(0, text.size() - 1));
  EXPECT_EQ(whole.end.sequence, 3u);
  EXPECT_EQ(whole.torn_bytes, 0u);
  EXPECT_TRUE(whole.lacks_newline);
  EXPECT_EQ(tail_of(text).torn_bytes, 0u);
  EXPECT_EQ(tail_of(text).end.sequence, 3u);
  EXPECT_EQ(tail_of("half").end.sequence, 0u);
}

}  // namespace
}  // namespace cellar::security
