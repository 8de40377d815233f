// Dialler: connects to an address: TCP, TLS if configured; and reads the token for the hello.
#pragma once

#include <memory>
#include <string>

#include "io/loop/timers.h"
#include "io/net/tls_context.h"
#include "io/net/transport.h"
#include "net/client/api/options.h"

namespace cellar::client {

// One loop. All connections of a client share one, and with it the resumable TLS session.
class Dialler {
 public:
  // Errors: INVALID_ARGUMENT (files of the options), UNAUTHENTICATED (either side rejects a
  // certificate), DEADLINE_EXCEEDED, UNAVAILABLE.
  Async<Result<std::unique_ptr<ByteStream>>> connect(Timers& timers, Network& network,
                                                     const ClientOptions& options,
                                                     const Address& address);
  // What a failure of connect() is for the caller of a request.
  static Error unreachable(const ClientOptions& options, const Error& why);
  // The token for a hello on `stream`, read from its file each time; empty: none.
  // FAILED_PRECONDITION if it would be sent in plain text to another machine.
  static Result<std::string> token_for(const ClientOptions& options, const ByteStream& stream);

 private:
  Result<std::shared_ptr<const TlsContext>> context(const TlsOptions& options);

  std::shared_ptr<const TlsContext> context_;
};

// The first line of a token file. NOT_FOUND and INVALID_ARGUMENT name the file.
Result<std::string> read_token_file(const std::string& path);

}  // namespace cellar::client
