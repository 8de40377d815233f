// PreviewRule: reports what another rule would delete, with progress.
#include "engine/preview_rule.h"
#include "net/server/requests/asked_work.h"
#include "net/server/requests/dispatch.h"
#include "net/server/shard/local_shard.h"
#include "net/wire/rule_codec.h"

namespace cellar::server {

using engine::PreviewCount;
using engine::PreviewProgress;
using engine::PreviewReport;
using wire::Frame;
using wire::FrameHeader;
namespace fb = wire::fb;

namespace {

Bytes build_progress(flatbuffers::FlatBufferBuilder& builder, const PreviewProgress& progress) {
  builder.Clear();
  const PreviewCount& count = progress.count;
  return wire::finish_body(
      builder, fb::CreatePreviewProgress(builder, count.rows_seen, progress.rows_about, count.cells,
                                         count.bytes, count.rows));
}

class Asker final : public engine::PreviewListener {
 public:
  Asker(LocalShard& shard, Session& session, const FrameHeader& header, bool progress)
      : work_(shard, session, header, progress, "the preview") {}

  Result<void> go_on(const PreviewProgress& progress) override {
    return work_.go_on([&progress](auto& builder) { return build_progress(builder, progress); });
  }

 private:
  AskedWork work_;
};

Bytes build_preview(flatbuffers::FlatBufferBuilder& builder, const PreviewReport& report) {
  builder.Clear();
  wire::ArenaBuilder arena;
  std::vector<fb::Span> samples;
  for (const std::string& row : report.samples) samples.push_back(arena.add(row));
  const auto rows = builder.CreateVectorOfStructs(samples);
  const auto bytes = arena.finish(builder);
  fb::PreviewRuleReplyBuilder reply(builder);
  reply.add_cells(report.count.cells);
  reply.add_bytes(report.count.bytes);
  reply.add_rows(report.count.rows);
  reply.add_samples(rows);
  reply.add_arena(bytes);
  reply.add_cells_seen(report.count.cells_seen);
  reply.add_rows_seen(report.count.rows_seen);
  reply.add_undo_window_us(report.undo_window_us);
  const PreviewCount& least = report.approximate ? report.least : report.count;
  const PreviewCount& most = report.approximate ? report.most : report.count;
  reply.add_approximate(report.approximate);
  reply.add_least_cells(least.cells);
  reply.add_most_cells(most.cells);
  reply.add_least_bytes(least.bytes);
  reply.add_most_bytes(most.bytes);
  reply.add_least_rows(least.rows);
  reply.add_most_rows(most.rows);
  return wire::finish_body(builder, reply.Finish());
}

Async<Result<Bytes>> preview(LocalShard& shard, Session& session, FrameHeader header,
                             engine::PreviewRequest request, bool progress) {
  Result<PreviewReport> report;
  {
    Asker asker(shard, session, header, progress);
    report = co_await shard.node().preview_rule(shard.id(), std::move(request), asker);
  }
  shard.admission().end_scan();
  CO_TRY_VOID(report);
  co_return build_preview(shard.builder(), *report);
}

}  // namespace

Handled handle_preview_rule(LocalShard& shard, Session& session, const Frame& frame) {
  TRY(const auto* body, body_of<fb::PreviewRuleRequest>(frame));
  engine::PreviewRequest request;
  TRY(request.rule, wire::decode_rule(body->rule()));
  request.table = wire::text(body->table());
  request.family = wire::text(body->family());
  request.samples = body->samples();
  request.close_oldest_undo_window = body->close_oldest_undo_window();
  request.approximate = body->approximate();
  TRY_VOID(shard.admission().begin_scan());
  return answer_with(shard, session, frame.header,
                     preview(shard, session, frame.header, std::move(request), body->progress()));
}

}  // namespace cellar::server
