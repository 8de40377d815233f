// Calls reserved for one component. The machine (time, randomness, files, sockets, threads) is
// injected everywhere else, so that the engine can run in a simulation.
#include <gtest/gtest.h>

#include <regex>

#include "tests/tidy/source_tree.h"

namespace cellar::tidy {
namespace {

struct Rule {
  const char* name;
  const char* pattern;                // over code without comments and strings
  std::vector<std::string> folders;   // where the rule applies
  std::vector<std::string> excepted;  // path prefixes that are exempt by design
};

const std::vector<Rule>& rules() {
  static const std::vector<Rule> kRules = {
      {"system clocks",
       R"((steady_clock|system_clock|high_resolution_clock)::now|\bclock_gettime\b|\bgettimeofday\b)",
       {"io", "engine", "net"},
       {"io/base/clock.cc", "io/loop/", "io/net/"}},
      {"randomness",
       R"(random_device|\bmt19937|\brand\(|\bsrand\(|\bgetrandom\b)",
       {"io", "engine", "net"},
       {"io/base/random"}},
      {"raw file calls",
       R"((^|[^\w>])::(open|openat|pread|pwrite|pwritev2|fsync|fdatasync|ftruncate|rename|renameat|unlink|unlinkat|mkdir|fallocate)\s*\(|\bfopen\b|\b[io]?fstream\b|std::filesystem)",
       {"io", "engine", "net"},
       // The command line and the inspector open paths given by the user; the configuration file is
       // read before any shard exists; the kernel's boot id and a control group's limit are files,
       // as are the descriptors of this process; the sandbox makes and removes its directory.
       {"io/disk/", "net/cli/", "net/sandbox/", "net/server/config/config",
        "net/server/policy/security_files", "net/client/connections/dialler",
        "engine/inspect/main.cc", "io/base/clock.cc", "io/loop/machine_memory.cc",
        "io/loop/process_figures.cc", "io/loop/process_memory.cc"}},
      {"liburing",
       R"(liburing\.h|io_uring_)",
       {"io", "engine", "net"},
       {"io/ring/", "io/disk/uring.", "io/disk/backend.cc", "io/net/uring/"}},
      {"sockets and Asio timers",
       R"(ip::tcp|basic_stream_socket|basic_socket_acceptor|basic_waitable_timer|steady_timer|system_timer|posix::stream_descriptor|::socket\s*\(|::accept4?\s*\()",
       {"io", "engine", "net"},
       {"io/loop/", "io/net/", "io/ring/"}},
      {"threads and locks",
       R"(std::j?thread\b|std::mutex|std::shared_mutex|condition_variable|std::async\b|sleep_for|\busleep\()",
       {"io", "engine", "net"},
       {"io/base/huge_chunks", "io/loop/", "io/disk/blocking_pool", "io/sim/mem_disk",
        "net/client/sync_client", "net/client/library/"}},
      {"exceptions",
       R"(\bthrow\b|\bcatch\s*\()",
       {"io", "engine"},
       // The coroutine runtime turns an escaped exception into an abort; aligned memory reports
       // exhaustion as the allocator does.
       {"io/loop/", "io/net/", "io/base/aligned_buffer.h"}},
      {"shared ownership",
       R"(\bshared_ptr\b|make_shared)",
       {"engine"},
       // Objects that are made once, never changed, and read by several shards.
       {"engine/catalog/table_map", "engine/catalog/tables_by_key.h", "engine/filter/",
        "engine/model/read_spec.h"}},
      {"FlatBuffers", R"(flatbuffers|_generated\.h)", {"io", "engine"}, {}},
      {"leftovers", R"(\b(TODO|FIXME|XXX|HACK)\b)", {"io", "engine", "net", "bench"}, {}},
  };
  return kRules;
}

bool is_excepted(const Rule& rule, const std::string& path) {
  for (const std::string& prefix : rule.excepted) {
    if (path.starts_with(prefix)) return true;
  }
  return false;
}

class Calls : public testing::TestWithParam<size_t> {};

TEST_P(Calls, StayInTheirRoom) {
  const Rule& rule = rules()[GetParam()];
  const std::regex pattern(rule.pattern);
  // Leftovers are looked for in comments too.
  const bool in_comments = std::string_view(rule.name) == "leftovers";
  for (const SourceFile& file : read_sources(rule.folders)) {
    if (is_excepted(rule, file.path)) continue;
    const auto& lines = in_comments ? file.lines : file.code;
    for (size_t i = 0; i < lines.size(); ++i) {
      EXPECT_FALSE(std::regex_search(lines[i], pattern))
          << file.path << ":" << i + 1 << " " << rule.name << ": " << file.lines[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, Calls, testing::Range<size_t>(0, 10), [](const auto& info) {
  std::string name = rules()[info.param].name;
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
});

TEST(CallsTable, EveryRuleIsPlayed) { EXPECT_EQ(rules().size(), 10u); }

// One co_await per statement, without operands that some compilers copy bitwise into the frame.
TEST(CoAwait, StandsAloneInItsStatement) {
  static const std::regex kTwo(R"(co_await\b.*\bco_await\b)");
  static const std::regex kConditional(R"(co_await\b[^;]*\?[^;:]*:[^:])");
  static const std::regex kLambda(R"(co_await\b[^;{]*\[[^\]\s][^\]]*\]\s*(\(|\{|mutable))");
  size_t seen = 0;
  for (const SourceFile& file : read_sources({"io", "engine", "net"})) {
    std::string statement;
    for (size_t i = 0; i < file.code.size(); ++i) {
      for (char c : file.code[i] + "\n") {
        if (c != ';' && c != '{' && c != '}') {
          statement += c == '\n' ? ' ' : c;
          continue;
        }
        seen += statement.find("co_await") != std::string::npos;
        EXPECT_FALSE(std::regex_search(statement, kTwo))
            << file.path << ":" << i + 1 << " two co_await in one statement";
        EXPECT_FALSE(std::regex_search(statement, kConditional))
            << file.path << ":" << i + 1 << " ?: beside co_await";
        EXPECT_FALSE(std::regex_search(statement, kLambda))
            << file.path << ":" << i + 1 << " capturing lambda beside co_await";
        statement.clear();
      }
    }
  }
  EXPECT_GT(seen, 10u);
}

}  // namespace
}  // namespace cellar::tidy
