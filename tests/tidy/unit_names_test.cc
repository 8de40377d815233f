// The sources of a target are compiled together (CMAKE_UNITY_BUILD), so a name in the unnamed
// namespace of one could silently stand for a name of a header in another. No such name is the same
// as one that a header declares at namespace level and another source of the target uses.
#include <gtest/gtest.h>

#include <cctype>
#include <map>
#include <set>

#include "tests/tidy/source_tree.h"

namespace cellar::tidy {
namespace {

const std::vector<std::string> kFolders = {"io", "engine", "net", "bench", "tests"};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The identifier that ends before `end`, blanks between them aside.
std::string word_before(std::string_view line, size_t end) {
  while (end > 0 && line[end - 1] == ' ') --end;
  size_t begin = end;
  while (begin > 0 && is_word(line[begin - 1])) --begin;
  return std::string(line.substr(begin, end - begin));
}

std::string word_at(std::string_view line, size_t begin) {
  size_t end = begin;
  while (end < line.size() && is_word(line[end])) ++end;
  return std::string(line.substr(begin, end - begin));
}

bool skip(std::string_view& line, std::string_view word) {
  if (!line.starts_with(word)) return false;
  line.remove_prefix(word.size());
  return true;
}

// The type, alias, constant or function that a line at namespace level declares; empty: none.
std::string declared(std::string_view line) {
  if (line.empty() || !is_word(line[0])) return "";
  if (line.starts_with("namespace") || line.starts_with("template") || line.starts_with("friend"))
    return "";
  if (skip(line, "using ")) return line.find(" = ") == line.npos ? "" : word_at(line, 0);
  for (const std::string_view kind : {"struct ", "class ", "enum class ", "enum "}) {
    if (!skip(line, kind)) continue;
    if (line.starts_with("alignas(")) line.remove_prefix(line.find(") ") + 2);
    return line.find('{') == line.npos ? "" : word_at(line, 0);
  }
  for (const std::string_view word : {"inline ", "static ", "extern "}) skip(line, word);
  const size_t end = line.find_first_of("=;{(");
  const bool constant = line.starts_with("const");
  if (end == line.npos) return "";
  if (line[end] != '(') {
    const size_t bracket = line.find('[');
    return constant ? word_before(line, std::min(end, bracket)) : "";
  }
  const std::string name = word_before(line, end);
  // A call of a macro has no type before it.
  return name.size() == end || line.starts_with(name) ? "" : name;
}

struct Names {
  std::set<std::string> unnamed;  // in unnamed namespaces
  std::set<std::string> global;   // at namespace level elsewhere
};

Names names_of(const SourceFile& file) {
  Names names;
  bool unnamed = false;
  for (size_t i = 0; i < file.code.size(); ++i) {
    if (file.code[i].starts_with("namespace {")) unnamed = true;
    if (unnamed && file.lines[i] == "}  // namespace") unnamed = false;
    const std::string name = declared(file.code[i]);
    if (!name.empty()) (unnamed ? names.unnamed : names.global).insert(name);
  }
  return names;
}

// Whether the name stands there by itself: not as a member, not qualified.
bool uses(const SourceFile& file, const std::string& name) {
  for (const std::string& line : file.code) {
    if (line.starts_with("#include")) continue;
    for (size_t at = line.find(name); at != line.npos; at = line.find(name, at + 1)) {
      const char before = at == 0 ? ' ' : line[at - 1];
      const char after = at + name.size() < line.size() ? line[at + name.size()] : ' ';
      if (!is_word(before) && !is_word(after) && before != '.' && before != '>' && before != ':')
        return true;
    }
  }
  return false;
}

class Tree {
 public:
  Tree() {
    for (SourceFile& file : read_sources(kFolders)) {
      names_[file.path] = names_of(file);
      files_.emplace(file.path, std::move(file));
    }
  }
  const SourceFile* file(const std::string& path) const {
    const auto found = files_.find(path);
    return found == files_.end() ? nullptr : &found->second;
  }
  const Names& names(const std::string& path) const { return names_.at(path); }

  // What the headers that it includes, directly or not, declare.
  const std::set<std::string>& included(const std::string& path) {
    const auto [at, is_new] = included_.try_emplace(path);
    if (!is_new) return at->second;
    std::set<std::string> all;
    for (const std::string& line : file(path)->lines) {
      if (!line.starts_with("#include \"")) continue;
      const std::string header = line.substr(10, line.rfind('"') - 10);
      if (file(header) == nullptr) continue;
      all.insert(names(header).global.begin(), names(header).global.end());
      const auto& more = included(header);
      all.insert(more.begin(), more.end());
    }
    return included_[path] = std::move(all);
  }

 private:
  std::map<std::string, SourceFile> files_;
  std::map<std::string, Names> names_;
  std::map<std::string, std::set<std::string>> included_;
};

// The sources of each target, by the CMakeLists.txt that lists them.
std::vector<std::vector<std::string>> targets() {
  namespace fs = std::filesystem;
  std::vector<std::vector<std::string>> all;
  for (const std::string& folder : kFolders) {
    for (const auto& entry : fs::recursive_directory_iterator(source_root() / folder)) {
      if (entry.path().filename() != "CMakeLists.txt") continue;
      const std::string text = read_text(entry.path());
      for (size_t at = text.find("SRCS "); at != text.npos; at = text.find("SRCS ", at + 1)) {
        std::vector<std::string>& sources = all.emplace_back();
        const std::string list = text.substr(at + 5, text.find_first_of(")", at) - at - 5);
        for (size_t end = list.find(".cc"); end != list.npos; end = list.find(".cc", end + 1)) {
          const size_t begin = list.find_last_of(" \n", end) + 1;
          const fs::path path = entry.path().parent_path() / list.substr(begin, end + 3 - begin);
          sources.push_back(fs::relative(path.lexically_normal(), source_root()));
        }
      }
    }
  }
  return all;
}

TEST(UnitNames, AreThoseOfNoHeaderThatAnotherSourceOfTheTargetUses) {
  Tree tree;
  size_t seen = 0;
  for (const auto& sources : targets()) {
    for (const std::string& one : sources) {
      if (tree.file(one) == nullptr) continue;
      for (const std::string& name : tree.names(one).unnamed) {
        for (const std::string& other : sources) {
          if (other == one || tree.file(other) == nullptr) continue;
          ++seen;
          if (tree.names(other).unnamed.contains(name)) continue;
          if (!tree.included(other).contains(name)) continue;
          EXPECT_FALSE(uses(*tree.file(other), name))
              << one << " has a '" << name << "' of its own, " << other << " uses that of a header";
        }
      }
    }
  }
  EXPECT_GT(seen, 10'000u);
}

TEST(UnitNames, OfDeclarations) {
  EXPECT_EQ(declared("constexpr int64_t kDayUs = 86'400'000'000;"), "kDayUs");
  EXPECT_EQ(declared("inline constexpr const char* kNames[] = {"), "kNames");
  EXPECT_EQ(declared("struct alignas(64) Set {"), "Set");
  EXPECT_EQ(declared("class Later;"), "");
  EXPECT_EQ(declared("using Kind = Mutation::Kind;"), "Kind");
  EXPECT_EQ(declared("Result<void> check_key(Bytes key, std::string_view what) {"), "check_key");
  EXPECT_EQ(declared("TEST(Sizes, Some) {"), "");
  EXPECT_EQ(declared("  return f(x);"), "");
}

}  // namespace
}  // namespace cellar::tidy
