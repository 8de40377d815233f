// Get: one row in the fixed layout (net/wire/point_codec.h). A Get that needs no wait is one plain
// call from the frame to the bytes of the answer. Any other takes the path of ReadRow.
#include <algorithm>

#include "engine/filter/compiled_filter.h"
#include "engine/read/scan.h"
#include "net/server/requests/dispatch.h"
#include "net/server/shard/router.h"
#include "net/server/shard/shard_server.h"
#include "net/wire/point_codec.h"

namespace cellar::server {

using engine::TabletDescriptor;
using wire::Frame;

namespace {

FilterNode column_node(const wire::DecodedGet::Column& column) {
  FilterNode node;
  node.kind = FilterKind::column_range;
  node.family = column.family;
  node.has_start = node.has_end = node.end_closed = true;
  node.text = node.end_text = column.qualifier;
  return node;
}

FilterNode node_of(FilterKind kind, uint32_t children, int64_t start = 0) {
  FilterNode node;
  node.kind = kind;
  node.child_count = children;
  node.start = start;
  return node;
}

// The same selection as a filter: each column once, then the newest versions.
FilterSpec filter_of(const wire::DecodedGet& get) {
  std::vector<FilterNode> columns;
  for (size_t i = 0; i < get.columns.size(); ++i) {
    const auto& column = get.columns[i];
    const auto is_same = [&](const auto& other) {
      return other.family == column.family && other.qualifier == column.qualifier;
    };
    const auto end = get.columns.begin() + static_cast<ptrdiff_t>(i);
    if (std::none_of(get.columns.begin(), end, is_same)) columns.push_back(column_node(column));
  }
  FilterSpec spec;
  if (get.versions != 0) {
    spec.nodes.push_back(node_of(FilterKind::chain, 2));
    spec.nodes.push_back(node_of(FilterKind::cells_per_column, 0, get.versions));
  }
  if (columns.size() > 1) {
    spec.nodes.push_back(node_of(FilterKind::interleave, static_cast<uint32_t>(columns.size())));
  }
  for (FilterNode& column : columns) spec.nodes.push_back(std::move(column));
  return spec;
}

// What the request asks of the engine.
Result<void> read_spec_of(const wire::DecodedGet& get, GetPlan& last, ReadSpec& spec) {
  spec.rows.set_single(get.row);
  spec.versions = get.versions;
  spec.filter.reset();
  if (get.columns.empty()) return {};
  if (!last.is_for(get)) {
    const FilterSpec filter = filter_of(get);
    TRY_VOID(validate_filter(filter));
    TRY(engine::FilterPlan plan, engine::plan_filter(filter));
    last.keep(get, std::move(plan));
  }
  spec.versions = 0;
  last.plan.narrow(spec);
  return {};
}

// Waits for blocks or another shard, or returns a large row in pieces.
void start_read(ShardServer& shard, Session& session, const wire::FrameHeader& header,
                TableId table, const ReadSpec& spec) {
  ReadOp* op = shard.reads.acquire();
  op->read = {};
  op->read.spec = spec;
  op->begin(shard, session, header, table, true);
  op->builder.set_layout(wire::ChunkBuilder::Layout::fixed);
  op->start();
}

}  // namespace

Handled handle_get(ShardServer& shard, Session& session, const Frame& frame) {
  wire::DecodedGet& get = shard.get();
  if (auto decoded = wire::decode_get(frame.body, get); !decoded) {
    return std::unexpected(malformed(decoded.error()));
  }
  ReadSpec& spec = shard.point_spec();
  TRY_VOID(read_spec_of(get, shard.get_plan(), spec));
  TRY(const engine::TableEntry* table, find_table(shard.tables(), frame.header, {}));
  TRY_VOID(shard.admit_reply());
  const TabletDescriptor& tablet = table->locate(get.row);
  TRY_VOID(check_names(frame.header, tablet));
  if (tablet.shard == shard.id()) {
    const Session::AnswerSpace space = session.begin_answer();
    wire::GotBuilder row(space.out, wire::ChunkBuilder::kDefaultChunkBytes);
    const auto started =
        shard.engine().start_read(tablet.id, tablet.epoch, spec, row, &shard.wall());
    if (started && started->cursor == nullptr) {
      row.finish();
      session.finish_answer(frame.header, space);
      return {};
    }
    session.drop_answer(space);
  }
  start_read(shard, session, frame.header, table->schema.id, spec);
  return {};
}

}  // namespace cellar::server
