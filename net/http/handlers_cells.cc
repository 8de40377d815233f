// Cells for display: of a table in key order, and those that an index finds.
#include <optional>

#include "engine/model/death_cause.h"
#include "io/base/hex.h"
#include "net/http/api.h"
#include "net/http/cell_browser.h"
#include "net/http/http_node.h"
#include "net/http/index_browser.h"
#include "net/http/routes.h"

namespace cellar::http {

using server::ShardServer;

namespace {

json::value cell_value(const BrowsedCell& cell) {
  return {
      {"row", shown(cell.row)},
      {"family", cell.family},
      {"qualifier", shown(cell.qualifier)},
      {"timestamp_us", cell.timestamp_us},
      {"timestamp", fmt::format("{}", cell.timestamp_us)},
      {"value", shown(cell.value)},
      {"value_bytes", cell.value_bytes},
      {"label", shown(cell.label)},
      {"dead", cell.note.dead},
      {"dies_at_us", time_value(cell.note.dies_at_us)},
      {"cause", name_of(cell.note.cause)},
      {"clause", cell.note.clause == kNoClause ? json::value() : json::value(cell.note.clause)},
      {"expire_at_us",
       cell.note.expire_at_us == kNoExpiry ? json::value() : json::value(cell.note.expire_at_us)}};
}

Result<BrowseRequest> browse_request(const HttpRequest& request) {
  BrowseRequest wanted;
  wanted.table = request.parameter("table");
  TRY(wanted.prefix, bytes_of(request.parameter("prefix")));
  TRY(wanted.after, bytes_of(request.parameter("after")));
  TRY(wanted.cells, number_parameter(request, "limit", 200, kMaxBrowsedCells));
  wanted.cells = std::max<size_t>(wanted.cells, 1);
  wanted.include_dead = request.parameter("dead") != "0";
  wanted.family = request.parameter("family");
  wanted.qualifier = request.parameter("qualifier");
  wanted.text = request.parameter("value");
  TRY(const uint64_t since_us, number_parameter(request, "since_us", 0, kMaxTimestampUs));
  TRY(const uint64_t until_us,
      number_parameter(request, "until_us", kMaxTimestampUs, kMaxTimestampUs));
  TRY(const uint64_t versions, number_parameter(request, "versions", 0, UINT32_MAX));
  wanted.times = {static_cast<int64_t>(since_us), static_cast<int64_t>(until_us)};
  wanted.versions = static_cast<uint32_t>(versions);
  return wanted;
}

bool lives(const BrowsedCell& cell) {
  return cell.note.cause == DeathCause::own_age || cell.note.cause == DeathCause::not_newest;
}

json::value hit_value(const BrowsedHit& hit) {
  json::array covered;
  for (const BrowsedCell& cell : hit.covered) {
    covered.push_back({{"family", cell.family},
                       {"qualifier", shown(cell.qualifier)},
                       {"timestamp_us", cell.timestamp_us},
                       {"timestamp", fmt::format("{}", cell.timestamp_us)},
                       {"value", shown(cell.value)},
                       {"value_bytes", cell.value_bytes}});
  }
  json::object value = cell_value(hit.cell).as_object();
  value["dead"] = hit.cell.note.dead && !lives(hit.cell);
  value["found"] = hit.found;
  value["covered"] = std::move(covered);
  return value;
}

// NAME: exactly that; NAME_from, NAME_to, NAME_through: a range, which has its last bound with
// NAME_through. Nullopt: no such condition.
Result<std::optional<KeyPartRange>> range_parameter(const HttpRequest& request,
                                                    const std::string& name) {
  std::optional<std::string> bounds[4];
  constexpr std::string_view kSuffixes[] = {"", "_from", "_to", "_through"};
  for (size_t i = 0; i < std::size(bounds); ++i) {
    const auto text = request.find_parameter(name + std::string(kSuffixes[i]));
    if (!text) continue;
    TRY(bounds[i], bytes_of(*text));
  }
  const auto& [exactly, from, to, through] = bounds;
  if ((to && through) || (exactly && (from || to || through))) {
    return fail(Errc::invalid_argument,
                "of {0}, {0}_to and {0}_through one is given; {0}_from goes "
                "with either of the latter",
                name);
  }
  if (exactly) return std::optional(KeyPartRange::exactly(*exactly));
  if (!from && !to && !through) return std::optional<KeyPartRange>();
  return std::optional(KeyPartRange{from, through ? through : to, false, through.has_value()});
}

Result<std::string> position_parameter(const HttpRequest& request, std::string_view name) {
  const std::string text = request.parameter(name);
  std::string bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    const int high = hex_digit(text[i]);
    const int low = hex_digit(text[i + 1]);
    if (high < 0 || low < 0) break;
    bytes.push_back(static_cast<char>(high * 16 + low));
  }
  if (2 * bytes.size() == text.size()) return bytes;
  return fail(Errc::invalid_argument, "{} is no position, which is in hexadecimal", name);
}

Result<std::optional<TimeRange>> time_parameter(const HttpRequest& request) {
  TRY(const uint64_t since_us, number_parameter(request, "since_us", 0, kMaxTimestampUs));
  TRY(const uint64_t until_us,
      number_parameter(request, "until_us", kMaxTimestampUs, kMaxTimestampUs));
  if (request.parameter("since_us").empty() && request.parameter("until_us").empty()) {
    return std::optional<TimeRange>();
  }
  return std::optional(TimeRange{static_cast<int64_t>(since_us), static_cast<int64_t>(until_us)});
}

Result<BrowseIndexRequest> index_request(const HttpRequest& request) {
  BrowseIndexRequest wanted;
  wanted.table = request.parameter("table");
  wanted.spec.index = request.parameter("index");
  TRY(wanted.spec.values, range_parameter(request, "value"));
  TRY(wanted.spec.qualifiers, range_parameter(request, "qualifier"));
  TRY(wanted.spec.time, time_parameter(request));
  TRY(const std::string prefix, bytes_of(request.parameter("prefix")));
  if (!prefix.empty()) {
    wanted.spec.rows = RowSet();
    wanted.spec.rows.add(KeyRange::prefix(prefix));
  }
  wanted.spec.reversed = request.parameter("reversed") == "1";
  wanted.spec.explain = request.parameter("explain") == "1";
  TRY(wanted.spec.after, position_parameter(request, "after"));
  TRY(const uint64_t hits, number_parameter(request, "limit", 50, kMaxBrowsedHits));
  wanted.hits = std::max<size_t>(hits, 1);
  return wanted;
}

}  // namespace

Async<HttpResponse> handle_cells(HttpNode& node, const HttpRequest& request) {
  auto wanted = browse_request(request);
  if (!wanted) co_return json_error(wanted.error());
  auto there = [&](ShardServer& home) { return browse(home, std::move(*wanted)); };
  const auto found = co_await node.ask_home(std::move(there));
  if (!found) co_return json_error(found.error());
  json::array cells;
  for (const BrowsedCell& cell : found->cells) cells.push_back(cell_value(cell));
  co_return json_response({{"now_us", found->now_us},
                           {"more", found->more},
                           {"next", shown(found->next)},
                           {"cut", found->cut},
                           {"cells", std::move(cells)}});
}

Async<HttpResponse> handle_index_cells(HttpNode& node, const HttpRequest& request) {
  auto wanted = index_request(request);
  if (!wanted) co_return json_error(wanted.error());
  auto there = [&](ShardServer& home) { return browse_index(home, std::move(*wanted)); };
  const auto found = co_await node.ask_home(std::move(there));
  if (!found) co_return json_error(found.error());
  json::array hits;
  for (const BrowsedHit& hit : found->hits) hits.push_back(hit_value(hit));
  co_return json_response({{"now_us", found->now_us},
                           {"more", found->more},
                           {"next", to_hex(found->next)},
                           {"hits", std::move(hits)}});
}

}  // namespace cellar::http
