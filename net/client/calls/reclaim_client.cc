#include "net/client/calls/reclaim_client.h"

#include "net/client/calls/operate_loop.h"
#include "net/wire/body.h"
#include "net/wire/operate.h"
#include "net/wire/status.h"

namespace cellar::client {

namespace fb = wire::fb;

namespace {

ReclaimFigures figures_of(const fb::ReclaimFigures& from) {
  ReclaimFigures to;
  to.live_bytes = from.live_bytes();
  to.dead_bytes = from.dead_bytes();
  to.overdue_bytes = from.overdue_bytes();
  to.held_bytes = from.held_bytes();
  to.pinned_bytes = from.pinned_bytes();
  to.unknown_bytes = from.unknown_bytes();
  to.damaged_files = from.damaged_files();
  to.oldest_death_us = from.oldest_death_us();
  to.next_reclaim_us = from.next_reclaim_us();
  return to;
}

TableReclaim table_of(const fb::TableReclaim& from) {
  TableReclaim to;
  to.name = wire::text(from.name());
  to.table_id = from.table_id();
  if (from.figures() != nullptr) to.figures = figures_of(*from.figures());
  to.reclaim_within_us = from.reclaim_within_us();
  to.margin_us = from.margin_us();
  to.dead_slack = from.dead_slack();
  to.reclaim_share = from.reclaim_share();
  to.missed_since_us = from.missed_since_us();
  return to;
}

ReclaimFile file_of(const fb::ReclaimFile& from) {
  ReclaimFile to;
  to.tablet_id = from.tablet_id();
  to.blob = from.blob();
  to.run = from.run();
  to.bytes = from.bytes();
  to.dead_bytes = from.dead_bytes();
  to.overdue_bytes = from.overdue_bytes();
  to.held_bytes = from.held_bytes();
  to.overdue_since_us = from.overdue_since_us();
  to.wholly_dead = from.wholly_dead();
  to.reason = static_cast<ReclaimReason>(from.reason());
  to.since_us = from.since_us();
  to.until_us = from.until_us();
  to.done_us = from.done_us();
  to.count = from.count();
  to.other = from.other();
  to.error = wire::text(from.error());
  return to;
}

ReclaimSum sum_of(const fb::ReclaimSum& from) {
  return {static_cast<ReclaimReason>(from.reason()), from.files(), from.bytes(), from.dead_bytes(),
          from.overdue_bytes()};
}

// An absent list is empty.
template <class From, class To, class Of>
void each_of(const From* from, std::vector<To>& to, const Of& of) {
  if (from == nullptr) return;
  to.reserve(from->size());
  for (const auto* one : *from) to.push_back(of(*one));
}

Result<ReclaimReport> decode_reclaim(const Answer& answer) {
  const auto* reply = wire::verified<fb::ReclaimReply>(answer.last.body);
  if (reply == nullptr || !wire::well_aligned(reply->shards()) ||
      !wire::well_aligned(reply->sums())) {
    return fail(Errc::internal, "the server's answer cannot be read");
  }
  ReclaimReport report;
  report.now_us = reply->now_us();
  report.files_there = reply->files_there();
  each_of(reply->tables(), report.tables, table_of);
  each_of(reply->shards(), report.shards, figures_of);
  each_of(reply->files(), report.files, file_of);
  each_of(reply->sums(), report.sums, sum_of);
  return report;
}

}  // namespace

struct ReclaimClient::Inside {
  explicit Inside(ClientOptions options) : loop(std::move(options)) {}
  OperateLoop loop;
};

ReclaimClient::ReclaimClient(ClientOptions options) {
  options.connections = 1;
  options.route_by_shard = false;
  inside_ = std::make_unique<Inside>(std::move(options));
}

ReclaimClient::~ReclaimClient() = default;

Result<ReclaimReport> ReclaimClient::ask(const ReclaimQuestion& question) {
  flatbuffers::FlatBufferBuilder b;
  const auto table = b.CreateString(question.table);
  const Bytes body = wire::finish_body(b, fb::CreateReclaimRequest(b, table, question.files));
  return inside_->loop.ask<ReclaimReport>(wire::kReclaimOp, body, true, &decode_reclaim);
}

}  // namespace cellar::client
