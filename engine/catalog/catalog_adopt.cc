// A table that comes with its data: see Catalog::plan_adopt.
#include <utility>

#include "engine/catalog/catalog.h"

namespace cellar::engine {
namespace {

Result<void> check_cover(const TableSchema& schema, const std::vector<TabletSeed>& tablets) {
  std::string_view expected;
  for (const TabletSeed& tablet : tablets) {
    if (tablet.state.start != expected || (&tablet != &tablets.front() && expected.empty())) {
      return fail(Errc::data_loss, "the tablets of table '{}' leave rows out around '{}'",
                  schema.name, escape_bytes(tablet.state.start));
    }
    expected = tablet.state.end;
  }
  if (tablets.empty() || !expected.empty()) {
    return fail(Errc::data_loss, "table '{}' has no last tablet", schema.name);
  }
  return {};
}

}  // namespace

Result<Catalog::Creation> Catalog::plan_adopt(TableSchema schema, std::vector<TabletSeed> tablets,
                                              const std::vector<LogId>& log_of) const {
  if (map_.find(Bytes(schema.name)) != nullptr) {
    return fail(Errc::already_exists, "table '{}' exists already", escape_bytes(schema.name));
  }
  if (map_.tables().size() + dropped_.size() >= kMaxTables) {
    return fail(Errc::resource_exhausted, "the node has {} tables; at most {} are allowed",
                map_.tables().size() + dropped_.size(), kMaxTables);
  }
  TRY_VOID(check_cover(schema, tablets));
  Creation plan;
  plan.node = node_;
  schema.id = node_.next_table;
  plan.node.next_table = TableId{schema.id.value() + 1};
  TRY_VOID(validate_schema(schema));
  plan.entry.schema = std::move(schema);
  for (TabletSeed& seed : tablets) {
    seed.id = plan.node.next_tablet;
    plan.node.next_tablet = TabletId{seed.id.value() + 1};
    seed.schema = plan.entry.schema;
    seed.state.table = plan.entry.schema.id;
    seed.state.range_tokens.clear();  // they are those of the table that was backed up
    seed.state.home = static_cast<uint32_t>(seed.id.value());
    const ShardId shard = shard_of(seed.state.home);
    seed.state.spans = {{.log = log_of[shard.value()]}};
    plan.entry.tablets.push_back({.id = seed.id,
                                  .table = seed.state.table,
                                  .epoch = seed.state.epoch,
                                  .shard = shard,
                                  .start = seed.state.start,
                                  .end = seed.state.end,
                                  .held = false});
  }
  plan.seeds = std::move(tablets);
  plan.edits.push_back(put_state(kNodeSubject, node_version_, encode_node_state(plan.node)));
  plan.edits.push_back(put_state(subject_of(plan.entry.schema.id), kAbsent,
                                 encode_table_state(plan.entry.schema, std::nullopt)));
  for (const TabletSeed& seed : plan.seeds) {
    SubjectEdit edit = put_state(subject_of(seed.id), kAbsent, encode_tablet_state(seed.state));
    for (const TableItem& item : seed.tables) {
      edit.put_items.emplace_back(item.meta.blob.value(), encode_table_item(item));
    }
    plan.edits.push_back(std::move(edit));
  }
  return plan;
}

}  // namespace cellar::engine
