// Checks the reference of the client: every public name of its headers is in
// net/client/REFERENCE.md, in the section of its header, with a description, and every name there
// exists. Relies on the formatting of the headers.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/tidy/source_tree.h"

namespace cellar::tidy {
namespace {

// Public headers; for headers with internal parts the public types.
const std::map<std::string, std::set<std::string>> kPublic = {
    {"client.h", {}},
    {"sync_client.h", {}},
    {"connections/context_env.h", {}},
    {"api/options.h", {}},
    {"api/retry_policy.h", {"RetryOptions", "Repeat"}},
    {"codec/requests.h", {}},
    {"api/mutation.h", {}},
    {"api/filter.h", {}},
    {"api/admin.h", {}},
    {"api/indexes.h", {}},
    {"api/cells.h", {}},
    {"api/operate.h", {}},
    {"calls/read_stream.h", {"ReadStream"}},
    {"batch_writer.h", {}},
    {"connections/connection.h", {"ClientEnv", "ConnectionStats"}},
    {"connections/dispatcher.h", {"ClientStats"}},
};

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// The public names that a header declares: types, functions, constants, fields.
class Names {
 public:
  Names(const SourceFile& file, const std::set<std::string>& only) : only_(only) {
    for (const std::string& code : file.code) line(code);
  }
  const std::set<std::string>& all() const { return names_; }

 private:
  struct Scope {
    std::string close;
    bool left_out;  // the type is not public
    bool hidden;    // its private part
  };
  bool visible() const {
    if (scopes_.empty()) return only_.empty();
    return std::none_of(scopes_.begin(), scopes_.end(),
                        [](const Scope& s) { return s.hidden || s.left_out; });
  }
  void line(const std::string& code) {
    static const std::regex kType(R"(^( *)(?:struct|class|enum class|enum) (\w+)[^;(]*\{ *$)");
    const std::string bare = trimmed(code);
    std::smatch match;
    if (statement_.empty()) {
      if (bare.empty() || bare[0] == '#' || bare.starts_with("namespace") ||
          bare.starts_with("using namespace") || code == "}") {
        return;
      }
      if (bare == "private:" || bare == "protected:") return void(scopes_.back().hidden = true);
      if (bare == "public:") return void(scopes_.back().hidden = false);
      if (!scopes_.empty() && code.starts_with(scopes_.back().close)) return scopes_.pop_back();
      if (std::regex_match(code, match, kType)) {
        const bool left_out = scopes_.empty() && !only_.empty() && !only_.contains(match[2]);
        if (!left_out && (visible() || scopes_.empty())) names_.insert(match[2]);
        return scopes_.push_back({match[1].str() + "}", left_out, false});
      }
    }
    statement_ += (statement_.empty() ? "" : " ") + bare;
    for (const char c : bare) {
      depth_ += (c == '{' || c == '(') - (c == '}' || c == ')');
      body_ = body_ || c == '{';
    }
    const bool enumerator = bare.ends_with(",") && !scopes_.empty();
    const bool done = bare.ends_with(";") || enumerator || (body_ && bare.ends_with("}"));
    if (depth_ > 0 || !done) return;
    if (visible()) declare(statement_);
    statement_.clear();
    body_ = false;
  }
  void declare(std::string text) {
    if (text.starts_with("friend") || text.starts_with("using") ||
        text.find("operator") != std::string::npos || text.find("= delete") != std::string::npos) {
      return;
    }
    text = std::regex_replace(text, std::regex(R"(^template <[^>]*> )"), "");
    std::smatch match;
    static const std::regex kFunction(R"((?:^|[\s&*])~?(\w+)\([^)]*)");
    static const std::regex kEnum(R"(^enum (?:class )?(\w+))");
    if (std::regex_search(text, match, kEnum) || std::regex_search(text, match, kFunction)) {
      names_.insert(match[1]);
      return;
    }
    static const std::regex kField(R"((\w+)(?: = [^,;]*|\{[^}]*\})?[,;])");
    for (auto at = std::sregex_iterator(text.begin(), text.end(), kField);
         at != std::sregex_iterator(); ++at) {
      names_.insert((*at)[1]);
    }
  }

  const std::set<std::string>& only_;
  std::set<std::string> names_;
  std::vector<Scope> scopes_;
  std::string statement_;
  int depth_ = 0;
  bool body_ = false;
};

struct Row {
  std::string declaration, promise;
};

// Per header: the rows of its tables, and the headings of its types.
std::map<std::string, std::vector<Row>> read_reference() {
  static const std::regex kHeader(R"(^## `([\w./]+)`)");
  static const std::regex kType(R"(^### `([\w.]+)`)");
  static const std::regex kRow(R"(^\| `(.*)` \| (.*)\|$)");
  std::map<std::string, std::vector<Row>> sections;
  std::istringstream in(read_text(source_root() / "net/client/REFERENCE.md"));
  std::string header;
  std::smatch match;
  for (std::string text; std::getline(in, text);) {
    if (std::regex_search(text, match, kHeader)) header = match[1];
    if (std::regex_search(text, match, kType)) sections[header].push_back({match[1], "a type"});
    if (std::regex_search(text, match, kRow)) {
      sections[header].push_back({match[1], trimmed(match[2])});
    }
  }
  return sections;
}

bool names(const std::string& declaration, const std::string& name) {
  return std::regex_search(declaration, std::regex("\\b" + name + "\\b"));
}

TEST(Reference, NamesEveryPublicNameOfTheClientWithItsPromise) {
  const auto sections = read_reference();
  size_t count = 0;
  for (const SourceFile& file : read_sources({"net/client"})) {
    const std::string header = file.path.substr(std::string("net/client/").size());
    if (!kPublic.contains(header)) continue;
    ASSERT_TRUE(sections.contains(header)) << header << " has no section";
    const auto& rows = sections.at(header);
    for (const std::string& name : Names(file, kPublic.at(header)).all()) {
      ++count;
      EXPECT_TRUE(std::any_of(
          rows.begin(), rows.end(),
          [&](const Row& row) { return !row.promise.empty() && names(row.declaration, name); }))
          << header << ": '" << name << "' is missing, or has no promise";
    }
  }
  EXPECT_GT(count, 200u);
}

TEST(Reference, NamesNothingThatIsGone) {
  std::map<std::string, std::string> code;
  for (const SourceFile& file : read_sources({"net/client"})) {
    std::string& text = code[file.path.substr(std::string("net/client/").size())];
    for (const std::string& one : file.lines) text += one + "\n";
  }
  static const std::regex kWord(R"(\w+)");
  for (const auto& [header, rows] : read_reference()) {
    ASSERT_TRUE(kPublic.contains(header)) << header;
    for (const Row& row : rows) {
      EXPECT_FALSE(row.promise.empty()) << header << ": " << row.declaration;
      for (auto at = std::sregex_iterator(row.declaration.begin(), row.declaration.end(), kWord);
           at != std::sregex_iterator(); ++at) {
        EXPECT_NE(code[header].find((*at)[0]), std::string::npos)
            << header << ": '" << (*at)[0] << "' of " << row.declaration << " is not there";
      }
    }
  }
}

}  // namespace
}  // namespace cellar::tidy
