#include "engine/inspect/summary.h"

#include <charconv>
#include <map>

#include <boost/json.hpp>

#include "engine/inspect/describe_state.h"
#include "engine/manifest/clock_state.h"
#include "engine/manifest/states.h"
#include "engine/manifest/table_item.h"
#include "engine/manifest/table_state.h"
#include "engine/store/blob/blob_files.h"
#include "engine/store/local/format_file.h"
#include "engine/store/log/log_files.h"
#include "engine/store/manifest/manifest_file.h"
#include "io/base/time_text.h"

namespace cellar::engine {
namespace {

namespace json = boost::json;

struct Tablet {
  uint64_t id = 0;
  TabletState state;
  std::vector<TableItem> files;
};
struct Table {
  uint64_t id = 0;
  TableState state;
  std::vector<Tablet> tablets;
};
struct Directory {
  DirectoryFormat format;
  std::string manifest;
  uint64_t edits = 0;
  NodeState node;
  ClockState clock;
  std::map<uint64_t, Table> tables;
  std::map<uint64_t, uint64_t> logs;  // segments by log
  uint64_t blobs = 0;
};

Result<void> take_entry(ManifestKey key, const ManifestEntry& held, Directory& directory,
                        std::vector<Tablet>& tablets) {
  switch (key.kind) {
    case ManifestKey::Kind::node: {
      TRY(directory.node, decode_node_state(held.state));
      return {};
    }
    case ManifestKey::Kind::clock: {
      TRY(directory.clock, decode_clock_state(held.state));
      return {};
    }
    case ManifestKey::Kind::table: {
      Table& table = directory.tables[key.id];
      table.id = key.id;
      TRY(table.state, decode_table_state(held.state));
      return {};
    }
    case ManifestKey::Kind::tablet: {
      Tablet tablet{.id = key.id, .state = {}, .files = {}};
      TRY(tablet.state, decode_tablet_state(held.state));
      for (const auto& [blob, value] : held.items) {
        TRY(TableItem item, decode_table_item(value));
        tablet.files.push_back(std::move(item));
      }
      tablets.push_back(std::move(tablet));
      return {};
    }
    case ManifestKey::Kind::audit:
      return {};
  }
  return fail(Errc::data_loss, "{} is of an unknown kind", key_text(key));
}

Result<void> take_entries(const ManifestState& state, Directory& directory) {
  std::vector<Tablet> tablets;
  for (const auto& [key, held] : state.entries) {
    TRY_VOID(take_entry(key, held, directory, tablets));
  }
  for (Tablet& tablet : tablets) {
    const auto at = directory.tables.find(tablet.state.table.value());
    if (at == directory.tables.end()) {
      return fail(Errc::data_loss, "tablet {} is of table {}, which does not exist", tablet.id,
                  tablet.state.table);
    }
    at->second.tablets.push_back(std::move(tablet));
  }
  for (auto& [id, table] : directory.tables) {
    std::ranges::sort(table.tablets, {}, [](const Tablet& one) { return one.state.start; });
  }
  return {};
}

Async<Result<void>> count_files(FileSystem& fs, Directory& directory) {
  CO_TRY(const std::vector<DirEntry> logs, co_await fs.list(std::string(kLogDirectory)));
  for (const DirEntry& entry : logs) {
    const auto name = parse_log_file(entry.name);
    if (name && name->kind == LogFileName::Kind::segment) ++directory.logs[name->log.value()];
  }
  CO_TRY(const std::vector<DirEntry> blobs, co_await fs.list(std::string(kBlobDirectory)));
  for (const DirEntry& entry : blobs) {
    const auto name = parse_blob_file(entry.name);
    if (name && name->sealed) ++directory.blobs;
  }
  co_return Result<void>();
}

Async<Result<Directory>> read_directory(FileSystem& fs) {
  Directory directory;
  CO_TRY(const auto format, co_await read_format(fs));
  if (!format) co_return fail(Errc::failed_precondition, "no data directory: no {}", kFormatPath);
  directory.format = *format;
  CO_TRY(const auto number, co_await read_current(fs));
  if (!number) co_return fail(Errc::failed_precondition, "no store: there is no {}", kCurrentPath);
  directory.manifest = manifest_path(*number);
  CO_TRY(const LoadedManifest loaded, co_await load_manifest(fs, *number));
  if (!loaded.state.complete) {
    co_return fail(Errc::data_loss, "{}: its snapshot has no end", directory.manifest);
  }
  directory.edits = loaded.edits;
  CO_TRY_VOID(take_entries(loaded.state, directory));
  CO_TRY_VOID(co_await count_files(fs, directory));
  co_return directory;
}

struct Totals {
  uint64_t files = 0;
  uint64_t entries = 0;
  uint64_t bytes = 0;
};
// Of a table that several tablets share each counts the whole file.
Totals totals_of(const Tablet& tablet) {
  Totals totals;
  for (const TableItem& file : tablet.files) {
    ++totals.files;
    totals.entries += file.meta.entries;
    totals.bytes += file.meta.file_bytes;
  }
  return totals;
}
Totals totals_of(const Table& table) {
  Totals totals;
  for (const Tablet& tablet : table.tablets) {
    const Totals one = totals_of(tablet);
    totals.files += one.files;
    totals.entries += one.entries;
    totals.bytes += one.bytes;
  }
  return totals;
}

std::string totals_text(const Totals& totals) {
  return fmt::format("{} files, {} entries, {} bytes", totals.files, totals.entries, totals.bytes);
}

void print_table(const Table& table, std::ostream& out) {
  const TableSchema& schema = table.state.schema;
  out << fmt::format("\ntable {} '{}', schema version {}: {} tablets, {}\n", table.id, schema.name,
                     schema.version, table.tablets.size(), totals_text(totals_of(table)));
  if (const auto& drop = table.state.drop) {
    out << fmt::format("  dropped at {}, can be restored until {}\n", time_text(drop->dropped_us),
                       time_text(drop->restorable_until_us));
  }
  for (const FamilySchema& family : schema.families) {
    out << "  family " << describe_family(family) << "\n";
  }
  for (const Tablet& tablet : table.tablets) {
    out << fmt::format("  tablet {} rows {} epoch {} home {}: {}\n", tablet.id,
                       rows_text(tablet.state.start, tablet.state.end), tablet.state.epoch,
                       tablet.state.home, totals_text(totals_of(tablet)));
    for (const TableItem& file : tablet.files) {
      out << fmt::format("    {} run {}, {} entries, {} bytes{}\n", blob_path(file.meta.blob),
                         file.meta.run, file.meta.entries, file.meta.file_bytes,
                         file.rows == KeyRange{}
                             ? std::string()
                             : ", of it rows " + rows_text(file.rows.start, file.rows.end));
    }
  }
}

void print_text(const Directory& directory, std::ostream& out) {
  out << fmt::format("data directory {} of format {}\n", directory.format.id,
                     directory.format.version);
  out << fmt::format("{}: {} edits since its snapshot; session {}\n", directory.manifest,
                     directory.edits, directory.node.session);
  out << fmt::format("trusted time {}, permitted up to {}\n", time_text(directory.clock.trusted_us),
                     time_text(directory.clock.permitted_us));
  out << fmt::format("{} tables, {} files of tables\n", directory.tables.size(), directory.blobs);
  for (const auto& [log, segments] : directory.logs) {
    out << fmt::format("log {:016x}: {} segments\n", log, segments);
  }
  for (const auto& [id, table] : directory.tables) print_table(table, out);
}

std::string escaped(Bytes bytes) { return escape_bytes(bytes); }

json::object json_of(const Totals& totals) {
  return {{"files", totals.files}, {"entries", totals.entries}, {"bytes", totals.bytes}};
}

json::object json_of(const Tablet& tablet) {
  json::array files;
  for (const TableItem& file : tablet.files) {
    files.push_back(json::object{{"file", blob_path(file.meta.blob)},
                                 {"run", file.meta.run},
                                 {"entries", file.meta.entries},
                                 {"rows", file.meta.rows},
                                 {"cells", file.meta.cells},
                                 {"bytes", file.meta.file_bytes},
                                 {"start", escaped(file.rows.start)},
                                 {"end", escaped(file.rows.end)}});
  }
  return {{"tablet", tablet.id},
          {"start", escaped(tablet.state.start)},
          {"end", escaped(tablet.state.end)},
          {"epoch", tablet.state.epoch.value()},
          {"home", tablet.state.home},
          {"totals", json_of(totals_of(tablet))},
          {"files", std::move(files)}};
}

json::object json_of(const Table& table) {
  const TableSchema& schema = table.state.schema;
  json::array families;
  for (const FamilySchema& family : schema.families) {
    families.push_back(json::object{{"name", family.name}, {"rule", describe_rule(family.rule)}});
  }
  json::array tablets;
  for (const Tablet& tablet : table.tablets) tablets.push_back(json_of(tablet));
  json::object object = {{"table", table.id},
                         {"name", schema.name},
                         {"version", schema.version},
                         {"dropped", table.state.drop.has_value()},
                         {"totals", json_of(totals_of(table))},
                         {"families", std::move(families)},
                         {"tablets", std::move(tablets)}};
  return object;
}

void print_json(const Directory& directory, std::ostream& out) {
  json::array tables;
  for (const auto& [id, table] : directory.tables) tables.push_back(json_of(table));
  json::array logs;
  for (const auto& [log, segments] : directory.logs) {
    logs.push_back(json::object{{"log", fmt::format("{:016x}", log)}, {"segments", segments}});
  }
  out << json::serialize(json::object{{"id", directory.format.id},
                                      {"format", directory.format.version},
                                      {"manifest", directory.manifest},
                                      {"edits", directory.edits},
                                      {"trusted_us", directory.clock.trusted_us},
                                      {"files", directory.blobs},
                                      {"logs", std::move(logs)},
                                      {"tables", std::move(tables)}})
      << "\n";
}

}  // namespace

Async<Result<void>> summarize_directory(FileSystem& fs, bool json, std::ostream& out) {
  CO_TRY(const Directory directory, co_await read_directory(fs));
  if (json) {
    print_json(directory, out);
  } else {
    print_text(directory, out);
  }
  co_return Result<void>();
}

Async<Result<EntryFilter>> make_filter(FileSystem& fs, std::string table,
                                       std::optional<std::string> row) {
  EntryFilter filter;
  filter.row = std::move(row);
  if (table.empty()) co_return filter;
  CO_TRY(const Directory directory, co_await read_directory(fs));
  uint64_t number = 0;
  const char* const last = table.data() + table.size();
  const auto [end, error] = std::from_chars(table.data(), last, number);
  const bool is_number = error == std::errc() && end == last;
  for (const auto& [id, one] : directory.tables) {
    if (is_number ? id != number : one.state.schema.name != table) continue;
    filter.table = id;
    filter.tablets.clear();  // of an earlier, dropped one
    for (const Tablet& tablet : one.tablets) filter.tablets.insert(tablet.id);
    if (!one.state.drop) break;  // a dropped one of this name only if there is no other
  }
  if (!filter.table) {
    co_return fail(Errc::not_found, "{} has no table '{}'", directory.manifest, table);
  }
  co_return filter;
}

}  // namespace cellar::engine
