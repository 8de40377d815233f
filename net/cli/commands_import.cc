#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "net/cli/columns.h"
#include "net/cli/commands.h"
#include "net/cli/importer.h"
#include "net/cli/json_rows.h"
#include "net/cli/parse_words.h"
#include "net/cli/text.h"
#include "net/cli/times.h"

namespace cellar::cli {

namespace {

struct FileCloser {
  void operator()(std::FILE* file) const {
    if (file && file != stdin) std::fclose(file);
  }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

struct Plan {
  std::string table;
  std::string path;
  Format format = Format::csv;
  SourceOptions source;
  bool create = false;
  std::set<std::string> families;
  std::optional<Granularity> granularity;
  uint64_t max_errors = 20;
  uint64_t file_bytes = 0;  // 0: not known
};

Result<Plan> make_plan(const Session& session, const Arguments& arguments) {
  Plan plan;
  plan.table = arguments[0];
  plan.path = arguments[1];
  if (const std::string* name = arguments.find("format")) {
    TRY(plan.format, parse_format(*name));
  } else {
    TRY(plan.format, guess_format(plan.path));
  }
  plan.source.now_us = session.now_us();
  if (const std::string* text = arguments.find("at")) {
    TRY(plan.source.at_us, parse_time(*text, session.now_us()));
  }
  const std::string zone = arguments.get("tz", "local");
  if (zone != "local" && zone != "utc") {
    return fail(Errc::invalid_argument, "tz={} is neither local nor utc", zone);
  }
  plan.source.utc = zone == "utc";
  TRY(plan.create, arguments.flag("create"));
  for (std::string& name : split_list(arguments.get("families"))) {
    plan.families.insert(std::move(name));
  }
  if (const std::string* name = arguments.find("granularity")) {
    TRY(plan.granularity, parse_granularity(*name));
  }
  TRY(plan.max_errors, arguments.number("max-errors", plan.max_errors));
  return plan;
}

Result<File> open_input(const Session& session, Plan& plan) {
  if (plan.path == "-") return File(session.console.in);
  File file(std::fopen(plan.path.c_str(), "rb"));
  if (!file) {
    return fail(Errc::not_found, "cannot open {}: {}", plan.path, std::strerror(errno));
  }
  struct stat status{};
  if (::fstat(::fileno(file.get()), &status) == 0) {
    if (S_ISDIR(status.st_mode)) {
      return fail(Errc::invalid_argument, "{} is a directory", plan.path);
    }
    if (S_ISREG(status.st_mode)) plan.file_bytes = static_cast<uint64_t>(status.st_size);
  }
  return file;
}

// Reads the whole file once, to know the families and the granularity that its cells need.
void survey(Plan& plan, std::FILE* file) {
  bool micros = false;
  const auto source = open_source(plan.format, file, plan.source);
  while (true) {
    auto record = source->next();
    if (!record) {
      if (record.error().code == Errc::failed_precondition) break;
      continue;
    }
    if (!*record) break;
    for (const auto& operation : (*record)->operations()) {
      const Bytes family = (*record)->bytes(operation.family);
      if (!plan.families.contains(std::string(family))) plan.families.emplace(family);
      micros |= operation.timestamp_us.value_or(0) % 1000 != 0;
    }
  }
  if (!plan.granularity && micros) plan.granularity = Granularity::micros;
  std::rewind(file);
}

// Standard input cannot be read twice: what the format always has.
void assume_families(Plan& plan) {
  if (plan.format == Format::dpkg_log) {
    for (const char* action : {"configure", "conffile", "disappear", "install", "purge", "remove",
                               "startup", "status", "trigproc", "upgrade"}) {
      plan.families.insert(action);
    }
  } else if (plan.format == Format::package_list) {
    plan.families.insert("install");
  }
}

Result<void> create_if_absent(Session& session, const Plan& plan) {
  client::TableSpec spec;
  spec.name = plan.table;
  spec.granularity = plan.granularity;
  for (const std::string& name : plan.families) spec.families.emplace_back().name = name;
  const auto created = session.client().create_table(spec);
  if (created || created.error().code == Errc::already_exists) return {};
  return std::unexpected(created.error());
}

// "  import  [##########          ]  51%   12,345 lines   41,200/s   3.2 MiB   ETA 0.3 s"
std::string progress_line(const ImportStats& stats, uint64_t file_bytes) {
  constexpr size_t kBarCells = 24;
  const double seconds = std::max(static_cast<double>(stats.elapsed_us) / 1e6, 1e-3);
  std::string line = "  ";
  std::string eta;
  if (file_bytes > 0) {
    const double share =
        std::min(1.0, static_cast<double>(stats.bytes) / static_cast<double>(file_bytes));
    const auto full = static_cast<size_t>(share * kBarCells);
    line += fmt::format("[{}{}] {:3.0f}%", std::string(full, '#'),
                        std::string(kBarCells - full, ' '), share * 100);
    if (share > 0.01 && share < 1) {
      eta = "   ETA " + format_duration(static_cast<int64_t>(static_cast<double>(stats.elapsed_us) *
                                                             (1 - share) / share));
    }
  }
  line +=
      fmt::format("   {} lines   {}/s   {}{}", with_commas(stats.records),
                  with_commas(static_cast<uint64_t>(static_cast<double>(stats.records) / seconds)),
                  human_bytes(stats.bytes), eta);
  return line;
}

void summarise(const Session& session, const Plan& plan, const ImportStats& stats) {
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

}  // namespace

int import(Session& session, const Arguments& arguments) {
  auto plan = make_plan(session, arguments);
  if (!plan) return session.usage(plan.error());
  auto file = open_input(session, *plan);
  if (!file) {
    session.console.complain("{}", file.error().message);
    return kFailed;
  }
  if (plan->create) {
    if (plan->file_bytes > 0) {
      survey(*plan, file->get());
    } else {
      assume_families(*plan);
    }
    const auto created = create_if_absent(session, *plan);
    if (!created) return session.fail(created.error());
  }

  const bool show_progress = session.console.err_is_terminal;
  bool line_open = false;
  uint64_t named = 0;
  const auto clear_line = [&] {
    if (std::exchange(line_open, false)) std::fputs("\r\x1b[K", session.console.err);
  };
  ImportEvents events;
  events.rejected = [&](uint64_t line, const Error& why) {
    if (named++ >= plan->max_errors) return;
    clear_line();
    session.console.complain("line {}: {}", line, why.to_string());
    if (named == plan->max_errors) session.console.complain("further lines are only counted");
  };
  if (show_progress) {
    events.progress = [&](const ImportStats& stats) {
      std::fprintf(session.console.err, "\r\x1b[K%s",
                   progress_line(stats, plan->file_bytes).c_str());
      std::fflush(session.console.err);
      line_open = true;
    };
  }
  Importer importer(session.client(), plan->table, std::move(events));
  const auto source = open_source(plan->format, file->get(), plan->source);
  const auto imported = importer.run(*source);
  clear_line();
  if (!imported) {
    const int code = session.fail(imported.error());
    session.console.complain("stopped at line {} after {} rows", source->line(),
                             importer.stats().rows);
    return code;
  }
  summarise(session, *plan, importer.stats());
  return importer.stats().rejected > 0 ? kPartial : kDone;
}

}  // namespace cellar::cli
