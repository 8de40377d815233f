#include "net/cli/program/line_editor.h"

#include <histedit.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstdlib>
#include <filesystem>

#include "net/cli/print/printer.h"
#include "net/cli/text/words.h"

namespace cellar::cli {

struct LineEditor::Parts {
  const Console& console;
  std::string prompt;
  std::string history_path;
  Completion completion;
  EditLine* edit = nullptr;
  History* history = nullptr;
};

namespace {

constexpr size_t kShownCandidates = 100;

size_t common_prefix(const std::vector<Candidate>& candidates) {
  const std::string& first = candidates.front().text;
  size_t n = first.size();
  for (const Candidate& each : candidates) {
    size_t i = 0;
    while (i < n && i < each.text.size() && each.text[i] == first[i]) ++i;
    n = i;
  }
  return n;
}

std::string listing(const std::vector<Candidate>& candidates) {
  std::vector<std::vector<std::string>> lines;
  for (size_t i = 0; i < candidates.size() && i < kShownCandidates; ++i) {
    lines.push_back({candidates[i].text, candidates[i].help});
  }
  return aligned(lines, 2);
}

void prepare_history_file(const std::string& path) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  std::filesystem::permissions(std::filesystem::path(path).parent_path(),
                               std::filesystem::perms::owner_all, ignored);
}

}  // namespace

LineEditor::LineEditor(const Console& console, std::string prompt, std::string history_path,
                       Completion completion)
    : parts_(std::make_unique<Parts>(
          Parts{console, std::move(prompt), std::move(history_path), std::move(completion)})) {
  using P = Parts;
  std::setlocale(LC_CTYPE, "");
  P& p = *parts_;
  p.edit = ::el_init("cellar", console.in, console.out, console.err);
  ::el_set(p.edit, EL_CLIENTDATA, &p);
  ::el_set(
      p.edit, EL_PROMPT, +[](EditLine* edit) -> char* {
        void* self = nullptr;
        ::el_get(edit, EL_CLIENTDATA, &self);
        return static_cast<P*>(self)->prompt.data();
      });
  ::el_set(p.edit, EL_EDITOR, "emacs");
  ::el_set(
      p.edit, EL_ADDFN, "cellar-complete", "complete the word",
      +[](EditLine* edit, int) -> unsigned char {
        void* self = nullptr;
        ::el_get(edit, EL_CLIENTDATA, &self);
        P& parts = *static_cast<P*>(self);
        const LineInfo* info = ::el_line(edit);
        const std::string line(info->buffer, info->cursor);
        const std::vector<Candidate> found = parts.completion(line);
        if (found.empty()) return CC_REFRESH_BEEP;
        const std::string typed = cut_line(line).current;
        const size_t common = common_prefix(found);
        std::string more;
        if (common > typed.size()) {
          more = found.front().text.substr(typed.size(), common - typed.size());
        }
        if (found.size() == 1 && found.front().ends_word) more += ' ';
        if (!more.empty()) {
          ::el_insertstr(edit, more.c_str());
          return CC_REFRESH;
        }
        std::fprintf(parts.console.out, "\n%s", listing(found).c_str());
        return CC_REDISPLAY;
      });
  ::el_set(p.edit, EL_BIND, "^I", "cellar-complete", nullptr);
  ::el_set(p.edit, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  p.history = ::history_init();
  HistEvent event;
  ::history(p.history, &event, H_SETSIZE, kHistoryLines);
  ::history(p.history, &event, H_SETUNIQUE, 1);
  ::el_set(p.edit, EL_HIST, &::history, p.history);
  if (!p.history_path.empty()) {
    prepare_history_file(p.history_path);
    ::history(p.history, &event, H_LOAD, p.history_path.c_str());
  }
}

LineEditor::~LineEditor() {
  ::history_end(parts_->history);
  ::el_end(parts_->edit);
}

LineEditor::End LineEditor::next(std::string& line) {
  int count = 0;
  errno = 0;
  const char* text = ::el_gets(parts_->edit, &count);
  if (!text || count <= 0) {
    if (count < 0 && errno == EINTR) {
      ::el_reset(parts_->edit);
      return End::interrupted;
    }
    return End::end_of_input;
  }
  line.assign(text, static_cast<size_t>(count));
  while (line.ends_with('\n') || line.ends_with('\r')) line.pop_back();
  if (line.find_first_not_of(" \t") != line.npos) {
    HistEvent event;
    ::history(parts_->history, &event, H_ENTER, line.c_str());
    if (!parts_->history_path.empty()) {
      // Saved at once, so that a killed shell loses nothing; mode 0600 by libedit.
      ::history(parts_->history, &event, H_SAVE, parts_->history_path.c_str());
      ::chmod(parts_->history_path.c_str(), S_IRUSR | S_IWUSR);
    }
  }
  return End::line;
}

std::string history_path() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state && *state) return std::string(state) + "/cellar/history";
  const char* home = std::getenv("HOME");
  return home && *home ? std::string(home) + "/.local/state/cellar/history" : std::string();
}

}  // namespace cellar::cli
