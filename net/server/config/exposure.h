// Exposure: who can reach the node, and whether that is meant so.
#pragma once

#include <string_view>

#include "io/base/result.h"
#include "net/server/config/options.h"

namespace cellar::server {

// FAILED_PRECONDITION unless `address` ("HOST:PORT") may be served so: what others can reach needs
// TLS and principals, or security.insecure. The sentence tells what to set.
Result<void> check_exposure(std::string_view address, const SecurityOptions& security);

}  // namespace cellar::server
