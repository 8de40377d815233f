// PreviewRule: reports what another rule would delete, with progress.
#include "engine/preview_rule.h"
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

// Interval between progress chunks.
constexpr int64_t kProgressUs = 200'000;

// The client of one preview: stops it when the client is gone and reports progress.
class Asker final : public engine::PreviewListener {
 public:
  Asker(LocalShard& shard, Session& session, const FrameHeader& header, bool progress)
      : shard_(shard),
        session_(session),
        header_(header),
        deadline_us_(session.deadline_us(header)),
        progress_(progress),
        told_us_(shard.timers().now_us()) {
    work_.request_id = header.request_id;
    session.add_work(work_);
  }

  Result<void> go_on(const PreviewProgress& progress) override {
    const int64_t now_us = shard_.timers().now_us();
    if (work_.given_up) return fail(Errc::cancelled, "the preview was cancelled");
    if (deadline_us_ != 0 && now_us >= deadline_us_)
      return fail(Errc::deadline_exceeded, "the preview took longer than its {} ms",
                  header_.deadline_ms);
    if (progress_ && now_us - told_us_ >= kProgressUs && !session_.output_full()) tell(progress);
    return {};
  }

 private:
  void tell(const PreviewProgress& progress) {
    told_us_ = shard_.timers().now_us();
    auto& builder = shard_.builder();
    builder.Clear();
    const PreviewCount& count = progress.count;
    session_.chunk(header_,
                   wire::finish_body(builder, fb::CreatePreviewProgress(
                                                  builder, count.rows_seen, progress.rows_about,
                                                  count.cells, count.bytes, count.rows)));
  }

  LocalShard& shard_;
  Session& session_;
  const FrameHeader header_;
  const int64_t deadline_us_;
  const bool progress_;
  int64_t told_us_;
  CancelToken work_;
};

Bytes build_report(flatbuffers::FlatBufferBuilder& builder, const PreviewReport& report) {
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
  co_return build_report(shard.builder(), *report);
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
