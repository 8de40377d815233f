#include "engine/catalog/catalog.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/catalog/index_change.h"
#include "io/base/check.h"
#include "io/base/saturating.h"

namespace cellar::engine {
namespace {

// Sorted and distinct; the form of each row key is checked.
Result<void> normalize_splits(std::vector<std::string>& splits) {
  if (splits.size() > kMaxSplits) {
    return fail(Errc::invalid_argument, "{} splits; at most {} are allowed", splits.size(),
                kMaxSplits);
  }
  for (const std::string& split : splits) {
    if (split.empty()) return fail(Errc::invalid_argument, "a split is empty");
    if (split.size() > kMaxRowKeyBytes) {
      return fail(Errc::invalid_argument, "split '{}' has {} bytes; a row key has at most {}",
                  escape_bytes(split), split.size(), kMaxRowKeyBytes);
    }
  }
  std::sort(splits.begin(), splits.end());
  splits.erase(std::unique(splits.begin(), splits.end()), splits.end());
  return {};
}

TableSchema schema_of(const TableSpec& spec, TableId id) {
  TableSchema schema;
  schema.id = id;
  schema.name = spec.name;
  schema.granularity = spec.granularity;
  schema.profile = spec.profile;
  schema.options = spec.options;
  for (const FamilySpec& family : spec.families) {
    schema.families.push_back(family.under(spec.profile));
  }
  std::sort(schema.families.begin(), schema.families.end(),
            [](const FamilySchema& a, const FamilySchema& b) { return a.name < b.name; });
  return schema;
}

TabletDescriptor descriptor_of(const TabletSeed& seed, ShardId shard) {
  return {.id = seed.id,
          .table = seed.state.table,
          .epoch = seed.state.epoch,
          .shard = shard,
          .start = seed.state.start,
          .end = seed.state.end,
          .held = false};
}

// The tablets of a table, sorted, cover every row exactly once.
Result<void> check_cover(const TableEntry& entry) {
  std::string_view expected;
  bool open_end = false;
  for (const TabletDescriptor& tablet : entry.tablets) {
    if (open_end || tablet.start != expected) {
      return fail(Errc::data_loss,
                  "manifest: table '{}' is not covered around row '{}' (tablet {})",
                  entry.schema.name, escape_bytes(tablet.start), tablet.id);
    }
    expected = tablet.end;
    open_end = tablet.end.empty();
  }
  if (!open_end) {
    return fail(Errc::data_loss, "manifest: table '{}' has no last tablet", entry.schema.name);
  }
  return {};
}

Result<TabletSeed> decode_tablet(TabletId id, const ManifestEntry& entry,
                                 const std::map<TableId, ManifestContents::Table>& tables) {
  TabletSeed seed;
  seed.id = id;
  seed.version = entry.version;
  TRY(seed.state, decode_tablet_state(entry.state));
  for (const auto& [number, bytes] : entry.items) {
    TRY(TableItem item, decode_table_item(bytes));
    if (item.meta.blob.value() != number) {
      return fail(Errc::data_loss, "manifest: item {:x} of tablet {} describes blob {:x}", number,
                  id, item.meta.blob.value());
    }
    seed.tables.push_back(std::move(item));
  }
  const auto table = tables.find(seed.state.table);
  if (table == tables.end()) {
    return fail(Errc::data_loss, "manifest: tablet {} belongs to table {}, which does not exist",
                id, seed.state.table);
  }
  seed.schema = table->second.schema;
  return seed;
}

}  // namespace

Result<ManifestContents> decode_manifest(const std::map<ManifestKey, ManifestEntry>& entries) {
  ManifestContents loaded;
  // Subjects are sorted by kind: the node, then tables, then tablets.
  for (const auto& [key, state] : entries) {
    switch (key.kind) {
      case ManifestKey::Kind::node: {
        TRY(loaded.node, decode_node_state(state.state));
        loaded.node_version = state.version;
        break;
      }
      case ManifestKey::Kind::table: {
        TRY(TableState table, decode_table_state(state.state));
        loaded.tables[TableId{key.id}] = {std::move(table.schema), state.version, table.drop};
        break;
      }
      case ManifestKey::Kind::tablet: {
        TRY(TabletSeed seed, decode_tablet(TabletId{key.id}, state, loaded.tables));
        loaded.tablets.push_back(std::move(seed));
        break;
      }
      case ManifestKey::Kind::clock: {
        TRY(loaded.clock, decode_clock_state(state.state));
        loaded.clock_version = state.version;
        break;
      }
      case ManifestKey::Kind::audit: {
        TRY(loaded.audit, AuditTrail::decode(state));
        break;
      }
    }
  }
  if (loaded.node_version == kAbsent && !entries.empty()) {
    return fail(Errc::data_loss, "manifest: the node's own entry is missing");
  }
  Catalog probe(1);
  probe.load(loaded);
  for (const auto& [name, entry] : probe.map().tables()) TRY_VOID(check_cover(*entry));
  for (const auto& [id, table] : probe.dropped()) TRY_VOID(check_cover(table.entry));
  return loaded;
}

void Catalog::load(const ManifestContents& manifest) {
  node_ = manifest.node;
  node_version_ = manifest.node_version;
  std::map<TableId, TableEntry> entries;
  for (const auto& [id, table] : manifest.tables) {
    table_versions_[id] = table.version;
    entries[id].schema = table.schema;
  }
  for (const TabletSeed& seed : manifest.tablets) {
    entries[seed.state.table].tablets.push_back(descriptor_of(seed, shard_of(seed.state.home)));
  }
  std::vector<TableEntry> sorted;
  for (auto& [id, entry] : entries) {
    std::sort(entry.tablets.begin(), entry.tablets.end(),
              [](const auto& a, const auto& b) { return a.start < b.start; });
    if (const auto& drop = manifest.tables.at(id).drop) {
      dropped_[id] = {.entry = std::move(entry), .mark = *drop};
    } else {
      sorted.push_back(std::move(entry));
    }
  }
  map_.put_all(std::move(sorted));
  map_.version = 1;
}

Result<Catalog::Creation> Catalog::plan_create(TableSpec spec, CommitStamp floor,
                                               const std::vector<LogId>& log_of) const {
  Creation plan;
  plan.node = node_;
  const TableId id = node_.next_table;
  plan.node.next_table = TableId{id.value() + 1};
  plan.entry.schema = schema_of(spec, id);
  TRY_VOID(validate_schema(plan.entry.schema));
  TRY_VOID(normalize_splits(spec.splits));
  if (map_.find(Bytes(spec.name)) != nullptr) {
    return fail(Errc::already_exists, "table '{}' exists already", spec.name);
  }
  if (map_.tables().size() + dropped_.size() >= kMaxTables) {
    return fail(Errc::resource_exhausted,
                "the node has {} tables, and {} dropped ones that can still be restored; at most "
                "{} are allowed",
                map_.tables().size(), dropped_.size(), kMaxTables);
  }
  for (size_t i = 0; i <= spec.splits.size(); ++i) {
    TabletSeed seed;
    seed.id = plan.node.next_tablet;
    plan.node.next_tablet = TabletId{seed.id.value() + 1};
    seed.schema = plan.entry.schema;
    seed.state.table = id;
    seed.state.home = static_cast<uint32_t>(seed.id.value());
    if (i > 0) seed.state.start = spec.splits[i - 1];
    if (i < spec.splits.size()) seed.state.end = spec.splits[i];
    seed.state.created = floor;
    seed.state.last_flushed = floor;
    const ShardId shard = shard_of(seed.state.home);
    seed.state.spans.push_back({.log = log_of[shard.value()]});
    plan.entry.tablets.push_back(descriptor_of(seed, shard));
    plan.seeds.push_back(std::move(seed));
  }
  plan.edits.push_back(put_state(kNodeKey, node_version_, encode_node_state(plan.node)));
  plan.edits.push_back(put_state(key_of(id), kAbsent, encode_schema(plan.entry.schema)));
  for (const TabletSeed& seed : plan.seeds) {
    plan.edits.push_back(put_state(key_of(seed.id), kAbsent, encode_tablet_state(seed.state)));
  }
  return plan;
}

void Catalog::created(Creation& creation, const std::vector<uint64_t>& versions) {
  CHECK(versions.size() == creation.edits.size(), "{} versions for {} edits", versions.size(),
        creation.edits.size());
  node_ = creation.node;
  node_version_ = versions[0];
  table_versions_[creation.entry.schema.id] = versions[1];
  for (size_t i = 0; i < creation.seeds.size(); ++i) creation.seeds[i].version = versions[i + 2];
  map_.put(creation.entry);
  ++map_.version;
}

// ---- sessions

Catalog::NewSession Catalog::plan_session() const {
  NewSession plan{node_, {}};
  plan.node.draw_session();
  plan.edit = put_state(kNodeKey, node_version_, encode_node_state(plan.node));
  return plan;
}

void Catalog::drawn(const NewSession& plan, uint64_t version) {
  node_ = plan.node;
  node_version_ = version;
}

// ---- alterations

namespace {

// `expected`: the version that the caller has seen; 0: any.
Result<void> check_version(const TableSchema& schema, uint64_t expected) {
  if (expected == 0 || expected == schema.version) return {};
  return fail(Errc::failed_precondition,
              "the schema of table '{}' has version {}, not {}: it was changed meanwhile",
              schema.name, schema.version, expected);
}

}  // namespace

Result<Catalog::Alteration> Catalog::plan_alter(const TableChange& change) const {
  TRY_VOID(validate_change(change));
  TRY_VOID(check_exists(change, map_));
  TRY_VOID(check_version(map_.find(Bytes(change.name))->schema, change.expected_version));
  Alteration alteration;
  alteration.entry = *map_.find(Bytes(change.name));
  TableSchema& schema = alteration.entry.schema;
  const TableSchema before = schema;
  std::erase_if(schema.families, [&change](const FamilySchema& family) {
    return std::find(change.drop.begin(), change.drop.end(), family.name) != change.drop.end();
  });
  for (const FamilySpec& family : change.alter) family.apply_to(*schema.find_family(family.name));
  for (const FamilySpec& family : change.add) {
    schema.families.push_back(family.under(schema.profile));
    alteration.added.push_back(family.name);
  }
  std::sort(schema.families.begin(), schema.families.end(),
            [](const FamilySchema& a, const FamilySchema& b) { return a.name < b.name; });
  for (const FamilySpec& family : change.alter) {
    const FamilySchema& old = *before.find_family(family.name);
    if (schema.find_family(family.name)->rule != old.rule) alteration.ruled.push_back(old);
  }
  TRY_VOID(change_indexes(change, schema));
  TRY_VOID(check_families_fit_indexes(before, schema));
  change.options.apply_to(schema.options);
  TRY_VOID(validate_schema(schema));
  alteration.empty = schema.families == before.families && schema.options == before.options &&
                     schema.indexes == before.indexes;
  if (!alteration.empty) ++schema.version;
  return alteration;
}

Result<Catalog::Alteration> Catalog::plan_undo(const RuleUndo& undo) const {
  TableChange named;
  named.name = undo.table;
  named.alter.emplace_back().name = undo.family;
  TRY_VOID(check_exists(named, map_));
  Alteration alteration;
  alteration.entry = *map_.find(Bytes(undo.table));
  TableSchema& schema = alteration.entry.schema;
  TRY_VOID(check_version(schema, undo.expected_version));
  ++schema.version;
  alteration.empty = false;
  return alteration;
}

VersionEdit Catalog::edit_of(const Alteration& alteration) const {
  const TableSchema& schema = alteration.entry.schema;
  return put_state(key_of(schema.id), table_versions_.at(schema.id), encode_schema(schema));
}

void Catalog::altered(const Alteration& alteration, uint64_t version) {
  table_versions_.at(alteration.entry.schema.id) = version;
  map_.put(alteration.entry);
  ++map_.version;
}

// ---- reshapes

Result<Catalog::Place> Catalog::place_of(TabletId id) const {
  for (const auto& [name, entry] : map_.tables()) {
    for (size_t i = 0; i < entry->tablets.size(); ++i) {
      if (entry->tablets[i].id == id) return Place{entry.get(), i};
    }
  }
  return fail(Errc::not_found, "tablet {} does not exist", id);
}

void Catalog::hold(TableId table, size_t first, size_t count, bool held) {
  TableEntry entry = *map_.find(table);
  for (size_t i = first; i < first + count; ++i) entry.tablets[i].held = held;
  map_.put(std::move(entry));
  ++map_.version;
}

void Catalog::reshaped(TableId table, size_t first, size_t count,
                       const std::vector<TabletSeed>& children, const NodeState& node,
                       uint64_t node_version) {
  if (node_version != kAbsent) {
    node_ = node;
    node_version_ = node_version;
  }
  TableEntry entry = *map_.find(table);
  std::vector<TabletDescriptor> placed;
  for (const TabletSeed& child : children) {
    placed.push_back(descriptor_of(child, shard_of(child.state.home)));
    placed.back().held = true;
  }
  const auto at = entry.tablets.begin() + static_cast<ptrdiff_t>(first);
  entry.tablets.erase(at, at + static_cast<ptrdiff_t>(count));
  entry.tablets.insert(entry.tablets.begin() + static_cast<ptrdiff_t>(first), placed.begin(),
                       placed.end());
  map_.put(std::move(entry));
  ++map_.version;
}

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
  plan.edits.push_back(put_state(kNodeKey, node_version_, encode_node_state(plan.node)));
  plan.edits.push_back(put_state(key_of(plan.entry.schema.id), kAbsent,
                                 encode_table_state(plan.entry.schema, std::nullopt)));
  for (const TabletSeed& seed : plan.seeds) {
    VersionEdit edit = put_state(key_of(seed.id), kAbsent, encode_tablet_state(seed.state));
    for (const TableItem& item : seed.tables) {
      edit.put_items.emplace_back(item.meta.blob.value(), encode_table_item(item));
    }
    plan.edits.push_back(std::move(edit));
  }
  return plan;
}

namespace {

int64_t longest_undo_window_us(const TableSchema& schema) {
  int64_t longest_us = 0;
  for (const FamilySchema& family : schema.families) {
    longest_us = std::max(longest_us, family.undo_window_us);
  }
  return longest_us;
}

}  // namespace

Result<Catalog::Drop> Catalog::plan_drop(Bytes name, int64_t now_us) const {
  const TableEntry* entry = map_.find(name);
  if (entry == nullptr) {
    return fail(Errc::not_found, "table '{}' does not exist", escape_bytes(name));
  }
  Drop drop;
  drop.entry = *entry;
  const TableSchema& schema = entry->schema;
  const uint64_t version = table_versions_.at(schema.id);
  const int64_t window_us = longest_undo_window_us(schema);
  if (window_us == 0) {
    drop.table_edit = remove_key(key_of(schema.id), version);
  } else {
    drop.mark = DropMark{now_us, saturating_add(now_us, window_us)};
    drop.table_edit = put_state(key_of(schema.id), version, encode_table_state(schema, drop.mark));
  }
  return drop;
}

void Catalog::dropped(const Drop& drop, uint64_t version) {
  const TableId id = drop.entry.schema.id;
  table_versions_.at(id) = version;
  map_.erase(drop.entry.schema.name);
  ++map_.version;
  dropped_[id] = {.entry = drop.entry, .mark = *drop.mark};
}

Result<Catalog::Restoration> Catalog::plan_restore(Bytes name, int64_t now_us) const {
  const DroppedTable* newest = nullptr;
  for (const auto& [id, table] : dropped_) {
    if (table.entry.schema.name != name || now_us > table.mark.restorable_until_us) continue;
    if (newest == nullptr || table.mark.dropped_us >= newest->mark.dropped_us) newest = &table;
  }
  if (newest == nullptr) {
    return fail(Errc::not_found, "there is no dropped table '{}' that could be restored",
                escape_bytes(name));
  }
  if (map_.find(name) != nullptr) {
    return fail(Errc::already_exists,
                "table '{}' exists: drop it before the one that was dropped earlier is restored",
                escape_bytes(name));
  }
  const TableSchema& schema = newest->entry.schema;
  return Restoration{newest->entry, put_state(key_of(schema.id), table_versions_.at(schema.id),
                                              encode_table_state(schema, std::nullopt))};
}

void Catalog::restored(const Restoration& restoration, uint64_t version) {
  const TableId id = restoration.entry.schema.id;
  table_versions_.at(id) = version;
  dropped_.erase(id);
  map_.put(restoration.entry);
  ++map_.version;
}

std::optional<Catalog::Drop> Catalog::plan_end(int64_t now_us) const {
  for (const auto& [id, table] : dropped_) {
    if (now_us <= table.mark.restorable_until_us) continue;
    Drop drop;
    drop.entry = table.entry;
    drop.table_edit = remove_key(key_of(id), table_versions_.at(id));
    return drop;
  }
  return std::nullopt;
}

void Catalog::ended(const Drop& drop) {
  const TableId id = drop.entry.schema.id;
  table_versions_.erase(id);
  if (dropped_.erase(id) != 0) return;
  map_.erase(drop.entry.schema.name);
  ++map_.version;
}

int64_t Catalog::next_end_us(int64_t margin_us) const {
  int64_t first_us = INT64_MAX;
  for (const auto& [id, table] : dropped_) {
    first_us = std::min(first_us, table.mark.restorable_until_us);
  }
  return saturating_add(first_us, margin_us + 1);
}

}  // namespace cellar::engine
