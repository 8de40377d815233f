// A repair's report in words and as JSON.
#include <boost/json.hpp>

#include "engine/repair/repair.h"
#include "io/base/time_text.h"

namespace cellar::engine {
namespace {

namespace json = boost::json;

std::string rows_text(const KeyRange& rows) {
  return fmt::format(
      "[\"{}\", {})", escape_bytes(rows.start),
      rows.end.empty() ? std::string("the end") : fmt::format("\"{}\"", escape_bytes(rows.end)));
}

int64_t us_of(CommitStamp stamp) { return static_cast<int64_t>(stamp.value() / 1000); }

std::string between(const LostLogPart& part) {
  const std::string after =
      part.after.value() == 0 ? std::string("the log's beginning") : time_text(us_of(part.after));
  const std::string before =
      part.before == kMaxStamp ? std::string("its end") : time_text(us_of(part.before));
  return fmt::format("{} and {}", after, before);
}

void print_found(const RepairReport& report, std::ostream& out) {
  for (const std::string& sentence : report.damage) out << "found damage: " << sentence << "\n";
  if (report.manifest_decides) {
    out << fmt::format("manifest: {} is whole and decides what is live\n", report.manifest);
  } else if (report.manifest.empty()) {
    out << "manifest: none can be read\n";
  } else {
    out << fmt::format(
        "manifest: {} and older ones in part: definitions of tables only; tables "
        "and rules changed last may be missing, so check the rules\n",
        report.manifest);
  }
  out << fmt::format("tables on disk: {} looked at, {} whole, {} rewritten", report.files_found,
                     report.files_copied, report.files_rewritten);
  if (report.files_ignored > 0) out << fmt::format(", {} not live", report.files_ignored);
  out << fmt::format("\nlogs: {} read, {} entries, {} commits recovered", report.logs_found,
                     report.log_entries, report.commits);
  if (report.torn_records > 0) {
    out << fmt::format("; {} records of writes that were never acknowledged are left out",
                       report.torn_records);
  }
  out << "\n";
}

void print_tables(const RepairReport& report, std::ostream& out) {
  for (const RepairedTable& table : report.tables) {
    out << fmt::format("table {} '{}': {} tablets, {} files, {} bytes, {} commits from logs{}\n",
                       table.id, table.name, table.tablets, table.files, table.bytes, table.commits,
                       table.dropped ? "; dropped, can be restored" : "");
    if (!table.defined) {
      out << "  its definition is lost: the name is made up, nothing expires by a rule\n";
    }
    for (const std::string& family : table.added_families) {
      out << fmt::format("  family '{}' is known by its cells only: no rule\n", family);
    }
  }
}

void print_lost(const RepairReport& report, std::ostream& out) {
  for (const LostFile& file : report.lost_files) {
    out << fmt::format("LOST {}{}: {}; {}\n", file.path,
                       file.table.empty() ? "" : fmt::format(" of {}", file.table),
                       file.whole ? "the whole file"
                                  : fmt::format("{} blocks of {} bytes", file.blocks, file.bytes),
                       file.why);
    for (const KeyRange& rows : file.rows) {
      out << fmt::format("  in rows {} entries are missing\n", rows_text(rows));
    }
    if (file.range_deletes) out << "  deletes of ranges of rows are lost: such rows may be back\n";
  }
  for (const LostLogPart& part : report.lost_logs) {
    out << fmt::format("LOST {}: positions {} to {}, commits of any row between {}\n", part.place,
                       part.from, part.to == UINT64_MAX ? "the end" : fmt::to_string(part.to),
                       between(part));
  }
  if (report.broken_entries > 0) {
    out << fmt::format("LOST {} entries of logs that are no commits\n", report.broken_entries);
  }
}

constexpr auto kDeadRows =
    "WARNING: no manifest decides which files are live. Rows and cells that were deleted or had "
    "died\nmay be in the new directory, and so may be tables that were dropped. Idempotency tokens "
    "may be\nforgotten.\n";
constexpr auto kLostDeletes =
    "WARNING: with what is lost, deletes and newer versions are lost too: in the same rows, older\n"
    "versions may be seen again. Idempotency tokens in it are forgotten.\n";

json::object json_of(const LostFile& file) {
  json::array rows;
  for (const KeyRange& range : file.rows) {
    rows.push_back(
        json::object{{"start", escape_bytes(range.start)}, {"end", escape_bytes(range.end)}});
  }
  return {{"file", file.path},       {"table", file.table},
          {"why", file.why},         {"whole", file.whole},
          {"blocks", file.blocks},   {"bytes", file.bytes},
          {"rows", std::move(rows)}, {"range_deletes", file.range_deletes}};
}

json::object json_of(const LostLogPart& part) {
  json::object object = {{"place", part.place}, {"from", part.from}};
  if (part.to != UINT64_MAX) object["to"] = part.to;
  if (part.after.value() != 0) object["after_us"] = us_of(part.after);
  if (part.before != kMaxStamp) object["before_us"] = us_of(part.before);
  return object;
}

json::object json_of(const RepairedTable& table) {
  json::array families;
  for (const std::string& family : table.added_families) families.push_back(json::string(family));
  return {{"table", table.id},
          {"name", table.name},
          {"defined", table.defined},
          {"dropped", table.dropped},
          {"tablets", table.tablets},
          {"files", table.files},
          {"bytes", table.bytes},
          {"commits", table.commits},
          {"families_without_rule", std::move(families)}};
}

template <class Of>
json::array array_of(const Of& all) {
  json::array array;
  for (const auto& one : all) array.push_back(json_of(one));
  return array;
}

void print_json(const RepairReport& report, std::ostream& out) {
  json::array damage;
  for (const std::string& sentence : report.damage) damage.push_back(json::string(sentence));
  const char* verdict = report.nothing() ? "nothing" : report.complete() ? "complete" : "partial";
  out << json::serialize(
             json::object{{"verdict", verdict},
                          {"id", report.id},
                          {"manifest", report.manifest},
                          {"manifest_decides", report.manifest_decides},
                          {"dead_rows_possible", !report.complete()},
                          {"damage", std::move(damage)},
                          {"files", json::object{{"found", report.files_found},
                                                 {"whole", report.files_copied},
                                                 {"rewritten", report.files_rewritten},
                                                 {"not_live", report.files_ignored}}},
                          {"logs", json::object{{"found", report.logs_found},
                                                {"entries", report.log_entries},
                                                {"commits", report.commits},
                                                {"torn_records", report.torn_records},
                                                {"broken_entries", report.broken_entries}}},
                          {"bytes", report.bytes},
                          {"tables", array_of(report.tables)},
                          {"lost_files", array_of(report.lost_files)},
                          {"lost_logs", array_of(report.lost_logs)}})
      << "\n";
}

}  // namespace

void print_repair(const RepairReport& report, bool json, std::ostream& out) {
  if (json) return print_json(report, out);
  print_found(report, out);
  print_tables(report, out);
  print_lost(report, out);
  if (report.nothing()) {
    out << "nothing can be recovered\n";
    return;
  }
  if (!report.manifest_decides) {
    out << kDeadRows;
  } else if (!report.complete()) {
    out << kLostDeletes;
  } else {
    out << "nothing is lost\n";
  }
}

}  // namespace cellar::engine
