// Rooms depend downwards only. The table is the architecture's; a room may include what it names
// and what those may.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "tests/tidy/source_tree.h"

namespace cellar::tidy {
namespace {

const std::map<std::string, std::set<std::string>> kArrows = {
    {"io/base", {}},
    {"io/runtime", {"io/base"}},
    {"io/disk", {"io/runtime"}},
    {"engine/export", {"io/base"}},
    {"engine/model", {"io/base"}},
    {"engine/iter", {"engine/model"}},
    {"engine/filter", {"engine/iter"}},
    {"engine/record", {"io/base"}},
    {"engine/store", {"io/disk", "engine/model", "engine/record"}},
    {"engine/memtable", {"engine/iter"}},
    {"engine/sstable", {"engine/iter", "engine/store"}},
    {"engine/manifest", {"engine/store", "engine/record", "engine/sstable"}},
    {"engine/wal", {"engine/store", "engine/record", "engine/iter"}},
    {"engine/retention", {"engine/iter"}},
    {"engine/read", {"engine/memtable", "engine/retention", "engine/sstable", "engine/filter"}},
    {"engine/compaction", {"engine/read"}},
    {"engine", {"engine/wal", "engine/manifest", "engine/compaction"}},
    {"engine/balance", {"engine"}},
    {"engine/inspect", {"engine", "engine/export"}},
    {"schema", {}},
    {"net/wire", {"schema", "engine/model"}},
    {"net/security", {"io/base"}},
    {"net/server", {"net/wire", "net/security", "engine/balance"}},
    {"net/http", {"net/server"}},
    {"net/daemon", {"net/http"}},
    {"net/client", {"net/wire", "io/runtime"}},
    {"net/client/examples", {"net/client"}},
    {"net/cli", {"net/client", "net/security", "engine/export"}},
};

// The engine reaches durable storage through engine/store alone; the server makes the file systems,
// and the inspector opens files.
const std::set<std::string> kKnowDisk = {"io/disk", "engine/store", "engine/inspect", "net/server"};

std::set<std::string> reachable(const std::string& room) {
  std::set<std::string> seen = {room};
  std::vector<std::string> open = {room};
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
      includes.push_back({file.path, i + 1, file.room, room_of(match[1].str())});
    }
  }
  return includes;
}

TEST(Layers, EveryRoomIsInTheTable) {
  for (const SourceFile& file : read_sources({"io", "engine", "net"})) {
    EXPECT_TRUE(kArrows.contains(file.room)) << file.path << " lies in a room without arrows";
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
  for (const auto& [room, deps] : kArrows) {
    for (const std::string& dep : deps)
      EXPECT_FALSE(reachable(dep).contains(room)) << room << " <-> " << dep;
  }
}

TEST(Layers, EveryRoomHasAReadme) {
  std::set<std::string> rooms;
  for (const SourceFile& file : read_sources({"io", "engine", "net"})) rooms.insert(file.room);
  for (const std::string& room : rooms) {
    EXPECT_TRUE(std::filesystem::exists(source_root() / room / "README.md")) << room;
  }
}

}  // namespace
}  // namespace cellar::tidy
