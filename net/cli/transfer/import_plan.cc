#include "net/cli/transfer/import_plan.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "net/cli/parse/schema_syntax.h"
#include "net/cli/parse/table_json.h"
#include "net/cli/text/columns.h"
#include "net/cli/text/times.h"

namespace cellar::cli {

namespace {

// Reads the whole file once to determine the families and the granularity of its cells.
Result<void> survey(ImportPlan& plan, std::FILE* file) {
  bool micros = false;
  const auto source = open_source(plan.format, file, plan.source);
  while (true) {
    auto record = source->next();
    if (!record) {
      const Errc code = record.error().code;
      if (code == Errc::failed_precondition || code == Errc::data_loss) {
        return std::unexpected(record.error());
      }
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
  return go_to_start(file);
}

// For standard input, which cannot be read twice: the families that the format always has.
void assume_families(ImportPlan& plan) {
  if (plan.format == Format::dpkg_log) {
    for (const char* action : {"configure", "conffile", "disappear", "install", "purge", "remove",
                               "startup", "status", "trigproc", "upgrade"}) {
      plan.families.insert(action);
    }
  } else if (plan.format == Format::package_list) {
    plan.families.insert("install");
  }
}

Result<client::TableSpec> table_for(ImportPlan& plan, std::FILE* file, RecordSource& source) {
  client::TableSpec spec;
  if (plan.format == Format::cellar) {
    TRY(const std::string description, source.description());
    TRY(spec, parse_schema(description));
  } else if (plan.file_bytes > 0) {
    TRY_VOID(survey(plan, file));
  } else {
    assume_families(plan);
  }
  spec.name = plan.table;
  if (plan.granularity) spec.granularity = plan.granularity;
  for (const std::string& name : plan.families) {
    bool known = false;
    for (const client::FamilySpec& family : spec.families) known |= family.name == name;
    if (!known) spec.families.emplace_back().name = name;
  }
  return spec;
}

}  // namespace

Result<ImportPlan> make_import_plan(const Session& session, const Arguments& arguments) {
  ImportPlan plan;
  plan.table = arguments[0];
  plan.path = arguments[1];
  if (const std::string* name = arguments.find("format")) {
    TRY(plan.format, parse_format(*name));
  } else {
    TRY(plan.format, guess_format(plan.path));
  }
  plan.source.now_us = session.now_us();
  if (const std::string* text = arguments.find("at")) {
    plan.at_node = *text == "node";
    if (!plan.at_node) {
      TRY(plan.source.at_us, parse_time(*text, session.now_us()));
    }
  }
  const std::string zone = arguments.get("tz", "local");
  if (zone != "local" && zone != "utc") {
    return fail(Errc::invalid_argument, "tz={} is neither local nor utc", zone);
  }
  plan.source.utc = zone == "utc";
  plan.source.family = arguments.get("family");
  TRY(plan.create, arguments.flag("create"));
  TRY(plan.resume, arguments.flag("resume"));
  TRY(plan.sole_writer, arguments.flag("sole-writer"));
  TRY(plan.progress, arguments.flag("progress"));
  for (std::string& name : split_list(arguments.get("families"))) {
    plan.families.insert(std::move(name));
  }
  if (const std::string* name = arguments.find("granularity")) {
    TRY(plan.granularity, parse_granularity(*name));
  }
  TRY(plan.named_errors, arguments.number("name-errors", plan.named_errors));
  TRY(plan.max_errors, arguments.number("max-errors", plan.max_errors));
  plan.checkpoint = arguments.get("checkpoint");
  if (plan.resume && plan.path == "-") {
    return fail(Errc::invalid_argument, "standard input cannot be resumed");
  }
  return plan;
}

Result<File> open_input(const Session& session, ImportPlan& plan) {
  if (plan.path == "-") {
    plan.checkpoint.clear();
    if (!session.console.in) {
      return fail(Errc::invalid_argument, "standard input is the script; name a file");
    }
    return File(session.console.in);
  }
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
  if (plan.file_bytes == 0) {
    plan.checkpoint.clear();
    if (plan.resume) {
      return fail(Errc::invalid_argument, "{} is no file that can be resumed", plan.path);
    }
    return file;
  }
  if (plan.checkpoint.empty()) plan.checkpoint = checkpoint_path(plan.path, plan.table);
  plan.identity = {plan.table, std::string(format_name(plan.format)), plan.file_bytes,
                   int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
  return file;
}

Result<void> create_for_import(Session& session, ImportPlan& plan, std::FILE* file,
                               RecordSource& source) {
  TRY(const client::TableSpec spec, table_for(plan, file, source));
  const auto created = session.client().create_table(spec);
  if (created || created.error().code == Errc::already_exists) return {};
  return std::unexpected(created.error());
}

}  // namespace cellar::cli
