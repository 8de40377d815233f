// A node in memory with principals, TLS and a security log; and peers with and without credentials.
#pragma once

#include <filesystem>
#include <map>

#include "io/net/tls_stream.h"
#include "net/security/token.h"
#include "tests/net/server/server_bed.h"
#include "tests/support/certificates.h"

namespace cellar::server {

// A principal `name` with the token "token-NAME" and one grant.
inline std::string principal_text(std::string_view name, std::string_view prefix,
                                  std::string_view roles) {
  return fmt::format(
      "[[principal]]\nname = \"{}\"\ntokens = [\"{}\"]\n[[principal.grant]]\nprefix = \"{}\"\n"
      "roles = [{}]\n",
      name, security::hash_text(fmt::format("token-{}", name)), prefix, roles);
}

inline std::string hello_body(std::string_view token, std::string_view client_name = "test",
                              std::string_view client_id = "") {
  flatbuffers::FlatBufferBuilder builder;
  const auto name = builder.CreateString(client_name.data(), client_name.size());
  const auto secret = wire::bytes_vector(builder, token);
  const auto id = wire::bytes_vector(builder, client_id);
  wire::fb::HelloRequestBuilder hello(builder);
  hello.add_client_name(name);
  if (!client_id.empty()) hello.add_client_id(id);
  if (!token.empty()) hello.add_auth_token(secret);
  return std::string(wire::finish_body(builder, hello.Finish()));
}

class SecureBed : public ServerBed {
 public:
  explicit SecureBed(const std::string& principals, uint32_t shards = 2,
                     std::shared_ptr<const TlsContext> tls = nullptr,
                     std::string host = "127.0.0.1")
      : ServerBed(shards, ServerOptions(), 1, 100, std::move(host)),
        shards_(shards),
        tls_(std::move(tls)) {
    set_principals(principals);
  }
  void set_principals(const std::string& text) {
    auto parsed = security::Principals::parse(text, "principals.toml");
    CHECK(parsed, "{}", parsed.error().message);
    for (uint32_t i = 0; i < shards_; ++i) shard(i).set_policy({*parsed, tls_});
  }
  SecurityCounters counters() {
    SecurityCounters sum;
    for (uint32_t i = 0; i < shards_; ++i) {
      const SecurityCounters& one = shard(i).security().counters();
      sum.tls_handshakes += one.tls_handshakes;
      sum.tls_resumed += one.tls_resumed;
      sum.tls_handshake_failures += one.tls_handshake_failures;
      sum.tls_handshake_timeouts += one.tls_handshake_timeouts;
      sum.tls_plain_refused += one.tls_plain_refused;
      sum.openings_refused += one.openings_refused;
      sum.logins += one.logins;
      sum.login_failures += one.login_failures;
      sum.logins_refused += one.logins_refused;
      sum.denials += one.denials;
      sum.sessions_revoked += one.sessions_revoked;
    }
    return sum;
  }

 private:
  const uint32_t shards_;
  const std::shared_ptr<const TlsContext> tls_;
};

// A peer whose hello has this body; not logged in if it was refused.
inline std::unique_ptr<Peer> come(ServerBed& bed, const std::string& hello,
                                  std::optional<Answer>* answer = nullptr) {
  auto peer = std::make_unique<Peer>(bed, false);
  std::string preface;
  wire::append_preface(preface, {});
  peer->send(preface + wire::request_frame(wire::fb::Op::Hello, 1, hello));
  auto said = peer->answer(1);
  if (answer) *answer = std::move(said);
  return peer;
}
inline std::unique_ptr<Peer> come_as(ServerBed& bed, std::string_view name) {
  return come(bed, hello_body(fmt::format("token-{}", name)));
}

}  // namespace cellar::server
