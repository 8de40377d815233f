#include "engine/catalog/audit_trail.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace cellar::engine {

Result<AuditTrail> AuditTrail::decode(const ManifestEntry& entry) {
  AuditTrail trail;
  trail.version_ = entry.version;
  TRY(trail.state_, decode_audit_state(entry.state));
  for (const auto& [sequence, bytes] : entry.items) {
    TRY(AuditEntry read, decode_audit_entry(sequence, bytes));
    trail.entries_.push_back({std::move(read), bytes.size()});
    trail.bytes_ += bytes.size();
  }
  return trail;
}

AuditTrail::Addition AuditTrail::plan(std::vector<AuditEntry> entries) const {
  Addition addition;
  addition.state = state_;
  std::vector<size_t> sizes;
  size_t bytes = bytes_;
  for (AuditEntry& entry : entries) {
    entry.sequence = addition.state.next_sequence++;
    std::string encoded = encode_audit_entry(entry);
    sizes.push_back(encoded.size());
    bytes += encoded.size();
    addition.edit.put_items.emplace_back(entry.sequence, std::move(encoded));
  }
  // The newest entry is kept at any size.
  size_t left = entries_.size() + entries.size();
  while (left > 1 && (left > kMaxAuditEntries || bytes > kMaxAuditBytes)) {
    const size_t i = addition.leaving++;
    const bool old = i < entries_.size();
    bytes -= old ? entries_[i].bytes : sizes[i - entries_.size()];
    if (old) addition.edit.remove_items.push_back(entries_[i].entry.sequence);
    --left;
  }
  // If the entries of one change exceed the bounds, its first ones are not written.
  const size_t skipped = addition.leaving - addition.edit.remove_items.size();
  const auto first = addition.edit.put_items.begin();
  addition.edit.put_items.erase(first, first + static_cast<ptrdiff_t>(skipped));
  addition.edit.key = kAuditKey;
  addition.edit.expected_version = version_;
  addition.edit.state = encode_audit_state(addition.state);
  addition.entries = std::move(entries);
  return addition;
}

void AuditTrail::written(Addition addition, uint64_t version) {
  version_ = version;
  state_ = addition.state;
  for (AuditEntry& entry : addition.entries) {
    const size_t bytes = encode_audit_entry(entry).size();
    bytes_ += bytes;
    entries_.push_back({std::move(entry), bytes});
  }
  for (size_t left = addition.leaving; left > 0; --left) {
    bytes_ -= entries_.front().bytes;
    entries_.pop_front();
  }
}

AuditPage AuditTrail::read(const AuditQuery& query) const {
  AuditPage page;
  if (!entries_.empty()) page.oldest = entries_.front().entry.sequence;
  size_t bytes = 0;
  for (auto kept = entries_.rbegin(); kept != entries_.rend(); ++kept) {
    const AuditEntry& entry = kept->entry;
    if (query.before != 0 && entry.sequence >= query.before) continue;
    if (entry.at_us < query.since_us) continue;
    if (!query.table.empty() && entry.table != query.table) continue;
    if (page.entries.size() >= query.limit || bytes > kAuditPageBytes) {
      page.next_before = page.entries.back().sequence;
      break;
    }
    bytes += kept->bytes;
    page.entries.push_back(entry);
  }
  return page;
}

namespace {

// Indexed by their values on disk.
constexpr std::string_view kTimestamps[] = {"time", "expiry", "sequence"};
constexpr std::string_view kBornDead[] = {"refuse", "accept"};
constexpr std::string_view kUnits[] = {"exact", "seconds"};
constexpr std::string_view kDurabilities[] = {"sync", "periodic", "memory"};
constexpr std::string_view kCompressions[] = {"none", "lz4"};
constexpr std::string_view kCompactions[] = {"automatic", "tiered", "time-window"};
constexpr std::string_view kBottoms[] = {"automatic", "same", "zstd"};
constexpr std::string_view kGranularities[] = {"millis", "micros"};
constexpr std::string_view kProfiles[] = {"none", "bigtable", "tablestore"};
constexpr std::string_view kParts[] = {"", "value", "time", "qualifier"};
constexpr std::string_view kIndexTypes[] = {"bytes", "int64"};
constexpr std::string_view kMatches[] = {"newest", "any"};
constexpr std::string_view kTighterBases[] = {"follow", "refuse"};

template <class E, size_t N>
std::string text_of(const std::string_view (&names)[N], E value) {
  const auto i = static_cast<size_t>(value);
  return i < N ? std::string(names[i]) : fmt::format("{}", i);
}
std::string text_of(const std::optional<int64_t>& us) {
  return us ? fmt::format("{}", *us) : std::string("none");
}

// Collects what differs.
class Details {
 public:
  // Previous values are recorded only if the key existed before.
  Details(AuditEntry& entry, bool is_new) : entry_(entry), is_new_(is_new) {}
  void add(std::string name, std::string before, std::string after) {
    if (before == after) return;
    if (is_new_) before.clear();
    entry_.details.push_back({std::move(name), std::move(before), std::move(after)});
  }
  template <class T>
  void number(std::string name, const T& before, const T& after) {
    add(std::move(name), fmt::format("{}", before), fmt::format("{}", after));
  }

 private:
  AuditEntry& entry_;
  bool is_new_;
};

void add_options(const TableOptions& before, const TableOptions& after, Details& details) {
  details.add("durability", text_of(kDurabilities, before.durability),
              text_of(kDurabilities, after.durability));
  details.add("compression", text_of(kCompressions, before.compression),
              text_of(kCompressions, after.compression));
  details.number("block_bytes", before.block_bytes, after.block_bytes);
  details.number("reclaim_within_us", before.reclaim_within_us, after.reclaim_within_us);
  details.number("dead_slack", before.dead_slack, after.dead_slack);
  details.number("reclaim_share", before.reclaim_share, after.reclaim_share);
  details.add("compaction", text_of(kCompactions, before.compaction),
              text_of(kCompactions, after.compaction));
  details.add("bottom_compression", text_of(kBottoms, before.bottom_compression),
              text_of(kBottoms, after.bottom_compression));
}

// `before`: the previous family, or the defaults for a new one.
void add_family(const FamilySchema& before, const FamilySchema& after, Details& details) {
  details.add("timestamps", text_of(kTimestamps, before.timestamps),
              text_of(kTimestamps, after.timestamps));
  details.add("born_dead", text_of(kBornDead, before.born_dead),
              text_of(kBornDead, after.born_dead));
  details.add("window_past_us", text_of(before.window.past_us), text_of(after.window.past_us));
  details.add("window_future_us", text_of(before.window.future_us),
              text_of(after.window.future_us));
  details.add("window_unit", text_of(kUnits, before.window.unit),
              text_of(kUnits, after.window.unit));
  details.number("born_dead_from_profile", before.from_profile.born_dead,
                 after.from_profile.born_dead);
  details.number("window_from_profile", before.from_profile.window, after.from_profile.window);
  details.number("undo_window_us", before.undo_window_us, after.undo_window_us);
}

AuditEntry about_family(AuditAction action, const TableSchema& schema, const FamilySchema& family) {
  AuditEntry entry = entry_about(action, schema);
  entry.family = family.name;
  return entry;
}

AuditEntry added(const TableSchema& schema, const FamilySchema& family) {
  AuditEntry entry = about_family(AuditAction::add_family, schema, family);
  entry.new_rule = family.rule;
  Details details(entry, true);
  add_family(FamilySchema(), family, details);
  return entry;
}

std::string text_of(const std::vector<IndexPart>& parts) {
  std::string text;
  for (const IndexPart part : parts) text += (text.empty() ? "" : ", ") + text_of(kParts, part);
  return text;
}
std::string text_of(const std::vector<IndexColumn>& columns) {
  std::string text;
  for (const IndexColumn& column : columns) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ", ", column.family,
                        escape_bytes(column.qualifier));
  }
  return text;
}

// `before`: the index before the change, or the defaults for a new one.
void add_index(const IndexSchema& before, const IndexSchema& after, Details& details) {
  const auto qualifier = [](const IndexSchema& index) {
    return index.qualifier ? "'" + escape_bytes(*index.qualifier) + "'" : std::string();
  };
  details.add("qualifier", qualifier(before), qualifier(after));
  details.add("parts", text_of(before.parts), text_of(after.parts));
  details.add("type", text_of(kIndexTypes, before.type), text_of(kIndexTypes, after.type));
  details.add("match", text_of(kMatches, before.match), text_of(kMatches, after.match));
  details.add("covered", text_of(before.covered), text_of(after.covered));
  details.add("max_age_us", text_of(before.max_age_us), text_of(after.max_age_us));
  details.add("tighter_base", text_of(kTighterBases, before.tighter_base),
              text_of(kTighterBases, after.tighter_base));
}

AuditEntry about_index(AuditAction action, const TableSchema& schema, const IndexSchema& index) {
  AuditEntry entry = entry_about(action, schema);
  entry.family = index.family;
  entry.details.push_back({"index", action == AuditAction::create_index ? "" : index.name,
                           action == AuditAction::drop_index ? "" : index.name});
  return entry;
}

// One entry per index that is dropped, created or altered.
void describe_indexes(const TableSchema& before, const TableSchema& after,
                      std::vector<AuditEntry>& entries) {
  for (const IndexSchema& index : before.indexes) {
    if (after.find_index(index.name) == nullptr)
      entries.push_back(about_index(AuditAction::drop_index, after, index));
  }
  for (const IndexSchema& index : after.indexes) {
    const IndexSchema* was = before.find_index(index.name);
    if (was != nullptr && *was == index) continue;
    entries.push_back(about_index(
        was == nullptr ? AuditAction::create_index : AuditAction::alter_index, after, index));
    Details details(entries.back(), was == nullptr);
    add_index(was == nullptr ? IndexSchema() : *was, index, details);
  }
}

}  // namespace

AuditEntry entry_about(AuditAction action, const TableSchema& schema) {
  AuditEntry entry;
  entry.action = action;
  entry.table_id = schema.id;
  entry.schema_version = schema.version;
  entry.table = schema.name;
  return entry;
}

std::vector<AuditEntry> describe_creation(const TableSchema& schema) {
  std::vector<AuditEntry> entries;
  AuditEntry table = entry_about(AuditAction::create_table, schema);
  Details details(table, true);
  details.add("granularity", "", text_of(kGranularities, schema.granularity));
  details.add("profile", text_of(kProfiles, Profile::none), text_of(kProfiles, schema.profile));
  add_options(TableOptions(), schema.options, details);
  entries.push_back(std::move(table));
  for (const FamilySchema& family : schema.families) entries.push_back(added(schema, family));
  return entries;
}

std::vector<AuditEntry> describe_alteration(const TableSchema& before, const TableSchema& after) {
  std::vector<AuditEntry> entries;
  AuditEntry table = entry_about(AuditAction::alter_table, after);
  Details options(table, false);
  add_options(before.options, after.options, options);
  if (!table.details.empty()) entries.push_back(std::move(table));
  for (const FamilySchema& family : before.families) {
    if (after.find_family(family.name) != nullptr) continue;
    AuditEntry dropped = about_family(AuditAction::drop_family, after, family);
    dropped.old_rule = family.rule;
    entries.push_back(std::move(dropped));
  }
  for (const FamilySchema& family : after.families) {
    const FamilySchema* was = before.find_family(family.name);
    if (was == nullptr) {
      entries.push_back(added(after, family));
      continue;
    }
    AuditEntry altered = about_family(AuditAction::alter_family, after, family);
    Details details(altered, false);
    add_family(*was, family, details);
    if (was->rule != family.rule) {
      altered.old_rule = was->rule;
      altered.new_rule = family.rule;
    }
    if (altered.new_rule || !altered.details.empty()) entries.push_back(std::move(altered));
  }
  describe_indexes(before, after, entries);
  return entries;
}

std::vector<AuditEntry> describe_undo(const TableSchema& before, const TableSchema& after,
                                      Bytes family) {
  const FamilySchema& now = *after.find_family(family);
  AuditEntry undone = about_family(AuditAction::undo_rule, after, now);
  undone.old_rule = before.find_family(family)->rule;
  undone.new_rule = now.rule;
  std::vector<AuditEntry> entries;
  entries.push_back(std::move(undone));
  return entries;
}

}  // namespace cellar::engine
