#include "engine/inspect/describe_state.h"

#include "engine/manifest/audit_entry.h"
#include "engine/manifest/clock_state.h"
#include "engine/manifest/states.h"
#include "engine/manifest/table_item.h"
#include "engine/manifest/table_state.h"
#include "io/base/time_text.h"

namespace cellar::engine {
namespace {

using Lines = std::vector<std::string>;

std::string_view word(TimestampMeaning meaning) {
  static constexpr std::string_view kWords[] = {"time", "expiry", "sequence"};
  return kWords[static_cast<size_t>(meaning)];
}
std::string_view word(AuditAction action) {
  static constexpr std::string_view kWords[] = {
      "unknown",      "create table", "drop table", "restore table", "alter table", "add family",
      "alter family", "drop family",  "undo rule",  "create index",  "alter index", "drop index"};
  const auto i = static_cast<size_t>(action);
  return kWords[i < std::size(kWords) ? i : 0];
}

std::string window_text(const WriteWindow& window) {
  if (!window.past_us && !window.future_us) return {};
  std::string text = "; write window";
  if (window.past_us) text += " past " + duration_text(*window.past_us);
  if (window.future_us) text += " future " + duration_text(*window.future_us);
  return text + (window.unit == WriteWindow::Unit::seconds ? " in whole seconds" : "");
}

Result<Lines> describe_node(Bytes state) {
  TRY(const NodeState node, decode_node_state(state));
  return Lines{fmt::format("session {}; next table {}, next tablet {}", node.session,
                           node.next_table, node.next_tablet),
               fmt::format("tokens are remembered for {}", duration_text(node.tokens.window_us))};
}

Result<Lines> describe_clock(Bytes state) {
  TRY(const ClockState clock, decode_clock_state(state));
  Lines lines = {fmt::format("trusted time {}, permitted up to {}", time_text(clock.trusted_us),
                             time_text(clock.permitted_us)),
                 fmt::format("wall clock {}, boot-time clock {} us of boot {}",
                             time_text(clock.wall_us), clock.boot_us, clock.boot_id)};
  if (clock.believable_us != 0) {
    lines.push_back(fmt::format("a gap is credible up to {}, less {} held before it",
                                time_text(clock.believable_us),
                                duration_text(clock.held_before_us)));
  }
  return lines;
}

std::string options_text(const TableOptions& options) {
  static constexpr std::string_view kDurability[] = {"sync", "periodic", "memory"};
  static constexpr std::string_view kCompression[] = {"none", "lz4", "zstd"};
  const auto durability = static_cast<size_t>(options.durability);
  return fmt::format(
      "durability {}; compression {}; blocks of {} bytes; reclaim within {}, dead slack {}, "
      "reclaim "
      "share {}",
      durability < std::size(kDurability) ? kDurability[durability] : "unknown",
      kCompression[static_cast<size_t>(options.compression)], options.block_bytes,
      duration_text(options.reclaim_within_us), options.dead_slack, options.reclaim_share);
}

std::string describe_index(const IndexSchema& index) {
  static constexpr std::string_view kParts[] = {"", "value", "time", "qualifier"};
  std::string parts;
  for (const IndexPart part : index.parts) {
    parts += (parts.empty() ? "" : ", ") + std::string(kParts[static_cast<size_t>(part)]);
  }
  const std::string column = index.qualifier ? ":" + escape_bytes(*index.qualifier) : std::string();
  std::string text =
      fmt::format("index {} '{}' on {}{} by {}", index.id, index.name, index.family, column, parts);
  if (index.type == IndexType::int64) text += " as int64";
  if (index.match == IndexMatch::any) text += "; any version";
  if (!index.covered.empty()) text += fmt::format("; covers {} columns", index.covered.size());
  if (index.max_age_us) text += "; own age " + duration_text(*index.max_age_us);
  if (index.tighter_base == TighterBase::refuse) text += "; refuses a tighter rule";
  return text;
}

Result<Lines> describe_table(Bytes state) {
  TRY(const TableState table, decode_table_state(state));
  const TableSchema& schema = table.schema;
  Lines lines = {
      fmt::format("'{}', schema version {}, timestamps in {}{}", schema.name, schema.version,
                  schema.granularity == Granularity::millis ? "millis" : "micros",
                  table.drop ? fmt::format("; dropped at {}, can be restored until {}",
                                           time_text(table.drop->dropped_us),
                                           time_text(table.drop->restorable_until_us))
                             : std::string()),
      options_text(schema.options)};
  for (const FamilySchema& family : schema.families) {
    lines.push_back("family " + describe_family(family));
    for (const PastRule& past : family.history) {
      lines.push_back(fmt::format("  before stamp {}: {}{}", past.until, describe_rule(past.rule),
                                  past.undo_until_us == 0 ? std::string()
                                                          : "; the change can be undone until " +
                                                                time_text(past.undo_until_us)));
    }
  }
  for (const IndexSchema& index : schema.indexes) lines.push_back(describe_index(index));
  return lines;
}

Result<Lines> describe_tablet(Bytes state) {
  TRY(const TabletState tablet, decode_tablet_state(state));
  Lines lines = {
      fmt::format("rows {} of table {}; epoch {}; home {}", rows_text(tablet.start, tablet.end),
                  tablet.table, tablet.epoch, tablet.home),
      fmt::format("made at stamp {}; on disk up to stamp {}; next run {}", tablet.created,
                  tablet.last_flushed, tablet.next_run)};
  for (const LogSpan& span : tablet.spans) {
    lines.push_back(fmt::format(
        "later commits in log {:016x} from {} {}", span.log.value(), span.from.value(),
        span.to == kLogEnd ? std::string("on") : fmt::format("to {}", span.to.value())));
  }
  if (!tablet.range_tokens.empty()) {
    lines.push_back(fmt::format("{} tokens of range deletes", tablet.range_tokens.size()));
  }
  return lines;
}

std::string audit_text(const AuditEntry& entry) {
  std::string text =
      fmt::format("{} {} '{}'", time_text(entry.at_us), word(entry.action), entry.table);
  if (!entry.family.empty()) text += fmt::format(" family {}", entry.family);
  text += fmt::format(", schema version {}", entry.schema_version);
  if (entry.old_rule || entry.new_rule) {
    text += fmt::format(", rule {} -> {}",
                        entry.old_rule ? describe_rule(*entry.old_rule) : std::string("none"),
                        entry.new_rule ? describe_rule(*entry.new_rule) : std::string("none"));
  }
  for (const AuditDetail& detail : entry.details) {
    text += fmt::format(", {} {} -> {}", detail.name, detail.before, detail.after);
  }
  return text + fmt::format(", by '{}' at {}", entry.by.client,
                            entry.by.address.empty() ? "the node" : entry.by.address);
}

}  // namespace

std::string key_text(ManifestKey key) {
  switch (key.kind) {
    case ManifestKey::Kind::node:
      return "node";
    case ManifestKey::Kind::table:
      return fmt::format("table {}", key.id);
    case ManifestKey::Kind::tablet:
      return fmt::format("tablet {}", key.id);
    case ManifestKey::Kind::clock:
      return "clock";
    case ManifestKey::Kind::audit:
      return "audit trail";
  }
  return fmt::format("kind {} id {}", static_cast<int>(key.kind), key.id);
}

std::string rows_text(Bytes start, Bytes end) {
  return fmt::format("[\"{}\", {})", escape_bytes(start),
                     end.empty() ? "end" : fmt::format("\"{}\"", escape_bytes(end)));
}

std::string describe_family(const FamilySchema& family) {
  return fmt::format("{}: {}; timestamps {}; born dead {}{}; undo {}; made at stamp {}",
                     family.name, describe_rule(family.rule), word(family.timestamps),
                     family.born_dead == BornDead::refuse ? "refuse" : "accept",
                     window_text(family.window), duration_text(family.undo_window_us),
                     family.created);
}

Result<Lines> describe_state(ManifestKey key, Bytes state) {
  switch (key.kind) {
    case ManifestKey::Kind::node:
      return describe_node(state);
    case ManifestKey::Kind::table:
      return describe_table(state);
    case ManifestKey::Kind::tablet:
      return describe_tablet(state);
    case ManifestKey::Kind::clock:
      return describe_clock(state);
    case ManifestKey::Kind::audit: {
      TRY(const AuditState audit, decode_audit_state(state));
      return Lines{fmt::format("next entry {}", audit.next_sequence)};
    }
  }
  return fail(Errc::data_loss, "kind {} is unknown", static_cast<int>(key.kind));
}

Result<std::string> describe_item(ManifestKey key, uint64_t item, Bytes value) {
  if (key.kind == ManifestKey::Kind::audit) {
    TRY(const AuditEntry entry, decode_audit_entry(item, value));
    return fmt::format("entry {}: {}", item, audit_text(entry));
  }
  TRY(const TableItem table, decode_table_item(value));
  if (table.meta.blob.value() != item) {
    return fail(Errc::data_loss, "item {:016x} is about blob {:016x}", item,
                table.meta.blob.value());
  }
  std::string text = fmt::format("item {:016x}: run {}, {} entries, {} bytes", item, table.meta.run,
                                 table.meta.entries, table.meta.file_bytes);
  if (table.shared) text += ", shared";
  if (table.rows == KeyRange{}) return text;
  return text + ", of it rows " + rows_text(table.rows.start, table.rows.end);
}

}  // namespace cellar::engine
