// Reports the backlog of reclaiming and its causes (engine/node/reclaim_report.h).
#include "engine/node/reclaim_report.h"
#include "net/server/requests/dispatch.h"
#include "net/server/shard/local_shard.h"
#include "net/wire/operate.h"

namespace cellar::server {

using wire::Frame;
namespace fb = wire::fb;

namespace {

using Builder = flatbuffers::FlatBufferBuilder;

constexpr uint32_t kFilesUnasked = 100;

// Times on the wire: 0 for none.
int64_t time_of(int64_t us) { return us == INT64_MAX ? 0 : us; }

fb::ReclaimFigures figures_of(const engine::ReclaimFigures& of) {
  return {of.live_bytes,
          of.dead_bytes,
          of.overdue_bytes,
          of.held_bytes,
          of.pinned_bytes,
          of.unknown_bytes,
          of.damaged_tables,
          time_of(of.oldest_death_us),
          time_of(of.next_reclaim_us)};
}

flatbuffers::Offset<fb::Verified> put_verified(Builder& b, const engine::VerifiedFigures& of) {
  return fb::CreateVerified(b, time_of(of.since_us), of.bytes, of.damaged,
                            of.since_us == INT64_MAX);
}

flatbuffers::Offset<fb::TableReclaim> put_table(Builder& b, const engine::TableReclaim& of) {
  const auto name = b.CreateString(of.name);
  const fb::ReclaimFigures figures = figures_of(of.figures);
  const auto verified = put_verified(b, of.figures.verified);
  return fb::CreateTableReclaim(b, name, of.id.value(), &figures, of.reclaim_within_us,
                                of.margin_us, of.dead_slack, of.reclaim_share,
                                time_of(of.missed_since_us), verified);
}

flatbuffers::Offset<fb::ReclaimFile> put_file(Builder& b, const engine::ReclaimFile& of) {
  const auto error = b.CreateString(of.error);
  return fb::CreateReclaimFile(
      b, of.tablet.value(), of.blob.value(), of.run, of.bytes, of.dead_bytes, of.overdue_bytes,
      of.held_bytes, time_of(of.overdue_since_us), of.wholly_dead,
      static_cast<fb::ReclaimReason>(of.reason), of.since_us, time_of(of.until_us),
      time_of(of.done_us), of.count, of.other.value(), error);
}

Bytes build_report(Builder& b, const engine::ReclaimReport& report, int64_t scrub_every_us) {
  b.Clear();
  std::vector<flatbuffers::Offset<fb::TableReclaim>> tables;
  for (const engine::TableReclaim& one : report.tables) tables.push_back(put_table(b, one));
  std::vector<fb::ReclaimFigures> shards;
  for (const engine::ReclaimFigures& one : report.shards) shards.push_back(figures_of(one));
  std::vector<flatbuffers::Offset<fb::ReclaimFile>> files;
  for (const engine::ReclaimFile& one : report.files) files.push_back(put_file(b, one));
  std::vector<fb::ReclaimSum> sums;
  for (const engine::ReclaimReasonSum& one : report.reasons) {
    sums.emplace_back(one.files, one.bytes, one.dead_bytes, one.overdue_bytes,
                      static_cast<fb::ReclaimReason>(one.reason), 0, 0, 0);
  }
  const auto table_list = b.CreateVector(tables);
  const auto shard_list = b.CreateVectorOfStructs(shards);
  const auto file_list = b.CreateVector(files);
  const auto sum_list = b.CreateVectorOfStructs(sums);
  const auto reply = fb::CreateReclaimReply(b, report.now_us, table_list, shard_list, file_list,
                                            report.files_there, sum_list, scrub_every_us);
  return wire::finish_body(b, reply);
}

Async<Result<Bytes>> report(LocalShard& shard, engine::ReclaimQuestion question) {
  CO_TRY(const auto found, co_await shard.node().reclaim_report(shard.id(), question));
  co_return build_report(shard.builder(), found, shard.options().engine.scrub_every_us);
}

}  // namespace

Handled handle_reclaim(LocalShard& shard, Session& session, const Frame& frame) {
  engine::ReclaimQuestion question{TableId{}, kFilesUnasked};
  if (!frame.body.empty()) {
    TRY(const auto* request, body_of<fb::ReclaimRequest>(frame));
    question.files = request->files();
    if (question.files > engine::kMaxReclaimFiles) {
      return fail(Errc::out_of_range, "{} files are asked for, {} is the most", question.files,
                  engine::kMaxReclaimFiles);
    }
    const Bytes name = wire::text(request->table());
    if (!name.empty()) {
      const engine::TableEntry* table = shard.tables().find(name);
      if (table == nullptr) {
        return fail(Errc::not_found, "table '{}' does not exist", escape_bytes(name));
      }
      question.table = table->schema.id;
    }
  }
  return answer_with(shard, session, frame.header, report(shard, question));
}

}  // namespace cellar::server
