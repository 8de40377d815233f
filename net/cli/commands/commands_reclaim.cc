// `cellar gc why`: the backlog of reclaiming, and the reason for each file with dead data.
#include "net/cli/commands/commands.h"
#include "net/cli/print/printer.h"
#include "net/cli/print/reclaim_format.h"
#include "net/cli/session/json_rows.h"
#include "net/cli/text/text.h"
#include "net/cli/text/times.h"

namespace cellar::cli {

namespace {

using client::ReclaimFigures;
using client::ReclaimFile;
using client::ReclaimReport;
using client::ReclaimSum;
using client::TableReclaim;

constexpr uint64_t kFilesShown = 20;
constexpr uint64_t kMostFiles = 10'000;

// When it was last verified; empty: an older node does not say.
std::string verified_text(const TableReclaim& table, int64_t now_us) {
  if (!table.verified || table.verified->none) return {};
  const client::Verified& of = *table.verified;
  std::string text = of.since_us == 0
                         ? std::string("some file has not been read and verified yet")
                         : fmt::format("every byte on disk was verified within the last {}",
                                       format_duration(std::max<int64_t>(now_us - of.since_us, 0)));
  if (of.damaged_files > 0) text += fmt::format("; {} damaged", counted(of.damaged_files, "file"));
  return text;
}

void print_reclaimed(const Session& session, const TableReclaim& table, int64_t now_us) {
  const Console& console = session.console;
  const ReclaimFigures& of = table.figures;
  console.print("{}: {} live, {} dead, of it {} overdue (dead for more than {})\n", table.name,
                human_bytes(of.live_bytes), human_bytes(of.dead_bytes),
                human_bytes(of.overdue_bytes),
                format_duration(table.reclaim_within_us + table.margin_us));
  if (of.held_bytes > 0) console.print("  {} kept by undo windows\n", human_bytes(of.held_bytes));
  if (of.pinned_bytes > 0) {
    console.print("  {} in replaced files that are still held\n", human_bytes(of.pinned_bytes));
  }
  if (table.missed_since_us != 0) {
    console.print("  the reclaim deadline is missed, by {}\n",
                  format_duration(now_us - table.missed_since_us));
  } else {
    console.print("  the reclaim deadline is met: dead_slack {:g}, reclaim_share {:g}\n",
                  table.dead_slack, table.reclaim_share);
  }
  const std::string verified = verified_text(table, now_us);
  if (!verified.empty()) console.print("  {}\n", verified);
}

// Its dead and overdue bytes.
std::string amounts(const ReclaimFile& file, int64_t now_us) {
  std::string text = human_bytes(file.bytes);
  if (file.wholly_dead) {
    text += ", wholly dead";
  } else if (file.dead_bytes > 0) {
    text += fmt::format(", {} dead", human_bytes(file.dead_bytes));
  }
  if (file.overdue_bytes > 0) {
    text += fmt::format(", {} overdue", human_bytes(file.overdue_bytes));
    if (file.overdue_since_us != 0 && file.overdue_since_us < now_us) {
      text += fmt::format(" (the oldest by {})", format_duration(now_us - file.overdue_since_us));
    }
  }
  if (file.held_bytes > 0) text += fmt::format(", {} kept", human_bytes(file.held_bytes));
  return text;
}

void print_report(const Session& session, const ReclaimReport& report) {
  const Console& console = session.console;
  for (const TableReclaim& table : report.tables) print_reclaimed(session, table, report.now_us);
  for (const ReclaimFile& file : report.files) {
    console.print("file {} of tablet {} ({}): {}\n", blob_name(file.blob), file.tablet_id,
                  amounts(file, report.now_us), reason_text(file, report.now_us));
  }
  if (report.files_there <= report.files.size()) return;
  console.print("these are {} of {}; by reason:\n", report.files.size(),
                counted(report.files_there, "file"));
  Lines lines;
  for (const ReclaimSum& sum : report.sums) {
    lines.push_back({counted(sum.files, "file"), human_bytes(sum.dead_bytes) + " dead",
                     human_bytes(sum.overdue_bytes) + " overdue", reason_of_many(sum.reason)});
  }
  console.write(aligned(lines, 2));
}

std::string file_json(const ReclaimFile& file) {
  return fmt::format(
      "{{\"tablet\":{},\"file\":\"{}\",\"run\":{},\"bytes\":{},\"dead_bytes\":{},"
      "\"overdue_bytes\":{},\"held_bytes\":{},\"overdue_since_us\":{},\"wholly_dead\":{},"
      "\"reason\":{},\"since_us\":{},\"until_us\":{},\"done_us\":{},\"count\":{},\"other\":\"{}\","
      "\"error\":{}}}",
      file.tablet_id, blob_name(file.blob), file.run, file.bytes, file.dead_bytes,
      file.overdue_bytes, file.held_bytes, file.overdue_since_us, file.wholly_dead,
      json_string(reason_name(file.reason)), file.since_us, file.until_us, file.done_us, file.count,
      file.other == 0 ? "" : blob_name(file.other), json_string(file.error));
}

std::string verified_json(const TableReclaim& table) {
  if (!table.verified) return "null";
  return fmt::format("{{\"since_us\":{},\"bytes\":{},\"damaged_files\":{},\"none\":{}}}",
                     table.verified->since_us, table.verified->bytes, table.verified->damaged_files,
                     table.verified->none);
}

std::string table_json(const TableReclaim& table) {
  return fmt::format(
      "{{\"table\":{},{},\"reclaim_within_us\":{},\"margin_us\":{},\"dead_slack\":{},"
      "\"reclaim_share\":{},\"missed\":{},\"missed_since_us\":{},\"verified\":{}}}",
      json_string(table.name), reclaim_figures_json(table.figures), table.reclaim_within_us,
      table.margin_us, table.dead_slack, table.reclaim_share, table.missed_since_us != 0,
      table.missed_since_us, verified_json(table));
}

void print_json(const Session& session, const ReclaimReport& report) {
  const auto sum_json = [](const ReclaimSum& sum) {
    return fmt::format(
        "{{\"reason\":{},\"files\":{},\"bytes\":{},\"dead_bytes\":{},\"overdue_bytes\":{}}}",
        json_string(reason_name(sum.reason)), sum.files, sum.bytes, sum.dead_bytes,
        sum.overdue_bytes);
  };
  session.console.print(
      "{{\"now_us\":{},\"tables\":{},\"files_there\":{},\"files\":{},\"reasons\":{}}}\n",
      report.now_us, json_list(report.tables, table_json), report.files_there,
      json_list(report.files, file_json), json_list(report.sums, sum_json));
}

CommandResult why(Session& session, const Arguments& arguments) {
  client::ReclaimQuestion question;
  if (arguments.count() > 0) question.table = arguments[0];
  TRY(const auto files, usage(arguments.number("files", kFilesShown)));
  if (files > kMostFiles) {
    return usage_error("files={} is more than {}", files, kMostFiles);
  }
  question.files = static_cast<uint32_t>(files);
  TRY(const auto report, session.client().reclaim_report(question));
  if (session.json) {
    print_json(session, report);
  } else {
    print_report(session, report);
  }
  for (const TableReclaim& table : report.tables) {
    if (table.missed_since_us != 0) return kMissed;
  }
  return kDone;
}

}  // namespace

std::string reclaim_figures_json(const ReclaimFigures& of) {
  return fmt::format(
      "\"live_bytes\":{},\"dead_bytes\":{},\"overdue_bytes\":{},\"held_bytes\":{},"
      "\"pinned_bytes\":{},\"unknown_bytes\":{},\"damaged_files\":{},\"oldest_death_us\":{},"
      "\"next_reclaim_us\":{}",
      of.live_bytes, of.dead_bytes, of.overdue_bytes, of.held_bytes, of.pinned_bytes,
      of.unknown_bytes, of.damaged_files, of.oldest_death_us, of.next_reclaim_us);
}

Result<ReclaimReport> ask_reclaim_figures(Session& session) {
  return session.client().reclaim_report({.files = 0});
}

std::vector<CommandSpec> reclaim_commands() {
  return {
      CommandSpec(
          "gc why", "Retention", "[TABLE]", 0, 1, false,
          "Show why what is dead is still on disk, and whether the reclaim deadline is met.",
          "One sentence for each file that holds something overdue, is wholly dead, kept by an "
          "undo\n"
          "window, still read after it was replaced, or damaged; without TABLE of all tables.\n"
          "Exit code: 0 every deadline is met, 9 one is missed.",
          {{"files", "N", "tell of the N with most overdue bytes, up to 10000 (default: 20)"}},
          {"cellar gc why events", "cellar gc why events --json files=1000"}, &why),
  };
}

}  // namespace cellar::cli
