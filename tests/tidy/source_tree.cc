#include "tests/tidy/source_tree.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace cellar::tidy {
namespace fs = std::filesystem;

fs::path source_root() { return CELLAR_SOURCE_DIR; }

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string component_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? "" : std::string(path.substr(0, slash));
}

namespace {

// Blanks comments and the contents of string and character literals; keeps the line structure.
std::string strip(const std::string& text) {
  std::string out = text;
  enum class In { code, line_comment, block_comment, string, character } in = In::code;
  for (size_t i = 0; i < out.size(); ++i) {
    const char c = text[i];
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    switch (in) {
      case In::code:
        if (c == '/' && next == '/') {
          in = In::line_comment;
          out[i] = ' ';
        } else if (c == '/' && next == '*') {
          in = In::block_comment;
          out[i] = ' ';
        } else if (c == '"' && i > 0 && text[i - 1] == 'R') {
          const size_t open = text.find('(', i);
          const std::string close = ")" + text.substr(i + 1, open - i - 1) + "\"";
          const size_t end = std::min(text.find(close, open), text.size());
          for (size_t k = i + 1; k < end; ++k) {
            if (text[k] != '\n') out[k] = ' ';
          }
          i = end + close.size() - 1;
        } else if (c == '"') {
          in = In::string;
        } else if (c == '\'' &&
                   (i == 0 || !std::isalnum(static_cast<unsigned char>(text[i - 1])))) {
          in = In::character;
        }
        break;
      case In::line_comment:
        if (c == '\n')
          in = In::code;
        else
          out[i] = ' ';
        break;
      case In::block_comment:
        if (c == '*' && next == '/') {
          out[i] = out[i + 1] = ' ';
          ++i;
          in = In::code;
        } else if (c != '\n') {
          out[i] = ' ';
        }
        break;
      case In::string:
      case In::character:
        if (c == '\\') {
          out[i] = ' ';
          if (next != '\n') out[i + 1] = ' ';
          ++i;
        } else if (c == (in == In::string ? '"' : '\'')) {
          in = In::code;
        } else if (c != '\n') {
          out[i] = ' ';
        }
        break;
    }
  }
  return out;
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

std::vector<SourceFile> read_sources(const std::vector<std::string>& folders) {
  std::vector<SourceFile> files;
  for (const std::string& folder : folders) {
    if (!fs::exists(source_root() / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(source_root() / folder)) {
      const std::string extension = entry.path().extension();
      if (!entry.is_regular_file() || (extension != ".h" && extension != ".cc")) continue;
      SourceFile file;
      file.path = fs::relative(entry.path(), source_root());
      file.component = component_of(file.path);
      const std::string text = read_text(entry.path());
      file.lines = split_lines(text);
      file.code = split_lines(strip(text));
      files.push_back(std::move(file));
    }
  }
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

}  // namespace cellar::tidy
