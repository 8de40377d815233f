// Forms of requests, each with every permitted answer: the statuses of the whole connection, in
// order. A second status means that bytes of a body were answered as a request.
#include "tests/net/http/http_listener_bed.h"

namespace cellar::http {
namespace {

struct Form {
  const char* name;
  std::string bytes;
  const char* statuses;
};

// A request that must not be found in a body.
constexpr const char* kInner = "GET /api/v1/config HTTP/1.1\r\nHost: localhost\r\n\r\n";

std::string get(std::string_view target, std::string_view headers) {
  return fmt::format("GET {} HTTP/1.1\r\n{}Connection: close\r\n\r\n", target, headers);
}
// A request whose header is followed by a body and then by the inner request.
std::string smuggle(std::string_view method, std::string_view headers, std::string_view body = "") {
  return fmt::format("{} /healthz HTTP/1.1\r\nHost: localhost\r\n{}\r\n{}{}", method, headers, body,
                     kInner);
}
std::string nested(size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

std::vector<Form> forms() {
  return {
      // ---- where a body ends
      {"unknown encoding on a GET", smuggle("GET", "Transfer-Encoding: xchunked\r\n"), "501"},
      {"unknown encoding", smuggle("POST", "Transfer-Encoding: xchunked\r\n"), "501"},
      {"unknown encoding before a length",
       smuggle("POST", "Transfer-Encoding: xchunked\r\nContent-Length: 4\r\n", "abcd"), "501"},
      {"unknown encoding after a length",
       smuggle("POST", "Content-Length: 4\r\nTransfer-Encoding: xchunked\r\n", "abcd"), "400"},
      {"chunked, then identity", smuggle("POST", "Transfer-Encoding: chunked, identity\r\n"),
       "501"},
      {"identity, then chunked", smuggle("POST", "Transfer-Encoding: identity, chunked\r\n"),
       "501"},
      {"identity", smuggle("POST", "Transfer-Encoding: identity\r\n"), "501"},
      {"gzip, then chunked", smuggle("POST", "Transfer-Encoding: gzip, chunked\r\n"), "501"},
      {"chunked twice", smuggle("POST", "Transfer-Encoding: chunked, chunked\r\n"), "501"},
      {"two encodings",
       smuggle("POST", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"), "400"},
      {"two encodings, the unknown one first",
       smuggle("POST", "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n"), "501"},
      {"no encoding", smuggle("POST", "Transfer-Encoding:\r\n"), "501"},
      {"quoted encoding", smuggle("POST", "Transfer-Encoding: \"chunked\"\r\n"), "501"},
      {"encoding with a parameter", smuggle("POST", "Transfer-Encoding: chunked;q=1\r\n"), "501"},
      {"encoding behind a control character",
       smuggle("POST",
               "Transfer-Encoding: \x0b"
               "chunked\r\n"),
       "400"},
      {"blank before the colon", smuggle("POST", "Transfer-Encoding : chunked\r\n", "0\r\n\r\n"),
       "400"},
      {"encoding and length",
       smuggle("POST", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"), "400"},
      {"length and encoding",
       smuggle("POST", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), "400"},
      {"encoding in HTTP/1.0",
       "POST /healthz HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       "400"},
      {"two lengths", smuggle("POST", "Content-Length: 4\r\nContent-Length: 5\r\n", "abcd"), "400"},
      {"one length twice", smuggle("POST", "Content-Length: 4\r\nContent-Length: 4\r\n", "abcd"),
       "400"},
      {"lengths in a list", smuggle("POST", "Content-Length: 4, 4\r\n", "abcd"), "400"},
      {"signed length", smuggle("POST", "Content-Length: +4\r\n", "abcd"), "400"},
      {"trailer fields",
       smuggle("POST", "Transfer-Encoding: chunked\r\n", "0\r\nX-Cellar-Request: 1\r\n\r\n"),
       "400"},
      {"a Host in the trailer",
       smuggle("POST", "Transfer-Encoding: chunked\r\n", "0\r\nHost: evil.example\r\n\r\n"), "400"},
      {"chunked in capitals", smuggle("POST", "Transfer-Encoding: CHUNKED\r\n", "0\r\n\r\n"),
       "405 503"},
      {"a body and the next request", smuggle("POST", "Content-Length: 4\r\n", "abcd"), "405 503"},
      // ---- the host
      {"rebound Host", get("/healthz", "Host: evil.example\r\n"), "421"},
      {"Host that ends in an address", get("/healthz", "Host: evil.example:127.0.0.1\r\n"), "421"},
      {"two Hosts", get("/healthz", "Host: localhost\r\nHost: evil.example\r\n"), "400"},
      {"no Host", get("/healthz", ""), "400"},
      {"foreign Origin", get("/healthz", "Host: localhost\r\nOrigin: http://evil.example\r\n"),
       "403"},
      {"Origin null", get("/healthz", "Host: localhost\r\nOrigin: null\r\n"), "403"},
      {"absolute target", get("http://localhost/healthz", "Host: localhost\r\n"), "400"},
      // ---- the path
      {"up and out", get("/../../etc/passwd", "Host: localhost\r\n"), "404"},
      {"up, escaped", get("/%2e%2e/%2e%2e/etc/passwd", "Host: localhost\r\n"), "404"},
      {"up out of the console", get("/console/../api/v1/config", "Host: localhost\r\n"), "404"},
      {"two slashes", get("//api/v1/config", "Host: localhost\r\n"), "404"},
      {"escaped letters", get("/%61pi/v1/config", "Host: localhost\r\n"), "404"},
      {"a NUL in the path", get(std::string("/healthz\0", 9), "Host: localhost\r\n"), "400"},
      // ---- the method
      {"TRACE", "TRACE /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "405"},
      {"OPTIONS", "OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "400"},
      {"CONNECT", "CONNECT localhost:22 HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"},
      {"no such method", "STEAL /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", "501"},
      {"small letters", "get /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", "501"},
      {"a body on a GET", smuggle("GET", "Content-Length: 4\r\n", "abcd"), "400"},
      {"an upgrade", get("/healthz", "Host: localhost\r\nUpgrade: h2c\r\n"), "400"},
      {"HTTP/2 without TLS", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400"},
      // ---- sizes
      {"a long header line",
       get("/healthz", "Host: localhost\r\nX-A: " + std::string(9000, 'a') + "\r\n"), "431"},
      {"a long target", get("/" + std::string(9000, 'a'), "Host: localhost\r\n"), "431"},
      {"deep JSON, before the node serves",
       fmt::format("POST /api/v1/drain HTTP/1.1\r\nHost: localhost\r\nX-Cellar-Request: 1\r\n"
                   "Content-Type: application/json\r\nContent-Length: {}\r\n"
                   "Connection: close\r\n\r\n{}",
                   nested(5000).size(), nested(5000)),
       "503"},
      {"a length past every bound",
       smuggle("POST", "Content-Length: 18446744073709551616\r\n", "abcd"), "400"},
      {"a body past the bound", smuggle("POST", "Content-Length: 1048577\r\n"), "413"},
      {"a folded line",
       "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A: b\r\n c\r\n"
       "Connection: close\r\n\r\n",
       "200"},
      {"another protocol", "SSH-2.0-OpenSSH_9.2\r\n\r\n", "400"},
  };
}

std::string statuses_of(const std::string& all) {
  std::string statuses;
  for (size_t at = all.find("HTTP/1.1 "); at != std::string::npos;
       at = all.find("HTTP/1.1 ", at + 1)) {
    if (!statuses.empty()) statuses += ' ';
    statuses += all.substr(at + 9, 3);
  }
  return statuses;
}

using HttpForms = HttpListenerBed;

TEST_F(HttpForms, EveryFormHasItsAnswersAndNoMore) {
  for (const Form& form : forms()) {
    EXPECT_EQ(statuses_of(ask(form.bytes)), form.statuses) << form.name;
  }
}

// Lines end with CR and LF, so this request is never complete.
TEST_F(HttpForms, LineFeedsAloneEndNothing) {
  EXPECT_EQ(ask("GET /healthz HTTP/1.1\nHost: localhost\n\n").find("200"), std::string::npos);
}

// A request in pieces gets the same answer as one that arrives whole.
TEST_F(HttpForms, TheAnswersDoNotDependOnHowTheBytesArrive) {
  for (const Form& form : forms()) {
    if (form.bytes.size() > 1000) continue;
    ByteStream& peer = connect();
    for (const char c : form.bytes) send(peer, std::string(1, c));
    EXPECT_EQ(statuses_of(read_to_end(peer)), form.statuses) << form.name;
  }
}

}  // namespace
}  // namespace cellar::http
