// Components depend downwards only. The table is the architecture's: a component may include those
// that it names and those that these may include.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "tests/tidy/source_tree.h"

namespace cellar::tidy {
namespace {

const std::map<std::string, std::set<std::string>> kArrows = {
    {"io/base", {}},
    {"io/loop", {"io/base"}},
    {"io/ring", {"io/loop"}},
    {"io/net", {"io/loop"}},
    {"io/net/uring", {"io/net", "io/ring"}},
    {"io/disk", {"io/ring"}},
    {"io/remote", {"io/loop"}},
    {"io/remote/etcd", {"io/remote", "io/net"}},
    {"io/remote/rados", {"io/remote", "io/disk"}},
    {"io/sim", {"io/disk", "io/net"}},
    {"io/sim/remote", {"io/sim", "io/remote"}},
    {"engine/export", {"io/base"}},
    {"engine/model", {"io/base"}},
    {"engine/iter", {"engine/model"}},
    {"engine/index", {"engine/iter"}},
    {"engine/filter", {"engine/iter"}},
    {"engine/record", {"io/base"}},
    {"engine/store", {"io/disk", "engine/model"}},
    {"engine/store/file", {"io/disk", "engine/record"}},
    {"engine/store/commit", {"engine/store", "engine/record"}},
    {"engine/store/log", {"engine/store", "engine/store/commit", "engine/store/file"}},
    {"engine/store/blob", {"engine/store", "engine/store/file"}},
    {"engine/store/manifest", {"engine/store", "engine/store/file"}},
    {"engine/store/rados", {"engine/store", "engine/store/file", "io/remote"}},
    {"engine/store/local", {"engine/store/log", "engine/store/blob", "engine/store/manifest"}},
    {"engine/memtable", {"engine/index"}},
    {"engine/sstable", {"engine/index", "engine/store"}},
    {"engine/manifest", {"engine/store", "engine/record", "engine/sstable"}},
    {"engine/wal", {"engine/store", "engine/record", "engine/iter"}},
    {"engine/retention", {"engine/iter"}},
    {"engine/read", {"engine/memtable", "engine/retention", "engine/sstable", "engine/filter"}},
    {"engine/compaction", {"engine/read"}},
    {"engine/catalog", {"engine/manifest"}},
    {"engine", {"engine/catalog", "engine/read"}},
    {"engine/files", {"engine/store"}},
    {"engine/version", {"engine/read", "engine/manifest", "engine/files"}},
    {"engine/write", {"engine/version", "engine"}},
    {"engine/tablet", {"engine/write", "engine/compaction", "engine/wal", "engine/store/blob"}},
    {"engine/lookup", {"engine/tablet"}},
    {"engine/jobs", {"engine/tablet"}},
    {"engine/gc", {"engine/jobs"}},
    {"engine/reshape", {"engine/jobs"}},
    {"engine/scrub", {"engine/tablet"}},
    {"engine/shard", {"engine/lookup", "engine/gc", "engine/reshape", "engine/scrub"}},
    {"engine/backup",
     {"engine/catalog", "engine/read", "engine/store/blob", "engine/store/manifest"}},
    {"engine/node", {"engine/shard", "engine/backup"}},
    {"engine/balance", {"engine"}},
    {"engine/repair",
     {"engine/backup", "engine/manifest", "engine/memtable", "engine/store/local"}},
    {"engine/inspect",
     {"engine/manifest", "engine/export", "engine/backup", "engine/repair", "engine/wal"}},
    {"schema", {}},
    {"net/wire", {"schema", "engine/model"}},
    {"net/security", {"io/base"}},
    {"net/server/config", {"net/wire", "io/net", "engine/balance"}},
    {"net/server/control", {"net/server/config"}},
    {"net/server/policy", {"net/server/config", "net/security"}},
    {"net/server/limits", {"io/net", "engine/model"}},
    {"net/server/accept", {"net/server/policy"}},
    {"net/server/shard",
     {"net/server/accept", "net/server/control", "net/server/limits", "engine/node"}},
    {"net/server/access", {"net/server/shard"}},
    {"net/server/requests", {"net/server/access"}},
    {"net/server",
     {"net/server/requests", "engine/store/local", "engine/store/rados", "io/remote/rados",
      "io/net/uring"}},
    {"net/server/process", {"net/server"}},
    {"net/http", {"net/server/process"}},
    {"net/daemon", {"net/http"}},
    {"net/client/api", {"net/wire"}},
    {"net/client/codec", {"net/client/api", "io/loop"}},
    {"net/client/connections", {"net/client/codec", "io/net"}},
    {"net/client/calls", {"net/client/connections"}},
    {"net/client", {"net/client/calls"}},
    {"net/client/examples", {"net/client"}},
    {"net/client/library", {"net/client"}},
    {"net/client/library/include/cellar", {}},
    {"net/client/library/sample", {}},
    {"net/cli/text", {"net/client"}},
    {"net/cli/session", {"net/cli/text"}},
    {"net/cli/parse", {"net/cli/session"}},
    {"net/cli/print", {"net/cli/parse"}},
    {"net/cli/transfer", {"net/cli/parse", "engine/export"}},
    {"net/cli/commands", {"net/cli/print", "net/cli/transfer", "net/security"}},
    {"net/cli/program", {"net/cli/commands"}},
    {"net/sandbox", {"net/cli/program", "net/http"}},
};

// The engine reaches durable storage only through engine/store; the server makes the file systems,
// and the inspector opens files.
const std::set<std::string> kKnowDisk = {"io/disk",
                                         "io/remote/rados",
                                         "io/sim",
                                         "engine/store",
                                         "engine/store/file",
                                         "engine/store/log",
                                         "engine/store/blob",
                                         "engine/store/manifest",
                                         "engine/store/local",
                                         "engine/inspect",
                                         "engine/repair",
                                         "net/server",
                                         "net/server/config",
                                         "net/server/control",
                                         "net/server/policy",
                                         "net/server/process",
                                         "net/server/requests"};

std::set<std::string> reachable(const std::string& component) {
  std::set<std::string> seen = {component};
  std::vector<std::string> open = {component};
  while (!open.empty()) {
    const std::string at = open.back();
    open.pop_back();
    const auto it = kArrows.find(at);
    if (it == kArrows.end()) continue;
    for (const std::string& next : it->second) {
      if (seen.insert(next).second) open.push_back(next);
    }
  }
  return seen;
}

struct Include {
  std::string file;
  size_t line;
  std::string from;
  std::string to;
};

std::vector<Include> includes_of(const std::vector<SourceFile>& files) {
  static const std::regex kInclude(R"re(^\s*#\s*include\s*"((io|engine|net|schema)/[^"]+)")re");
  std::vector<Include> includes;
  for (const SourceFile& file : files) {
    for (size_t i = 0; i < file.lines.size(); ++i) {
      std::smatch match;
      if (!std::regex_search(file.lines[i], match, kInclude)) continue;
      includes.push_back({file.path, i + 1, file.component, component_of(match[1].str())});
    }
  }
  return includes;
}

TEST(Layers, EveryComponentIsInTheTable) {
  for (const SourceFile& file : read_sources({"io", "engine", "net"})) {
    EXPECT_TRUE(kArrows.contains(file.component))
        << file.path << " is in a component without arrows";
  }
}

TEST(Layers, NoIncludePointsUpwardsOrSideways) {
  const auto includes = includes_of(read_sources({"io", "engine", "net"}));
  ASSERT_GT(includes.size(), 50u);
  for (const Include& include : includes) {
    EXPECT_TRUE(reachable(include.from).contains(include.to))
        << include.file << ":" << include.line << " " << include.from << " may not include "
        << include.to;
  }
}

TEST(Layers, OnlyTheStorageSeamKnowsFiles) {
  for (const Include& include : includes_of(read_sources({"io", "engine", "net"}))) {
    if (include.to != "io/disk") continue;
    EXPECT_TRUE(kKnowDisk.contains(include.from)) << include.file << ":" << include.line;
  }
}

TEST(Layers, TheTableHasNoCycle) {
  for (const auto& [component, deps] : kArrows) {
    for (const std::string& dep : deps)
      EXPECT_FALSE(reachable(dep).contains(component)) << component << " <-> " << dep;
  }
}

TEST(Layers, EveryComponentHasAReadme) {
  std::set<std::string> components;
  for (const SourceFile& file : read_sources({"io", "engine", "net"}))
    components.insert(file.component);
  for (const std::string& component : components) {
    EXPECT_TRUE(std::filesystem::exists(source_root() / component / "README.md")) << component;
  }
}

// A tour names files relative to its directory.
TEST(Layers, ToursNameFilesThatExist) {
  static const std::regex kName(R"(`([\w/]+\.(h|cc))`)");
  for (const std::string folder : {"engine", "net"}) {
    const std::string text = read_text(source_root() / folder / "TOUR.md");
    size_t names = 0;
    for (std::sregex_iterator it(text.begin(), text.end(), kName), end; it != end; ++it, ++names) {
      const std::string name = (*it)[1].str();
      const bool below = std::filesystem::exists(source_root() / folder / name);
      EXPECT_TRUE(below || std::filesystem::exists(source_root() / name)) << folder << ": " << name;
    }
    EXPECT_GT(names, 20u) << folder;
  }
}

}  // namespace
}  // namespace cellar::tidy
