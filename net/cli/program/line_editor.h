// Lines typed at a terminal, with history and completion, by libedit.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/cli/program/complete.h"
#include "net/cli/session/console.h"

namespace cellar::cli {

class LineEditor {
 public:
  static constexpr int kHistoryLines = 1000;
  using Completion = std::function<std::vector<Candidate>(const std::string& line_to_cursor)>;

  // `history_path` empty: none is kept. It and its directory are made, for the user alone.
  LineEditor(const Console& console, std::string prompt, std::string history_path,
             Completion completion);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  enum class End : uint8_t { line, interrupted, end_of_input };
  // The next line, without its end.
  End next(std::string& line);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// $XDG_STATE_HOME/cellar/history, ~/.local/state/cellar/history without it; empty without a home.
std::string history_path();

}  // namespace cellar::cli
