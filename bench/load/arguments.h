// The command line of cellar-bench.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/load/generator.h"
#include "bench/load/search.h"

namespace cellar::bench {

struct Arguments {
  LoadOptions load;
  std::string server = "cellar";
  std::string workload = "write";
  std::string phase = "run";  // load, run or both
  std::string table = "bench";
  std::string name;
  std::string route = "any";
  std::string route_hint;
  std::string durability;
  uint32_t tablets = 1;
  uint32_t versions = 1;
  double seconds = 10;
  double warmup_seconds = 0;
  double interval_seconds = 0;
  std::string rates;
  std::string find_rate;
  bool json = false;
  std::string html;
  std::string csv;
  std::string histograms;

  // Parts of the named workload that are replaced.
  std::optional<std::string> shares;
  std::optional<double> read_share;
  std::optional<std::string> distribution;
  std::optional<uint32_t> fields;
  bool name_columns = false;
  std::optional<std::string> value_bytes;
  std::optional<std::string> life;
  std::optional<uint32_t> scan_rows;
  std::optional<uint64_t> owners;
  std::optional<double> compressible;
  std::optional<double> theta;
  std::optional<double> hot_set;
  std::optional<double> hot_share;

  // ---- compare and report ----
  std::string result_a;
  std::string result_b;
  std::vector<std::string> results;

  // ---- derived by settle() ----
  std::vector<SweepRate> sweep;
  std::optional<Goal> goal;
};

struct Commands {
  CLI::App* compare = nullptr;
  CLI::App* report = nullptr;
};
Commands declare(CLI::App& app, Arguments& arguments);

// Checks what the parser cannot, and derives the options of the load. INVALID_ARGUMENT.
Result<void> settle(Arguments& arguments);

}  // namespace cellar::bench
