// Input of users, files, scrapers and proxies: rules, filters, schemas, rows, scripts, checkpoints
// of imports, settings, the security log, HTTP, the PROXY header. Accepted input is printed and
// parsed again, with the same meaning.
#include <boost/json.hpp>

#include "io/base/check.h"
#include "io/base/crc32c.h"
#include "net/cli/parse/filter_json.h"
#include "net/cli/parse/rule_text.h"
#include "net/cli/parse/table_json.h"
#include "net/cli/program/invocation.h"
#include "net/cli/session/json_rows.h"
#include "net/cli/text/byte_forms.h"
#include "net/cli/text/columns.h"
#include "net/cli/text/times.h"
#include "net/cli/text/words.h"
#include "net/cli/transfer/checkpoint.h"
#include "net/cli/transfer/csv.h"
#include "net/cli/transfer/log_formats.h"
#include "net/http/http_parser.h"
#include "net/security/audit_chain.h"
#include "net/security/principals.h"
#include "net/server/accept/proxy_header.h"
#include "net/server/config/config.h"
#include "net/server/config/network_list.h"
#include "net/server/config/settings.h"
#include "net/server/config/table_owners.h"
#include "tests/fuzz/fuzz_target.h"

namespace cellar::fuzz {
namespace {

constexpr int64_t kNowUs = 1'700'000'000'000'000;

void rule(Bytes text) {
  const auto parsed = cli::parse_rule(text);
  if (!parsed) return;
  const std::string said = cli::rule_text(*parsed);
  const auto again = cli::parse_rule(said);
  CHECK(again && cli::rule_text(*again) == said, "'{}' is said as '{}'", text, said);
}

void filter(Bytes text) { (void)cli::parse_filter_json(text, kNowUs); }
void schema(Bytes text) { (void)cli::parse_schema(text); }

void rows(Bytes text) {
  (void)cli::parse_json_row(text, kNowUs);
  (void)cli::split_csv(text);
  (void)cli::parse_dpkg_line(text, true);
}

void words(Bytes text) {
  (void)cli::parse_column(text);
  (void)cli::parse_cell(text, kNowUs, false);
  (void)cli::ColumnChoice::parse(text, false);
  for (const bool escaped : {false, true}) (void)cli::parse_bytes(text, escaped);
  for (const auto form :
       {cli::BytesForm::utf8, cli::BytesForm::hex, cli::BytesForm::base64, cli::BytesForm::int64}) {
    const auto bytes = cli::from_form(text, form);
    if (!bytes || form == cli::BytesForm::utf8) continue;
    const auto again = cli::from_form(cli::shown(*bytes, form), form);
    CHECK(again && *again == *bytes, "'{}' in form {}", text, cli::form_name(form));
  }
}

void times(Bytes text) {
  (void)cli::parse_time(text, kNowUs);
  (void)server::parse_size(text);
  (void)server::parse_duration_us(text);
  const auto us = cli::parse_duration(text);
  if (!us) return;
  const auto again = cli::parse_duration(cli::exact_duration(*us));
  CHECK(again && *again == *us, "'{}' is said as '{}'", text, cli::exact_duration(*us));
}

void settings(Bytes text) {
  server::ServerOptions options;
  if (server::apply_toml(text, "a file", options)) (void)server::check_options(options);
}

void principals(Bytes text) { (void)security::Principals::parse(text, "a file"); }

void networks(Bytes text) {
  if (const auto list = server::NetworkList::parse(text)) {
    const auto again = server::NetworkList::parse(list->to_string());
    CHECK(again && again->to_string() == list->to_string());
  }
  server::NetworkList all = *server::NetworkList::parse("10.0.0.0/8, fd00::/8");
  (void)all.contains(text);
  if (const auto owners = server::TableOwners::parse(text))
    CHECK(server::TableOwners::parse(owners->to_string()));
}

void proxy(Bytes header) {
  (void)server::may_be_proxy_header(header);
  (void)server::looks_like_proxy_v1(header);
  if (header.size() < server::kProxyFixedBytes) return;
  const auto bytes = server::proxy_header_bytes(header.substr(0, server::kProxyFixedBytes));
  if (bytes && *bytes <= header.size()) (void)server::parse_proxy_header(header.substr(0, *bytes));
}

struct HttpOutcome {
  std::string requests;
  int refused = 0;  // the status of a refusal; 0: none, or none yet
};

HttpOutcome http_outcome(Bytes stream, size_t piece) {
  http::HttpParser parser;
  HttpOutcome seen;
  while (true) {
    const auto step = parser.next();
    if (step == http::HttpParser::Step::refused) {
      seen.refused = parser.refusal().status;
      return seen;
    }
    if (step == http::HttpParser::Step::need_more) {
      if (stream.empty()) return seen;
      const Bytes part = stream.substr(0, piece);
      parser.feed(as_byte_span(part));
      stream.remove_prefix(part.size());
      continue;
    }
    const http::HttpRequest request = parser.take();
    (void)request.parameter("table");
    seen.requests += fmt::format("{} {} {}\n", request.path, request.query, request.body);
  }
}

// The input in pieces whose size is its first byte. The result does not depend on the pieces,
// except that a header that comes in pieces is refused when it is complete, and one that comes at
// once earlier.
void http(Bytes input) {
  const Choice piece = choose(input, 64);
  const HttpOutcome whole = http_outcome(piece.rest, SIZE_MAX);
  const HttpOutcome parts = http_outcome(piece.rest, piece.number + 1);
  CHECK(whole.requests == parts.requests && (parts.refused == 0 || parts.refused == whole.refused),
        "'{}': '{}' and {} at once, '{}' and {} in pieces", escape_bytes(input, 1000),
        whole.requests, whole.refused, parts.requests, parts.refused);
}

// The lines of a script of cellar, as far as they need no node.
void script(Bytes text) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const auto words = cli::split_words(text.substr(0, end));
    if (words) (void)cli::parse_invocation(*words);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void checkpoint(Bytes content) {
  const cli::ImportIdentity identity{"t", "csv", 100, 5};
  (void)cli::parse_checkpoint(content, "a file", identity);
  // The same with the checksum that a writer would have put there.
  boost::json::error_code error;
  boost::json::value value = boost::json::parse(std::string_view(content), error);
  if (error || !value.is_object()) return;
  value.as_object().erase("crc32c");
  value.as_object()["crc32c"] = crc32c(boost::json::serialize(value));
  (void)cli::parse_checkpoint(boost::json::serialize(value), "a file", identity);
}

security::AuditEvent event_of(std::string event, std::string principal) {
  security::AuditEvent made;
  made.event = std::move(event);
  made.principal = std::move(principal);
  return made;
}

// What a node would continue is a chain that its reader accepts.
void security_log(Bytes text) {
  security::ChainReader all;
  const bool whole = security::read_chain(all, text).has_value();
  const security::ChainTail tail = security::tail_of(text);
  CHECK(tail.torn_bytes <= text.size());
  if (!whole || tail.torn_bytes > 0 || tail.lacks_newline) return;
  security::ChainEnd end = tail.end;
  const std::string longer =
      std::string(text) + security::append_line(end, 7, event_of("login", "a"));
  security::ChainReader again;
  CHECK(security::read_chain(again, longer), "'{}' cannot be continued", escape_bytes(text, 1000));
}

using Parse = void (*)(Bytes);
constexpr Parse kParsers[] = {&rule,  &filter,   &schema,     &rows,        &words,
                              &times, &settings, &principals, &networks,    &proxy,
                              &http,  &script,   &checkpoint, &security_log};

std::string chain_seed() {
  security::ChainEnd end;
  std::string lines = security::append_line(end, 1, event_of("login", "a"));
  return lines + security::append_line(end, 2, event_of("denied", "b"));
}

void fuzz_text(Bytes input) {
  const Choice choice = choose(input, std::size(kParsers));
  kParsers[choice.number](choice.rest);
}

std::string proxy_seed() {
  std::string header(server::kProxySignature);
  header += std::string("\x21\x11\0\x0c\x0a\0\0\1\x0a\0\0\2\x1f\x90\x1c\xfc", 16);
  return header;
}

std::vector<std::string> text_seeds() {
  return {
      chosen(0, "age 1d or (versions 3 and age 90m)"),
      chosen(0, "never"),
      chosen(1, R"({"chain": [{"family_regex": "f|g"}, {"cells_per_column": 2}]})"),
      chosen(1, R"({"column_range": {"family": "f", "start": "a", "end": {"hex": "62"}}})"),
      chosen(1, R"({"time_range": {"start": "2024-01-01T00:00:00Z", "end": 17}})"),
      chosen(2, R"({"name": "t", "families": [{"name": "f", "rule": "versions 2"}]})"),
      chosen(3, R"({"key": "r", "cells": [{"f": "f", "q": "q", "t": 5, "v": "x"}]})"),
      chosen(3, R"(a,"b ""c""",d)"),
      chosen(3, "2024-01-01 00:00:00 status installed libc6:amd64 2.36-9"),
      chosen(4, "f:q=value@2024-01-01"),
      chosen(4, R"(f,g:\x00q)"),
      chosen(4, "AAAAAAAAAAE="),
      chosen(5, "1d12h"),
      chosen(5, "2024-01-01T00:00:00.123456Z"),
      chosen(5, "64MiB"),
      chosen(6, "data-dir = \"/var/lib/cellar\"\n[memory]\ntotal = \"1GiB\"\n"),
      chosen(7, "[[principal]]\nname = \"a\"\nroles = [\"read\"]\n"),
      chosen(8, "10.0.0.0/8, fd00::/8, 192.0.2.7"),
      chosen(8, "events=10.0.0.11:7420, users*=10.0.0.12:7420"),
      chosen(8, "[::ffff:10.0.0.1]:99"),
      chosen(9, proxy_seed()),
      chosen(10, chosen(3, "GET /api/tables?table=a%20b HTTP/1.1\r\nHost: localhost\r\n\r\n")),
      chosen(10, chosen(9,
                        "POST /api/drain HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\n"
                        "bodyGET / HTTP/1.1\r\nHost: h\r\n\r\n")),
      chosen(11, "set events r f:q='a b'@now-1h ttl=5m\ncount events prefix=r --json\n"),
      chosen(11, "gc set events f \"maxage=1d or maxversions=2\" --yes\nread t filter={}\n"),
      chosen(12, R"({"cellar_import":1,"table":"t","format":"csv","file_bytes":100,)"
                 R"("file_time_ns":5,"offset":10,"line":2,"records":1,"rows":1,"cells":3,)"
                 R"("rejected":0,"at_us":7})"),
      chosen(13, chain_seed()),
  };
}

}  // namespace

const FuzzTarget kTextTarget = {"text", &fuzz_text, &text_seeds};

}  // namespace cellar::fuzz
