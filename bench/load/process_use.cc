#include "bench/load/process_use.h"

#include <unistd.h>

#include <fstream>
#include <sstream>

namespace cellar::bench {
namespace {

std::string read_all(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

// "VmRSS:     1234 kB"
uint64_t bytes_of(const std::string& status, const std::string& name) {
  const size_t at = status.find(name + ":");
  if (at == std::string::npos) return 0;
  return std::strtoull(status.c_str() + at + name.size() + 1, nullptr, 10) * 1024;
}

}  // namespace

std::optional<ProcessUse> process_use(int pid) {
  if (pid < 0) return std::nullopt;
  const std::string directory = pid == 0 ? "/proc/self" : fmt::format("/proc/{}", pid);
  const std::string stat = read_all(directory + "/stat");
  // The second field is the program's name in brackets; the 14th and 15th are ticks in user and
  // system mode, of all threads that the process has or had.
  const size_t after_name = stat.rfind(')');
  if (after_name == std::string::npos) return std::nullopt;
  std::istringstream fields(stat.substr(after_name + 1));
  std::string skipped;
  for (int i = 3; i < 14; ++i) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  const std::string status = read_all(directory + "/status");
  return ProcessUse{(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK)),
                    bytes_of(status, "VmRSS"), bytes_of(status, "VmHWM")};
}

}  // namespace cellar::bench
