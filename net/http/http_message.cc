#include "net/http/http_message.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "io/base/hex.h"

namespace cellar::http {
namespace {

// Invalid escapes are copied unchanged.
std::string decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
    if (low >= 0) {
      out.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    } else {
      out.push_back(text[i] == '+' ? ' ' : text[i]);
    }
  }
  return out;
}

}  // namespace

bool HttpRequest::from_loopback() const {
  return peer.starts_with("127.") || peer.starts_with("[::1]") || peer.starts_with("[::ffff:127.");
}

std::string HttpRequest::parameter(std::string_view name) const {
  return find_parameter(name).value_or("");
}

std::optional<std::string> HttpRequest::find_parameter(std::string_view name) const {
  std::string_view rest = query;
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
    const size_t equals = std::min(pair.find('='), pair.size());
    if (pair.substr(0, equals) != name) continue;
    return decoded(pair.substr(std::min(equals + 1, pair.size())));
  }
  return std::nullopt;
}

HttpResponse error_response(int status, std::string_view code, std::string_view message) {
  const boost::json::value body = {{"error", {{"code", code}, {"message", message}}}};
  HttpResponse response;
  response.status = status;
  response.content_type = "application/json";
  response.body = boost::json::serialize(body) + "\n";
  return response;
}

}  // namespace cellar::http
