#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <boost/json.hpp>

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

constexpr size_t kMaxSelectionBytes = 1u << 20;  // of the file beside a part
constexpr size_t kMaxDescriptionDepth = 64;
constexpr int64_t kDayAheadUs = 86'400'000'000;

// The arguments as given, which a resumed export must have too, and the time from which relative
// ones count.
std::string selection_json(const Session& session, const Arguments& arguments,
                           const client::ReadRows& request, std::optional<int64_t> relative_to_us) {
  std::string out = "{";
  const auto add = [&](const std::string& member) { out += (out == "{" ? "" : ",") + member; };
  if (!request.ranges.empty()) {
    const client::RowRange& range = request.ranges[0];
    if (range.start && !range.start->empty()) add(json_field("start", *range.start));
    if (range.end) add(json_field("end", *range.end));
  }
  for (const char* key : {"since", "until", "versions", "columns", "values", "filter"}) {
    if (const std::string* text = arguments.find(key)) add(json_field(key, *text));
  }
  if (session.escaped_input && arguments.has("columns")) add("\"escaped\":true");
  if (relative_to_us) add(fmt::format("\"relative_to_us\":{}", *relative_to_us));
  return out + "}";
}

// Whether both filters, of the same form, have the same times.
bool same_times(const client::Filter& a, const client::Filter& b) {
  return a.start_us == b.start_us && a.end_us == b.end_us &&
         std::ranges::equal(a.children, b.children, same_times);
}

// Chooses the cells. Relative times count from `now_us`; if there are any, the selection names it.
Result<void> choose_cells(const Session& session, const Arguments& arguments, int64_t now_us,
                          ExportPlan& plan) {
  TRY(plan.request, read_request(session, arguments, now_us));
  TRY(const auto later, read_request(session, arguments, now_us + kDayAheadUs));
  const bool relative = plan.request.filter && !same_times(*plan.request.filter, *later.filter);
  plan.selection = selection_json(session, arguments, plan.request,
                                  relative ? std::optional<int64_t>(now_us) : std::nullopt);
  return {};
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
  TRY_VOID(choose_cells(session, arguments, session.now_us(), plan));
  TRY(plan.columns, ColumnChoice::parse(arguments.get("columns"), session.escaped_input));
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

// A part of a text has no description, so this file beside it holds the selection. Empty: there is
// none, as the binary form needs none, and a device or FIFO has no part.
std::string selection_path(const ExportPlan& plan) {
  if (plan.path == "-" || plan.format == Format::cellar) return {};
  std::error_code why;
  const auto found = std::filesystem::status(plan.target, why);
  if (std::filesystem::exists(found) && !std::filesystem::is_regular_file(found)) return {};
  return OutputFile::part_of(plan.target) + ".selection";
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
  if (const std::string path = selection_path(plan); !path.empty()) {
    const File selection(std::fopen(path.c_str(), "rb"));
    if (!selection && errno != ENOENT) {
      return fail(Errc::unavailable, "cannot open {}: {}", path, std::strerror(errno));
    }
    // A part of an earlier release has none; it is taken as one of these arguments.
    if (selection) scan->description = read_piece(selection.get(), kMaxSelectionBytes);
  }
  return std::optional<ExportScan>(*std::move(scan));
}

// The time from which the relative times of an interrupted export count; absent: it has none.
std::optional<int64_t> relative_to(const std::string& description) {
  boost::json::error_code error;
  boost::json::parse_options options;
  options.max_depth = kMaxDescriptionDepth;
  const auto whole = boost::json::parse(description, error, {}, options);
  if (error) return std::nullopt;
  const auto* const time = whole.find_pointer("/selection/relative_to_us", error);
  if (!time || !time->is_int64() || time->as_int64() > INT64_MAX - kDayAheadUs) return std::nullopt;
  return time->as_int64();
}

// The present table, or the description of the file if the export is resumed. For a text, what its
// selection file holds.
Result<std::string> describe(Session& session, const ExportPlan& plan,
                             const std::optional<ExportScan>& before) {
  TRY(const client::TableDescription table, session.client().describe_table(plan.table));
  std::string chosen =
      fmt::format("{{\"table\":{},\"selection\":{},", json_string(plan.table), plan.selection);
  if (plan.format != Format::cellar) {
    chosen += fmt::format("\"format\":\"{}\",\"forms\":[\"{}\",\"{}\",\"{}\"]}}",
                          format_name(plan.format), form_name(plan.forms.key),
                          form_name(plan.forms.other), form_name(plan.forms.value));
  }
  if (before && !before->description.empty()) {
    if (before->description.starts_with(chosen)) return before->description;
    return fail(Errc::failed_precondition, "{} was begun with other arguments: {}",
                OutputFile::part_of(plan.target),
                before->description.substr(0, before->description.find(",\"granularity\"")));
  }
  return plan.format == Format::cellar ? chosen + schema_members(table) + "}" : chosen;
}

// Before the first row, so that no part is ever beside the selection of another one.
Result<void> keep_selection(const ExportPlan& plan, const std::optional<ExportScan>& before,
                            const std::string& description) {
  const std::string path = selection_path(plan);
  if (path.empty() || (before && !before->description.empty())) return {};
  if (!before) std::remove(OutputFile::part_of(plan.target).c_str());
  return replace_whole_file(path, description);
}

int print_summary(const Session& session, const ExportPlan& plan,
                  const engine::ExportCounts& counts, uint64_t bytes, int64_t elapsed_us) {
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
  TRY_VOID(keep_selection(plan, before, description));
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
  const std::string selection = selection_path(plan);
  TRY_VOID(out.finish());
  if (!selection.empty()) std::remove(selection.c_str());
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
  TRY(auto plan, usage(make_plan(session, arguments)));
  if (plan.path != "-" && !plan.overwrite && is_there(plan.path)) {
    if (plan.resume) {
      session.console.complain("{} is complete already", plan.path);
      return kDone;
    }
    session.console.complain("{} exists; see --overwrite", plan.path);
    return kFailed;
  }
  TRY(const auto before, know_part(plan));
  if (const auto from_us = before ? relative_to(before->description) : std::nullopt) {
    TRY_VOID(usage(choose_cells(session, arguments, *from_us, plan)));
  }
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
  return print_summary(session, plan, *counts, bytes, session.clock->boot_us() - began_us);
}

}  // namespace cellar::cli
