#include "net/client/connections/dialler.h"

#include <algorithm>
#include <fstream>

#include "io/net/loopback.h"
#include "io/net/tls_stream.h"

namespace cellar::client {

Result<std::shared_ptr<const TlsContext>> Dialler::context(const TlsOptions& options) {
  if (context_ == nullptr) {
    TRY(context_,
        TlsContext::make_client({options.ca, options.certificate, options.key, options.verify}));
  }
  return context_;
}

Async<Result<std::unique_ptr<ByteStream>>> Dialler::connect(Timers& timers, Network& network,
                                                            const ClientOptions& options,
                                                            const Address& address) {
  const int64_t until_us = timers.now_us() + options.connect_timeout_us;
  std::shared_ptr<const TlsContext> tls;
  if (options.tls.enabled) {
    CO_TRY(tls, context(options.tls));
  }
  CO_TRY(auto stream,
         co_await network.connect(address.host, address.port, options.connect_timeout_us));
  if (tls == nullptr) co_return stream;
  const std::string& name = options.tls.server_name;
  const std::string server = name.empty() ? address.host : name;
  const int64_t left_us = std::max<int64_t>(until_us - timers.now_us(), 1000);
  CO_TRY(std::unique_ptr<ByteStream> secured,
         co_await tls_handshake(timers, std::move(stream), tls, {}, server, left_us));
  co_return secured;
}

Result<std::string> Dialler::token_for(const ClientOptions& options, const ByteStream& stream) {
  std::string token = options.token;
  if (!options.token_file.empty()) {
    TRY(token, read_token_file(options.token_file));
  }
  if (token.empty() || options.tls.enabled || is_loopback_peer(stream.peer())) return token;
  return fail(Errc::failed_precondition,
              "a token never travels in plain text to another machine ({}): use TLS",
              stream.peer());
}

Result<std::string> read_token_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) return fail(Errc::not_found, "cannot read the token file '{}'", path);
  std::string line;
  std::getline(file, line);
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
  if (line.empty()) return fail(Errc::invalid_argument, "the token file '{}' is empty", path);
  return line;
}

namespace {

// Removes "connecting to ...: ", which the surrounding message already has.
std::string_view reason_of(std::string_view message) {
  if (!message.starts_with("connecting to ")) return message;
  const size_t colon = message.find(": ");
  return colon == std::string_view::npos ? message : message.substr(colon + 2);
}

// Untrusted certificates and unusable files are distinguished from an unreachable node.
Errc code_of(const Error& error) {
  const bool kept = error.code == Errc::unauthenticated || error.code == Errc::invalid_argument;
  return kept ? error.code : Errc::unavailable;
}

}  // namespace

Error Dialler::unreachable(const ClientOptions& options, const Error& why) {
  return Error(code_of(why),
               fmt::format("cannot connect to {}: {}", options.address, reason_of(why.message)));
}

}  // namespace cellar::client
