// Dialler: from an address to a stream that a hello can be said on: TCP, and TLS where the options
// want it; and the token that goes into the hello.
#pragma once

#include <memory>
#include <string>

#include "io/loop/timers.h"
#include "io/net/tls_context.h"
#include "io/net/transport.h"
#include "net/client/api/options.h"

namespace cellar::client {

// One loop. Connections of one client share one, and so the TLS session that the next may resume.
class Dialler {
 public:
  // Errors: INVALID_ARGUMENT (files of the options), UNAUTHENTICATED (a certificate is not
  // believed, by either side), DEADLINE_EXCEEDED, UNAVAILABLE.
  Async<Result<std::unique_ptr<ByteStream>>> connect(Timers& timers, Network& network,
                                                     const ClientOptions& options,
                                                     const Address& address);
  // The token for a hello on `stream`, read anew from its file each time; empty: none.
  // FAILED_PRECONDITION when it would travel in plain text to another machine.
  static Result<std::string> token_for(const ClientOptions& options, const ByteStream& stream);

 private:
  Result<std::shared_ptr<const TlsContext>> context(const TlsOptions& options);

  std::shared_ptr<const TlsContext> context_;
};

// The first line of a token's file. NOT_FOUND, INVALID_ARGUMENT name the file.
Result<std::string> read_token_file(const std::string& path);

}  // namespace cellar::client
