// Writes without a condition: MutateRow, Put, MutateRows, DropRowRange.
#include <optional>
#include <vector>

#include "net/server/requests/dispatch.h"
#include "net/server/shard/drop_step.h"
#include "net/server/shard/router.h"
#include "net/server/shard/shard_server.h"
#include "net/wire/point_codec.h"

namespace cellar::server {

using engine::TabletDescriptor;
using wire::Frame;

namespace {

using Layout = SingleWrite::Layout;

Result<void> decode_row_write(Bytes body, Layout layout, wire::DecodedWrites& out) {
  if (layout == Layout::fixed) return wire::decode_put(body, out);
  return wire::decode(*wire::verified<wire::fb::MutateRowRequest>(body), out);
}

// Sends one row with its body to another shard.
Handled hand_over(ShardServer& shard, Session& session, const Frame& frame, Layout layout,
                  const TabletDescriptor& tablet, Granularity granularity) {
  TRY_VOID(shard.admission().hold_bytes(frame.body.size()));
  BatchWrite* batch = shard.batch_writes.acquire();
  const bool fixed = layout == Layout::fixed;
  batch->begin(shard, session, frame.header,
               fixed ? BatchWrite::Answer::put : BatchWrite::Answer::one_row, 1);
  batch->set_granularity(granularity);
  const auto decoded = decode_row_write(batch->keep_body(frame.body), layout, batch->decoded());
  CHECK(decoded, "a body that was decoded once is decoded again");
  engine::Write& write = batch->add(0, tablet);
  write.level = batch->decoded().target.level;
  write.mutation = batch->decoded().mutation(0);
  batch->start();
  return {};
}

// Starts the write of one row without a token. `decoded` is what the frame's body says.
Handled start_row_write(ShardServer& shard, Session& session, const Frame& frame, Layout layout,
                        const wire::DecodedWrites& decoded) {
  const RowMutation row = decoded.mutation(0);
  const auto table = find_table(shard.tables(), frame.header, decoded.target.table);
  if (!table) {
    const Result<void> form = validate_mutation(row, TableSchema(), shard.options().engine.limits);
    return std::unexpected(existence_error(form, table.error()));
  }
  const TabletDescriptor& tablet = (*table)->locate(row.row);
  TRY_VOID(check_names(frame.header, tablet));
  if (tablet.held) {
    session.hold();
    return {};
  }
  TRY_VOID(shard.admit_growth(row.mutations));
  const Granularity granularity = (*table)->schema.granularity;
  if (tablet.shard != shard.id()) {
    return hand_over(shard, session, frame, layout, tablet, granularity);
  }
  start_single_write(shard, session, frame.header, decoded, tablet, granularity, layout);
  return {};
}

}  // namespace

Handled handle_mutate_row(ShardServer& shard, Session& session, const Frame& frame) {
  TRY(const auto* request, body_of<wire::fb::MutateRowRequest>(frame));
  if (request->token() != nullptr) return start_write_with_token(shard, session, frame);
  TRY_VOID(wire::decode(*request, shard.writes()));
  return start_row_write(shard, session, frame, Layout::flatbuffer, shard.writes());
}

Handled handle_put(ShardServer& shard, Session& session, const Frame& frame) {
  if (auto body = wire::decode_put(frame.body, shard.writes()); !body) {
    return std::unexpected(malformed(body.error()));
  }
  return start_row_write(shard, session, frame, Layout::fixed, shard.writes());
}

Handled handle_mutate_rows(ShardServer& shard, Session& session, const Frame& frame) {
  TRY(const auto* request, body_of<wire::fb::MutateRowsRequest>(frame));
  TRY_VOID(wire::decode(*request, shard.writes()));
  TRY(const auto* table, find_table(shard.tables(), frame.header, shard.writes().target.table));
  TRY_VOID(shard.admission().hold_bytes(frame.body.size()));
  BatchWrite* batch = shard.batch_writes.acquire();
  batch->begin(shard, session, frame.header, BatchWrite::Answer::many_rows,
               shard.writes().rows.size());
  const Bytes body = batch->keep_body(frame.body);
  wire::DecodedWrites& decoded = batch->decoded();
  CHECK(wire::decode(*wire::verified<wire::fb::MutateRowsRequest>(body), decoded).has_value());
  for (size_t i = 0; i < decoded.rows.size(); ++i) {
    const TabletDescriptor& tablet = table->locate(decoded.rows[i].row);
    if (!names_tablet(frame.header, tablet)) {
      batch->refuse(i, stale_error(frame.header, tablet));
      continue;
    }
    if (tablet.held) {
      batch->forget();
      session.hold();
      return {};
    }
    if (auto room = shard.admit_growth(decoded.mutation(i).mutations); !room) {
      batch->refuse(i, room.error());
      continue;
    }
    if (!decoded.rows[i].token.empty()) {
      batch->add_with_token(i, tablet);
      continue;
    }
    engine::Write& write = batch->add(i, tablet);
    write.level = decoded.target.level;
    write.mutation = decoded.mutation(i);
  }
  shard.trim_writes();
  batch->start();
  return {};
}

namespace {

// Empty if one of them, or the first one, is held.
std::optional<std::vector<const TabletDescriptor*>> tablets_of(const engine::TableEntry& table,
                                                               const wire::DecodedDrop& drop) {
  std::vector<const TabletDescriptor*> tablets;
  for (const TabletDescriptor& tablet : table.tablets) {
    const bool before = !tablet.end.empty() && tablet.end <= drop.start;
    const bool after = !drop.end.empty() && tablet.start >= drop.end;
    if (before || after || drop.nothing) continue;
    if (tablet.held) return std::nullopt;
    tablets.push_back(&tablet);
  }
  if (!drop.token.empty() && table.tablets.front().held) return std::nullopt;
  return tablets;
}

// For a drop whose first tablet has committed.
Error dropped_between() {
  return Error(Errc::not_found, "the table was dropped while its rows were being deleted")
      .outcome(Applied::maybe_applied);
}

bool is_first_of(const TabletDescriptor& tablet, const DropStep& step) {
  return tablet.id == step.write.tablet && tablet.epoch == step.write.epoch;
}

void begin_first_step(ShardServer& shard, Session& session, const wire::DecodedDrop& drop,
                      const engine::TableEntry& table) {
  auto step = std::make_shared<DropStep>();
  step->table = table.schema.id;
  step->start = drop.start;
  step->end = drop.end;
  step->client = session.token_scope();
  step->token_text = drop.token;
  step->token.issued_us = drop.token_issued_us;
  session.hold_for(step);
  start(shard, std::move(step), table.tablets.front());
}

}  // namespace

Handled handle_drop_row_range(ShardServer& shard, Session& session, const Frame& frame) {
  TRY(const auto* request, body_of<wire::fb::DropRowRangeRequest>(frame));
  wire::DecodedDrop drop;
  TRY_VOID(wire::decode(*request, drop));
  const DropStep* step = session.step();
  if (step != nullptr && step->error) return std::unexpected(*step->error);
  const auto table = find_table(shard.tables(), frame.header, drop.table);
  if (step != nullptr && (!table || (*table)->schema.id != step->table)) {
    return std::unexpected(dropped_between());
  }
  TRY_VOID(table);
  auto tablets = tablets_of(**table, drop);
  if (!tablets) {
    session.hold();
    return {};
  }
  std::optional<uint32_t> dropped_before;
  if (step != nullptr) {
    // Later splits and merges keep the token with the rows.
    dropped_before = std::erase_if(
        *tablets, [step](const TabletDescriptor* tablet) { return is_first_of(*tablet, *step); });
  } else if (!drop.token.empty() && !tablets->empty()) {
    const TabletDescriptor& first = (*table)->tablets.front();
    const bool is_alone = tablets->size() == 1 && tablets->front() == &first;
    if (!is_alone) {
      begin_first_step(shard, session, drop, **table);
      return {};
    }
  }
  BatchWrite* batch = shard.batch_writes.acquire();
  batch->begin(shard, session, frame.header, BatchWrite::Answer::drop, tablets->size());
  const RangeDelete range = batch->keep_range(std::move(drop.start), std::move(drop.end));
  const WriteToken* token = nullptr;
  if (!drop.token.empty()) {
    const CommitStamp first = step != nullptr ? step->write.stamp : CommitStamp{};
    token = batch->keep_range_token(drop.token, drop.token_issued_us, dropped_before, first);
  }
  for (size_t i = 0; i < tablets->size(); ++i) {
    engine::Write& write = batch->add(i, *(*tablets)[i]);
    write.range = range;
    write.range_token = token;
  }
  batch->start();
  return {};
}

}  // namespace cellar::server
