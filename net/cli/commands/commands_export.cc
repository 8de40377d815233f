#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "net/cli/commands/commands.h"
#include "net/cli/parse/read_request.h"
#include "net/cli/parse/table_json.h"
#include "net/cli/print/progress.h"
#include "net/cli/text/pause.h"
#include "net/cli/text/text.h"
#include "net/cli/text/times.h"
#include "net/cli/transfer/export_scan.h"
#include "net/cli/transfer/exporter.h"
#include "net/cli/transfer/import_plan.h"

namespace cellar::cli {

namespace {

struct ExportPlan {
  std::string table;
  std::string path;    // "-": standard output
  std::string target;  // behind the links of `path`
  Format format = Format::jsonl;
  JsonForms forms;
  client::ReadRows request;
  ColumnChoice columns;
  std::string selection;  // JSON, for the description
  bool resume = false;
  bool overwrite = false;
  bool progress = false;
};

// The selection in a form independent of the time: a resumed export must have the same selection.
std::string selection_json(const Arguments& arguments, const client::ReadRows& request) {
  std::string out = "{";
  const auto add = [&](const std::string& member) { out += (out == "{" ? "" : ",") + member; };
  if (!request.ranges.empty()) {
    const client::RowRange& range = request.ranges[0];
    if (range.start && !range.start->empty()) add(json_field("start", *range.start));
    if (range.end) add(json_field("end", *range.end));
  }
  for (const char* key : {"since", "until", "versions", "columns"}) {
    if (const std::string* text = arguments.find(key)) add(json_field(key, *text));
  }
  return out + "}";
}

Result<ExportPlan> make_plan(const Session& session, const Arguments& arguments) {
  ExportPlan plan;
  plan.table = arguments[0];
  plan.path = arguments.count() > 1 ? arguments[1] : "-";
  plan.target = plan.path == "-" ? plan.path : behind_links(plan.path);
  const std::string* format = arguments.find("format");
  if (format) {
    TRY(plan.format, parse_format(*format));
  } else if (plan.path != "-") {
    TRY(plan.format, guess_format(plan.path));
  }
  if (plan.format != Format::csv && plan.format != Format::jsonl && plan.format != Format::cellar) {
    return fail(Errc::invalid_argument, "format={} cannot be exported; csv, jsonl and cellar can",
                format_name(plan.format));
  }
  plan.forms = session.json_forms();
  TRY(plan.request, read_request(session, arguments));
  TRY(plan.columns, ColumnChoice::parse(arguments.get("columns")));
  plan.selection = selection_json(arguments, plan.request);
  TRY(plan.resume, arguments.flag("resume"));
  TRY(plan.overwrite, arguments.flag("overwrite"));
  TRY(plan.progress, arguments.flag("progress"));
  if (plan.path == "-") {
    if (plan.resume) return fail(Errc::invalid_argument, "standard output cannot be resumed");
    if (plan.format == Format::cellar && session.console.out_is_terminal) {
      return fail(Errc::invalid_argument, "format=cellar is no text; name a file");
    }
  }
  return plan;
}

// With --resume: the state of an earlier run, if any.
Result<std::optional<ExportScan>> know_part(const ExportPlan& plan) {
  if (!plan.resume) return std::optional<ExportScan>();
  const std::string part = OutputFile::part_of(plan.target);
  const File file(std::fopen(part.c_str(), "rb"));
  if (!file && errno == ENOENT) return std::optional<ExportScan>();
  if (!file) return fail(Errc::unavailable, "cannot open {}: {}", part, std::strerror(errno));
  auto scan = scan_export(file.get(), plan.format, plan.forms);
  if (!scan) {
    return fail(Errc::failed_precondition, "{} is not of such an export: {}", part,
                scan.error().message);
  }
  if (scan->bytes == 0) return std::optional<ExportScan>();
  return std::optional<ExportScan>(*std::move(scan));
}

// The present table, or the description in the file if the export is resumed.
Result<std::string> describe(Session& session, const ExportPlan& plan,
                             const std::optional<ExportScan>& before) {
  TRY(const client::TableDescription table, session.client().describe_table(plan.table));
  const std::string chosen =
      fmt::format("{{\"table\":{},\"selection\":{},", json_string(plan.table), plan.selection);
  if (before && plan.format == Format::cellar) {
    if (before->description.starts_with(chosen)) return before->description;
    return fail(Errc::failed_precondition, "{} was begun with other arguments: {}",
                OutputFile::part_of(plan.target),
                before->description.substr(0, before->description.find(",\"granularity\"")));
  }
  return chosen + schema_members(table) + "}";
}

int summarise(const Session& session, const ExportPlan& plan, const engine::ExportCounts& counts,
              uint64_t bytes, int64_t elapsed_us) {
  std::string text;
  if (session.json) {
    text = fmt::format(
        "{{\"table\":{},\"rows\":{},\"cells\":{},\"value_bytes\":{},\"bytes\":{},"
        "\"elapsed_us\":{}}}\n",
        json_string(plan.table), counts.rows, counts.cells, counts.value_bytes, bytes, elapsed_us);
  } else {
    text = fmt::format("{} rows, {} cells of {} written to {} ({}) in {}\n",
                       with_commas(counts.rows), with_commas(counts.cells), plan.table,
                       plan.path == "-" ? "standard output" : plan.path, human_bytes(bytes),
                       format_duration(elapsed_us));
  }
  if (plan.path != "-") {
    session.console.write(text);
  } else if (session.console.err_is_terminal) {
    std::fputs(text.c_str(), session.console.err);
  }
  return kDone;
}

Result<OutputFile> open_output(const Session& session, const ExportPlan& plan, uint64_t keep) {
  if (plan.path != "-") return OutputFile::open(plan.target, keep);
  std::fflush(session.console.out);
  return OutputFile::of_descriptor(::fileno(session.console.out));
}

// Samples are needed for the percentage only; without them none is shown.
ScanShare scan_share(Session& session, const ExportPlan& plan, const std::string& after) {
  auto samples = session.client().sample_row_keys(plan.table);
  const client::RowRange whole;
  const client::RowRange& range = plan.request.ranges.empty() ? whole : plan.request.ranges[0];
  ScanShare share(samples ? *std::move(samples) : std::vector<client::SplitPoint>(),
                  range.start.value_or(""), range.end.value_or(""));
  if (!after.empty()) share.seen(after, 0);
  return share;
}

Result<engine::ExportCounts> run_export(Session& session, const ExportPlan& plan,
                                        const std::optional<ExportScan>& before,
                                        std::string description, uint64_t& bytes) {
  const int64_t began_us = session.clock->boot_us();
  const auto writer =
      make_row_writer(plan.format, plan.forms, std::move(description), before ? &*before : nullptr);
  TRY(OutputFile out, open_output(session, plan, before ? before->bytes : 0));
  if (!before) TRY_VOID(out.write(writer->begin()));
  const std::string after = before ? before->last_key : std::string();
  ScanShare share = scan_share(session, plan, after);
  const double share_before = share.share();
  ProgressLine line(session.console, plan.progress);
  Exporter exporter(session.client(), plan.table, plan.request, plan.columns, {[&] {
                      const int64_t elapsed_us = session.clock->boot_us() - began_us;
                      if (!line.due(elapsed_us)) return;
                      Progress progress;
                      progress.unit = "rows";
                      progress.units = writer->counts().rows;
                      progress.bytes = out.bytes();
                      if (before) progress.units_before = before->counts.rows;
                      if (before) progress.bytes_before = before->bytes;
                      if (share.share() > 0) progress.share = share.share();
                      progress.share_before = share_before;
                      progress.elapsed_us = elapsed_us;
                      line.show(progress);
                    }});
  TRY_VOID(exporter.run(*writer, out, after, share));
  TRY_VOID(out.finish());
  bytes = out.bytes();
  return writer->counts();
}

// What cannot be looked at is not there: the open that follows tells why.
bool is_there(const std::filesystem::path& path) {
  std::error_code why;
  return std::filesystem::exists(path, why);
}

}  // namespace

CommandResult export_table(Session& session, const Arguments& arguments) {
  const int64_t began_us = session.clock->boot_us();
  TRY(const auto plan, usage(make_plan(session, arguments)));
  if (plan.path != "-" && !plan.overwrite && is_there(plan.path)) {
    if (plan.resume) {
      session.console.complain("{} is complete already", plan.path);
      return kDone;
    }
    session.console.complain("{} exists; see --overwrite", plan.path);
    return kFailed;
  }
  TRY(const auto before, know_part(plan));
  TRY(auto description, describe(session, plan, before));
  uint64_t bytes = 0;
  Result<engine::ExportCounts> counts;
  if (before && before->complete) {  // only the rename was missing
    auto out = open_output(session, plan, before->bytes);
    TRY_VOID(out ? out->finish() : std::unexpected(out.error()));
    bytes = before->bytes;
    counts = before->counts;
  } else {
    counts = run_export(session, plan, before, std::move(description), bytes);
  }
  if (!counts) {
    const int code = session.fail(counts.error());
    if (plan.path != "-" && is_there(OutputFile::part_of(plan.target))) {
      session.console.complain("what there is stands in {}; --resume goes on from there",
                               OutputFile::part_of(plan.target));
    }
    return code;
  }
  return summarise(session, plan, *counts, bytes, session.clock->boot_us() - began_us);
}

}  // namespace cellar::cli
