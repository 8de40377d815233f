// The parameters of an import and its input.
#pragma once

#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "net/cli/session/arguments.h"
#include "net/cli/session/session.h"
#include "net/cli/transfer/checkpoint.h"
#include "net/cli/transfer/record_source.h"

namespace cellar::cli {

struct FileCloser {
  void operator()(std::FILE* file) const {
    if (file && file != stdin) std::fclose(file);
  }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

struct ImportPlan {
  std::string table;
  std::string path;  // "-": standard input
  Format format = Format::csv;
  SourceOptions source;
  bool at_node = false;  // the node stamps cells without a timestamp
  bool create = false;
  bool resume = false;
  bool sole_writer = false;
  bool progress = false;
  std::set<std::string> families;
  std::optional<Granularity> granularity;
  uint64_t named_errors = 20;
  uint64_t max_errors = 1000;
  uint64_t file_bytes = 0;  // 0: unknown
  std::string checkpoint;   // path of the checkpoint; empty: the input cannot be resumed
  ImportIdentity identity;
};

// INVALID_ARGUMENT, for a usage message.
Result<ImportPlan> make_import_plan(const Session& session, const Arguments& arguments);

// Opens the input and completes the plan from the file.
Result<File> open_input(const Session& session, ImportPlan& plan);

// With --create: creates the table for the input unless it exists. `source` reads `file`, and is
// still at its start afterwards.
Result<void> create_for_import(Session& session, ImportPlan& plan, std::FILE* file,
                               RecordSource& source);

}  // namespace cellar::cli
