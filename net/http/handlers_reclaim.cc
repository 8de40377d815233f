// Reports why dead data is still on disk (engine/node/reclaim_report.h), as JSON.
#include "engine/node/reclaim_report.h"
#include "net/http/api.h"
#include "net/http/http_node.h"
#include "net/http/routes.h"

namespace cellar::http {

namespace {

using server::ShardServer;

constexpr uint64_t kFiles = 100;

Async<Result<engine::ReclaimReport>> look(ShardServer& shard, std::string name, size_t files) {
  engine::ReclaimQuestion question{TableId{}, files};
  if (!name.empty()) {
    const engine::TableEntry* table = shard.tables().find(name);
    if (table == nullptr) co_return fail(Errc::not_found, "there is no such table");
    question.table = table->schema.id;
  }
  co_return co_await shard.node().reclaim_report(shard.id(), question);
}

// The file name; empty if there is no blob.
std::string file_name(BlobId blob) {
  return blob == BlobId{} ? std::string() : fmt::format("{:016x}", blob.value());
}

json::value since_value(int64_t us) { return us == 0 ? json::value() : json::value(us); }

json::value table_value(const engine::TableReclaim& of) {
  return {{"name", of.name},
          {"live_bytes", of.figures.live_bytes},
          {"dead_bytes", of.figures.dead_bytes},
          {"overdue_bytes", of.figures.overdue_bytes},
          {"held_bytes", of.figures.held_bytes},
          {"pinned_bytes", of.figures.pinned_bytes},
          {"unknown_bytes", of.figures.unknown_bytes},
          {"damaged_sstables", of.figures.damaged_tables},
          {"missed_since_us", time_value(of.missed_since_us)}};
}

json::value file_value(const engine::ReclaimFile& of) {
  return {{"tablet", of.tablet.value()},
          {"file", file_name(of.blob)},
          {"bytes", of.bytes},
          {"dead_bytes", of.dead_bytes},
          {"overdue_bytes", of.overdue_bytes},
          {"held_bytes", of.held_bytes},
          {"overdue_since_us", time_value(of.overdue_since_us)},
          {"wholly_dead", of.wholly_dead},
          {"reason", engine::reclaim_reason_name(of.reason)},
          {"since_us", since_value(of.since_us)},
          {"until_us", time_value(of.until_us)},
          {"done_us", time_value(of.done_us)},
          {"count", of.count},
          {"other", file_name(of.other)},
          {"error", of.error}};
}

json::value sum_value(const engine::ReclaimReasonSum& of) {
  return {{"reason", engine::reclaim_reason_name(of.reason)},
          {"files", of.files},
          {"bytes", of.bytes},
          {"dead_bytes", of.dead_bytes},
          {"overdue_bytes", of.overdue_bytes}};
}

template <class All, class One>
json::array array_of(const All& all, One one) {
  json::array values;
  for (const auto& each : all) values.push_back(one(each));
  return values;
}

}  // namespace

Async<HttpResponse> handle_reclaim(HttpNode& node, const HttpRequest& request) {
  const Result<uint64_t> limit =
      number_parameter(request, "limit", kFiles, engine::kMaxReclaimFiles);
  if (!limit) co_return json_error(limit.error());
  const std::string table = request.parameter("table");
  auto there = [&](ShardServer& home) { return look(home, table, *limit); };
  const auto report = co_await node.ask_home(std::move(there));
  if (!report) co_return json_error(report.error());
  co_return json_response({{"now_us", report->now_us},
                           {"tables", array_of(report->tables, table_value)},
                           {"files_there", report->files_there},
                           {"files", array_of(report->files, file_value)},
                           {"reasons", array_of(report->reasons, sum_value)}});
}

}  // namespace cellar::http
