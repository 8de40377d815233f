// A blocking HTTP request to this machine, for tests: one connection, one answer.
#pragma once

#include <string>

namespace cellar::process {

struct HttpAnswer {
  int status = 0;  // 0: no connection, or no answer in time
  std::string head;
  std::string body;
};

// `address`: HOST:PORT, a numeric host. `headers`: whole lines with \r\n.
HttpAnswer http_call(const std::string& address, const std::string& method,
                     const std::string& target, const std::string& headers = "",
                     const std::string& body = "", int timeout_ms = 30'000);
inline HttpAnswer http_get(const std::string& address, const std::string& target) {
  return http_call(address, "GET", target);
}

// The HTTP address in the log of a node that listens on port 0; empty: it is not in the log.
std::string http_address_in(const std::string& log_path);

}  // namespace cellar::process
