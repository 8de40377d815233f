#include "net/cli/text/words.h"

namespace cellar::cli {

namespace {

struct Splitter {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  size_t word_at = 0;
  char quote = '\0';
  bool escape = false;
  bool comment = false;

  void take(char c, size_t at) {
    if (comment) return;
    if (escape) {
      escape = false;
      // In double quotes a backslash escapes only special characters.
      if (quote == '"' && c != '"' && c != '\\') word += '\\';
      word += c;
      return;
    }
    if (quote != '\0') {
      if (c == quote) {
        quote = '\0';
      } else if (c == '\\' && quote == '"') {
        escape = true;
      } else {
        word += c;
      }
      return;
    }
    if (c == ' ' || c == '\t') return end();
    if (c == '#' && !in_word) {
      comment = true;
      return;
    }
    if (!in_word) word_at = at;
    in_word = true;
    if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '\\') {
      escape = true;
    } else {
      word += c;
    }
  }
  void end() {
    if (in_word) words.push_back(std::move(word));
    word.clear();
    in_word = false;
  }
};

}  // namespace

Result<std::vector<std::string>> split_words(std::string_view line) {
  Splitter splitter;
  for (size_t i = 0; i < line.size(); ++i) splitter.take(line[i], i);
  if (splitter.quote != '\0') {
    return fail(Errc::invalid_argument, "the quote {} is not closed", splitter.quote);
  }
  if (splitter.escape) return fail(Errc::invalid_argument, "the line ends with a backslash");
  splitter.end();
  return std::move(splitter.words);
}

std::string join_words(const std::vector<std::string>& words) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+";
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    if (!word.empty() && word.find_first_not_of(kPlain) == word.npos) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) {
      if (c == '\'') {
        line += "'\\''";
      } else {
        line += c;
      }
    }
    line += '\'';
  }
  return line;
}

CutLine cut_line(std::string_view line) {
  Splitter splitter;
  for (size_t i = 0; i < line.size(); ++i) splitter.take(line[i], i);
  CutLine cut;
  cut.current_at = splitter.in_word ? splitter.word_at : line.size();
  cut.current = splitter.in_word ? std::move(splitter.word) : std::string();
  cut.before = std::move(splitter.words);
  return cut;
}

}  // namespace cellar::cli
