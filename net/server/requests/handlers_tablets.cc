// Operations on tablets: split, merge, move, list with figures.
#include <algorithm>

#include "net/server/access/access.h"
#include "net/server/requests/dispatch.h"
#include "net/server/requests/op_table.h"
#include "net/server/shard/local_shard.h"
#include "net/server/shard/router.h"

namespace cellar::server {

using engine::TableEntry;
using engine::TabletDescriptor;
using engine::TabletFigures;
using wire::Frame;
using wire::FrameHeader;
namespace fb = wire::fb;

namespace {

constexpr uint32_t kMaxTabletsListed = 10'000;

using Tablets = std::vector<TabletDescriptor>;

Bytes build_reshape(flatbuffers::FlatBufferBuilder& builder, const Tablets& tablets) {
  builder.Clear();
  wire::ArenaBuilder arena;
  std::vector<fb::TabletRec> records;
  for (const TabletDescriptor& one : tablets) {
    const fb::Span start = arena.add(one.start);
    const fb::Span end = arena.add(one.end);
    records.emplace_back(one.id.value(), one.epoch.value(), start, end, one.shard.value(), 0);
  }
  const uint64_t table = tablets.empty() ? 0 : tablets.front().table.value();
  const auto list = builder.CreateVectorOfStructs(records);
  const auto bytes = arena.finish(builder);
  return wire::finish_body(builder, fb::CreateReshapeReply(builder, table, list, bytes));
}

// The table that the request names, or null if it names none.
Result<const TableEntry*> find_named(LocalShard& shard, const FrameHeader& header,
                                     const flatbuffers::String* name) {
  const bool by_handle = header.table_id != 0 || !header.table_name.empty();
  if (!by_handle && wire::text(name).empty()) return nullptr;
  return find_table(shard.tables(), header, wire::text(name));
}

Result<void> check_tablet(const TableEntry* table, uint64_t tablet) {
  if (tablet == 0) return fail(Errc::invalid_argument, "the request names no tablet");
  if (table == nullptr) return {};
  const bool its = std::any_of(table->tablets.begin(), table->tablets.end(),
                               [tablet](const auto& one) { return one.id.value() == tablet; });
  if (its) return {};
  return fail(Errc::not_found, "table '{}' has no tablet {}", table->schema.name, tablet);
}

struct Change {
  enum class Kind : uint8_t { split, merge, move } kind;
  TabletId tablet;
  TabletId right;
  std::string row;
  ShardId to;
};

Async<Result<Tablets>> carry_out(engine::Node& node, ShardId from, Change change) {
  if (change.kind == Change::Kind::split) {
    co_return co_await node.split_tablet(from, change.tablet, std::move(change.row));
  }
  Tablets one(1);
  if (change.kind == Change::Kind::merge) {
    CO_TRY(one[0], co_await node.merge_tablets(from, change.tablet, change.right));
  } else {
    CO_TRY(one[0], co_await node.move_tablet(from, change.tablet, change.to));
  }
  co_return one;
}

Async<Result<Bytes>> reshape(LocalShard& shard, Change change) {
  CO_TRY(const Tablets tablets, co_await carry_out(shard.node(), shard.id(), std::move(change)));
  co_return build_reshape(shard.builder(), tablets);
}

// Checks form, then existence; the engine checks the rest.
Result<Change> decode_split(LocalShard& shard, const FrameHeader& header,
                            const fb::SplitTabletRequest& request) {
  const Bytes row = wire::bytes_of(request.row());
  if (row.size() > kMaxRowKeyBytes) {
    return fail(Errc::invalid_argument, "a row key of {} bytes is over the limit of {}", row.size(),
                kMaxRowKeyBytes);
  }
  if (request.tablet_id() == 0 && row.empty()) {
    return fail(Errc::invalid_argument, "the request names neither a tablet nor a row");
  }
  if (request.tablet_id() == 0 && header.table_id == 0 && wire::text(request.table()).empty()) {
    return fail(Errc::invalid_argument, "the request names neither a tablet nor a table");
  }
  TRY(const TableEntry* table, find_named(shard, header, request.table()));
  Change change{Change::Kind::split, TabletId{request.tablet_id()}, {}, std::string(row), {}};
  if (request.tablet_id() == 0) {
    change.tablet = table->locate(row).id;
  } else {
    TRY_VOID(check_tablet(table, request.tablet_id()));
  }
  return change;
}

Result<Change> decode_merge(LocalShard& shard, const FrameHeader& header,
                            const fb::MergeTabletsRequest& request) {
  if (request.left() == 0 || request.right() == 0) {
    return fail(Errc::invalid_argument, "a merge names two tablets");
  }
  TRY(const TableEntry* table, find_named(shard, header, request.table()));
  TRY_VOID(check_tablet(table, request.left()));
  TRY_VOID(check_tablet(table, request.right()));
  return Change{
      Change::Kind::merge, TabletId{request.left()}, TabletId{request.right()}, {}, ShardId{}};
}

Result<Change> decode_move(LocalShard& shard, const FrameHeader& header,
                           const fb::MoveTabletRequest& request) {
  TRY(const TableEntry* table, find_named(shard, header, request.table()));
  TRY_VOID(check_tablet(table, request.tablet_id()));
  return Change{
      Change::Kind::move, TabletId{request.tablet_id()}, {}, {}, ShardId{request.shard()}};
}

template <class Request, class Decode>
Handled start_change(LocalShard& shard, Session& session, const Frame& frame, Decode decode) {
  TRY(const auto* request, body_of<Request>(frame));
  TRY(auto change, decode(shard, frame.header, *request));
  return answer_with(shard, session, frame.header, reshape(shard, std::move(change)));
}

// ---- the list ----

struct PageRequest {
  TableId table;  // 0: all
  TableId from_table;
  std::string from_row;
  uint32_t limit = 0;
};

fb::TabletFiguresRec record_of(const TabletFigures& of, wire::ArenaBuilder& arena) {
  const TabletDescriptor& one = of.tablet;
  const fb::Span start = arena.add(one.start);
  const fb::Span end = arena.add(one.end);
  return fb::TabletFiguresRec(one.table.value(), one.id.value(), one.epoch.value(), start, end,
                              of.bytes, of.unflushed_bytes, of.tables, of.runs, of.reads, of.writes,
                              of.last_stamp.value(), one.shard.value(), one.held, of.has_held_data,
                              static_cast<uint16_t>(of.compaction));
}

Bytes build_page(LocalShard& shard, const std::vector<TabletFigures>& all,
                 const PageRequest& page) {
  auto& builder = shard.builder();
  builder.Clear();
  const auto before = [&page](const TabletFigures& of) {
    if (of.tablet.table != page.from_table) return of.tablet.table < page.from_table;
    return of.tablet.start < page.from_row;
  };
  auto it = std::partition_point(all.begin(), all.end(), before);
  wire::ArenaBuilder arena;
  std::vector<fb::TabletFiguresRec> records;
  std::vector<flatbuffers::Offset<fb::TableSummary>> tables;
  TableId last;
  for (; it != all.end() && records.size() < page.limit; ++it) {
    records.push_back(record_of(*it, arena));
    if (it->tablet.table == last) continue;
    last = it->tablet.table;
    const TableEntry* table = shard.tables().find(last);
    const auto name = builder.CreateString(table == nullptr ? "" : table->schema.name);
    tables.push_back(fb::CreateTableSummary(builder, name, last.value()));
  }
  const bool more = it != all.end();
  const uint64_t next_table = more ? it->tablet.table.value() : 0;
  const fb::Span next_row = arena.add(more ? it->tablet.start : std::string());
  const auto table_list = builder.CreateVector(tables);
  const auto list = builder.CreateVectorOfStructs(records);
  const auto bytes = arena.finish(builder);
  return wire::finish_body(
      builder, fb::CreateListTabletsReply(builder, table_list, list, next_table, &next_row, bytes));
}

// Removes the tablets of tables that the session may not see.
void leave_out_hidden(const LocalShard& shard, const Session& session,
                      std::vector<TabletFigures>& all) {
  if (session.principal() == nullptr) return;
  std::erase_if(all, [&](const TabletFigures& one) {
    const TableEntry* table = shard.tables().find(one.tablet.table);
    return table == nullptr ||
           !is_shown(session.principal(), spec_of(fb::Op::ListTablets), table->schema.name);
  });
}

Async<Result<Bytes>> list(LocalShard& shard, const Session& session, PageRequest page) {
  CO_TRY(auto all, co_await shard.node().tablet_figures(shard.id(), page.table));
  leave_out_hidden(shard, session, all);
  co_return build_page(shard, all, page);
}

}  // namespace

Handled handle_split_tablet(LocalShard& shard, Session& session, const Frame& frame) {
  return start_change<fb::SplitTabletRequest>(shard, session, frame, decode_split);
}

Handled handle_merge_tablets(LocalShard& shard, Session& session, const Frame& frame) {
  return start_change<fb::MergeTabletsRequest>(shard, session, frame, decode_merge);
}

Handled handle_move_tablet(LocalShard& shard, Session& session, const Frame& frame) {
  return start_change<fb::MoveTabletRequest>(shard, session, frame, decode_move);
}

Handled handle_list_tablets(LocalShard& shard, Session& session, const Frame& frame) {
  PageRequest page;
  page.limit = 1000;
  if (!frame.body.empty()) {
    TRY(const auto* request, body_of<fb::ListTabletsRequest>(frame));
    page.limit = request->limit();
    page.from_table = TableId{request->from_table()};
    page.from_row = wire::bytes_of(request->from_row());
    if (page.limit == 0 || page.limit > kMaxTabletsListed) {
      return fail(Errc::invalid_argument, "a limit of {} is not 1 to {}", page.limit,
                  kMaxTabletsListed);
    }
    TRY(const auto* table, find_named(shard, frame.header, request->table()));
    if (table != nullptr) page.table = table->schema.id;
  }
  return answer_with(shard, session, frame.header, list(shard, session, std::move(page)));
}

}  // namespace cellar::server
