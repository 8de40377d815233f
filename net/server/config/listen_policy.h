// The listen policy: checks that an address reachable by others is intentional and protected.
#pragma once

#include <string_view>

#include "io/base/result.h"
#include "net/server/config/options.h"

namespace cellar::server {

// FAILED_PRECONDITION if `address` ("HOST:PORT") is reachable from other machines without TLS and
// principals, unless security.insecure is set; for principals without TLS even then. Also if the
// TLS settings are incomplete. The error names the settings.
Result<void> check_listen_policy(std::string_view address, const SecurityOptions& security);

}  // namespace cellar::server
