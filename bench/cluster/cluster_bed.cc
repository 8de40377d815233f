#include "bench/cluster/cluster_bed.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "io/base/check.h"
#include "io/base/random.h"

namespace cellar::bench {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// User and system time of /proc/PID/stat, in clock ticks.
uint64_t ticks_of(const std::string& stat) {
  constexpr int kUserTime = 14;
  std::istringstream words(stat.substr(std::min(stat.rfind(')') + 2, stat.size())));
  std::string word;
  uint64_t ticks = 0;
  for (int field = 3; words >> word; ++field) {
    if (field == kUserTime || field == kUserTime + 1) ticks += std::stoull(word);
  }
  return ticks;
}

}  // namespace

double client_cpu_s() {
  rusage use{};
  ::getrusage(RUSAGE_SELF, &use);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

double osd_cpu_s(const std::string& config) {
  uint64_t ticks = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string line = text_of(entry.path() / "cmdline");
    if (!line.starts_with("ceph-osd") && line.find("/ceph-osd") == std::string::npos) continue;
    if (line.find(config) != std::string::npos) ticks += ticks_of(text_of(entry.path() / "stat"));
  }
  return static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

ClusterBed::ClusterBed(const ClusterOptions& options)
    : options_(options), name_space_(fmt::format("bench-{:016x}", entropy_seed())) {
  CephConfig config;
  config.config_file = options.config;
  config.client = options.client;
  auto handle = run(LibradosHandle::open(blocking_, std::move(config), 1));
  if (!handle) {
    std::fprintf(stderr, "%s\n", handle.error().to_string().c_str());
    std::exit(1);
  }
  handle_ = *std::move(handle);
  port_ = handle_->connect(loop_);
  pool_ = open(options.pool);
  if (has_coded_pool()) coded_pool_ = open(options.coded_pool);
}

RadosPool ClusterBed::open(const std::string& name) {
  const auto opened = run(port_->open_pool(name, name_space_));
  CHECK(opened, "{}", opened.error().to_string());
  return *opened;
}

ClusterBed::~ClusterBed() {
  run(remove_all(pool_));
  if (has_coded_pool()) run(remove_all(coded_pool_));
  run(port_->close());
  port_.reset();
  run(handle_->close());
  blocking_.stop();
}

Async<void> ClusterBed::remove_all(RadosPool pool) {
  const auto names = co_await port_->list(pool, "");
  CHECK(names, "{}", names.error().to_string());
  for (const std::string& name : *names) {
    RadosObject object{pool, name};
    RadosWrite gone;
    gone.remove();
    const auto outcome = co_await port_->write(std::move(object), std::move(gone), kCallUs);
    CHECK(outcome, "{}", outcome.error().to_string());
  }
}

}  // namespace cellar::bench
