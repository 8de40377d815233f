#include <algorithm>

#include "net/cli/commands/commands.h"
#include "net/cli/print/progress.h"
#include "net/cli/text/text.h"
#include "net/cli/text/times.h"
#include "net/cli/transfer/import_plan.h"

namespace cellar::cli {

namespace {

void summarise(const Session& session, const ImportPlan& plan, const ImportStats& stats) {
  if (session.json) {
    session.console.print(
        "{{\"table\":{},\"records\":{},\"rows\":{},\"cells\":{},\"rejected\":{},\"bytes\":{},"
        "\"elapsed_us\":{}}}\n",
        json_string(plan.table), stats.records, stats.rows, stats.cells, stats.rejected,
        stats.bytes, stats.elapsed_us);
    return;
  }
  std::string rate;
  if (stats.elapsed_us > 0 && stats.cells > 0) {
    const double seconds = static_cast<double>(stats.elapsed_us) / 1e6;
    rate = fmt::format(
        " in {}, {} records/s", format_duration(stats.elapsed_us),
        with_commas(static_cast<uint64_t>(static_cast<double>(stats.records) / seconds)));
  }
  session.console.print(
      "{} records ({}) into {}: {} cells written{}{}\n", with_commas(stats.records),
      human_bytes(stats.bytes), plan.table, with_commas(stats.cells), rate,
      stats.rejected > 0 ? fmt::format("; {} rejected", with_commas(stats.rejected))
                         : std::string());
}

// One import: its progress output and its checkpoint.
class ImportRun {
 public:
  ImportRun(Session& session, const ImportPlan& plan)
      : session_(session), plan_(plan), line_(session.console, plan.progress) {}

  // Reads where an earlier run ended if the import resumes; otherwise prints a hint that it could.
  Result<void> know_checkpoint(ImportPlan& plan) {
    if (plan_.checkpoint.empty()) return {};
    auto found = read_checkpoint(plan_.checkpoint, plan_.identity);
    if (!plan_.resume) {
      if (found && *found) {
        session_.console.complain(
            "an earlier import of this file stopped at byte {} of {}; this one begins anew, "
            "--resume "
            "would have continued there",
            with_commas((*found)->at.offset), with_commas(plan_.file_bytes));
      }
      return {};
    }
    TRY(const std::optional<Checkpoint> checkpoint, std::move(found));
    if (!checkpoint) return {};  // nothing was written, or everything
    from_ = checkpoint->at;
    before_ = stats_ = checkpoint->stats;
    // Another time, also a given one, would give cells that were written a second version.
    plan.source.at_us = checkpoint->at_us;
    plan.at_node = !checkpoint->at_us;
    plan.source.now_us = checkpoint->now_us.value_or(plan.source.now_us);
    resumed_ = true;
    return {};
  }

  // Imports from `from_`; afterwards everything before `from_` is acknowledged.
  Result<void> run(RecordSource& source) {
    if (from_.offset > 0) TRY_VOID(source.seek(from_));
    // Before the first write, so that every later run stamps cells with the same time.
    if (!resumed_) write_down(from_, stats_);
    Importer importer(session_.client(), plan_.table, plan_.max_errors, plan_.sole_writer, stats_,
                      events());
    auto result = importer.run(source);
    const int64_t elapsed_us = stats_.elapsed_us;
    stats_ = importer.stats();
    stats_.elapsed_us += elapsed_us;
    ending_ = importer.ending();
    line_.clear();
    if (!result) write_down(from_, stats_);
    return result;
  }

  const ImportStats& stats() const { return stats_; }
  // Lines were rejected because the table lacks a family.
  bool lacks_family() const { return no_family_; }
  // After a failure: reports what is in doubt and how to resume.
  void tell_ending() const {
    const Console& console = session_.console;
    if (ending_.line == 0) {
      console.complain("nothing was read");
    } else {
      console.complain("stopped at line {} after {} rows", with_commas(ending_.line),
                       with_commas(stats_.rows));
    }
    if (!ending_.clean) {
      console.complain("in doubt: lines {} to {} may have been written, in whole or in part",
                       with_commas(from_.line + 1), with_commas(ending_.line));
    }
    if (!checkpointed_) return;
    console.complain("to resume at line {}{}:\n  {}{}", with_commas(from_.line + 1),
                     ending_.clean ? "" : ", and write those in doubt again", session_.command_line,
                     plan_.resume ? "" : " --resume");
  }

 private:
  ImportEvents events() {
    ImportEvents events;
    events.rejected = [this](uint64_t line, const Error& why) { name_rejected(line, why); };
    events.progress = [this](const ImportStats& stats) { show_progress(stats); };
    events.acknowledged = [this](Position at, const ImportStats& stats) { keep(at, stats); };
    return events;
  }

  void name_rejected(uint64_t line, const Error& why) {
    no_family_ |= why.code == Errc::not_found && why.message.find("family") != std::string::npos;
    if (named_++ >= plan_.named_errors) return;
    line_.clear();
    session_.console.complain("line {}: {}", line, why.to_string());
    if (named_ == plan_.named_errors) {
      session_.console.complain("further lines are only counted");
    }
  }

  void show_progress(const ImportStats& stats) {
    if (!line_.due(stats.elapsed_us)) return;
    Progress progress;
    progress.unit = "lines";
    progress.units = stats.records;
    progress.bytes = stats.bytes;
    progress.units_before = std::min(before_.records, stats.records);
    progress.bytes_before = std::min(before_.bytes, stats.bytes);
    if (plan_.file_bytes > 0) {
      const auto all = static_cast<double>(plan_.file_bytes);
      progress.share = static_cast<double>(stats.bytes) / all;
      progress.share_before = static_cast<double>(progress.bytes_before) / all;
    }
    progress.elapsed_us = stats.elapsed_us;
    line_.show(progress);
  }

  void keep(Position at, const ImportStats& stats) {
    if (at.offset <= from_.offset) return;
    from_ = at;
    write_down(at, stats);
  }

  void write_down(Position at, const ImportStats& stats) {
    if (plan_.checkpoint.empty() || at.offset >= plan_.file_bytes) return;
    ImportStats counted = stats;
    counted.records = std::min(stats.records, at.line);  // later ones were read, not acknowledged
    const auto written = write_checkpoint(plan_.checkpoint, plan_.identity,
                                          {at, counted, plan_.source.at_us, plan_.source.now_us});
    checkpointed_ |= written.has_value();
    if (!written && !std::exchange(told_no_checkpoint_, true)) {
      line_.clear();
      session_.console.complain("this import cannot be resumed: {}; see checkpoint=",
                                written.error().message);
    }
  }

  Session& session_;
  const ImportPlan& plan_;
  ProgressLine line_;
  Position from_;
  ImportStats before_;  // of earlier runs
  ImportStats stats_;
  uint64_t named_ = 0;
  Ending ending_;
  bool resumed_ = false;
  bool checkpointed_ = false;
  bool told_no_checkpoint_ = false;
  bool no_family_ = false;
};

// All cells without a timestamp get the same one, so that repeating the import changes nothing.
Result<void> choose_time(Session& session, ImportPlan& plan) {
  if (plan.at_node || plan.source.at_us) return {};
  TRY(const client::Pong pong, session.client().ping());
  plan.source.at_us = pong.now_us / 1000 * 1000;
  return {};
}

}  // namespace

CommandResult import(Session& session, const Arguments& arguments) {
  TRY(auto plan, usage(make_import_plan(session, arguments)));
  auto file = open_input(session, plan);
  if (!file) {
    session.console.complain("{}", file.error().message);
    return kFailed;
  }
  ImportRun run(session, plan);
  TRY_VOID(run.know_checkpoint(plan));
  TRY_VOID(choose_time(session, plan));
  const auto source = open_source(plan.format, file->get(), plan.source);
  if (plan.create) {
    TRY_VOID(create_for_import(session, plan, file->get(), *source));
  }
  TRY_VOID(session.client().describe_table(plan.table));

  const auto imported = run.run(*source);
  if (!imported) {
    const int code = exit_code_of(imported.error());
    session.console.complain("{}", imported.error().to_string());
    run.tell_ending();
    return code;
  }
  if (!plan.checkpoint.empty()) remove_checkpoint(plan.checkpoint);
  summarise(session, plan, run.stats());
  if (run.lacks_family()) {
    session.console.complain(
        "the table lacks a family of the file: make it with cellar createfamily {} FAMILY, or "
        "import into a new table with --create",
        plan.table);
  }
  return run.stats().rejected > 0 ? kPartial : kDone;
}

}  // namespace cellar::cli
