#include "engine/catalog.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "io/base/check.h"

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
  schema.options = spec.options;
  for (const FamilySpec& family : spec.families) {
    schema.families.push_back({.name = family.name, .created = CommitStamp{}});
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
          .end = seed.state.end};
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

Result<TabletSeed> decode_tablet(TabletId id, const SubjectState& subject,
                                 const std::map<TableId, ManifestContents::Table>& tables) {
  TabletSeed seed;
  seed.id = id;
  seed.version = subject.version;
  TRY(seed.state, decode_tablet_state(subject.state));
  for (const auto& [number, bytes] : subject.items) {
    TRY(TableMeta meta, decode_table_meta(bytes));
    if (meta.blob.value() != number) {
      return fail(Errc::data_loss, "manifest: item {:x} of tablet {} describes blob {:x}", number,
                  id, meta.blob.value());
    }
    seed.tables.push_back(std::move(meta));
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

Result<ManifestContents> decode_manifest(const std::map<Subject, SubjectState>& subjects) {
  ManifestContents loaded;
  // Subjects are sorted by kind: the node, then tables, then tablets.
  for (const auto& [subject, state] : subjects) {
    switch (subject.kind) {
      case Subject::Kind::node: {
        TRY(loaded.node, decode_node_state(state.state));
        loaded.node_version = state.version;
        break;
      }
      case Subject::Kind::table: {
        TRY(TableSchema schema, decode_schema(state.state));
        loaded.tables[TableId{subject.id}] = {std::move(schema), state.version};
        break;
      }
      case Subject::Kind::tablet: {
        TRY(TabletSeed seed, decode_tablet(TabletId{subject.id}, state, loaded.tables));
        loaded.tablets.push_back(std::move(seed));
        break;
      }
    }
  }
  if (loaded.node_version == kAbsent && !subjects.empty()) {
    return fail(Errc::data_loss, "manifest: the node's own entry is missing");
  }
  Catalog probe(1);
  probe.load(loaded);
  for (const auto& [name, entry] : probe.map().tables()) TRY_VOID(check_cover(entry));
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
  for (auto& [id, entry] : entries) {
    std::sort(entry.tablets.begin(), entry.tablets.end(),
              [](const auto& a, const auto& b) { return a.start < b.start; });
    map_.put(std::move(entry));
  }
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
  if (map_.tables().size() >= kMaxTables) {
    return fail(Errc::resource_exhausted, "the node has {} tables; at most {} are allowed",
                map_.tables().size(), kMaxTables);
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
  plan.edits.push_back(put_state(kNodeSubject, node_version_, encode_node_state(plan.node)));
  plan.edits.push_back(put_state(subject_of(id), kAbsent, encode_schema(plan.entry.schema)));
  for (const TabletSeed& seed : plan.seeds) {
    plan.edits.push_back(put_state(subject_of(seed.id), kAbsent, encode_tablet_state(seed.state)));
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

// ---- alterations

void OptionsChange::apply_to(TableOptions& options) const {
  if (durability) options.durability = *durability;
  if (compression) options.compression = *compression;
  if (block_bytes) options.block_bytes = *block_bytes;
}

Result<void> validate_change(const TableChange& change) {
  std::set<std::string_view> named;
  std::vector<std::string_view> names;
  for (const FamilySpec& family : change.add) names.push_back(family.name);
  names.insert(names.end(), change.alter.begin(), change.alter.end());
  names.insert(names.end(), change.drop.begin(), change.drop.end());
  for (const std::string_view name : names) {
    TRY_VOID(validate_family_name(name));
    if (named.insert(name).second) continue;
    return fail(Errc::invalid_argument, "family '{}' is named twice in one change", name);
  }
  TableOptions options;  // every bound stands for itself, so the others may be the defaults
  change.options.apply_to(options);
  return validate_options(options);
}

Result<void> check_exists(const TableChange& change, const TableMap& tables) {
  const TableEntry* table = tables.find(Bytes(change.name));
  if (table == nullptr) {
    return fail(Errc::not_found, "table '{}' does not exist", escape_bytes(change.name));
  }
  for (const auto* list : {&change.alter, &change.drop}) {
    for (const std::string& name : *list) {
      if (table->schema.find_family(name) != nullptr) continue;
      return fail(Errc::not_found, "table '{}' has no family '{}'", change.name, name);
    }
  }
  for (const FamilySpec& family : change.add) {
    if (table->schema.find_family(family.name) == nullptr) continue;
    return fail(Errc::already_exists, "table '{}' has a family '{}' already", change.name,
                family.name);
  }
  return {};
}

Result<Catalog::Alteration> Catalog::plan_alter(const TableChange& change) const {
  TRY_VOID(validate_change(change));
  TRY_VOID(check_exists(change, map_));
  Alteration alteration;
  alteration.entry = *map_.find(Bytes(change.name));
  TableSchema& schema = alteration.entry.schema;
  const TableOptions options_before = schema.options;
  std::erase_if(schema.families, [&change](const FamilySchema& family) {
    return std::find(change.drop.begin(), change.drop.end(), family.name) != change.drop.end();
  });
  for (const FamilySpec& family : change.add) {
    schema.families.push_back({.name = family.name, .created = CommitStamp{}});
    alteration.added.push_back(family.name);
  }
  std::sort(schema.families.begin(), schema.families.end(),
            [](const FamilySchema& a, const FamilySchema& b) { return a.name < b.name; });
  change.options.apply_to(schema.options);
  TRY_VOID(validate_schema(schema));
  alteration.empty = change.add.empty() && change.drop.empty() && schema.options == options_before;
  if (!alteration.empty) ++schema.version;
  return alteration;
}

SubjectEdit Catalog::edit_of(const Alteration& alteration) const {
  const TableSchema& schema = alteration.entry.schema;
  return put_state(subject_of(schema.id), table_versions_.at(schema.id), encode_schema(schema));
}

void Catalog::altered(const Alteration& alteration, uint64_t version) {
  table_versions_.at(alteration.entry.schema.id) = version;
  map_.put(alteration.entry);
  ++map_.version;
}

// ---- drops

Result<Catalog::Drop> Catalog::plan_drop(Bytes name) const {
  const TableEntry* entry = map_.find(name);
  if (entry == nullptr) {
    return fail(Errc::not_found, "table '{}' does not exist", escape_bytes(name));
  }
  Drop drop;
  drop.entry = *entry;
  drop.edits.push_back(
      remove_subject(subject_of(entry->schema.id), table_versions_.at(entry->schema.id)));
  return drop;
}

void Catalog::dropped(const Drop& drop) {
  table_versions_.erase(drop.entry.schema.id);
  map_.erase(drop.entry.schema.name);
  ++map_.version;
}

}  // namespace cellar::engine
