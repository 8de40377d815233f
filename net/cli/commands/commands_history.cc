// History: the audit trail and dropped tables.
#include <algorithm>
#include <array>

#include "net/cli/commands/commands.h"
#include "net/cli/parse/rule_text.h"
#include "net/cli/print/printer.h"
#include "net/cli/session/json_rows.h"
#include "net/cli/text/text.h"
#include "net/cli/text/times.h"

namespace cellar::cli {

namespace {

using client::AuditAction;
using client::AuditEntry;

struct ActionName {
  std::string_view word;      // for JSON
  std::string_view sentence;  // for text output
};
ActionName action_name(AuditAction action) {
  static constexpr std::array<ActionName, 12> kNames = {{{"unknown", "changed"},
                                                         {"create_table", "table made"},
                                                         {"drop_table", "table deleted"},
                                                         {"restore_table", "table restored"},
                                                         {"alter_table", "options changed"},
                                                         {"add_family", "family added"},
                                                         {"alter_family", "family changed"},
                                                         {"drop_family", "family removed"},
                                                         {"undo_rule", "change of rule undone"},
                                                         {"create_index", "index made"},
                                                         {"alter_index", "index changed"},
                                                         {"drop_index", "index removed"}}};
  const auto i = static_cast<size_t>(action);
  return kNames[i < kNames.size() ? i : 0];
}

// A property value; the unit is at the end of its name.
std::string value_text(std::string_view name, const std::string& value) {
  const bool is_number =
      !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number || !name.ends_with("_us") || value.size() > 18) return value;
  const int64_t us = std::stoll(value);
  return name.ends_with("until_us") ? format_time(us) : exact_duration(us);
}

// "rule never -> maxversions=3; born_dead refuse -> accept"
std::string what_text(const AuditEntry& entry) {
  std::string text;
  const auto add = [&text](std::string_view name, const std::string& before,
                           const std::string& after) {
    if (!text.empty()) text += "; ";
    text += name;
    if (!before.empty()) text += " " + before;
    if (before == after) return;  // what was changed
    if (!before.empty() && !after.empty()) text += " ->";
    if (!after.empty()) text += " " + after;
  };
  if (entry.old_rule_given || entry.new_rule_given) {
    add("rule", entry.old_rule_given ? rule_text(entry.old_rule) : "",
        entry.new_rule_given ? rule_text(entry.new_rule) : "");
  }
  for (const client::AuditDetail& detail : entry.details) {
    const std::string_view name = detail.name;
    add(name.ends_with("_us") ? name.substr(0, name.size() - 3) : name,
        value_text(name, detail.before), value_text(name, detail.after));
  }
  return text;
}

std::string who_text(const AuditEntry& entry) {
  if (entry.client_name.empty()) return entry.address.empty() ? "the node" : entry.address;
  return entry.address.empty() ? entry.client_name
                               : fmt::format("{} at {}", entry.client_name, entry.address);
}

void print_entry_json(const Session& session, const AuditEntry& entry) {
  std::string out = fmt::format(
      "{{\"sequence\":{},\"at_us\":{},\"action\":\"{}\",\"client\":{},\"address\":{},\"table\":{},"
      "\"table_id\":{},\"schema_version\":{}",
      entry.sequence, entry.at_us, action_name(entry.action).word, json_string(entry.client_name),
      json_string(entry.address), json_string(entry.table), entry.table_id, entry.schema_version);
  if (!entry.family.empty()) out += ",\"family\":" + json_string(entry.family);
  if (entry.old_rule_given) out += ",\"old_rule\":" + json_string(rule_text(entry.old_rule));
  if (entry.new_rule_given) out += ",\"new_rule\":" + json_string(rule_text(entry.new_rule));
  const auto details = json_list(entry.details, [](const client::AuditDetail& detail) {
    return fmt::format("{{\"name\":{},\"before\":{},\"after\":{}}}", json_string(detail.name),
                       json_string(detail.before), json_string(detail.after));
  });
  session.console.print("{},\"details\":{}}}\n", out, details);
}

constexpr uint64_t kDefaultCount = 100;
constexpr uint64_t kPage = 1000;

CommandResult audit(Session& session, const Arguments& arguments) {
  if (arguments.count() > 1) {
    if (arguments[0] == "verify") {
      const auto& words = arguments.positional();
      return verify_audit(session, {words.begin() + 1, words.end()}, arguments.get("end"));
    }
    return usage_error("audit takes one table, or verify FILE...");
  }
  client::AuditLog log;
  if (arguments.count() == 1) log.table = arguments[0];
  if (const std::string* since = arguments.find("since")) {
    TRY(log.since_us, usage(parse_time(*since, session.clock->wall_us())));
  }
  TRY(const auto count, usage(arguments.number("count", kDefaultCount)));
  Lines lines = {{"WHEN", "TABLE", "FAMILY", "WHAT", "FROM AND TO", "WHO"}};
  uint64_t left = count;
  uint64_t oldest = 0;
  while (left > 0) {
    log.limit = static_cast<uint32_t>(std::min(left, kPage));
    TRY(const auto page, session.client().audit_log(log));
    oldest = page.oldest;
    left -= std::min<uint64_t>(left, page.entries.size());
    for (const AuditEntry& entry : page.entries) {
      if (session.json) {
        print_entry_json(session, entry);
        continue;
      }
      lines.push_back({format_time(entry.at_us), entry.table, entry.family,
                       std::string(action_name(entry.action).sentence), what_text(entry),
                       who_text(entry)});
    }
    log.before = page.next_before;
    if (log.before == 0) break;
  }
  if (session.json) return kDone;
  session.console.write(aligned(lines, 0));
  if (log.before == 0 && oldest > 1) {
    session.console.print("({} older changes are not kept any more)\n", with_commas(oldest - 1));
  }
  return kDone;
}

CommandResult restore_table(Session& session, const Arguments& arguments) {
  TRY_VOID(session.client().restore_table(arguments[0]));
  return done(session, "restored", arguments[0]);
}

}  // namespace

std::vector<CommandSpec> history_commands() {
  return {
      CommandSpec(
          "restoretable", "Tables", "TABLE", 1, 1, false,
          "Bring a deleted table back, with all that was in it.",
          "It can be restored for the longest undo window of its families; `cellar ls --dropped` "
          "shows\nuntil when. What aged meanwhile is dead. Of several deleted tables of one name "
          "the "
          "one\ndeleted last comes back.",
          {}, {"cellar restoretable packages"}, &restore_table),
      CommandSpec(
          "audit", "Tables", "[TABLE] | verify FILE...", 0, 10'000, false,
          "Show who changed which schema or rule, newest first; verify: check a security log.",
          "The node keeps the newest 10,000 changes, and 4 MiB of them at most.\n"
          "verify asks no node: it reads the files of a security log (DATA_DIR/security/*.jsonl)\n"
          "and names the first line that was changed, left out or cut off (exit code 8). What "
          "only\n"
          "its end could tell needs end=, as an earlier verify showed it.",
          {{"since", "TIME", "changes of this time or later"},
           {"count", "N", "at most N changes (default: 100)"},
           {"end", "N:HASH", "verify: the last line is this one"}},
          {"cellar audit", "cellar audit packages since=-7d", "cellar audit --json count=1000",
           "cellar audit verify /var/lib/cellar/security/*.jsonl"},
          &audit),
  };
}

}  // namespace cellar::cli
